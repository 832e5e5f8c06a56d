"""``fit``: from a file to a model that was measured on rows held out."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

import numpy as np
import typer

import separatrix

from . import arguments as arg
from .inputs import Options, check_output, choice, in_memory, opened
from .output import console, print_json, say
from .progress import Watch
from .report import fit_report, show_fit
from .search import fitted
from .written import goes_to_stdout, write_recording

CODE_INTERRUPTED = 130
RECORDED_ROWS = 2000
SETTINGS: dict[str, Any] = {
    "loss": "logistic", "standardize": True, "tol": 1e-6, "max_iter": 1000, "class_weight": None,
    "random_state": 0,
}  # fmt: skip
"""Of classifiers, unless said otherwise."""
L2_BESIDE_L1 = 1e-4
"""Unless said otherwise; without an l1 it is searched."""
PARTIAL = {
    "fit": "the model of the last whole pass is in",
    "search": "the search for l2 is not complete; the model so far is in",
}


def fit(
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = SETTINGS["loss"],
    l1: Annotated[
        float,
        typer.Option(
            help="Strength of a penalty that selects features: the others weigh exactly 0."
        ),
    ] = 0.0,
    l2: Annotated[
        str | None,
        typer.Option(
            help="Strength of the penalty, or auto: by cross-validation. Unless said, auto, and "
            f"{L2_BESIDE_L1:g} with --l1."
        ),
    ] = None,
    test: Annotated[
        float, typer.Option(help="Share of the rows to hold out and measure by; 0 for none.")
    ] = 0.2,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the model goes.")
    ] = "model.sep",
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let every class weigh the same.")
    ] = False,
    standardize: arg.Standardize = SETTINGS["standardize"],
    tol: Annotated[
        float, typer.Option(help="How near to its minimum the objective is proven to be, relative.")
    ] = SETTINGS["tol"],
    max_iter: Annotated[int, typer.Option(help="Most passes.")] = SETTINGS["max_iter"],
    format: arg.Format = None,
    cache: Annotated[
        str | None,
        typer.Option(help="Folder for decoded rows, where there are more than memory holds."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="Write the fit step by step, as .json or .html; 2,000 rows at most."),
    ] = None,
    json: arg.Json = False,
) -> int:
    """Fit a classifier to the rows of a file, measure it on rows held out, and save it.

    The rows to measure by are set aside first: categories, means and the penalty are found on the
    others, and the model that is saved is the one that was measured.
    """
    if not 0.0 <= test < 1.0:
        raise ValueError(f"--test {test:g}: expected a share of the rows, 0 or more and below 1")
    choice("--loss", loss, arg.LOSSES)
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, cache, test
    )  # fmt: skip
    settings = SETTINGS | {
        "loss": loss, "standardize": standardize, "tol": tol, "max_iter": max_iter,
        "class_weight": "balanced" if balanced else None,
    }  # fmt: skip
    settings |= _selection(l1, loss, trace)
    strength = _penalty(l2, l1)
    to_stdout = goes_to_stdout(output, json) or goes_to_stdout(trace or output, json)
    found = fit_and_save(data, options, strength, settings, output, trace)
    if json:
        print_json("fit", found)
    else:
        show_fit(found, console(stderr=to_stdout))
    return told_end(found)


def told_end(found: dict[str, Any]) -> int:
    """The code to end with; of a fit that was cut short it is told what was kept."""
    if found["interrupted"] is None:
        return 0
    say(f"Interrupted: {PARTIAL[found['interrupted']]} {found['model']['file']}.")
    return CODE_INTERRUPTED


def _selection(l1: float, loss: str, trace: str | None) -> dict[str, Any]:
    """The setting that an l1 other than 0 is."""
    if not 0.0 <= l1 < np.inf:
        raise ValueError(f"--l1 {l1:g}: expected a number, 0 or more")
    if not l1:
        return {}
    if not separatrix.get_loss(loss).smooth:
        raise ValueError(
            f"--l1 is not for --loss {loss}, which has a kink: say --loss squared_hinge or logistic"
        )
    if trace is not None:
        raise ValueError(
            f"--trace {trace}: steps are told for the penalty l2 alone; leave out --l1 or --trace"
        )
    return {"l1": l1}


def _penalty(l2: str | None, l1: float) -> float | None:
    """A number, or None for auto."""
    if l2 is None and l1:
        return L2_BESIDE_L1
    if l2 == "auto" and l1:
        raise ValueError("--l2 auto searches without --l1: give --l2 a number beside it, or 0")
    if l2 is None or l2 == "auto":
        return None
    try:
        found = float(l2)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < np.inf:
        raise ValueError(f"--l2 {l2}: expected a number, 0 or more, or auto")
    return found


def fit_and_save(
    data: list[str],
    options: Options,
    l2: float | None,
    settings: dict[str, Any],
    output: str,
    trace: str | None = None,
) -> dict[str, Any]:
    """All that is told of a fit whose model is then in a file."""
    check_output(output, *data)
    if trace is not None:
        check_output(trace, *data)
        if os.path.realpath(trace) == os.path.realpath(output) != os.devnull:
            raise ValueError(f"--trace {trace}: the model goes there; name another file")
    with opened(data, options.format) as paths, Watch(settings["tol"]) as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        if trace is not None:
            _check_recorded(trace, source.n_rows)
        rows = in_memory(source)
        if rows is source and options.cache is None:
            say(
                "The rows take more than 1 GB, and are read and decoded anew at each pass: "
                "--cache FOLDER keeps them decoded."
            )
        began = time.perf_counter()
        model, interrupted = fitted(rows, l2, settings, watch)
        seconds = time.perf_counter() - began
        separatrix.save(model, output)
        if trace is not None:
            watch.stage("Recording")
            recording = model.trace_.recording(rows)
            write_recording(trace, recording.to_json, recording.to_html)
        watch.stage("Measuring")
        try:
            found = fit_report(data, source, rows, model)
        except KeyboardInterrupt as error:
            told = f"the model is in {output}, and was not measured"
            raise KeyboardInterrupt(told) from error
    found["model"] |= {"file": output, "seconds": seconds}
    return found | {"interrupted": interrupted}


def _check_recorded(trace: str, rows: int) -> None:
    if rows > RECORDED_ROWS:
        raise ValueError(
            f"--trace {trace}: a fit is told step by step for {RECORDED_ROWS:,} rows at most, and "
            f"there are {rows:,} to train on; give it fewer, or a larger --test"
        )

"""``fit``: from a file to a model that was measured on held-out rows."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

import numpy as np
import typer

import separatrix

from . import arguments as arg
from .inputs import Options, check_output, choice, in_memory, opened
from .labels import L2 as LABELS_L2
from .labels import fit_labels, label_report
from .output import console, print_json, say
from .progress import Watch
from .report import fit_report, show_fit
from .search import fitted
from .written import goes_to_stdout, write_recording

CODE_INTERRUPTED = 130  # exit code, 128 + SIGINT
RECORDED_ROWS = 2000  # as many as a recording holds
SETTINGS: dict[str, Any] = {
    "loss": "logistic", "standardize": True, "tol": 1e-6, "max_iter": 1000, "class_weight": None,
    "random_state": 0,
}  # fmt: skip
"""Default settings of classifiers."""
L2_WITH_L1 = 1e-4
"""Default with an l1; without an l1 the l2 is searched."""
PARTIAL = {
    "fit": "the model of the last complete pass is in",
    "search": "the search for l2 is not complete; the model so far is in",
}


def fit(
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = SETTINGS["loss"],
    l1: Annotated[
        float,
        typer.Option(
            help="Strength of the penalty that selects features: the others get weight 0."
        ),
    ] = 0.0,
    l2: Annotated[
        str | None,
        typer.Option(
            help="Strength of the penalty, or auto: by cross-validation. Default: auto, or "
            f"{L2_WITH_L1:g} with --l1."
        ),
    ] = None,
    test: Annotated[
        float, typer.Option(help="Share of the rows to hold out for measuring; 0 for none.")
    ] = 0.2,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File for the model.")
    ] = "model.sep",
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    date: arg.Date = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give every class the same weight.")
    ] = False,
    standardize: arg.Standardize = SETTINGS["standardize"],
    tol: Annotated[
        float,
        typer.Option(help="Relative distance of the objective from its minimum to be proven."),
    ] = SETTINGS["tol"],
    max_iter: Annotated[int, typer.Option(help="Most passes.")] = SETTINGS["max_iter"],
    format: arg.Format = None,
    cache: Annotated[
        str | None,
        typer.Option(help="Folder for decoded rows, if they do not fit in memory."),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option(help="Write the fit step by step, as .json or .html; 2,000 rows at most."),
    ] = None,
    json: arg.Json = False,
) -> int:
    """Fit a classifier to the rows of a file, measure it on held-out rows, and save it.

    The held-out rows are set aside first: categories, means and the penalty are found on the
    others, and the model that is saved is the one that was measured.
    """
    if not 0.0 <= test < 1.0:
        raise ValueError(f"--test {test:g}: expected a share of the rows, 0 or more and below 1")
    choice("--loss", loss, arg.LOSSES)
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, cache, test,
        dates=date or [],
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
    return report_end(found)


def report_end(found: dict[str, Any]) -> int:
    """Report what was saved of an interrupted fit; return the exit code."""
    if found["interrupted"] is None:
        return 0
    say(f"Interrupted: {PARTIAL[found['interrupted']]} {found['model']['file']}.")
    return CODE_INTERRUPTED


def _selection(l1: float, loss: str, trace: str | None) -> dict[str, Any]:
    """The settings for an l1 other than 0."""
    if not 0.0 <= l1 < np.inf:
        raise ValueError(f"--l1 {l1:g}: expected a number, 0 or more")
    if not l1:
        return {}
    if not separatrix.get_loss(loss).smooth:
        raise ValueError(
            f"--l1 is not for --loss {loss}, which is not smooth: use --loss squared_hinge or "
            "logistic"
        )
    if trace is not None:
        raise ValueError(
            f"--trace {trace}: steps are recorded for the l2 penalty only; leave out --l1 or "
            "--trace"
        )
    return {"l1": l1}


def _penalty(l2: str | None, l1: float) -> float | None:
    """A number, or None for auto."""
    if l2 is None and l1:
        return L2_WITH_L1
    if l2 == "auto" and l1:
        raise ValueError("--l2 auto searches without --l1: with --l1, give --l2 a number, or 0")
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
    """Fit, save the model, and return everything that is reported."""
    check_output(output, *data)
    if trace is not None:
        check_output(trace, *data)
        if os.path.realpath(trace) == os.path.realpath(output) != os.devnull:
            raise ValueError(f"--trace {trace}: this is the file of the model; name another file")
    with opened(data, options.format) as paths, Watch(settings["tol"]) as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths, several=True)
        if source.labels is not None:
            return _fit_labels(data, source, l2, settings, output, trace, watch)
        if trace is not None:
            _check_recorded(trace, source.n_rows)
        rows = in_memory(source)
        if rows is source and options.cache is None:
            say(
                "The rows take more than 1 GB, and are read and decoded again in each pass: "
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
            found["findings"] += options.doubts(source)
        except KeyboardInterrupt as error:
            message = f"the model is in {output}, but was not measured"
            raise KeyboardInterrupt(message) from error
    found["model"] |= {"file": output, "seconds": seconds}
    return found | {"interrupted": interrupted}


def _fit_labels(
    data: list[str],
    source: Any,
    l2: float | None,
    settings: dict[str, Any],
    output: str,
    trace: str | None,
    watch: Watch,
) -> dict[str, Any]:
    """``fit_and_save`` for several targets."""
    if trace is not None:
        raise ValueError(f"--trace {trace}: steps are recorded for one target; leave it out")
    if l2 is None:
        say(f"The search for l2 is for one target: l2 = {LABELS_L2:g} here, unless --l2 says more.")
    rows = in_memory(source)
    model, seconds = fit_labels(rows, source, l2, settings, watch)
    separatrix.save(model, output)
    watch.stage("Measuring")
    found = label_report(data, source, rows, model)
    found["model"] |= {"file": output, "seconds": seconds}
    return found | {"interrupted": "fit" if model.stop_ == "interrupted" else None}


def _check_recorded(trace: str, rows: int) -> None:
    if rows > RECORDED_ROWS:
        raise ValueError(
            f"--trace {trace}: a fit is recorded for at most {RECORDED_ROWS:,} rows, but "
            f"there are {rows:,} training rows; use fewer, or a larger --test"
        )

"""``fit``: from a file to a model that was measured on held-out rows."""

from __future__ import annotations

import os
import time
from typing import Annotated, Any

import typer

import separatrix

from . import arguments as arg
from .deciding import DecisionOptions
from .inputs import TEST, Options, check_share, in_memory, lone_labels
from .metrics import METRICS, check_label_metric, check_metric
from .output import console, print_json, say
from .paths import check_output, choice, opened
from .progress import Watch
from .search import TooFewRows, fitted
from .strengths import L2_WITH_L1, given_l2, l1_settings, without_penalty
from .written import check_model_name, check_report, goes_to_stdout, write_recording

CODE_INTERRUPTED = 130  # exit code, 128 + SIGINT
RECORDED_ROWS = 2000  # as many as a recording holds
SETTINGS: dict[str, Any] = {
    "loss": "logistic", "standardize": True, "tol": arg.TOL, "max_iter": arg.MAX_ITER,
    "class_weight": None, "prior_correction": False, "random_state": 0,
}  # fmt: skip
"""Default settings of classifiers."""
BY_SCORE = DecisionOptions()
PARTIAL = {
    "fit": "the model of the last complete pass is in",
    "search": "the search for l2 is not complete; the model so far is in",
}


def fit(
    data: arg.Data,
    target: arg.Target = None,
    loss: arg.Loss = SETTINGS["loss"],
    l1: Annotated[
        str | None,
        typer.Option(
            help="Strength of the penalty that selects features: the others get weight 0. Or auto: "
            "by cross-validation. [default: 0]"
        ),
    ] = None,
    l1_ratio: Annotated[
        str | None,
        typer.Option(
            help="Search both penalties: the share of l1 in them, above 0 and at most 1, or "
            "several such as 0.5,1. Default: 1 with --l1 auto."
        ),
    ] = None,
    l2: Annotated[
        str | None,
        typer.Option(
            help="Strength of the penalty, or auto: by cross-validation. Default: auto, or "
            f"{L2_WITH_L1:g} with --l1."
        ),
    ] = None,
    test: Annotated[
        float, typer.Option(help="Share of the rows to hold out for measuring; 0 for none.")
    ] = TEST,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File for the model.")
    ] = "model.sep",
    keep: arg.Keep = None,
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    date: arg.Date = None,
    missing: arg.Missing = None,
    weight: arg.Weight = None,
    offset: arg.Offset = None,
    balanced: arg.Balanced = False,
    prior_correction: arg.PriorCorrection = False,
    bias_reduction: arg.BiasReduction = None,
    standardize: arg.Standardize = SETTINGS["standardize"],
    tol: arg.Tol = SETTINGS["tol"],
    max_iter: arg.MaxIter = SETTINGS["max_iter"],
    format: arg.Format = None,
    cache: Annotated[
        str | None,
        typer.Option(help="Folder for decoded rows, if they do not fit in memory."),
    ] = None,
    threshold: arg.Threshold = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            help="Cost of errors, by which the model decides: fp=1,fn=5, or 'a:b=5' for b "
            "predicted for a (can be repeated), or a CSV file. The threshold of two classes is "
            "chosen on half of the held-out rows, which are then not measured."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help=f"What the search for the penalty measures: {', '.join(METRICS)}."),
    ] = None,
    certify_predictions: Annotated[
        bool,
        typer.Option(
            "--certify-predictions",
            help="Keep in the model what predict --certified needs: for penalties with l2 alone.",
        ),
    ] = False,
    report: arg.Report = None,
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
    check_share(test)
    choice("--loss", loss, arg.losses())
    decide = DecisionOptions(threshold, ",".join(cost) if cost else None)
    decide.check()
    options = Options(
        target, weight, drop or [], as_category or [], missing, format, cache, test,
        dates=date or [], keep=keep or [], offset=offset,
    )  # fmt: skip
    settings = SETTINGS | {
        "loss": loss, "standardize": standardize, "tol": tol, "max_iter": max_iter,
        "class_weight": "balanced" if balanced else None, "prior_correction": prior_correction,
    }  # fmt: skip
    of_l1 = l1_settings(l1, l1_ratio, l2, loss, trace)
    settings |= of_l1
    strength = given_l2(l2, of_l1)
    if bias_reduction is not None:
        strength = without_penalty(bias_reduction, l1, l1_ratio, l2, trace)
        settings["bias_reduction"] = bias_reduction
    options.drop_first = strength == 0.0 and not of_l1
    if certify_predictions:
        _check_certified(loss, settings, strength)
    check_metric(metric, strength is None, loss)
    check_model_name(output)
    to_stdout = goes_to_stdout(output, json) or goes_to_stdout(trace or output, json)
    found = fit_and_save(
        data, options, strength, settings, output, trace, decide, metric, report,
        certify_predictions,
    )  # fmt: skip
    if json:
        print_json("fit", found)
    else:
        from .report import show_fit

        show_fit(found, console(stderr=to_stdout))
    return report_end(found)


def _check_certified(loss: str, settings: dict[str, Any], l2: float | None) -> None:
    """Refuse what has no bounds on its predictions, before the rows are read."""
    problem = ""
    known = separatrix.get_loss(loss)
    if not known.convex or known.homogeneous:
        problem = f"not for --loss {loss}; use --loss logistic"
    elif settings.get("l1") or settings.get("l1_ratio"):
        problem = "not with --l1 or --l1-ratio; use --l2 alone"
    elif settings.get("bias_reduction"):
        problem = "not with --bias-reduction; use --l2"
    elif l2 == 0.0:
        problem = "not with --l2 0; use a larger --l2"
    if problem:
        raise ValueError(f"--certify-predictions: {problem}, or leave it out")


def _check_classes(loss: str, k: int) -> None:
    known = separatrix.get_loss(loss).for_classes(k)
    if known.column_loss is None and not known.log_likelihood:
        raise ValueError(
            f"--certify-predictions: the biases of --loss {loss} have no bounds for {k} classes; "
            f"use --loss one_vs_rest_{loss}, or leave it out"
        )


def report_end(found: dict[str, Any]) -> int:
    """Report what was saved of an interrupted fit; return the exit code."""
    if found["interrupted"] is None:
        return 0
    say(f"Interrupted: {PARTIAL[found['interrupted']]} {found['model']['file']}.")
    return CODE_INTERRUPTED


def fit_and_save(
    data: list[str],
    options: Options,
    l2: float | None,
    settings: dict[str, Any],
    output: str,
    trace: str | None = None,
    decide: DecisionOptions = BY_SCORE,
    metric: str | None = None,
    report: str | None = None,
    certify_predictions: bool = False,
) -> dict[str, Any]:
    """Fit, save the model, and return everything that is reported."""
    from .report import fit_report

    check_output(output, *data)
    check_report(report, output, trace, *data)
    if trace is not None:
        check_output(trace, *data)
        if os.path.realpath(trace) == os.path.realpath(output) != os.devnull:
            raise ValueError(f"--trace {trace}: this is the file of the model; name another file")
    with opened(data, options.format) as paths, Watch(settings["tol"]) as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths, several=True)
        if source.labels is not None:
            one_target = {
                "--threshold": decide.threshold, "--cost": decide.cost, "--report": report,
                "--trace": trace, "--balanced": settings["class_weight"],
                "--prior-correction": settings["prior_correction"] or None,
                "--bias-reduction": settings.get("bias_reduction"),
                "--certify-predictions": certify_predictions or None,
            }  # fmt: skip
            _check_options_of_labels(one_target, metric)
            return _fit_labels(data, source, l2, settings, output, metric, watch)
        if trace is not None:
            _check_recorded(trace, source.n_rows)
        costs = decide.checked_costs(source, settings)
        if certify_predictions:
            _check_classes(settings["loss"], len(source.classes))
        rows = in_memory(source)
        if rows is source and options.cache is None:
            say(
                "The rows take more than 1 GB, and are read and decoded again in each pass: "
                "--cache FOLDER keeps them decoded."
            )
        began = time.perf_counter()
        try:
            model, interrupted = fitted(rows, l2, settings, watch, metric)
        except TooFewRows as error:
            raise ValueError(" ".join([f"{error}.", *lone_labels(source)])) from error
        seconds = time.perf_counter() - began
        if certify_predictions and interrupted is None:
            model.certified(rows, rows)  # keeps the bounds
        decide.apply(model, costs, source.validation)
        separatrix.save(model, output)
        if trace is not None:
            watch.stage("Recording")
            recording = model.trace_.recording(rows)
            write_recording(trace, recording.to_json, recording.to_html)
        watch.stage("Measuring")
        try:
            found = fit_report(data, source, rows, model, report)
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
    metric: str | None,
    watch: Watch,
) -> dict[str, Any]:
    """``fit_and_save`` for several targets."""
    from .labels import label_report

    rows = in_memory(source)
    began = time.perf_counter()
    model, interrupted = fitted(rows, l2, settings, watch, metric)
    seconds = time.perf_counter() - began
    separatrix.save(model, output)
    watch.stage("Measuring")
    found = label_report(data, source, rows, model)
    found["model"] |= {"file": output, "seconds": seconds}
    return found | {"interrupted": interrupted}


def _check_options_of_labels(one_target: dict[str, Any], metric: str | None) -> None:
    """Refuse options that several targets do not have."""
    for name, given in one_target.items():
        if given is not None:
            raise ValueError(
                f"{name} is for one target, whose classes exclude each other: leave it out, or fit "
                "one target at a time"
            )
    check_label_metric(metric)


def _check_recorded(trace: str, rows: int) -> None:
    if rows > RECORDED_ROWS:
        raise ValueError(
            f"--trace {trace}: a fit is recorded for at most {RECORDED_ROWS:,} rows, but "
            f"there are {rows:,} training rows; use fewer, or a larger --test"
        )

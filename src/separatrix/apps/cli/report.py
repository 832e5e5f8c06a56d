"""Reports of a fit and of the performance of a model: as plain data, text and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

import separatrix

from . import suggestions
from .deciding import report_weights
from .figures import (
    FEW_CLASSES,
    data_facts,
    data_lines,
    fit_facts,
    important,
    measure,
    proof_line,
    selection_line,
)
from .output import counted, percent, printable, table
from .progress import NARROW


def fit_report(
    data: list[str], source: Any, rows: Any, model: Any, page: str | None = None
) -> dict[str, Any]:
    """Everything that is reported of a fit; ``page`` is the file of the HTML report."""
    sizes = source.class_weight_sums()
    majority = source.classes.tolist()[int(sizes.argmax())]
    held_out = source.validation
    facts = data_facts(" ".join(data), source, rows)
    name = " ".join(data)
    training = separatrix.Report(model, rows, title=f"{name}: training rows")
    judged, weights = None, None
    if held_out is not None:
        weights = report_weights(model, held_out)
        judged = separatrix.Report(
            model, held_out, sample_weight=weights, title=f"{name}: held-out rows"
        )
    if page is not None:
        (judged or training).save(page)
    chosen_on = 0 if weights is None else held_out.n_rows - np.count_nonzero(weights)
    return {
        "data": facts,
        "split": {
            "training_rows": source.n_rows,
            "held_out_rows": 0 if held_out is None else held_out.n_rows,
            "threshold_rows": int(chosen_on),
        },
        "model": fit_facts(model),
        "decision": training.decision,
        "held_out": None if judged is None else measure(judged, majority),
        "training": measure(training, majority),
        "coefficients": important(model, rows),
        "findings": _findings(model, source, rows),
    }


def _findings(model: Any, source: Any, rows: Any) -> list[dict[str, Any]]:
    """Findings of ``diagnose``, which takes no models with an offset."""
    found = []
    reduced = getattr(model, "bias_reduction", None) is not None  # diagnose refuses such fits
    if rows is not source and not reduced and not model.uses_offset_:
        for finding in separatrix.diagnose(model, rows).findings:
            options = suggestions.options(finding.changes)
            advice = "" if options is None else f" Fit again with {options}."
            sentence = suggestions.as_options(finding.sentence) + advice
            found.append({"cause": finding.cause, "sentence": sentence, "options": options})
    return found


def show_fit(found: dict[str, Any], out: Console) -> None:
    """Print the report of a fit."""
    if "labels" in found["data"]:
        from .labels import show_label_fit

        show_label_fit(found, out)
        return
    for line in data_lines(found["data"]):
        out.print(printable(line))
    split, model = found["split"], found["model"]
    out.print(
        f"{counted(split['training_rows'], 'row')} for training, {split['held_out_rows']:,} held "
        "out for measuring.\n"
    )
    if split["threshold_rows"]:
        n = counted(split["threshold_rows"], "held-out row")
        out.print(f"The threshold was chosen on {n}, which are not measured.")
    how = " (found by cross-validation)" if model["l2_found"] else ""
    l1 = f"l1 = {model['l1']:.3g}, " if model["l1"] else ""
    out.print(
        f"Loss {model['loss']}, {l1}l2 = {model['l2']:.3g}{how}, {model['solver']}, "
        f"{counted(model['passes'], 'pass')} in {model['seconds']:.2g} s."
    )
    out.print(proof_line(model))
    if model["selection"] is not None:
        out.print(selection_line(model))
    if found["training"]["decision"] is not None:
        out.print(printable(found["decision"]))
    show_measures(out, {"held out": found["held_out"], "training": found["training"]})
    show_coefficients(out, found["coefficients"])
    for finding in found["findings"]:
        out.print(printable(f"Warning: {finding['sentence']}"), style="yellow")
    out.print(f"The model is in {printable(model['file'])}.", soft_wrap=True)


def show_measures(out: Console, measures: dict[str, dict[str, Any] | None]) -> None:
    """Print figures side by side, and the confusion matrix of the first."""
    known = {name: found for name, found in measures.items() if found is not None}
    figures: list[tuple[str, Any]] = [
        ("rows", lambda m: f"{m['rows']:,}"),
        ("accuracy", lambda m: percent(m["accuracy"])),
        ("majority class", lambda m: percent(m["majority_accuracy"])),
        ("balanced accuracy", lambda m: percent(m["balanced_accuracy"])),
        ("AUC", lambda m: m["auc"]),
        ("average precision", lambda m: m["average_precision"]),
        ("log loss", lambda m: m["log_loss"]),
        ("Brier score", lambda m: m["brier"]),
        ("calibration error", lambda m: m["calibration_error"]),
        ("cost per row", lambda m: m["mean_cost"]),
        ("mistakes", lambda m: f"{m['mistakes']:,g}"),
    ]
    lines = [[name, *(of(found) for found in known.values())] for name, of in figures]
    lines = [line for line in lines if any(value not in (None, "") for value in line[1:])]
    out.print(table("Performance", ["", *known], lines))
    first = next(iter(known.values()))
    show_classes(out, next(iter(known)), first)
    if first["confusion"] is not None:
        labels = [str(label) for label in first["confusion"]["labels"]]
        counts = [[f"{n:,g}" for n in row] for row in first["confusion"]["counts"]]
        rows = [[label, *row] for label, row in zip(labels, counts, strict=True)]
        title = f"Rows {next(iter(known))}: true class down, predicted across"
        out.print(table(title, ["", *labels], rows))
    for text in first["undefined"]:
        out.print(printable(f"Undefined: {text}."))
    for column, count in first["unknown_categories"].items():
        out.print(
            printable(f"{count:,} values of {column!r} were not in the training rows."),
            style="yellow",
        )


def show_classes(out: Console, name: str, found: dict[str, Any]) -> None:
    """Print precision, recall and F1 of each class, and their means."""
    lines = [[str(one["label"]), *_three(one)] for one in found["classes"][:FEW_CLASSES]]
    if len(found["classes"]) > FEW_CLASSES:
        lines = []  # only their means
    lines.append(["mean", *_three(found["macro"])])
    out.print(table(f"By class, {name}", ["", "precision", "recall", "F1"], lines))


def _three(found: dict[str, Any]) -> list[str]:
    return [percent(found[name]) for name in ("precision", "recall", "f1")]


def show_coefficients(out: Console, found: list[dict[str, Any]]) -> None:
    """Print the most important coefficients."""
    if not found:
        return
    scaled = found[0]["in_deviations"]
    columns: dict[str, Callable[[dict[str, Any]], Any]] = {
        "feature": lambda e: e["feature"], "coefficient": lambda e: e["coefficient"],
        "times deviation" if scaled else "size": lambda e: e["effect"],
        "speaks for": lambda e: str(e["class"]),
    }  # fmt: skip
    if out.width < NARROW:
        del columns["coefficient"]
    lines = ([of(each) for of in columns.values()] for each in found)
    out.print(table("Most important features", list(columns), lines))

"""Rows with several labels each, ``--target a,b,c``: a model of all of them, and its figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ...data.files.readers.formats import open_reader
from .figures import fit_facts, important, proof_line, selection_line
from .output import counted, percent, printable, table

Bits = NDArray[np.bool_]
MOST_LISTED = 30  # labels in a table


def columns_of(target: str | None, paths: list[str], format: str | None) -> Any:
    """The targets, as a list if there are several: ``a,b`` unless a column has this name."""
    if target is None or "," not in target:
        return target
    names = getattr(open_reader(paths, format=format), "names", None)
    return target if names is None or target in names else target.split(",")


def label_report(data: list[str], source: Any, rows: Any, model: Any) -> dict[str, Any]:
    """Everything that is reported of a fit."""
    held_out, encoding = source.validation, getattr(rows.reading, "encoding", None)
    n = 0 if held_out is None else held_out.n_rows
    return {
        "data": {
            "file": " ".join(data), "rows": source.n_rows + n, "features": source.n_features,
            "columns": None if encoding is None else len(encoding.columns),
            "labels": source.labels.names.tolist(),
        },
        "split": {"training_rows": source.n_rows, "held_out_rows": n},
        "model": fit_facts(model),
        "held_out": None if held_out is None else measured(model, held_out),
        "training": measured(model, rows),
        "coefficients": important(model, rows),
        "findings": [],
    }  # fmt: skip


def indicator_and_weights(source: Any) -> tuple[Bits, NDArray[np.float64]]:
    """Which labels every row has, (n, q), and the weights of the rows."""
    has, weights, labels = [], [], source.labels
    for block in source.blocks():
        found = np.tile(labels.constant > 0, (len(block.y), 1))
        found[:, labels.varying] = block.y.reshape(len(block.y), -1) > 0
        has.append(found)
        weights.append(block.weights)
    return np.concatenate(has), np.concatenate(weights)


def measured(model: Any, source: Any) -> dict[str, Any]:
    """Figures of a model of several labels: of each label, and their averages."""
    if source.labels.names.tolist() != model.classes_.tolist():
        raise ValueError(
            f"the targets are {source.labels.names.tolist()!r}, and the model predicts "
            f"{model.classes_.tolist()!r}: expected the same, in this order"
        )
    has, weights = indicator_and_weights(source)
    predicted = model.predict(source).astype(np.bool_)
    both, rows, said = (weights @ each for each in (has & predicted, has, predicted))
    precision, recall, f1 = _ratio(both, said), _ratio(both, rows), _ratio(2 * both, rows + said)
    names = ("precision", "recall", "f1")
    labels = [
        {"label": label, "rows": size, "predicted": many, **dict(zip(names, each, strict=True))}
        for label, size, many, *each in zip(
            model.classes_.tolist(), rows.tolist(), said.tolist(), precision.tolist(),
            recall.tolist(), f1.tolist(), strict=True,
        )
    ]  # fmt: skip
    sums = np.array([[both.sum()], [rows.sum()], [said.sum()]])
    micro = _ratio(sums[0], sums[2]), _ratio(sums[0], sums[1])
    total = float(weights.sum())
    return {
        "rows": int(np.count_nonzero(weights)),
        "subset_accuracy": float(weights[np.all(has == predicted, axis=1)].sum()) / total,
        "label_accuracy": float(weights @ np.mean(has == predicted, axis=1)) / total,
        "log_loss": _log_loss(model, source, has, weights),
        "macro": dict(zip(names, (float(each.mean()) for each in (precision, recall, f1)),
                          strict=True)),
        "micro": dict(zip(names, (float(each[0]) for each in (
            *micro, _ratio(2 * sums[0], sums[1] + sums[2]))), strict=True)),
        "labels": labels,
        "unknown_categories": dict(getattr(model, "unknown_categories_", {})),
    }  # fmt: skip


def _ratio(part: Any, whole: Any) -> NDArray[np.float64]:
    """The quotient, 0 where nothing is to be divided, as in scikit-learn."""
    found: NDArray[np.float64] = np.divide(
        part, whole, out=np.zeros(np.shape(part)), where=whole > 0.0
    )
    return found


def _log_loss(model: Any, source: Any, has: Bits, weights: NDArray[np.float64]) -> float | None:
    """Mean log loss of a label, if the model gives probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    found = model.predict_proba(source)
    own = np.maximum(np.where(has, found, 1.0 - found), np.finfo(np.float64).tiny)
    return float(-(weights @ np.log(own).mean(axis=1)) / weights.sum())


def columns_to_add(model: Any, paths: list[str], proba: bool) -> dict[str, Any]:
    """The columns that ``predict`` adds: one of 0 and 1 for each label, and probabilities."""
    found = {
        f"prediction_{label}": column
        for label, column in zip(model.classes_, model.predict(paths).T, strict=True)
    }
    if proba:
        each = model.predict_proba(paths).T
        found |= {f"probability_{c}": p for c, p in zip(model.classes_, each, strict=True)}
    return found


def predicted_counts(model: Any, found: dict[str, Any]) -> dict[str, Any]:
    """For ``--json``: the number of rows for which each label is predicted."""
    each = [
        {"label": label, "rows": int(found[f"prediction_{label}"].sum())}
        for label in model.classes_.tolist()
    ]
    return {"rows": len(next(iter(found.values()))), "predicted": each}


def show_label_fit(found: dict[str, Any], out: Console) -> None:
    """Print the report of a fit."""
    data, split, model = found["data"], found["split"], found["model"]
    width = data["columns"] if data["columns"] is not None else data["features"]
    what = "column" if data["columns"] is not None else "feature"
    out.print(printable(
        f"Read {data['file']}: {counted(data['rows'], 'row')}, {counted(width, what)}, "
        f"{counted(len(data['labels']), 'label')}."
    ))  # fmt: skip
    out.print(
        f"{counted(split['training_rows'], 'row')} for training, {split['held_out_rows']:,} held "
        "out for measuring.\n"
    )
    l1 = f"l1 = {model['l1']:.3g}, " if model["l1"] else ""
    how = " (found by cross-validation)" if model["l2_found"] else ""
    out.print(
        f"Loss {model['loss']} of each label, {l1}l2 = {model['l2']:.3g}{how}, {model['solver']}, "
        f"{counted(model['passes'], 'pass')} in {model['seconds']:.2g} s."
    )
    out.print(proof_line(model))
    if model["selection"] is not None:
        out.print(selection_line(model))
    known = {"held out": found["held_out"], "training": found["training"]}
    show_label_figures(out, {name: each for name, each in known.items() if each is not None})
    out.print(f"The model is in {printable(model['file'])}.", soft_wrap=True)


def show_label_figures(out: Console, measures: dict[str, dict[str, Any]]) -> None:
    """Print figures of all labels side by side, and of each label for the first of them."""
    figures: list[tuple[str, Any]] = [
        ("rows", lambda m: f"{m['rows']:,}"),
        ("all labels right", lambda m: percent(m["subset_accuracy"])),
        ("labels right", lambda m: percent(m["label_accuracy"])),
        ("log loss of a label", lambda m: m["log_loss"]),
        ("F1, macro average", lambda m: m["macro"]["f1"]),
        ("F1, micro average", lambda m: m["micro"]["f1"]),
    ]
    lines = [[name, *(of(found) for found in measures.values())] for name, of in figures]
    lines = [line for line in lines if line[1] is not None]
    out.print(table("Performance", ["", *measures], lines))
    title, first = next(iter(measures.items()))
    columns = ("rows", "predicted", "precision", "recall", "f1")
    rows = [
        [str(each["label"]), *(f"{each[name]:,g}" for name in columns[:2]),
         *(each[name] for name in columns[2:])]
        for each in first["labels"][:MOST_LISTED]
    ]  # fmt: skip
    rows += [
        [f"{name} average", "", "", *(first[name][of] for of in columns[2:])]
        for name in ("macro", "micro")
    ]
    out.print(table(f"Labels, {title}", ["label", *columns[:4], "F1"], rows))
    if (more := len(first["labels"]) - MOST_LISTED) > 0:
        out.print(f"and {counted(more, 'more label')}, which --json lists.")
    for column, count in first["unknown_categories"].items():
        out.print(
            printable(f"{count:,} values of {column!r} were not in the training rows."),
            style="yellow",
        )

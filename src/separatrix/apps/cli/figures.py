"""Figures about models and data: what was read, how well a model does, its strongest features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .output import counted, percent

Array = NDArray[np.float64]

MOST_SHOWN = 8  # maximum number of coefficients shown
FEW_CLASSES = 8  # maximum number of classes that are listed


def class_counts(source: Any) -> list[dict[str, Any]]:
    """The weight of the rows of every class: their number, unless they have weights."""
    sums = source.class_weight_sums().tolist()
    return [
        {"label": label, "rows": int(size) if float(size).is_integer() else size}
        for label, size in zip(source.classes.tolist(), sums, strict=True)
    ]


def data_facts(name: str, source: Any, rows: Any) -> dict[str, Any]:
    """What was read; facts about columns are taken from the training rows only."""
    encoding = getattr(rows.reading, "encoding", None)
    found: dict[str, Any] = {
        "file": name, "rows": source.n_rows, "features": source.n_features, "columns": None,
        "classes": class_counts(source), "missing": None, "categories": {},
    }  # fmt: skip
    if source.validation is not None:
        found["rows"] += source.validation.n_rows
        found["classes"] = _added(found["classes"], class_counts(source.validation))
    if encoding is None:
        return found
    found["columns"] = len(encoding.columns)
    found["categories"] = {
        column.name: len(column.categories) + len(column.infrequent)
        for column in encoding.columns
        if column.kind == "onehot"
    }
    sums = feature_sums(rows)
    if sums is not None:
        found["missing"] = _missing(encoding, sums[0])
    return found


def _missing(encoding: Any, sums: Array) -> dict[str, int]:
    """Missing values of the columns with an indicator feature: the sum of that feature."""
    found, first = {}, 0
    for column in encoding.columns:
        if column.kind == "number" and column.indicator:
            found[column.name] = round(float(sums[first + 1]))
        elif column.kind == "onehot" and (None,) in column.groups:
            found[column.name] = round(float(sums[first + column.groups.index((None,))]))
        first += column.n_features
    return found


def _added(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [a | {"rows": a["rows"] + b["rows"]} for a, b in zip(one, other, strict=True)]


def data_lines(facts: dict[str, Any]) -> list[str]:
    """The same as sentences."""
    width = facts["columns"] if facts["columns"] is not None else facts["features"]
    what = "column" if facts["columns"] is not None else "feature"
    lines = [f"Read {facts['file']}: {counted(facts['rows'], 'row')}, {counted(width, what)}."]
    classes = facts["classes"]
    few = ", ".join(f"{each['label']} ({each['rows']:,})" for each in classes[:FEW_CLASSES])
    more = f" and {len(classes) - FEW_CLASSES} more" if len(classes) > FEW_CLASSES else ""
    lines.append(f"{len(classes)} classes: {few}{more}.")
    if facts["missing"]:
        each = ", ".join(f"{name} ({count:,})" for name, count in facts["missing"].items())
        lines.append(f"Values missing in training rows: {each}.")
    if facts["categories"]:
        each = ", ".join(f"{name} ({count:,})" for name, count in facts["categories"].items())
        lines.append(f"Categorical columns: {each}.")
    return lines


def feature_sums(rows: Any) -> tuple[Array, Array] | None:
    """Sums and sums of squares of the features of rows in memory, each row counted once."""
    if not hasattr(rows, "block"):
        return None
    X = rows.without_offset.block().X
    if isinstance(X, np.ndarray):
        return X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
    d = rows.n_features
    sums = (np.bincount(X.indices, values, d).astype(np.float64) for values in (X.data, X.data**2))
    return next(sums), next(sums)


def deviations(model: Any, rows: Any = None) -> Array | None:
    """Standard deviations of the features: those of a standardising model, else of the rows."""
    if getattr(model, "scale_", None) is not None:
        scale: Array = model.scale_
        return scale
    sums = None if rows is None else feature_sums(rows)
    if sums is None:
        return None
    n = len(rows.y)
    return np.sqrt(np.maximum(sums[1] / n - (sums[0] / n) ** 2, 0.0))


def important(model: Any, rows: Any = None) -> list[dict[str, Any]]:
    """The most important coefficients, by |coefficient| times the deviation of the feature."""
    if not hasattr(model, "coef_"):
        return []
    scale = deviations(model, rows)
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    effects = np.abs(coef) * (1.0 if scale is None else scale)
    two, names = len(model.classes_) == 2, model.coef_names_
    found = []
    for at in np.argsort(-effects, axis=None, kind="stable")[:MOST_SHOWN]:
        k, j = divmod(int(at), coef.shape[1])
        value = float(coef[k, j])
        towards = model.classes_[int(value > 0)] if two else model.classes_[k]
        found.append(
            {
                "feature": str(names[j]), "class": towards.item()
                if hasattr(towards, "item") else towards, "coefficient": value,
                "effect": float(effects[k, j]), "in_deviations": scale is not None,
            }
        )  # fmt: skip
    return [each for each in found if each["effect"]]


def labels_and_weights(source: Any) -> tuple[NDArray[Any], Array]:
    """The labels and the weights of all rows."""
    labels, weights = [], []
    for block in source.blocks():
        two = len(source.classes) == 2
        number = block.y > 0 if two else block.y
        labels.append(source.classes[number.astype(np.int64)])
        weights.append(block.weights)
    return np.concatenate(labels), np.concatenate(weights)


def measure(report: Any, majority: Any = None) -> dict[str, Any]:
    """The figures of a ``separatrix.Report``; ``majority`` is the most frequent label."""
    found: dict[str, Any] = report.figures
    sizes = {one["label"]: one["weight"] for one in found["classes"]}
    majority = max(sizes, key=lambda label: sizes[label]) if majority is None else majority
    return found | {
        "majority_accuracy": sizes.get(majority, 0.0) / sum(sizes.values()),
        "majority": majority,
        "unknown_categories": dict(getattr(report.model, "unknown_categories_", {})),
    }


PROOFS = {
    "closed form": "It is the solution of linear equations, not proven further.",
    "stationary": "The gradient of the penalised likelihood is 0, up to tol standard errors.",
    "tol": "Progress has ended; the distance from the minimum is not proven.",
    "no progress": "Rounding, or the solver, allows no smaller gap.",
    "no mistakes": "Every training row is classified correctly, so they can be separated.",
    "cycle": "The run is back at earlier weights and would go on forever: no plane was found.",
    "no minimum": "There is no minimum: without a penalty the objective decreases forever, as the "
    "classes can be separated. Give --l2 a number above 0.",
    "diverged": "It diverged: the objective ended above its start.",
    "max_iter": "It reached --max-iter before it had converged.",
    "certified": "The labels of the given rows are proven to be those of the minimum.",
    "seconds": "Its time was over before it had converged.",
    "validation": "The loss of held-out rows had not fallen for a while; these are the weights "
    "where it was least.",
    "interrupted": "It was interrupted: this is the model of the last complete pass.",
}


def fit_facts(model: Any) -> dict[str, Any]:
    """How a fit ended, and what is proven of it."""
    gap = getattr(model, "gap_", None)
    objective = getattr(model, "objective_", None)
    loss, solver = getattr(model, "loss", None), getattr(model, "solver_", None)
    strengths = model.get_params(deep=False).get("penalty") or model
    return {
        "kind": type(model).__name__,
        "loss": loss if loss is None or isinstance(loss, str) else loss.name,
        "l1": getattr(model, "l1_", getattr(strengths, "l1", None)),
        "l2": getattr(model, "l2_", getattr(strengths, "l2", None)),
        "l2_found": hasattr(model, "l2_"),
        "solver": None if solver is None else type(solver).__name__,
        "stop": getattr(model, "stop_", None),
        "converged": getattr(model, "converged_", None),
        "objective": objective,
        "gap": gap,
        "passes": getattr(model, "n_iter_", None),
        "classes": model.classes_.tolist(),
        "features": int(model.coef_.shape[1]) if hasattr(model, "coef_") else model.n_features_in_,
        "selection": _selection(model),
    }


def _selection(model: Any) -> dict[str, int] | None:
    """Counts for a model with l1: features with a weight, proven to have none, and others."""
    strengths = model.get_params(deep=False).get("penalty") or model
    if not getattr(model, "l1_", getattr(strengths, "l1", None)):
        return None
    selected, zero = model.selected_.any(axis=0), model.zero_.all(axis=0)
    counts = {"selected": selected, "zero": zero, "undecided": ~selected & ~zero}
    return {name: int(np.count_nonzero(those)) for name, those in counts.items()}


def selection_line(facts: dict[str, Any]) -> str:
    """How many features a model uses, and what is proven about the others."""
    found, features = facts["selection"], counted(facts["features"], "feature")
    line = f"Selected: {found['selected']:,} of {features}."
    if found["zero"]:
        proven = "is" if found["zero"] == 1 else "are"
        line += f" {found['zero']:,} {proven} proven to have weight 0 in every minimum."
    if found["undecided"]:
        weigh = "weighs" if found["undecided"] == 1 else "weigh"
        line += f" {found['undecided']:,} {weigh} 0 here, which is not proven."
    return line


def proof_line(facts: dict[str, Any]) -> str:
    """Whether a fit is optimal, and by what proof."""
    stop, gap, objective = facts["stop"], facts["gap"], facts["objective"]
    if gap is None or not objective:
        return f"Stopped: {stop}. {PROOFS.get(stop, '')}".strip()
    bound = f"at most {percent_of(gap / objective)} above its minimum, by a lower bound (duality)"
    if stop == "optimal":
        return f"Optimal: the objective, {objective:.6g}, is {bound}."
    return f"Stopped: {stop}. {PROOFS.get(stop, '')} The objective, {objective:.6g}, is {bound}."


def percent_of(share: float) -> str:
    """Format a share of any size with two digits."""
    return percent(share) if share >= 0.01 else f"{100.0 * share:.1e} %"

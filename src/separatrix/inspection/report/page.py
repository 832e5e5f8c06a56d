"""A report as one HTML file: no scripts, nothing is loaded from elsewhere, all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ...numeric.dense import dense
from ..displays.classifiers import last_step
from ..displays.coefficient import feature_names
from . import plots
from .scored import ScoredRows
from .words import clean, decision_sentence, proof_sentence, shown

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem;
  border-bottom: 1px solid #767676; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
caption { text-align: left; color: #444; padding-bottom: .3rem; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
thead th { border-bottom: 1px solid #767676; } tbody th { font-weight: normal; }
figure { margin: 1rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { color: #444; }
"""
MEASURES = (
    ("rows", "Rows"), ("accuracy", "Accuracy"), ("balanced_accuracy", "Balanced accuracy"),
    ("auc", "AUC"), ("average_precision", "Average precision"), ("log_loss", "Log loss"),
    ("brier", "Brier score"), ("calibration_error", "Calibration error"),
    ("mean_cost", "Cost per row"),
)  # fmt: skip


def page(model: Any, rows: ScoredRows, found: dict[str, Any], title: str) -> str:
    """The whole document."""
    sections = [
        _section("Model", _table("What was fitted", ["", ""], _model_facts(model))),
        _section("Decision", _paragraph(decision_sentence(model)), _costs(model)),
        _section("Performance", *_performance(found)),
        _section("Ranking", _figure(plots.roc(rows, found), "ROC curve"),
                 _figure(plots.precision_recall(rows, found), "Precision and recall")),
        _section("Calibration", *_calibration(rows, found)),
        _section("Coefficients", *_coefficients(model)),
        _section("Search for the penalty", *_path(model)),
        _section("Proof of optimality", *_proof(model)),
    ]  # fmt: skip
    name = escape(clean(title))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def _section(title: str, *parts: str) -> str:
    """A heading with its contents; nothing if there are none."""
    inside = "".join(parts)
    return f"<section>\n<h2>{escape(title)}</h2>\n{inside}</section>\n" if inside else ""


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"


def _figure(found: plots.Picture | None, caption: str) -> str:
    if found is None:
        return ""
    return (
        f'<figure>\n<img src="{found.source}" alt="{escape(found.alt)}">\n'
        f"<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    )


def _table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table whose first column has the headings of the rows."""
    top = "".join(f'<th scope="col">{escape(clean(each))}</th>' for each in head)
    thead = f"<thead><tr>{top}</tr></thead>\n" if any(head) else ""
    body = ""
    for name, *values in rows:
        cells = "".join(f"<td>{escape(shown(value))}</td>" for value in values)
        body += f'<tr><th scope="row">{escape(clean(name))}</th>{cells}</tr>\n'
    return (
        f"<table>\n<caption>{escape(caption)}</caption>\n{thead}<tbody>\n{body}</tbody>\n</table>\n"
    )


def _model_facts(model: Any) -> list[tuple[str, Any]]:
    last = last_step(model)
    parameters = last.get_params(deep=False)
    loss = parameters.get("loss")
    facts = [
        ("Classifier", type(last).__name__),
        ("Loss", loss if loss is None or isinstance(loss, str) else getattr(loss, "name", loss)),
        ("l1", getattr(last, "l1_", parameters.get("l1")) or None),
        ("l2", getattr(last, "l2_", parameters.get("l2"))),
        ("Features", last.coef_.shape[1] if hasattr(last, "coef_") else None),
        ("Classes", ", ".join(clean(label) for label in last.classes_.tolist())),
    ]
    return [(name, value) for name, value in facts if value is not None]


def _costs(model: Any) -> str:
    """A table of costs, unless the sentence names them."""
    last = last_step(model)
    decision = getattr(last, "decision_", None)
    if decision is None or decision.costs is None or decision.tuned_on:
        return ""
    labels = last.classes_.tolist()
    head = ["True class", *(f"predicted {clean(label)}" for label in labels)]
    costs = zip(labels, decision.costs.tolist(), strict=True)
    return _table("Costs", head, [(label, *row) for label, row in costs])


def _performance(found: dict[str, Any]) -> Iterable[str]:
    yield _table("Measures", ["", ""], [(name, found[key]) for key, name in MEASURES
                                        if found[key] is not None])  # fmt: skip
    names = ("precision", "recall", "f1", "auc", "average_precision")
    lines = [
        (one["label"], one["weight"], *(one[name] for name in names)) for one in found["classes"]
    ]
    macro = found["macro"]
    lines.append(("mean of the classes", None, *(macro.get(name) for name in names)))
    head = ["Class", "Weight", "Precision", "Recall", "F1", "AUC", "Average precision"]
    yield _table("By class", head, lines)
    if found["confusion"] is not None:
        labels = found["confusion"]["labels"]
        counts = zip(labels, found["confusion"]["counts"], strict=True)
        head = ["True class", *(f"predicted {clean(label)}" for label in labels)]
        yield _table("Confusion matrix", head, [(label, *row) for label, row in counts])
    if found["undefined"]:
        each = "".join(f"<li>{escape(clean(text))}</li>\n" for text in found["undefined"])
        yield f"<p>Undefined on these rows:</p>\n<ul>\n{each}</ul>\n"


def _calibration(rows: ScoredRows, found: dict[str, Any]) -> Iterable[str]:
    drawn = plots.calibration(rows, found)
    if drawn is None:
        return
    yield _figure(drawn, "Groups of equal weight, by probability")
    if len(found["calibration"]) == 1:
        one = found["calibration"][0]
        lines = [(shown(each["probability"]), each["share"], each["weight"])
                 for each in one["bins"]]  # fmt: skip
        head = ["Mean probability", "Share of the class", "Weight"]
        yield _table(f"Calibration of {clean(one['label'])}", head, lines)


def _coefficients(model: Any) -> Iterable[str]:
    last = last_step(model)
    if getattr(last, "coef_", None) is None:
        return
    yield _figure(plots.coefficients(model), "The largest weights")
    coefs = np.atleast_2d(dense(last.coef_))
    names = feature_names(model, coefs.shape[1])
    scale = getattr(last, "scale_", None)
    effects = np.abs(coefs) * (1.0 if scale is None else scale)
    two, lines = len(last.classes_) == 2, []
    for at in np.argsort(-effects, axis=None, kind="stable")[: plots.TOP].tolist():
        k, j = divmod(at, coefs.shape[1])
        label = last.classes_[int(coefs[k, j] > 0.0)] if two else last.classes_[k]
        lines.append((names[j], clean(label), float(coefs[k, j]), float(effects[k, j])))
    size = "Size" if scale is None else "Times deviation"
    head = ["Feature", "Raises" if two else "Class", "Coefficient", size]
    yield _table("The most important features", head, [line for line in lines if line[3]])


def _path(model: Any) -> Iterable[str]:
    last = last_step(model)
    results = getattr(last, "cv_results_", None)
    if not isinstance(results, dict) or "standard_error" not in results:
        return
    yield _figure(plots.path(model), "Dashed: the best score. Dotted: within one standard error")
    along = [name for name in ("l1_ratio", "strength", "l2") if name in results]
    columns = [results[name] for name in (*along, "mean_test_score", "standard_error")]
    lines = [(shown(first), *rest) for first, *rest in zip(*columns, strict=True)]
    chosen = f"l2 = {last.l2_:.4g} was chosen"
    yield _table(f"Mean scores of held-out rows; {chosen}",
                 [*along, "Mean score", "Standard error"], lines)  # fmt: skip


def _proof(model: Any) -> Iterable[str]:
    last = last_step(model)
    yield _paragraph(proof_sentence(last))
    gap, objective = getattr(last, "gap_", None), getattr(last, "objective_", None)
    if gap is None or objective is None:
        return
    facts = [
        ("Objective", f"{objective:.10g}"), ("Proven lower bound", f"{objective - gap:.10g}"),
        ("Gap", gap), ("Relative gap", gap / objective if objective else None),
        ("Stopped", last.stop_), ("Passes", int(last.n_iter_)),
        ("Solver", type(last.solver_).__name__),
    ]  # fmt: skip
    yield _table("The end of the fit", ["", ""], facts)
    yield _figure(plots.proof(last), "The objective by pass, and its proven lower bound")

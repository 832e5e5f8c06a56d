"""``--metric``: the measure of held-out rows by which the penalty is chosen."""

from __future__ import annotations

from typing import Any

import separatrix

from .paths import choice

METRICS = {
    "loss": "loss",
    "accuracy": None,
    "auc": "roc_auc_ovr",
    "average_precision": "average_precision",
    "balanced_accuracy": "balanced_accuracy",
    "f1": "f1_macro",
    "brier": "neg_brier_score",
}
"""The name of each measure in scikit-learn, which model files contain instead of the scorer."""
NEED_PROBABILITIES = ("brier",)
OF_LABELS = ("loss", "accuracy", "f1")
"""Those for several targets: accuracy is the share of the rows whose labels are all right."""


def check_metric(metric: str | None, searched: bool, loss: str) -> None:
    """Check ``--metric`` before anything is read."""
    if metric is None:
        return
    choice("--metric", metric, list(METRICS))
    if not searched:
        raise ValueError(
            f"--metric {metric}: it chooses the penalty, but the penalty is given: leave out "
            "--metric, or let the penalty be searched (--l2 auto)"
        )
    if metric == "loss" and _is_least_at_zero(loss):
        raise ValueError(
            f"--metric loss: the {loss} loss is least at zero weights: use --metric accuracy"
        )


def check_label_metric(metric: str | None) -> None:
    """Check ``--metric`` for several targets."""
    if metric is not None and metric not in OF_LABELS:
        raise ValueError(
            f"--metric {metric} is for one target: with several, use {', '.join(OF_LABELS)}, or "
            "leave it out"
        )


def _is_least_at_zero(loss: str) -> bool:
    """Whether the loss would choose zero weights, as the perceptron loss does."""
    return bool(separatrix.get_loss(loss).for_classes(2).homogeneous)


def scoring_of(metric: str | None, loss: str, classes: Any, model: Any) -> Any:
    """What ``LinearClassifierCV`` takes as ``scoring``.

    With more than two classes: the mean over the classes, each against the others.
    """
    if metric is None:
        return None if _is_least_at_zero(loss) else "loss"
    if metric in ("loss", "accuracy"):
        return "loss" if metric == "loss" else None
    has_probabilities = hasattr(model, "predict_proba")
    two = len(classes) == 2
    if not has_probabilities and (metric in NEED_PROBABILITIES or (metric == "auc" and not two)):
        raise ValueError(
            f"--metric {metric} needs probabilities, which --loss {loss} does not define: use "
            "--loss logistic, or --metric loss"
        )
    from sklearn import metrics

    score = ["decision_function", "predict_proba"]
    if metric == "auc":
        several: dict[str, Any] = {"multi_class": "ovr", "labels": classes}
        given: dict[str, Any] = {"response_method": score if two else "predict_proba"}
        return metrics.make_scorer(metrics.roc_auc_score, **given, **({} if two else several))
    if metric == "average_precision":
        # For several classes probabilities, because scores of classes cannot be compared.
        method = score if two or not has_probabilities else "predict_proba"
        larger = {"pos_label": classes[1]} if two else {}
        return metrics.make_scorer(
            metrics.average_precision_score, response_method=method, **larger
        )
    if metric == "brier":
        larger = {"pos_label": classes[1]} if two else {"labels": classes}
        return metrics.make_scorer(
            metrics.brier_score_loss, greater_is_better=False, response_method="predict_proba",
            **larger,
        )  # fmt: skip
    if metric == "f1":
        return metrics.make_scorer(
            metrics.f1_score, average="macro", pos_label=None, zero_division=0.0
        )
    return metrics.make_scorer(metrics.balanced_accuracy_score)

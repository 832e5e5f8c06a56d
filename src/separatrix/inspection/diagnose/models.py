"""Problems with a model that is exactly what was asked for."""

from __future__ import annotations

import numpy as np

from ...estimators import LinearClassifier
from ...estimators.cv.l2_path import outweighing_l2
from ...numeric.dense import dense
from .. import remedy_lines
from . import left_out
from .comparison import WORTH, Gain
from .fitted import FittedModel
from .report import Finding

DOMINANT = 0.8  # share of the rows
NO_BETTER = 0.25  # share of the other rows that may be correct next to the dominant class
SAVED = 0.05  # share of the leave-one-out loss that is worth reporting
PER_DECADE = 2  # penalties that are tried
WIDEST = 1e20  # range of penalties; a wider one means that the features need scaling first
SMALLER = np.array([1e-1, 1e-2, 1e-4])  # factors of the penalty that are tried


def dominant_class(model: FittedModel) -> Finding | None:
    """Nearly all rows belong to one class, and the model predicts it for nearly all."""
    largest = float(model.shares.max())
    worst = float(np.nanmin(model.recalls))
    close = model.accuracy <= largest + NO_BETTER * (1.0 - largest)
    if largest < DOMINANT or worst >= 0.5 or not close:
        return None
    if model.clf.class_weight is not None or getattr(model.clf, "decision_", None) is not None:
        return None  # weights, or a threshold or costs, already decide how rare classes count
    label = model.clf.classes_[model.shares.argmax()]
    rarest = model.clf.classes_[np.nanargmin(model.recalls)]
    balanced = float(np.nanmean(model.recalls))
    text = (
        f"One class dominates: {largest:.1%} of the rows are {str(label)!r}, so always "
        f"predicting it is as accurate, and the accuracy of {model.accuracy:.1%} says little; of "
        f"{str(rarest)!r} only {worst:.1%} are found, and the mean over the classes is "
        f"{balanced:.1%}."
    )
    evidence = {
        "largest_share": largest, "accuracy": model.accuracy, "balanced_accuracy": balanced,
        "recalls": dict(zip(map(str, model.clf.classes_), model.recalls.tolist(), strict=True)),
    }  # fmt: skip
    chance = 1.0 / len(model.clf.classes_)
    harm = float(np.clip((1.0 - balanced) / (1.0 - chance), 0.0, 0.9))
    remedy = model.setting(class_weight="balanced")
    if len(model.shares) == 2 and model.loss.log_likelihood:  # keeps the probabilities right
        remedy = remedy_lines.deciding(model.estimator, float(f"{model.shares[1]:.2g}"))
    return Finding("one dominant class", text, evidence, remedy, harm)


def _can_judge(model: FittedModel) -> bool:
    """Whether the penalty was given, and held-out rows can assess it."""
    return isinstance(model.clf, LinearClassifier) and model.held_out.possible


def penalty_too_large(model: FittedModel) -> Finding | None:
    """The weights are shrunk so much that the model hardly uses the data."""
    if model.l2 == 0.0 or not _can_judge(model) or not model.held_out.worth(model.clf.objective_):
        return None
    tried = model.l2 * SMALLER
    own, *others = model.held_out.losses(np.append(model.l2, tried))
    best = int(np.argmin([other.mean() for other in others]))
    gain = model.held_out.gain(own, others[best])
    if not gain.clear:
        return None
    return _finding(model, "large", gain, float(tried[best]), model.l2)


def penalty_too_small(model: FittedModel) -> Finding | None:
    """The weights overfit the rows.

    The best penalty on the mean loss decreases like 1/n: on a sample the given one is increased in
    that proportion, and the one found is decreased again.
    """
    if not _can_judge(model):
        return None
    if left_out.is_cheap(model.objective):
        return _too_small_by_leaving_out(model)
    share = len(model.sample) / model.n
    l2 = model.l2 / share
    grid = model.held_out.grid(model.moments.deviation)
    tried = grid[grid > 2.0 * l2]
    (own,) = model.held_out.losses(np.array([l2]))
    if not len(tried) or not model.held_out.worth(float(own.mean())):
        return None
    others = model.held_out.losses(tried)
    best = int(np.argmin([other.mean() for other in others]))
    gain = model.held_out.gain(own, others[best])
    if not gain.clear:
        return None
    return _finding(model, "small", gain, float(tried[best]) * share, l2)


def _too_small_by_leaving_out(model: FittedModel) -> Finding | None:
    """The same where it is cheap to leave out each row in turn, which is exact enough for less."""
    largest = outweighing_l2(model.loss, model.moments.deviation)
    if not model.l2 < largest < WIDEST * model.l2:
        return None
    stronger = np.geomspace(
        largest, model.l2, max(2, round(PER_DECADE * np.log10(largest / model.l2)) + 1)
    )
    each = left_out.losses(model.objective, stronger)
    own, others = each[:, -1], each[:, :-1]
    best = int(np.argmin(others.mean(axis=0)))
    gain = model.held_out.gain(own, others[:, best])
    if not gain.share >= SAVED or not gain.own > WORTH * gain.nothing:
        return None
    return _finding(
        model, "small", gain, float(stronger[best]), model.l2, "each row left out in turn"
    )


def _finding(
    model: FittedModel,
    size: str,
    gain: Gain,
    better: float,
    tried: float,
    rows: str = "held-out rows",
) -> Finding:
    better = float(f"{better:.1e}")
    norm = float(np.hypot.reduce(dense(model.clf.coef_), axis=None))  # squares may overflow
    effect = {
        "large": f"the weights are shrunk to |w| = {norm:.3g}",
        "small": f"the weights, |w| = {norm:.3g}, overfit the rows",
    }[size]
    text = (
        f"The penalty l2={model.l2:.3g} is too {size}: {effect}; on {rows} the mean loss is "
        f"{gain.own:.3g}, with l2={better:.3g} it is {gain.other:.3g}, and without any feature "
        f"{gain.nothing:.3g}."
    )
    evidence = {
        "l2": model.l2, "better_l2": better, "held_out_loss": gain.own,
        "held_out_loss_at_better_l2": gain.other, "standard_error": gain.error,
        "loss_without_features": gain.nothing, "norm_of_w": norm, "accuracy": model.accuracy,
        "rows_in_sample": len(model.sample), "l2_on_sample": tried,
    }  # fmt: skip
    return Finding(f"penalty too {size}", text, evidence, model.setting(l2=better), gain.share)

"""What can be wrong with a model that is just what was asked for."""

from __future__ import annotations

import numpy as np

from ...estimators import LinearClassifier
from .comparison import Gain
from .fitted import Case
from .report import Finding

DOMINANT = 0.8  # share of the rows
NO_BETTER = 0.25  # share of the other rows that may be right beside the dominant class
SMALLER = np.array([1e-1, 1e-2, 1e-4])  # shares of the penalty that are tried


def dominant_class(case: Case) -> Finding | None:
    """Nearly all rows are of one class, and the model says so of nearly all."""
    largest = float(case.shares.max())
    worst = float(np.nanmin(case.recalls))
    close = case.accuracy <= largest + NO_BETTER * (1.0 - largest)
    if case.clf.class_weight is not None or largest < DOMINANT or worst >= 0.5 or not close:
        return None
    label = case.clf.classes_[case.shares.argmax()]
    rarest = case.clf.classes_[np.nanargmin(case.recalls)]
    balanced = float(np.nanmean(case.recalls))
    text = (
        f"One class dominates: {largest:.1%} of the rows are {str(label)!r}, so that always "
        f"answering it is right as often, and the accuracy of {case.accuracy:.1%} says little; of "
        f"{str(rarest)!r} only {worst:.1%} are found, and the mean over the classes is "
        f"{balanced:.1%}."
    )
    evidence = {
        "largest_share": largest, "accuracy": case.accuracy, "balanced_accuracy": balanced,
        "recalls": {str(c): float(r) for c, r in zip(case.clf.classes_, case.recalls, strict=True)},
    }  # fmt: skip
    chance = 1.0 / len(case.clf.classes_)
    harm = float(np.clip((1.0 - balanced) / (1.0 - chance), 0.0, 0.9))
    remedy = case.setting(class_weight="balanced")
    return Finding("one dominant class", text, evidence, remedy, harm)


def _can_judge(case: Case) -> bool:
    """Whether the penalty was given, and held-out rows can judge it."""
    return isinstance(case.clf, LinearClassifier) and case.held_out.possible


def penalty_too_large(case: Case) -> Finding | None:
    """The weights are shrunk until little is left of what the data says."""
    if case.l2 == 0.0 or not _can_judge(case) or not case.held_out.worth(case.clf.objective_):
        return None
    tried = case.l2 * SMALLER
    own, *others = case.held_out.losses(np.append(case.l2, tried))
    best = int(np.argmin([other.mean() for other in others]))
    gain = case.held_out.gain(own, others[best])
    if not gain.clear:
        return None
    return _finding(case, "large", gain, float(tried[best]), case.l2)


def penalty_too_small(case: Case) -> Finding | None:
    """The weights follow the accidents of the rows.

    The best penalty on the mean loss falls like 1/n: on a sample the one given is made larger in
    that proportion, and the one found smaller again.
    """
    if not _can_judge(case):
        return None
    share = len(case.sample) / case.n
    l2 = case.l2 / share
    grid = case.held_out.grid()
    tried = grid[grid > 2.0 * l2]
    (own,) = case.held_out.losses(np.array([l2]))
    if not len(tried) or not case.held_out.worth(float(own.mean())):
        return None
    others = case.held_out.losses(tried)
    best = int(np.argmin([other.mean() for other in others]))
    gain = case.held_out.gain(own, others[best])
    if not gain.clear:
        return None
    return _finding(case, "small", gain, float(tried[best]) * share, l2)


def _finding(case: Case, size: str, gain: Gain, better: float, tried: float) -> Finding:
    better = float(f"{better:.1e}")
    norm = float(np.linalg.norm(case.clf.coef_))
    effect = {
        "large": f"the weights are shrunk to |w| = {norm:.3g}",
        "small": f"the weights, |w| = {norm:.3g}, follow accidents of the rows",
    }[size]
    text = (
        f"The penalty l2={case.l2:.3g} is too {size}: {effect}; on rows left out the mean loss is "
        f"{gain.own:.3g}, with l2={better:.3g} it is {gain.other:.3g}, and without any feature "
        f"{gain.nothing:.3g}."
    )
    evidence = {
        "l2": case.l2, "better_l2": better, "held_out_loss": gain.own,
        "held_out_loss_at_better_l2": gain.other, "standard_error": gain.error,
        "loss_without_features": gain.nothing, "norm_of_w": norm, "accuracy": case.accuracy,
        "rows_in_sample": len(case.sample), "l2_on_sample": tried,
    }  # fmt: skip
    return Finding(f"penalty too {size}", text, evidence, case.setting(l2=better), gain.share)

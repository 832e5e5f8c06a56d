"""Problems during a run: steps, order, ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...losses import TanhSquared
from ...losses.one_vs_rest import signs
from ...numeric.dense import dense
from ...numeric.types import Array
from ...schedules import Constant
from ...separation.text import most as most_mistakes
from ...solvers import GradientDescent, Rosenblatt
from ...solvers.step_bounds import largest_second_moment
from .comparison import logistic_mistakes
from .fitted import FittedModel
from .report import Finding, plural

RISES = 0.2  # share of passes in which the objective increased
SORTED = 0.1  # changes of class from row to row, as a share of those in a random order
LEFT = 1e-2  # share of the objective left to gain from which a converged run is suspect
FLAT = 0.05  # slope of the tanh loss, as a share of its steepest, that has no effect
STUCK = 0.02  # share of rows with that slope
NEGLIGIBLE = 1e-6  # share of the objective that does not matter
SURE = 10**7  # largest number of passes worth suggesting
UNFINISHED = 0.9  # rank of the finding that a run was stopped early


def fixed_step(solver: GradientDescent) -> float | None:
    """The step size of gradient descent, if it is one number."""
    rate: Any = solver.learning_rate
    if isinstance(rate, Constant):
        return rate.step
    return None if isinstance(rate, str) or callable(rate) else float(rate)


def step_too_long(model: FittedModel) -> Finding | None:
    """Gradient descent with a constant step above 2/L, with visible effect."""
    solver, curvature = model.solver, model.loss.max_curvature
    if not isinstance(solver, GradientDescent) or curvature is None:
        return None
    step = fixed_step(solver)
    if step is None:
        return None
    limit = 2.0 / _gradient_lipschitz(model, curvature, solver.batch_size)
    values: Array = model.clf.history_["objective"]
    rises = int(np.sum(values[1:] > values[:-1]))
    shown = model.clf.stop_ == "cycle" or rises > RISES * len(values) or values[-1] > values[0]
    if step <= limit or not shown:
        return None
    text = (
        f"The step {step:.3g} is above 2/L = {limit:.3g}, beyond which gradient descent "
        f"overshoots: the objective increased in {rises} of {plural(len(values), 'pass')}, and "
        f"went from {values[0]:.3g} to {values[-1]:.3g}."
    )
    evidence = {
        "step": step, "limit": limit, "curvature": 2.0 / limit, "rises": rises,
        "passes": len(values), "first_objective": float(values[0]),
        "last_objective": float(values[-1]), "stop": model.clf.stop_,
    }  # fmt: skip
    remedy = model.setting(solver__learning_rate="auto")
    return Finding("step above 2/L", text, evidence, remedy)


def _gradient_lipschitz(model: FittedModel, curvature: float, batch: int | None) -> float:
    """L, the maximum change of the gradient of J on a batch per unit length, on average."""
    objective = model.objective
    trace = objective.moments.mean_square + objective.intercept
    largest = trace if batch == 1 else largest_second_moment(objective, trace)
    share = 0.0 if batch is None else 1.0 / batch
    return curvature * (share * trace + (1.0 - share) * largest) + 2.0 * model.l2


def separable_without_penalty(model: FittedModel) -> Finding | None:
    """A loss whose infimum is at infinity, and no penalty that bounds the weights."""
    if not model.minimises or not model.objective.penalty.absent:
        return None
    loss = model.loss
    tanh = _is_tanh(model)
    if not (loss.log_likelihood or tanh):
        return None
    verdict = model.verdict
    if verdict not in (("separable",) if tanh else ("separable", "quasi-separable")):
        return None
    norm = float(np.linalg.norm(dense(model.clf.coef_)))
    text = (
        f"The data is {verdict} and there is no penalty: the {loss.name} loss then has no "
        f"minimum, the weights only grow (|w| = {norm:.3g} after "
        f"{plural(model.clf.n_iter_, 'pass')}), and where they stop is an accident of the stop "
        "rule."
    )
    if loss.log_likelihood:
        text += " Finite estimates without the choice of a penalty: bias_reduction='firth'"
        text += " or bias_reduction='mdypl'." if model.objective.shape[0] == 1 else "."
    evidence = {
        "verdict": verdict, "l2": 0.0, "norm_of_w": norm, "stop": model.clf.stop_,
        "objective": float(model.clf.objective_), "mistakes": int(model.mistakes.sum()),
    }  # fmt: skip
    return Finding("separable without penalty", text, evidence, model.setting(l2=1e-4))


def cycling(model: FittedModel) -> Finding | None:
    """The weights repeat: proof that the run would go on forever."""
    clf = model.clf
    if clf.stop_ != "cycle":
        return None
    impossible = not model.minimises and model.separable is False
    remedy: str
    if model.minimises:
        remedy = model.setting(solver="auto")
    elif impossible:
        remedy = model.replacing(_linear_classifier(model))
    else:
        remedy = model.setting(shuffle=True)
    why = ", and the data is not separable" if impossible else ""
    text = (
        f"The run goes in circles: after {plural(clf.n_iter_, 'pass')} it was back at "
        f"{'scores' if model.kernel else 'weights'} of an earlier pass{why}; with this order and "
        "step it would go on forever."
    )
    evidence = {"stop": "cycle", "passes": int(clf.n_iter_), "separable": not impossible,
                "mistakes": int(model.mistakes.sum())}  # fmt: skip
    return Finding("cycling", text, evidence, remedy)


def _linear_classifier(model: FittedModel) -> str:
    weights = model.clf.class_weight
    return f"separatrix.LinearClassifier({'' if weights is None else f'class_weight={weights!r}'})"


def sorted_rows(model: FittedModel) -> Finding | None:
    """Rows grouped by class, visited in this order."""
    solver = model.solver
    if model.kernel:
        fixed, remedy = not model.clf.shuffle, model.setting(shuffle=True)
    elif isinstance(solver, Rosenblatt) and not model.minimises:
        fixed, remedy = not solver.shuffle, model.setting(shuffle=True)
    elif isinstance(solver, GradientDescent) and solver.by_row:
        fixed, remedy = not solver.shuffle, model.setting(solver__shuffle=True)
    else:
        return None
    changes = int(np.sum(model.labels[1:] != model.labels[:-1]))
    expected = model.n * (1.0 - float(np.sum(model.shares**2)))
    if not fixed or model.n < 20 or changes > SORTED * expected or not _suspect(model):
        return None
    text = (
        f"The rows are sorted by class and visited in this order: from row to row there are "
        f"{plural(changes, 'change')} of class, in a random order about {expected:.0f}, so that "
        "each pass ends biased towards the last classes."
    )
    evidence = {"changes": changes, "changes_in_random_order": expected, "shuffle": False,
                "stop": model.clf.stop_, "accuracy": model.accuracy}  # fmt: skip
    return Finding("rows sorted by class", text, evidence, remedy)


def _suspect(model: FittedModel) -> bool:
    """Whether the run may have ended far from the minimum."""
    if not model.clf.converged_:
        return True
    return model.clf.stop_ == "tol" and (model.unfinished is None or model.unfinished > LEFT)


def _is_tanh(model: FittedModel) -> bool:
    # What is said of it is about this very function.
    return isinstance(model.loss.column_loss, TanhSquared)


def tanh_stuck(model: FittedModel) -> Finding | None:
    """Misclassified rows with almost no gradient."""
    if not _is_tanh(model):
        return None
    loss, y, scores = TanhSquared(), model.source.y, model.scores
    margins = (signs(y, scores) if scores.shape[1] > 1 else y[:, None]) * scores
    steepest = float(np.abs(loss.slope(np.linspace(-2.0, 2.0, 401))).max())
    flat = np.any((margins < 0.0) & (np.abs(loss.slope(margins)) < FLAT * steepest), axis=1)
    stuck = flat & model.mistakes
    wrong = float(model.mistakes.mean())
    if stuck.mean() < STUCK or stuck.sum() < 0.3 * model.mistakes.sum():
        return None
    convex = logistic_mistakes(model.objective, model.sample_source)
    if convex > 0.5 * wrong:
        return None
    text = (
        f"The tanh loss is stuck: {plural(int(stuck.sum()), 'row')} of {model.n} are so wrong "
        f"that their slope is below {FLAT:.0%} of the steepest and has no effect; {wrong:.1%} of "
        f"the rows are wrong, where a quick logistic fit has {convex:.1%}."
    )
    evidence = {
        "rows_stuck": int(stuck.sum()), "share_stuck": float(stuck.mean()),
        "mistakes": int(model.mistakes.sum()), "share_wrong": wrong,
        "share_wrong_of_logistic": convex, "rows_in_sample": len(model.sample),
    }  # fmt: skip
    fresh = {"start": "zeros"} if hasattr(model.clf, "l2") else {}
    return Finding("tanh loss stuck", text, evidence, model.setting(loss="logistic", **fresh))


def _is_perceptron(model: FittedModel) -> bool:
    """A whole run of a perceptron without penalty: it ends only when it separates."""
    return model.loss.homogeneous and model.l2 == 0.0 and not model.streams


def not_separable(model: FittedModel) -> Finding | None:
    """A perceptron on data that it cannot separate."""
    clf = model.clf
    if not _is_perceptron(model) or clf.stop_ in ("no mistakes", "cycle"):
        return None
    if model.separable is not False:
        return None
    wrong = int(model.mistakes.sum())
    verdict, looked = model.non_separability_evidence
    who = "The data is" if looked == model.n else f"A sample of {looked} rows is already"
    text = (
        f"{who} {verdict}: no weights classify every row strictly correctly, so the perceptron "
        f"never ends; it stopped with {clf.stop_!r} after {plural(clf.n_iter_, 'pass')}, and "
        f"{wrong} of {model.n} rows are wrong."
    )
    evidence = {
        "verdict": verdict, "rows_looked_at": looked, "stop": clf.stop_,
        "passes": int(clf.n_iter_), "mistakes": wrong, "accuracy": model.accuracy,
    }  # fmt: skip
    return Finding("not separable", text, evidence, model.replacing(_linear_classifier(model)))


def stopped_early(model: FittedModel) -> Finding | None:
    """The run was stopped before it had converged."""
    stop = model.clf.stop_
    asked = {
        "callback": ("a callback requested it", model.setting(callbacks=())),
        "seconds": (f"its time, {_limit(model, 'seconds')} s, was over", model.setting(stop=None)),
        "interrupted": ("it was interrupted", "clf.fit(X, y)"),
        "max_norm": (f"|(w, b)| exceeded max_norm={getattr(model.clf, 'max_norm', None)!r}",
                     model.setting(max_norm=None)),
    }  # fmt: skip
    if stop in asked:
        why, remedy = asked[stop]
        text = f"The run ended after {plural(model.clf.n_iter_, 'pass')} because {why}."
        evidence = {"stop": stop, "passes": int(model.clf.n_iter_)}
        return Finding("stopped early", text, evidence, remedy, UNFINISHED)
    if stop not in ("max_iter", "no progress") or model.streams:
        return None
    if _is_perceptron(model):
        return _perceptron_stopped(model)
    return _unfinished(model) if model.minimises else None


def _limit(model: FittedModel, name: str) -> Any:
    return getattr(getattr(model.clf, "stop", None), name, None)


def _unfinished(model: FittedModel) -> Finding | None:
    """The objective was still decreasing, or the solver could not decrease it."""
    clf, left = model.clf, model.unfinished
    recent = clf.history_["objective"][-10:].tolist()
    fell = (recent[0] - recent[-1]) / max(abs(recent[-1]), 1e-300)
    fell = fell if np.isfinite(fell) else 0.0
    if np.isfinite(clf.objective_) and (abs(fell) if left is None else left) <= NEGLIGIBLE:
        return None
    way = f"still falling, by {fell:.2g} of itself" if fell > 0.0 else "oscillating"
    end = f"stopped at max_iter={clf.max_iter}"
    if clf.stop_ == "no progress":
        end = f"made no more progress with {type(model.solver).__name__}"
    text = (
        f"The run {end}, with the objective {clf.objective_:.4g} {way} in the last "
        f"{plural(len(recent), 'pass')}"
    )
    if left is not None:
        at = "at most" if model.gap is not None else "at least"
        text += f"; {at} {left:.2g} of it can still be gained"
    evidence = {
        "stop": clf.stop_, "passes": int(clf.n_iter_), "objective": float(clf.objective_),
        "fell_lately": fell, "gap": model.gap, "share_left": left,
    }  # fmt: skip
    harm = min(UNFINISHED, left if left is not None else max(abs(fell), NEGLIGIBLE))
    return Finding("stopped early", f"{text}.", evidence, _to_the_end(model), harm)


def _to_the_end(model: FittedModel) -> str:
    """The line that lets the objective converge."""
    clf = model.clf
    # Plain descent is slow on smooth losses, for which others need few steps.
    if isinstance(clf.solver, GradientDescent) and model.loss.smooth:
        return model.setting(solver="auto", max_iter=max(1000, int(clf.max_iter)))
    if clf.stop_ == "max_iter":
        return model.setting(max_iter=10 * int(clf.max_iter))
    if isinstance(clf.solver, str):
        return model.scaling()
    return model.setting(solver="auto")


def _perceptron_stopped(model: FittedModel) -> Finding | None:
    """It may converge, but did not have enough passes."""
    clf = model.clf
    if not model.mistakes.any() or model.separable is False:
        return None
    bound = model.mistake_bound
    # Every pass before the last has at least one mistake, so there are at most as many passes as
    # mistakes.
    sure = bound is not None and bound < SURE
    most = int(np.ceil(bound or 0.0)) + 1 if sure else 10 * int(clf.max_iter)
    rule = f"max_iter={clf.max_iter}" if clf.stop_ == "max_iter" else f"patience={clf.patience}"
    can = "is separable" if model.separable else "may be separable"
    promise = ""
    if bound is not None and bound < np.inf:
        promise = f"; it makes at most {most_mistakes(bound)} in total"
    text = (
        f"The perceptron was stopped by {rule} after {plural(clf.n_iter_, 'pass')} with "
        f"{plural(int(model.mistakes.sum()), 'row')} of {model.n} wrong, and the data "
        f"{can}{promise}."
    )
    evidence = {
        "stop": clf.stop_, "passes": int(clf.n_iter_), "mistakes": int(model.mistakes.sum()),
        "separable": model.separable, "mistake_bound": bound, "accuracy": model.accuracy,
    }  # fmt: skip
    patient = {} if model.minimises else {"patience": None}
    remedy = model.setting(max_iter=max(most, int(clf.max_iter)), **patient)
    return Finding("stopped early", text, evidence, remedy, 0.5)

"""Questions about the next steps of a run, with the correct answer and its reason.

The answers are taken from the run or from the proof of separability: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from separatrix import Separability

from ...training.recording.proof import UNDECIDED, proven
from .methods import BadRequest
from .runs import PlaygroundRun

MOST_KERNEL_ROWS = 300
"""Maximum number of centres whose products are used as features in a proof of separability."""
NONE = "None"
ENDINGS: dict[str, tuple[str, ...]] = {
    "It converges, and detects it": ("no mistakes", "tol", "optimal", "closed form"),
    "It makes no more progress, and stops": ("no progress",),
    "It would go on forever": ("cycle", "no minimum"),
    "It reaches the maximum number of passes": ("max_iter", "callback"),
    "It diverges": ("diverged",),
}
REASONS = {
    "no mistakes": "every point is on its side",
    "tol": "the objective and the weights hardly change",
    "optimal": "a lower bound proves that no weights are better",
    "closed form": "the equations of the minimum are solved directly",
    "no progress": "nothing better was found, without a proof that there is nothing better",
    "cycle": "the weights are those of an earlier pass, so that everything repeats",
    "no minimum": "a line has every point on its side, or some on the line itself, and there is no "
    "penalty: longer weights are always better, so the objective decreases forever",
    "max_iter": "it was still moving after the last pass",
    "callback": "it was still moving at the time limit of the page",
    "diverged": "the objective ended above its start: the step is too long",
}


@dataclass(frozen=True)
class Question:
    """A question after a step, with its correct answer."""

    text: str
    choices: list[str]
    """Answers, of which one is correct. Where the answer is a row, it can also be clicked. Empty if
    the question makes no sense: then the text says why."""
    right: int | None  # the number of the correct choice; None if the answer is a row
    reason: str
    row: int | None = None  # the row in question
    right_row: int | None = None
    asks_row: bool = False
    shows: int | None = None  # the step that shows the answer


def question(run: PlaygroundRun, kind: Any, step: Any) -> dict[str, Any]:
    """A question of a kind after a step, as plain data."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadRequest(f"kind: expected one of {', '.join(KINDS)}")
    return asdict(KINDS[kind](run, run.checked_step(step)))


def which_way(run: PlaygroundRun, step: int) -> Question:
    """Which way the line moves at the next row."""
    if step == len(run.recording):
        return _no_question("The run has ended: go back some steps, and ask again.")
    before, after = run.scores(run.X, step), run.scores(run.X, step + 1)
    visited = run.recording.columns.visited[step]
    rows = np.arange(len(run.X)) if visited is None else np.asarray(visited)
    numbers = np.unique(run.y, return_inverse=True)[1]
    row = int(rows[np.argmin(_margins(before[rows], numbers[rows]))])
    own = run.y[row]
    many = len(run.clf.classes_) > 2
    if many:
        choices = [f"The lead of row {row}'s class {will}" for will in ("grows", "shrinks")]
        old, new = (float(_margins(s[[row]], numbers[[row]])[0]) for s in (before, after))
    else:
        low, high = run.clf.classes_
        choices = [f"Row {row} lies deeper in class {c}" for c in (high, low)]
        old, new = float(before[row, 0]), float(after[row, 0])
    choices.append("It does not move")
    right = 2 if abs(new - old) <= 1e-12 * max(1.0, abs(old)) else int(new < old)
    turn = "is processed next" if len(rows) == 1 else "has the smallest margin"
    what = "lead over its best rival" if many else "score w x + b"
    goes = f"stays {old:.4g}" if right == 2 else f"goes from {old:.4g} to {new:.4g}"
    return Question(
        f"Row {row} (class {own}) {turn}. Which way will the {_line(run)} move?",
        choices, right, f"{run.recording.sentence(step + 1)} The row's {what} {goes}.", row,
        shows=step + 1,
    )  # fmt: skip


def next_mistake(run: PlaygroundRun, step: int) -> Question:
    """Which row is on the wrong side when it is processed."""
    method, columns = run.method, run.recording.columns
    in_order = method.form == "sequential" if method.name == "gradient_descent" else (
        method.name in ("perceptron", "kernel_perceptron", "radial_basis") and not method.shuffle
    )  # fmt: skip
    if not in_order:
        return _no_question(
            "The next mistake can be predicted only if points are processed one by one and in "
            "order: use the perceptron, row by row, without Shuffle."
        )
    text = (
        "Points are processed in order, 0, 1, 2 and so on, and again from 0. Which is the next on "
        "the wrong side, or on the line itself, when it is processed? Click it."
    )
    for later in range(step, len(run.recording)):
        margins = columns.margins[later]
        if margins is not None and margins[0] <= 0.0:
            row = int(columns.visited[later][0])
            waited = later - step
            rows = "row before it is" if waited == 1 else "rows before it are"
            passed = f"{waited} {rows} on the right side. " if waited else ""
            return Question(
                text, [NONE], None, passed + run.recording.sentence(later + 1),
                right_row=row, asks_row=True, shows=later + 1,
            )  # fmt: skip
    return Question(
        text, [NONE], 0, "All points processed from here to the end of the run are on their side.",
        asks_row=True,
    )  # fmt: skip


def will_it_stop(run: PlaygroundRun, step: int) -> Question:
    """Whether a perceptron ever stops; for other methods, how the run ends."""
    if _theorem_holds(run):
        found = _separability(run)
        if found is None:
            return _no_question(
                f"Whether the perceptron ever stops is {UNDECIDED}: place fewer points, use fewer "
                "centres, or points that are closer together."
            )
        text = "With an unlimited number of passes, will the perceptron ever stop?"
        choices = ["Yes, after finitely many mistakes", "No, never"]
        if found.verdict == "separable":
            bound = found.mistake_bound
            counted = ""
            if bound is not None and bound < np.inf and _bounded(run):
                plural = "s" * (bound >= 2.0)
                counted = f", after at most {np.floor(bound):,.0f} mistake{plural}"
            reason = f"The classes can be separated strictly, so it must stop{counted}."
            return Question(text, choices, 0, reason)
        why = "nothing separates them" if found.verdict == "overlapping" else (
            "some points always stay on the boundary"
        )  # fmt: skip
        reason = f"It stops only when every point is strictly on its side, but {why}."
        return Question(text, choices, 1, reason)
    stop = str(run.clf.stop_)
    choices = list(ENDINGS)
    right = next(i for i, words in enumerate(ENDINGS.values()) if stop in words)
    text = f"At most {run.method.max_iter:,} passes are allowed. How does this run end?"
    return Question(text, choices, right, f"It ends with '{stop}': {REASONS[stop]}.")


KINDS: dict[str, Callable[[PlaygroundRun, int], Question]] = {
    "way": which_way, "mistake": next_mistake, "stop": will_it_stop,
}  # fmt: skip


def _no_question(why: str) -> Question:
    return Question(why, [], None, "")


def _line(run: PlaygroundRun) -> str:
    return "line" if run.method.draws_a_line and len(run.clf.classes_) == 2 else "boundary"


def _margins(scores: Any, numbers: Any) -> Any:
    """``y * score``; with more classes, the lead over the best rival."""
    if scores.shape[1] == 1:
        return np.where(numbers == 1, 1.0, -1.0) * scores[:, 0]
    each = np.arange(len(scores))
    rivals = scores.copy()
    rivals[each, numbers] = -np.inf
    return scores[each, numbers] - rivals.max(axis=1)


def _theorem_holds(run: PlaygroundRun) -> bool:
    """Whether separability decides if the run ever stops."""
    method = run.method
    if "perceptron" not in method.name and method.name != "radial_basis":
        return False
    if method.name == "kernel_perceptron" and len(run.X) > MOST_KERNEL_ROWS:
        return False
    return method.l2 == 0.0 and method.schedule == "constant"


def _separability(run: PlaygroundRun) -> Separability | None:
    """Separability of the features of a perceptron; None if it takes too much work."""
    method = run.method
    Z = run.X if run.features is None else run.features.transform(run.X)
    if method.name == "kernel_perceptron":
        kernel = run.clf.trace_.kernel
        Z = np.asarray(kernel.between(Z, kernel.prepare(Z)), float)
        # A bias is an additional feature of value 1, which adds 1 to every product.
        return proven(Z + float(method.fit_intercept), run.y, fit_intercept=False)
    return proven(Z, run.y, fit_intercept=method.fit_intercept)


def _bounded(run: PlaygroundRun) -> bool:
    """Whether the mistake bound holds for this run: row by row, from zeros."""
    method = run.method
    return method.name in ("perceptron", "radial_basis") and method.start == "zeros"

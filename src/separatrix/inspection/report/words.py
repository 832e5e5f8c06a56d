"""Text of a report: names made safe to show, numbers, and sentences about decision and proof."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..displays.classifiers import last_step

MOST_LETTERS, MOST_PLOTTED_LETTERS = 200, 30  # longest name in a table and in a plot
UNPROVEN = {
    "closed form": "The fit is the solution of linear equations, and is not proven further.",
    "stationary": "The gradient of the penalised likelihood is 0, up to tol standard errors.",
    "tol": "Progress ended; the distance from the minimum is not proven.",
    "no mistakes": "Every training row is classified correctly, so the classes can be separated.",
    "no minimum": "There is no minimum: without a penalty the objective decreases forever.",
    "cycle": "The run would repeat itself forever: it found no separating plane.",
}


def clean(name: Any, most: int = MOST_LETTERS) -> str:
    """A name without control characters, shortened if it is long."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(name))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short(name: Any) -> str:
    """A name for a plot."""
    return clean(name, MOST_PLOTTED_LETTERS)


def shown(value: Any) -> str:
    """A number with a readable number of digits; a dash if it is undefined."""
    if value is None:
        return "-"
    if isinstance(value, (float, np.floating)):
        x = float(value)
        return f"{x:,.0f}" if abs(x) >= 10.0 and x.is_integer() else f"{x:.4g}"
    return f"{value:,}" if isinstance(value, int) else clean(value)


def decision_sentence(model: Any) -> str:
    """How the model turns scores into classes."""
    last = last_step(model)
    classes = [clean(label) for label in last.classes_.tolist()]
    decision = getattr(last, "decision_", None)
    if decision is None:
        return "The class with the largest score is predicted."
    if decision.score is None:
        return "The class with the least expected cost is predicted, by the probabilities."
    what = "probability" if hasattr(last, "predict_proba") else "score w·x + b"
    text = f"{classes[1]} is predicted where its {what} is at least {decision.threshold:.4g}"
    if decision.tuned_on is None:
        return f"{text}."
    wrong, missed = decision.costs[0, 1], decision.costs[1, 0]
    return (
        f"{text}. This threshold was chosen on other labelled rows, where it costs least: "
        f"{wrong:g} for each {classes[1]} predicted for {classes[0]}, and {missed:g} for each "
        f"{classes[0]} predicted for {classes[1]}."
    )


def proof_sentence(model: Any) -> str:
    """What is proven about the fit."""
    if not hasattr(model, "stop_"):
        return (
            f"{type(model).__name__} does not prove how close it is to its minimum; "
            "separatrix.certify does, given the training rows."
        )
    gap, objective = getattr(model, "gap_", None), getattr(model, "objective_", None)
    if gap is None or not objective or not np.isfinite(gap):
        why = UNPROVEN.get(model.stop_, "The distance from the minimum is not proven.")
        return f"The fit stopped with “{model.stop_}”. {why}"
    bound = f"at most {100.0 * gap / objective:.2g} % above the minimum, by a proven lower bound"
    if model.stop_ == "optimal":
        return f"The fit is optimal: its objective is {bound}."
    return f"The fit stopped with “{model.stop_}”. Its objective is {bound}."

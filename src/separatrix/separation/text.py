"""A verdict as text, as HTML and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from math import floor, inf
from typing import Any

import numpy as np

from .bounds import mistake_bound
from .margin import Margin
from .rational import nearest
from .witness import PairWitness, Proof, Witness

LISTED = 8  # rows or features named in a sentence


def paragraph(
    found: Proof,
    margin: Margin | None,
    runaway: Mapping[str, str] | None = None,
    infinite: Mapping[str, str] | None = None,
) -> str:
    """Explain the verdict: separable rows by their margin, others by their witness."""
    parts = [_opening(found)]
    if margin is not None:
        parts += _separable(found, margin)
    elif found.witness is not None:
        parts.append(_cannot(found, found.witness))
        if found.boundary is None:
            parts.append(_overlapping())
        else:
            parts += _quasi(found, len(found.boundary), runaway or {}, infinite or {})
    if found.pairs is not None:
        parts.append(_pairs(found.pairs))
    return " ".join(parts)


def _opening(found: Proof) -> str:
    classes = ", ".join(str(c) for c in found.classes[:LISTED].tolist())
    more = ", ..." if len(found.classes) > LISTED else ""
    how = " (decided in exact arithmetic)" if found.exact else ""
    how = how if found.signed.intercept else f" by planes through the origin{how}"
    return (
        f"The {found.n_rows} rows of classes {classes}{more} with {len(found.feature_names)} "
        f"feature{'s' * (len(found.feature_names) != 1)} are {found.verdict}{how}."
    )


def _separable(found: Proof, margin: Margin) -> list[str]:
    bound = mistake_bound(found.signed, margin.lower)
    mistakes = "finitely many mistakes" if bound == inf else f"at most {most(bound)}"
    pinned = f", determined by {len(margin.ids)} row{'s' * (len(margin.ids) != 1)}"
    what = "A plane has every row strictly on its side" if len(found.classes) == 2 else (
        "One score per class gives every row's own class strictly the highest")  # fmt: skip
    return [
        f"{what}. The largest margin of any (w, b) of norm 1 is "
        f"{enclosed(margin.lower, margin.upper)}{pinned if margin.known else ''}; the longest row "
        f"{_row(found)} has length {found.signed.radius:.6g}.",
        f"So the online perceptron makes {mistakes} from zero with a constant step, "
        "and a logistic fit without penalty does not exist: its weights grow forever.",
    ]


def enclosed(lower: float, upper: float, digits: int = 6) -> str:
    """A number between two bounds: rounded, if both agree on three digits, else an interval."""
    for fewer in range(digits, 2, -1):
        if f"{lower:.{fewer}g}" == f"{upper:.{fewer}g}":
            return f"{lower:.{fewer}g}"
    below = Context(digits, ROUND_FLOOR).create_decimal_from_float(lower)
    above = Context(digits, ROUND_CEILING).create_decimal_from_float(upper)
    return f"between {float(below):.{digits}g} and {float(above):.{digits}g}"


def most(bound: float) -> str:
    """An upper bound on the number of mistakes, never rounded down: ``51 mistakes``."""
    whole = floor(bound)
    if whole < 10**4:
        return f"{whole} mistake{'s' * (whole != 1)}"
    return f"{float(Context(4, ROUND_CEILING).create_decimal(whole)):.4g} mistakes"


def _row(found: Proof) -> str:
    return "(x, 1)" if found.signed.intercept else "x"


def _cannot(found: Proof, witness: Witness | PairWitness) -> str:
    rows = _listed(np.asarray(witness.rows).tolist())
    count = len(witness.rows)
    if isinstance(witness.weights, tuple):
        proof = "cancel exactly"
    else:
        proof = (
            f"cancel to {found.residual:.3g}, so that no (w, b) of norm 1 has a margin above "
            f"{found.residual:.3g}"
        )
    return (
        f"No plane separates them: with the weights of the witness the signed rows "
        f"y*{_row(found)} of {count} rows ({rows}) {proof}."
    )


def _quasi(
    found: Proof, on: int, runaway: Mapping[str, str], infinite: Mapping[str, str]
) -> list[str]:
    shared = "not identified" in infinite.values()
    few = ", for one choice among the features that repeat each other" if shared else ""
    words = [f"{name} ({word})" for name, word in runaway.items()]
    return [
        f"But one plane has no row on its wrong side: {found.signed.count - on} are strictly "
        f"correct, and {on} lie on it, as for every such plane. A logistic fit without penalty "
        "does not exist.",
        f"Its coefficients that diverge{few}: {_listed(words)}.",
    ]


def _overlapping() -> str:
    return (
        "No hyperplane classifies every row correctly even if rows may lie on it (except one "
        "that contains all rows), because a strictly positive combination of the signed rows is "
        "zero. So a perceptron never stops, and a logistic fit without penalty exists."
    )


def _pairs(pairs: Mapping[tuple[Any, Any], str]) -> str:
    others = [f"{a} and {b} {v}" for (a, b), v in pairs.items() if v != "separable"]
    if not others:
        return "Any two of the classes are separable."
    return f"All pairs of classes are separable except {_listed(others)}."


def _listed(things: list[Any]) -> str:
    shown = ", ".join(str(t) for t in things[:LISTED])
    return f"{shown}, ..." if len(things) > LISTED else shown


def html(words: str, verdict: str) -> str:
    """A paragraph with the verdict emphasised."""
    return f"<p>{escape(words).replace(verdict, f'<strong>{verdict}</strong>', 1)}</p>"


def plain(value: Any) -> Any:
    if value is None:
        return None
    if hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [nearest(v) for v in value]
    return np.asarray(value).tolist()

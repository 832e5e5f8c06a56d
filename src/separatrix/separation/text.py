"""A verdict in words, as HTML and as plain data."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .rational import nearest

if TYPE_CHECKING:
    from .result import Separability

LISTED = 8  # rows or features named in a sentence


def paragraph(found: Separability) -> str:
    """What a student should know."""
    parts = [_opening(found)]
    if found.verdict == "separable":
        parts += _separable(found)
    elif found.verdict == "quasi-separable":
        parts += _quasi(found)
    else:
        parts += _overlapping(found)
    if found.pairs is not None:
        parts.append(_pairs(found))
    return " ".join(parts)


def _opening(found: Separability) -> str:
    classes = ", ".join(str(c) for c in found.classes[:LISTED].tolist())
    more = ", ..." if len(found.classes) > LISTED else ""
    how = " (settled in exact arithmetic)" if found.exact else ""
    how = how if found.signed.intercept else f" by planes through the origin{how}"
    return (
        f"The {found.n_rows} rows of classes {classes}{more} with {len(found.feature_names)} "
        f"feature{'s' * (len(found.feature_names) != 1)} are {found.verdict}{how}."
    )


def _separable(found: Separability) -> list[str]:
    assert found.margin is not None
    assert found.mistake_bound is not None
    assert found.support is not None
    what = "A plane has every row strictly on its side" if len(found.classes) == 2 else (
        "One score per class gives every row's own class strictly the highest")  # fmt: skip
    return [
        f"{what}. The largest margin of any (w, b) of norm 1 is {found.margin:.6g}, pinned by "
        f"{len(found.support.rows)} rows; the longest row {_row(found)} has length "
        f"{found.radius:.6g}.",
        f"So a perceptron that starts at zero makes at most {found.mistake_bound:.4g} mistakes, "
        "and a logistic fit without penalty does not exist: its weights grow for ever.",
    ]


def _row(found: Separability) -> str:
    return "(x, 1)" if found.signed.intercept else "x"


def _cannot(found: Separability) -> str:
    assert found.witness is not None
    rows = _listed(np.asarray(found.witness.rows).tolist())
    count = len(found.witness.rows)
    if isinstance(found.witness.weights, tuple):
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


def _quasi(found: Separability) -> list[str]:
    assert found.boundary is not None
    on, of = len(found.boundary), found.signed.count
    parts = [
        _cannot(found),
        f"But one has no row on its wrong side: {of - on} are strictly right, and {on} lie on the "
        "plane, as they do for every such plane. A logistic fit without penalty does not exist.",
    ]
    infinite = [f"{name} ({word})" for name, word in found.runaway.items()]
    shared = "not identified" in (found.infinite_coefficients or {}).values()
    few = ", told for few of the features that repeat each other" if shared else ""
    parts.append(f"Its coefficients that run away{few}: {_listed(infinite)}.")
    return parts


def _overlapping(found: Separability) -> list[str]:
    return [
        _cannot(found),
        "Not even a plane with every row on its right side or on the plane itself exists, but for "
        "one that has all rows on it: a positive combination of all signed rows vanishes. So a "
        "perceptron never stops, and a logistic fit without penalty exists.",
    ]


def _pairs(found: Separability) -> str:
    assert found.pairs is not None
    others = [f"{a} and {b} {v}" for (a, b), v in found.pairs.items() if v != "separable"]
    if not others:
        return "Any two of the classes are separable."
    return f"Of the pairs of classes all are separable but {_listed(others)}."


def _listed(things: list[Any]) -> str:
    shown = ", ".join(str(t) for t in things[:LISTED])
    return f"{shown}, ..." if len(things) > LISTED else shown


def html(found: Separability) -> str:
    """The paragraph, with the verdict standing out."""
    words = escape(paragraph(found))
    return f"<p>{words.replace(found.verdict, f'<strong>{found.verdict}</strong>', 1)}</p>"


def as_dict(found: Separability) -> dict[str, Any]:
    """Plain lists, numbers and strings."""
    return {
        "verdict": found.verdict,
        "exact": found.exact,
        "rounds": found.rounds,
        "n_rows": found.n_rows,
        "classes": found.classes.tolist(),
        "feature_names": found.feature_names,
        "coef": _plain(found.coef),
        "intercept": _plain(found.intercept),
        "margin": found.margin,
        "radius": found.radius,
        "mistake_bound": found.mistake_bound,
        "support": _plain(found.support),
        "witness": _plain(found.witness),
        "residual": found.residual,
        "interior": _plain(found.interior),
        "boundary": _plain(found.boundary),
        "infinite_coefficients": (
            found.infinite_coefficients if found.verdict == "quasi-separable" else None
        ),
        "infinite_intercept": (
            found.infinite_intercept if found.verdict == "quasi-separable" else None
        ),
        "runaway": found.runaway if found.verdict == "quasi-separable" else None,
        "pairs": None
        if found.pairs is None
        else [[_plain(a), _plain(b), v] for (a, b), v in found.pairs.items()],
    }


def _plain(value: Any) -> Any:
    if value is None:
        return None
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple):
        return [nearest(v) for v in value]
    return np.asarray(value).tolist()

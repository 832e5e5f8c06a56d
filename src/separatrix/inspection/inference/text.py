"""The familiar table of coefficients as text."""

from __future__ import annotations

import math
import textwrap
from typing import Any

WIDTH = 88  # characters of a line of text
LONGEST = 32  # characters of a name


def table(found: Any) -> str:
    """The lines of an ``Inference``: one for every coefficient, the fit as a whole, the notes."""
    share = f"{100.0 * found.level:g} %"
    heads = ("coef", "std. error", "z", "p", f"{share} interval", "")
    rows = [
        (_short(name), f"{b:.4g}", f"{e:.4g}", f"{z:.2f}", _p(p), f"{low:.4g}", f"{high:.4g}")
        for name, b, e, z, p, (low, high) in zip(
            found.names, found.coef, found.standard_errors, found.z, found.p_values,
            found.intervals, strict=True,
        )
    ]  # fmt: skip
    first = max(len(row[0]) for row in rows)
    widths = [max(len(head), *(len(row[i + 1]) for row in rows)) for i, head in enumerate(heads)]
    widths[4] = max(len(row[5]) for row in rows)
    widths[5] = max(max(len(row[6]) for row in rows), len(heads[4]) - widths[4] - 2)
    lines, own = [], len(rows) // max(len(_classes(found)), 1)
    title = "".join(f"  {h:>{w}}" for h, w in zip(heads[:4], widths[:4], strict=True))
    title += f"  {heads[4]:>{widths[4] + widths[5] + 2}}"
    for at, row in enumerate(rows):
        if at % own == 0:
            if found.classes:
                lines += [
                    *([""] if at else []),
                    f"class {found.classes[at]!r} against {found.reference!r}",
                ]
            if at == 0 or found.classes:
                lines.append(f"{'':{first}}{title}")
        cells = "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths, strict=True))
        lines.append(f"{row[0]:<{first}}{cells}")
    lines += ["", *_whole(found)]
    for note in found.notes:
        lines += textwrap.wrap(f"Note: {note}", WIDTH)
    return "\n".join(lines)


def _classes(found: Any) -> list[Any]:
    return list(dict.fromkeys(found.classes))


def _whole(found: Any) -> list[str]:
    parts = [f"rows {found.n:g}"]
    if not math.isnan(found.effective):
        parts.append(f"parameters {found.effective:.4g}")
    if found.log_likelihood is not None:
        parts.append(f"log-likelihood {found.log_likelihood:.6g}")
    if found.aic is not None:
        parts += [f"AIC {found.aic:.6g}", f"BIC {found.bic:.6g}"]
    words = f"Standard errors: {found.kind}."
    if found.method == "profile":
        words += " Intervals: profile likelihood; z and p: Wald."
    if of := found.reference_categories:
        each = ", ".join(f"{name}: {category}" for name, category in of.items())
        words += f" Categories are compared with {each}."
    return [*textwrap.wrap(", ".join(parts), WIDTH), *textwrap.wrap(words, WIDTH)]


def _p(p: float) -> str:
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."

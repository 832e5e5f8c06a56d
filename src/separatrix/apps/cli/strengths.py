"""``--l1``, ``--l2`` and ``--l1-ratio``: penalties given as numbers, or to be searched."""

from __future__ import annotations

import math
from typing import Any

import separatrix

L2_WITH_L1 = 1e-4  # default with an l1; without an l1 the l2 is searched


def l1_settings(
    l1: str | None, l1_ratio: str | None, l2: str | None, loss: str, trace: str | None
) -> dict[str, Any]:
    """Parameters of classifiers: ``l1``, or ``l1_ratio`` if l1 and l2 are searched together."""
    ratios = given_ratios(l1_ratio)
    if l1 == "auto" or (l1 is None and ratios):
        if l2 is not None:
            raise ValueError(
                f"--l2 {l2}: a search for --l1 also chooses l2, by --l1-ratio: leave out --l2, or "
                "give --l1 a number"
            )
        found = {"l1_ratio": ratios if len(ratios) > 1 else ratios[0] if ratios else 1.0}
    else:
        value = 0.0 if l1 is None else _number("--l1", l1)
        if ratios:
            raise ValueError(
                f"--l1-ratio {l1_ratio} is for a search: leave out --l1 {l1}, or give --l1 and "
                "--l2 as numbers, without --l1-ratio"
            )
        if not value:
            return {}
        found = {"l1": value}
    check_smooth(loss)
    if trace is not None:
        raise ValueError(
            f"--trace {trace}: steps are recorded for the l2 penalty only; leave out --l1 or "
            "--trace"
        )
    return found


def given_l2(l2: str | None, of_l1: dict[str, Any]) -> float | None:
    """A number, or None for a search."""
    if "l1_ratio" in of_l1:
        return None
    if l2 is None and of_l1:
        return L2_WITH_L1
    if l2 == "auto" and of_l1:
        raise ValueError(
            "--l2 auto searches without --l1: with --l1, give --l2 a number, or 0; or search both "
            "by --l1-ratio 0.5"
        )
    return None if l2 in (None, "auto") else _number("--l2", str(l2))


def without_penalty(
    method: str, l1: str | None, l1_ratio: str | None, l2: str | None, trace: str | None
) -> float:
    """The l2 of a fit with ``--bias-reduction``, which takes the place of a penalty: 0."""
    if method not in ("mdypl", "firth"):
        raise ValueError(f"--bias-reduction must be mdypl or firth, got {method}")
    given = {"--l1": l1, "--l1-ratio": l1_ratio, "--l2": l2, "--trace": trace}
    for option, value in given.items():
        if value is not None:
            raise ValueError(
                f"{option} {value}: --bias-reduction {method} takes the place of a penalty, and "
                f"its steps are not recorded; leave out {option}"
            )
    return 0.0


def given_ratios(l1_ratio: str | None) -> list[float]:
    """Numbers above 0 and at most 1, separated by commas; none if the option is not given."""
    words = [] if l1_ratio is None else l1_ratio.split(",")
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = [0.0]
    if not all(0.0 < ratio <= 1.0 for ratio in found):
        raise ValueError(
            f"--l1-ratio {l1_ratio}: expected a number above 0 and at most 1, or several such as "
            "0.5,1"
        )
    return list(dict.fromkeys(found))


def check_smooth(loss: str) -> None:
    """Refuse losses for which no l1 can be used."""
    if not separatrix.get_loss(loss).smooth:
        raise ValueError(
            f"--l1 is not for --loss {loss}, which is not smooth: use --loss squared_hinge or "
            "logistic"
        )


def _number(option: str, given: str) -> float:
    try:
        found = float(given)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < math.inf:
        raise ValueError(f"{option} {given}: expected a number, 0 or more, or auto")
    return found

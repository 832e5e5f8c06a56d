"""The page as one file that needs no server: its engine computes, in the browser, on points.

What the library alone can compute is part of the file: presets, challenges and random starts.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ...page import document
from . import challenges
from .runs import presets

STARTS = 64  # seeds whose random start the page knows
LARGEST_START = 12  # numbers: four classes with two weights and a bias each


def standalone(state: dict[str, Any] | None = None) -> str:
    """The page as HTML; with a state, such as that of a link, it opens with it."""
    data: dict[str, Any] = {
        "presets": presets(), "challenges": challenges.listed(), "starts": _starts(),
    }  # fmt: skip
    if state is not None:
        data["opened"] = state
    return document.standalone(data)


def _starts() -> dict[str, Any]:
    """The numbers of ``start="random"``, in the order of the weights; as bits, which are short."""
    drawn = [
        np.random.default_rng((seed, 2**32)).standard_normal(LARGEST_START)
        for seed in range(STARTS)
    ]
    bits = np.array(drawn, dtype="<f8").tobytes()
    return {"each": LARGEST_START, "doubles": base64.b64encode(bits).decode()}

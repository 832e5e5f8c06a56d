"""Which losses are compiled, for which instruction sets, and how a loop is stopped."""

from __future__ import annotations

import os

from ..losses import REGISTRY, CrammerSinger, JointPerceptron, Loss, Softmax
from ._compiled import _loops

# By exact type: a subclass may compute something else.
COMPILED: dict[type[Loss], int] = {
    REGISTRY[name]: number for name, number in _loops.loss_ids.items()
} | {
    Softmax: _loops.joint_ids["softmax"],
    JointPerceptron: _loops.joint_ids["perceptron"],
    CrammerSinger: _loops.joint_ids["crammer_singer"],
}

KNOWN_LEVELS = ("baseline", "avx2", "avx512")
"""Instruction-set levels that may be compiled: see cpp/levels/dispatch.cpp."""


def compiled(loss: Loss) -> int | None:
    """The number of a loss in the compiled loops, or None."""
    # By exact class: a subclass may have another formula than the compiled one.
    number = COMPILED.get(type(loss))
    if loss.weighs_columns:
        return None
    if number is None and (own := loss.column_loss) is not None and own is not loss:
        inner = compiled(own)
        return None if inner is None else _loops.joint_ids["columns"] + inner
    return number


def number_of(loss: Loss) -> int:
    """The number of a compiled loss; TypeError if it is not compiled."""
    number = compiled(loss)
    if number is None:
        raise TypeError(f"there is no compiled loop for {loss!r}")
    return number


Interrupted = _loops.Interrupted
request_stop = _loops.request_stop
clear_stop = _loops.clear_stop
stop_requested = _loops.stop_requested
levels = _loops.levels
compiled_levels = _loops.compiled_levels
level = _loops.level
use_level = _loops.use_level
compiler = _loops.compiler


def level_flaw(name: str, compiled: list[str], usable: list[str]) -> str:
    """Why the loops of a level cannot be used; "" if they can."""
    if name in usable:
        return ""
    remedy = f"choose one of {', '.join(usable)} or unset it"
    if name in KNOWN_LEVELS and name not in compiled:
        return f"is not compiled in this installation; {remedy}, or compile all: pip install ."
    return f"is not usable on this machine; {remedy}"


if "SEPARATRIX_SIMD" in os.environ:
    if flaw := level_flaw(os.environ["SEPARATRIX_SIMD"], compiled_levels(), levels()):
        raise ImportError(f"SEPARATRIX_SIMD={os.environ['SEPARATRIX_SIMD']!r} {flaw}")
    use_level(os.environ["SEPARATRIX_SIMD"])

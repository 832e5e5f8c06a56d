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


def compiled(loss: Loss) -> int | None:
    """The number of a loss in the compiled loops, or None."""
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
level = _loops.level
use_level = _loops.use_level
compiler = _loops.compiler

if "SEPARATRIX_SIMD" in os.environ:
    if os.environ["SEPARATRIX_SIMD"] not in levels():
        raise ImportError(
            f"SEPARATRIX_SIMD={os.environ['SEPARATRIX_SIMD']!r} is not usable on this machine; "
            f"choose one of {', '.join(levels())} or unset it"
        )
    use_level(os.environ["SEPARATRIX_SIMD"])

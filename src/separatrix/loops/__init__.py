"""The door to the compiled module, each loop beside its plain-Python twin.

A twin (``..._twin``) says in NumPy what its loop computes. It is the oracle of the tests, and
what a user's own loss runs on: in batch sums only the loss itself is then called per block,
online every row. The loops of kernels are in :mod:`separatrix.loops.kernel`.
"""

from .batch import (
    all_finite,
    all_finite_twin,
    batch_pass,
    batch_pass_twin,
    combine,
    combine_twin,
    hessian_product,
    hessian_product_twin,
    moments,
    moments_twin,
    scores,
    scores_twin,
)
from .dual import DualResult, dual_pass, dual_pass_twin
from .levels import (
    COMPILED,
    JOINT,
    Interrupted,
    clear_stop,
    compiled,
    compiler,
    level,
    levels,
    request_stop,
    stop_requested,
    use_level,
)
from .online import (
    EVERY_UPDATE,
    OnlineWeights,
    PassResult,
    RowMemory,
    draw_order_twin,
    draw_orders,
    online_pass,
    online_pass_twin,
    row_memory,
)

__all__ = [
    "COMPILED",
    "EVERY_UPDATE",
    "JOINT",
    "DualResult",
    "Interrupted",
    "OnlineWeights",
    "PassResult",
    "RowMemory",
    "all_finite",
    "all_finite_twin",
    "batch_pass",
    "batch_pass_twin",
    "clear_stop",
    "combine",
    "combine_twin",
    "compiled",
    "compiler",
    "draw_order_twin",
    "draw_orders",
    "dual_pass",
    "dual_pass_twin",
    "hessian_product",
    "hessian_product_twin",
    "level",
    "levels",
    "moments",
    "moments_twin",
    "online_pass",
    "online_pass_twin",
    "request_stop",
    "row_memory",
    "scores",
    "scores_twin",
    "stop_requested",
    "use_level",
]

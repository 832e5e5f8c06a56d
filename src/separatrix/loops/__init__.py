"""The compiled loops. Only this package may import the compiled module.

``tests/loops/twins/`` computes the same in plain Python. A user's own loss is not compiled: batch
sums then call it once per block, and online passes run in Python, row by row
(``online_pass_twin``). The loops of kernels are in :mod:`separatrix.loops.kernel`.
"""

from .ascent_round import (
    EpochOrders,
    RoundResult,
    StepHistory,
    ascent_round,
)
from .batch import (
    OFFSETS,
    ORDER,
    RANGE,
    BlockSum,
    all_finite,
    batch_blocks,
    batch_in_parts,
    batch_pass,
    compensated_scores,
    compensated_transpose_product,
    csr_flaw,
    gram,
    hessian_product,
    max_standardised_norm2,
    moments,
    scores,
    squared_norms,
    stored_features,
    transpose_product,
    weighted_correct,
)
from .block_coordinate_descent import block_coordinate_descent
from .class_lines import from_lines, line_width, to_lines
from .column_descent import (
    ColumnDescentResult,
    ColumnModel,
    column_descent,
    column_model,
)
from .coordinate_descent import (
    DescentResult,
    coordinate_descent,
)
from .csr_columns import csr_columns
from .dispatch import (
    COMPILED,
    Interrupted,
    clear_stop,
    compiled,
    compiled_levels,
    compiler,
    has_threads,
    level,
    levels,
    request_stop,
    stop_requested,
    use_level,
)
from .interior_point import HingePairs, interior_points
from .multiclass_ascent import (
    MulticlassEpochResult,
    multiclass_epoch,
)
from .online import (
    EVERY_UPDATE,
    OnlineWeights,
    PassResult,
    ScreeningState,
    draw_orders,
    online_pass,
    online_pass_twin,
    screening_state,
)
from .online_rules import RuleWeights, loss_of_rule, online_rule
from .two_loop import CurvaturePair, two_loop

__all__ = [
    "COMPILED",
    "EVERY_UPDATE",
    "OFFSETS",
    "ORDER",
    "RANGE",
    "BlockSum",
    "ColumnDescentResult",
    "ColumnModel",
    "CurvaturePair",
    "DescentResult",
    "EpochOrders",
    "HingePairs",
    "Interrupted",
    "MulticlassEpochResult",
    "OnlineWeights",
    "PassResult",
    "RoundResult",
    "RuleWeights",
    "ScreeningState",
    "StepHistory",
    "all_finite",
    "ascent_round",
    "batch_blocks",
    "batch_in_parts",
    "batch_pass",
    "block_coordinate_descent",
    "clear_stop",
    "column_descent",
    "column_model",
    "compensated_scores",
    "compensated_transpose_product",
    "compiled",
    "compiled_levels",
    "compiler",
    "coordinate_descent",
    "csr_columns",
    "csr_flaw",
    "draw_orders",
    "from_lines",
    "gram",
    "has_threads",
    "hessian_product",
    "interior_points",
    "level",
    "levels",
    "line_width",
    "loss_of_rule",
    "max_standardised_norm2",
    "moments",
    "multiclass_epoch",
    "online_pass",
    "online_pass_twin",
    "online_rule",
    "request_stop",
    "scores",
    "screening_state",
    "squared_norms",
    "stop_requested",
    "stored_features",
    "to_lines",
    "transpose_product",
    "two_loop",
    "use_level",
    "weighted_correct",
]

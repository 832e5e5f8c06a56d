"""What each compiled loop computes, in plain Python: the loops are compared with these.

A twin has the name of its loop. Those of kernels and of text are in :mod:`loops.twins.kernel` and
:mod:`loops.twins.svmlight`.
"""

from .ascent_round import ascent_round
from .batch import (
    all_finite,
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
from .column_descent import column_descent, column_model
from .coordinate_descent import coordinate_descent
from .csr_columns import csr_columns
from .interior_point import interior_points
from .multiclass_ascent import multiclass_epoch
from .online import draw_order
from .two_loop import two_loop

__all__ = [
    "all_finite",
    "ascent_round",
    "batch_pass",
    "block_coordinate_descent",
    "column_descent",
    "column_model",
    "compensated_scores",
    "compensated_transpose_product",
    "coordinate_descent",
    "csr_columns",
    "csr_flaw",
    "draw_order",
    "gram",
    "hessian_product",
    "interior_points",
    "max_standardised_norm2",
    "moments",
    "multiclass_epoch",
    "scores",
    "squared_norms",
    "stored_features",
    "transpose_product",
    "two_loop",
    "weighted_correct",
]

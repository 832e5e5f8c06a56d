"""One adapter per peer: how it is called, in its best layout and dtype, with its small grid."""

from . import lasso, liblinear, others, ours, rows, scikit_learn
from .ours import linear_classifier
from .roster import minimisers, passers

__all__ = [
    "lasso",
    "liblinear",
    "linear_classifier",
    "minimisers",
    "others",
    "ours",
    "passers",
    "rows",
    "scikit_learn",
]

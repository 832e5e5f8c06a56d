"""Fits to all folds of a cross-validation together, along a path of penalties.

A fold trains on all rows but those that it leaves out, and so do its sums: where no row is left
out twice, one read of the data, at weights that all folds share, tells J, its gradient and its
second derivative for every fold. So the fit to all rows is followed along the path, and from
there the minimum of a fold, which has most of the rows, is a Newton step away. How much of the
way such a step leaves is seen from those that were followed by a read.
"""

from .fold_path import Fit, FoldPath
from .folds import Folds, disjoint
from .splits import FoldSplit

__all__ = ["Fit", "FoldPath", "FoldSplit", "Folds", "disjoint"]

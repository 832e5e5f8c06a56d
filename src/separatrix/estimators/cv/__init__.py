"""Cross-validation along a path of penalties, with the fits of all folds together.

A fold trains on all rows except those that it leaves out, and so do its sums: if no row is left out
twice, one pass over the data, at weights that all folds share, yields J, its gradient and its
second derivative for every fold. So the fit to all rows is followed along the path, and from there
the minimum of a fold, which has most of the rows, is one Newton step away. How much such a step
leaves to gain is estimated from the steps that were followed by a pass.
"""

from .fold_path import Fit, FoldPath
from .folds import Folds, disjoint
from .splits import FoldSplit

__all__ = ["Fit", "FoldPath", "FoldSplit", "Folds", "disjoint"]

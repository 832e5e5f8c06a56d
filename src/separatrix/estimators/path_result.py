"""The fits of a path of penalties, as arrays, as tables and as classifiers."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..numeric import checks
from ..numeric.types import AnyArray, Array, Ints
from .cv.results import chosen
from .linear import LinearClassifier

SAME = 1e-9  # relative difference for a strength that was printed and read again


@dataclass(frozen=True, repr=False)
class Path:
    """Fits along a path of strengths s, from the largest: ``l1 = l1_ratio * s``,
    ``l2 = (1 - l1_ratio) * s / 2``.

    See Also
    --------
    path : computes it.
    PathDisplay : plots it.
    LinearClassifierCV : chooses a strength by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = path(X, y, standardize=True, strengths=5)
    >>> found.nonzeros.tolist()
    [0, 5, 13, 22, 27]
    >>> found.at(found.strengths[2]).stop_
    'optimal'
    >>> found.coef_frame().shape
    (5, 30)
    """

    l1_ratio: float
    """The share of the absolute values in the penalty."""
    strengths: Array
    """(m,), from large to small."""
    coefficients: Array
    """(m, k, d), k = 1 for two classes; for the features as given."""
    intercepts: Array
    """(m, k): biases."""
    objectives: Array
    """(m,): J of each fit."""
    gaps: Array
    """(m,): J exceeds its minimum by no more than this; NaN where there are no proofs."""
    nonzeros: Ints
    """(m,): weights that are not 0, over all classes."""
    deviance: Array
    """(m,): the share of the mean loss of the null model that a fit explains; the null model has
    only the biases and the weights of features with a penalty weight of 0. 0 if it has no loss."""
    _fits: tuple[LinearClassifier, ...] = field(repr=False, compare=False)
    cv_results: dict[str, AnyArray] | None = None
    """With ``cv``, the scores on held-out rows, as ``cv_results_`` of LinearClassifierCV."""

    def __repr__(self) -> str:
        m, (least, most) = len(self.strengths), (int(self.nonzeros.min()), int(self.nonzeros.max()))
        return (
            f"<Path: l1_ratio={self.l1_ratio:g}, {m} strength{'s' * (m != 1)} from "
            f"{self.strengths[0]:.4g} to {self.strengths[-1]:.4g}, {least} to {most} weights that "
            "are not 0>"
        )

    @property
    def feature_names(self) -> AnyArray:
        """Names of the features, (d,), as ``coef_names_`` of each fit."""
        return self._fits[0].coef_names_

    @property
    def entry(self) -> Ints:
        """(d,): the index of the first fit in which a feature has a weight; m if none has."""
        there = np.any(self.coefficients != 0.0, axis=1)
        found: Ints = np.where(there.any(axis=0), there.argmax(axis=0), len(self.strengths))
        return found

    @property
    def order_of_entry(self) -> list[str]:
        """Names of the features that have a weight in some fit, in the order in which they enter.

        Of features that enter at the same strength, the one with the largest weight comes first,
        for features divided by their deviations if the path was computed with ``standardize``.
        """
        return [str(name) for name in self.feature_names[self._entering()]]

    def _entering(self) -> Ints:
        """Numbers of these features, in this order."""
        entry, scale = self.entry, self._fits[0].scale_
        sizes = np.abs(self.coefficients).max(axis=1) * (1.0 if scale is None else scale)
        found = np.flatnonzero(entry < len(self.strengths))
        return found[np.lexsort((-sizes[entry[found], found], entry[found]))]

    @property
    def best_strength(self) -> float | None:
        """With ``cv``, the strength with the best mean score; the largest in a tie."""
        return self._chosen("best")

    @property
    def one_standard_error_strength(self) -> float | None:
        """With ``cv``, the largest strength within one standard error of the best mean score."""
        return self._chosen("one_standard_error")

    def _chosen(self, rule: str) -> float | None:
        if self.cv_results is None:
            return None
        return float(self.strengths[chosen(self.cv_results, rule)])

    def at(self, strength: float) -> LinearClassifier:
        """Return the fitted classifier for a strength of the path."""
        s = checks.number("strength", strength, strict=True)
        nearest = int(np.argmin(np.abs(np.log(self.strengths / s))))
        if abs(self.strengths[nearest] - s) > SAME * s:
            raise ValueError(
                f"no fit was made for the strength {s!r}: the nearest is "
                f"{float(self.strengths[nearest])!r}; give one of strengths, or fit a "
                f"LinearClassifier(l1={self.l1_ratio * s:g}, l2={(1 - self.l1_ratio) * s / 2:g})"
            )
        fit = copy(self._fits[nearest])
        fit.coef_, fit.intercept_ = fit.coef_.copy(), fit.intercept_.copy()
        return fit

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for every strength.

        ``entering`` has the names of the features that enter there, separated by commas; with
        ``cv`` there are also the mean score of the held-out rows and its standard error.
        """
        pd, order = _pandas("to_frame"), self._entering()
        names = [
            ", ".join(map(str, self.feature_names[order[self.entry[order] == at]]))
            for at in range(len(self.strengths))
        ]
        table = {
            "strength": self.strengths,
            "l1": self.l1_ratio * self.strengths,
            "l2": (1.0 - self.l1_ratio) * self.strengths / 2.0,
            "nonzeros": self.nonzeros,
            "deviance": self.deviance,
            "objective": self.objectives,
            "gap": self.gaps,
            "entering": names,
        }
        if self.cv_results is not None:
            table |= {name: self.cv_results[name] for name in ("mean_test_score", "standard_error")}
        return pd.DataFrame(table)

    def coef_frame(self) -> Any:
        """Return a pandas DataFrame of the weights: a row for every strength, named columns.

        For more than two classes the columns have two levels, the class and the feature.
        """
        pd = _pandas("coef_frame")
        names, m = list(self.feature_names), len(self.strengths)
        columns = pd.Index(names, name="feature")
        if self.coefficients.shape[1] > 1:
            classes = self._fits[0].classes_.tolist()
            columns = pd.MultiIndex.from_product([classes, names], names=["class", "feature"])
        rows = pd.Index(self.strengths, name="strength")
        return pd.DataFrame(self.coefficients.reshape(m, -1).copy(), index=rows, columns=columns)


def _pandas(what: str) -> Any:
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(
            f"Path.{what} needs pandas, which is not installed: pip install pandas"
        ) from error
    return pd

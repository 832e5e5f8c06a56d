"""Features in which classes that no line separates become linearly separable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .config import LinkedToPages
from .data.validation import check_rows
from .numeric import checks
from .numeric.types import AnyArray, Array, Ints
from .rows import host_rows_of

BLOCK = 2**20  # numbers in a block: 8 MB


class RadialBasis(LinkedToPages, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """One feature per centre: ``exp(-gamma * |x - centre|^2)``, 1 at the centre, 0 far away.

    Parameters
    ----------
    centers : {"kmeans", "sample"} or array (n_centers, n_features)
        The means found by k-means; distinct rows drawn at random; or the given points.
    gamma : float
        How fast a feature falls off: to 1/e at the distance ``1 / sqrt(gamma)``.
    n_centers : int
        Number of centres to find. If X has fewer distinct rows, each of them is a centre. Not used
        if the centres are given.
    random_state : int, Generator, RandomState or None
        Seed of k-means and of the random sample.

    Attributes
    ----------
    centers_ : array (n_centers, n_features)
        Dense, whatever X was.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : array
        Names of the features seen during fit, if X has names.

    See Also
    --------
    separatrix.KernelPerceptron : without explicit features.

    Notes
    -----
    Sparse X is processed in blocks and never made dense as a whole; the output is dense, and
    float32 for float32 rows. Distances are sums of squared differences: the usual shortcut ``|x|^2
    - 2 x.c + |c|^2`` cancels where it matters most, near a centre. K-means runs on one thread, so
    that the number of threads does not change the centres; in a tie it may find other centres in
    sparse rows than in the same rows stored densely.

    Examples
    --------
    XOR, which no line separates, is separable in two such features:

    >>> from separatrix import Perceptron
    >>> from separatrix.datasets import logic
    >>> from separatrix.features import RadialBasis
    >>> X, y = logic("xor")
    >>> features = RadialBasis(centers=[[1, 1], [0, 0]]).fit_transform(X)
    >>> features.round(2)
    array([[0.14, 1.  ],
           [0.37, 0.37],
           [0.37, 0.37],
           [1.  , 0.14]])
    >>> Perceptron(random_state=0).fit(features, y).stop_
    'no mistakes'
    """

    _page = "separatrix.features"

    centers_: AnyArray
    n_features_in_: int
    feature_names_in_: AnyArray

    def __init__(
        self,
        centers: Any = "kmeans",
        *,
        gamma: float = 1.0,
        n_centers: int = 10,
        random_state: Any = None,
    ) -> None:
        self.centers = centers
        self.gamma = gamma
        self.n_centers = n_centers
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find or check the centres; y is not used."""
        self._checked_gamma()
        n_centers = checks.whole("n_centers", self.n_centers)
        rows = _rows(X, self)
        if not isinstance(self.centers, str):
            centers: AnyArray = _given(self.centers, rows.shape[1])
        elif self.centers == "kmeans":
            centers = _means(rows, n_centers, checks.seed(self.random_state))
        elif self.centers == "sample":
            centers = _sample(rows, n_centers, checks.seed(self.random_state))
        else:
            raise ValueError(
                f"centers must be 'kmeans', 'sample' or an array of points, got {self.centers!r}"
            )
        # Set only now, when nothing can fail any more: an earlier fit stays intact until then.
        validate_data(self, X, skip_check_array=True)
        self.centers_ = centers
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the features of each row, (n, n_centers)."""
        check_is_fitted(self)
        gamma = self._checked_gamma()
        rows = _rows(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        features = np.empty((rows.shape[0], len(self.centers_)), dtype=rows.dtype)
        for block in _blocks(rows.shape[0], sum(self.centers_.shape)):
            # cdist subtracts and squares in float64: a row equal to a centre has distance 0.
            squares = cdist(_dense(rows[block]), self.centers_, "sqeuclidean")
            with np.errstate(over="ignore"):  # a distance whose square overflows is infinite
                features[block] = np.exp(-gamma * squares)
        return features

    def _checked_gamma(self) -> float:
        return checks.number("gamma", self.gamma, strict=True)

    @property
    def _n_features_out(self) -> int:
        return len(self.centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _rows(X: Any, owner: RadialBasis) -> Any:
    """X after the checks of every estimator, as a NumPy array or a SciPy sparse array."""
    return host_rows_of(check_rows(X, owner=owner)).as_matrix()


def _dense(rows: Any) -> AnyArray:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows, so that a block of rows of this width stays small."""
    size = max(1, BLOCK // width)
    return (slice(start, start + size) for start in range(0, n, size))


def _different(rows: Any, order: Ints, most: int) -> AnyArray:
    """The first rows in this order that differ from all before them, at most ``most``."""
    found: dict[bytes, None] = {}
    for block in _blocks(len(order), rows.shape[1]):
        for row in _dense(rows[order[block]]) + 0.0:  # -0.0 becomes 0.0
            found[row.tobytes()] = None
            if len(found) == most:
                break
        if len(found) == most:
            break
    return np.frombuffer(b"".join(found), dtype=rows.dtype).reshape(len(found), -1).copy()


def _sample(rows: Any, n_centers: int, seed: int) -> AnyArray:
    order = np.random.default_rng(seed).permutation(rows.shape[0])
    return _different(rows, order, n_centers)


def _means(rows: Any, n_centers: int, seed: int) -> AnyArray:
    """Means found by k-means; if there are too few distinct rows, these rows."""
    different = _different(rows, np.arange(rows.shape[0]), n_centers)
    if len(different) < n_centers:
        return different
    from sklearn.cluster import KMeans  # slow to import, and rarely needed
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        means = KMeans(n_centers, random_state=seed % 2**32).fit(rows).cluster_centers_
    return np.asarray(means)


def _given(centers: Any, n_features: int) -> Array:
    wanted = (
        f"centers must be 'kmeans', 'sample' or an array of finite numbers, one row per centre and "
        f"one column for each of the {n_features} features of X"
    )
    try:
        points = np.array(centers, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, got {centers!r}") from None
    if points.ndim != 2 or len(points) == 0 or points.shape[1] != n_features:
        raise ValueError(f"{wanted}, got shape {points.shape}")
    if not np.all(np.isfinite(points)):
        raise ValueError(f"{wanted}, got NaN or infinity among them")
    return points

"""A plane in feature space, for rows and models with more than two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...numeric.types import AnyArray, Array

POWER_STEPS = 100  # of the power method: the plane need not be exact
MOST_NUMBERS = 1 << 22  # of lifted points at a time
ROUNDING = 1e-12  # of numbers of size 1, with room for the errors of a mean and a deviation


@dataclass(frozen=True)
class Plane:
    """Points ``origin + coordinates @ axes``, the two axes of length 1 and orthogonal."""

    origin: Array
    axes: Array
    labels: tuple[str, str]
    said: str  # description of the plane, unless it is the whole space

    def coordinates(self, X: Any) -> Array:
        """Coordinates (n, 2) of rows, projected onto the plane."""
        found: Array = np.asarray(X @ self.axes.T) - self.axes @ self.origin
        return found

    def lifted(self, points: Array) -> Array:
        rows: Array = self.origin + points @ self.axes
        return rows

    def distances(self, X: Any) -> Array:
        """Distances of rows from the plane, with features in standard deviations of these rows."""
        scale = deviations(X)
        varies = scale > ROUNDING * np.abs(self.origin)
        scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=varies)
        step = max(1, MOST_NUMBERS // len(self.origin))
        found = []
        for i in range(0, X.shape[0], step):
            part = X[i : i + step]
            dense = part.toarray() if sp.issparse(part) else part
            away = (dense - self.lifted(self.coordinates(part))) * scale
            found.append(np.linalg.norm(away, axis=1))
        return np.concatenate(found)


def deviations(X: Any) -> Array:
    """Standard deviations of the features."""
    if not sp.issparse(X):
        return np.asarray(np.asarray(X, dtype=np.float64).std(axis=0))
    from sklearn.utils.sparsefuncs import mean_variance_axis

    found: Array = np.sqrt(mean_variance_axis(sp.csr_array(X), axis=0)[1])
    return found


def as_table(X: Any) -> tuple[Any, list[str]]:
    """The rows as an array or a sparse matrix, and the names of their features."""
    rows: Any = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"X has shape {rows.shape}: expected rows of features")
    names = getattr(X, "columns", None)
    numbered = [f"x{j}" for j in range(rows.shape[1])]
    return rows, numbered if names is None else [str(name) for name in names]


def as_rows(X: Any) -> tuple[Any, list[str]]:
    """The same for rows with at least two features, which a plot needs."""
    rows, names = as_table(X)
    if rows.shape[1] < 2 or not rows.shape[0]:
        raise ValueError(
            f"X has shape {np.shape(X)}: expected rows of at least two features, which span the "
            "picture"
        )
    return rows, names


def plane_of(X: Any, features: Sequence[int | str] | None = None) -> Plane:
    """Plane of two features, with the others at their mean; or of the two principal components.

    ``features`` are two indices or names; None: both of two features, else the principal
    components.
    """
    rows, names = as_rows(X)
    d = rows.shape[1]
    if features is None and d > 2:
        return _principal(rows)
    chosen = [0, 1] if features is None else [_number(feature, names) for feature in features]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ValueError(f"features must be two different ones, got {features!r}")
    origin = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    origin[chosen] = 0.0
    labels = (names[chosen[0]], names[chosen[1]])
    return Plane(origin, np.eye(d)[chosen], labels, "others at their mean" if d > 2 else "")


def _number(feature: int | str, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            some = ", ".join(names[:5])
            raise ValueError(f"there is no feature {feature!r}; names are {some}, ...")
        return names.index(feature)
    if not -len(names) <= feature < len(names):
        raise ValueError(f"there is no feature {feature}: X has {len(names)}")
    return int(feature) % len(names)


def _principal(rows: Any) -> Plane:
    from sklearn.decomposition import PCA

    if rows.shape[0] < 3:
        raise ValueError(
            f"{rows.shape[0]} rows have no two principal components; choose two features=(0, 1)"
        )
    found = PCA(2, random_state=0).fit(rows)
    share = float(np.sum(found.explained_variance_ratio_))
    return Plane(
        found.mean_, found.components_, ("component 1", "component 2"),
        f"principal plane ({share:.1%} of variance)",
    )  # fmt: skip


def plane_along(rows: Any, w: Array | None, centred: bool = True) -> Plane:
    """Plane of a direction w and the orthogonal direction of largest variance.

    Without w, of the two directions of largest variance. ``centred``: around the mean, not 0.
    """
    d = rows.shape[1]
    mean = np.asarray(rows.mean(axis=0)).ravel() if centred else np.zeros(d)
    axes = np.empty((0, d)) if w is None else (w / np.linalg.norm(w))[None]
    while len(axes) < 2:
        v = _leading(rows, mean, axes)
        axes = np.concatenate([axes, v[None]])
    along = ("along w", "most spread across")
    labels = ("largest spread", "second largest") if w is None else along
    return Plane(mean, axes, labels, f"a plane of {d} dimensions")


def _leading(rows: Any, mean: Array, without: Array) -> Array:
    """The direction of the largest variance orthogonal to others, by the power method."""

    def outside(v: Array) -> Array:
        v = v - without.T @ (without @ v)
        return v / (np.linalg.norm(v) or 1.0)

    v = outside(np.random.default_rng(0).standard_normal(len(mean)))
    for _ in range(POWER_STEPS):
        along = rows @ v - mean @ v
        step = outside(rows.T @ along - mean * along.sum())
        if not step.any():  # no variance is left: any direction will do
            break
        v = step
    return v


def responses(estimator: Any, X: Any, plane: Plane, points: Array) -> tuple[AnyArray, Array | None]:
    """The classes that an estimator predicts on the plane, and its scores if it has any.

    ``X`` is the fitted data: points are passed to the estimator in the same kind of table.
    """
    step = max(1, MOST_NUMBERS // len(plane.origin))
    parts = [points[i : i + step] for i in range(0, len(points), step)]
    rows = [_like(X, plane.lifted(part)) for part in parts]
    predicted = np.concatenate([estimator.predict(part) for part in rows])
    if not hasattr(estimator, "decision_function"):
        return predicted, None
    return predicted, np.concatenate([estimator.decision_function(part) for part in rows])


def _like(X: Any, rows: Array) -> Any:
    """Put the rows into a frame if X is one, so that an estimator finds the expected names."""
    if not hasattr(X, "columns"):
        return rows
    names = "columns" if hasattr(X, "iloc") else "schema"  # pandas or polars
    return type(X)(rows, **{names: list(X.columns)})

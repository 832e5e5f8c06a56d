"""Rows, the regions of the classes, and the boundary between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np

from ...numeric.types import AnyArray, Array
from . import style
from .classifiers import name_of
from .plane import ROUNDING, as_rows, plane_of, responses

FAINTEST = 0.25  # opacity of rows that are at least twice as far from the slice as the average


class BoundaryDisplay:
    """The regions that a classifier assigns to its classes, the boundary, and the rows.

    Regions are drawn as in scikit-learn's ``DecisionBoundaryDisplay``. For rows with more than two
    features they are those of a slice of the feature space: two features with the others at their
    mean, or the plane of the two principal components. The title states the slice. A row off the
    slice is drawn where it projects to, which can be in the region of another class than the one
    that is predicted for it. So rows fade with their distance from the slice, the title counts
    those outside their region, and mistakes, which use all features, have a ring.

    Axes have the names of the features. Features without names are called x0, x1, ..., as by
    scikit-learn's ``get_feature_names_out``: the number is that of the column in X.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    xx0, xx1 : arrays (g, g)
        The grid.
    predicted : array (g, g)
        The class number at each grid point.
    scores : array (g, g), or (g, g, k), or None
        For two classes, or for more.
    classes : array (k,)
    points : array (n, 2)
        The rows that are drawn.
    y : array (n,)
        Labels of the rows.
    mistakes : array (n,)
        Whether the classifier misclassifies them.
    xlabel, ylabel : str
    said : str
        Description of the plane that is shown.
    name : str
        Name of the classifier.
    opacity : array (n,), or None
        Opacity of the rows, from 0 to 1.

    Attributes
    ----------
    regions_ : DecisionBoundaryDisplay
    lines_ : list of contours
    pairs_ : list of contours
        The surfaces between every two classes, if requested.
    rows_ : list of collections
        One per class.
    mistakes_ : collection
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    CertificateDisplay : the best separator, or why there is none.
    MarginDisplay : how far rows are from the boundary.

    Examples
    --------
    >>> from separatrix import BoundaryDisplay, LinearClassifier, datasets
    >>> X, y = datasets.logic("and")
    >>> clf = LinearClassifier(l2=1e-3).fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(clf, X, y)
    >>> display.ax_.get_title()
    'LinearClassifier: 4 rows, no mistake'
    """

    def __init__(
        self,
        *,
        xx0: Array,
        xx1: Array,
        predicted: AnyArray,
        scores: Array | None,
        classes: AnyArray,
        points: Array,
        y: AnyArray,
        mistakes: AnyArray,
        xlabel: str = "",
        ylabel: str = "",
        said: str = "",
        name: str = "",
        opacity: Array | None = None,
    ) -> None:
        self.opacity = opacity
        self.xx0, self.xx1 = xx0, xx1
        self.predicted, self.scores = predicted, scores
        self.classes, self.points, self.y, self.mistakes = classes, points, y, mistakes
        self.xlabel, self.ylabel, self.said, self.name = xlabel, ylabel, said, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        features: Sequence[int | str] | None = None,
        grid_resolution: int = 200,
        name: str | None = None,
        ax: Any = None,
        levels: Sequence[float] = (0.0,),
        pairs: bool = False,
        scatter_kwargs: Mapping[str, Any] | None = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot a fitted classifier and rows in memory, with at least two features.

        ``features`` selects two features, by number or name; the others stay at their mean. None:
        both features, or the two principal components if there are more. Other keyword arguments
        are passed to :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        if grid_resolution < 2:
            raise ValueError(f"grid_resolution must be 2 or more, got {grid_resolution!r}")
        plane, (rows, _) = plane_of(X, features), as_rows(X)
        y = np.asarray(y)
        if y.shape != (rows.shape[0],):
            raise ValueError(f"y has shape {y.shape}: expected one label for each of the rows of X")
        drawn = style.some_rows(len(y))
        points = plane.coordinates(rows)[drawn]
        low, high = points.min(axis=0), points.max(axis=0)
        pad = np.where(high > low, 0.15 * (high - low), 1.0)
        sides = [
            np.linspace(a, b, grid_resolution) for a, b in zip(low - pad, high + pad, strict=True)
        ]
        xx0, xx1 = np.meshgrid(*sides)
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        labels, scores = responses(estimator, X, plane, grid)
        classes = np.asarray(estimator.classes_)
        given = np.asarray(estimator.predict(X))
        wrong = given != y
        opacity, lines = None, [_counted(wrong)]
        if plane.said:
            opacity = _opacity(plane.distances(rows[drawn]))
            outside = np.count_nonzero(responses(estimator, X, plane, points)[0] != given[drawn])
            lines[0] += f" with all {rows.shape[1]:,} features"
            lines.append(f"slice: {plane.said}; distant rows fade")
            if outside:
                lines.append(f"{outside:,} rows are drawn outside their predicted region")
        if len(drawn) < len(y):
            lines.append(f"{len(drawn):,} of the rows drawn")
        display = cls(
            xx0=xx0, xx1=xx1, predicted=np.searchsorted(classes, labels).reshape(xx0.shape),
            scores=None if scores is None else scores.reshape(*xx0.shape, *scores.shape[1:]),
            classes=classes, points=points, y=y[drawn], mistakes=wrong[drawn],
            xlabel=plane.labels[0], ylabel=plane.labels[1],
            said="\n".join(lines), name=name_of(estimator, name), opacity=opacity,
        )  # fmt: skip
        return display.plot(
            ax, levels=levels, pairs=pairs, scatter_kwargs=scatter_kwargs, line_kwargs=line_kwargs
        )

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        levels: Sequence[float] = (0.0,),
        pairs: bool = False,
        scatter_kwargs: Mapping[str, Any] | None = None,
        line_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the regions, the boundary and the rows.

        ``levels``: the scores of two classes at which lines are drawn; all but 0 are dashed: ``(-1,
        0, 1)`` shows where the hinge begins. ``pairs``: also draw, dotted, the whole surface
        between every two classes, ``(w_k - w_j).x + b_k - b_j = 0``; the boundary is a part of it.
        """
        ax = style.axes(self, ax)
        from sklearn.inspection import DecisionBoundaryDisplay

        k = len(self.classes)
        colours = [style.colour(number) for number in range(k)]
        regions = DecisionBoundaryDisplay(
            xx0=self.xx0, xx1=self.xx1, n_classes=k, response=self.predicted,
            multiclass_colors=colours, xlabel=self.xlabel, ylabel=self.ylabel,
        )  # fmt: skip
        own = {"colors": colours} if k == 2 else {}
        self.regions_ = regions.plot(
            ax=ax, levels=np.arange(k + 1) - 0.5, alpha=0.22, zorder=-1, **own
        )
        looks = style.merged({"linewidth": 1.5, "linestyle": None}, line_kwargs)
        self.lines_: list[Any] = []
        self.pairs_: list[Any] = []
        if self.scores is None:
            self._line(ax, self.predicted, [c + 0.5 for c in range(k - 1)], looks)
        elif k == 2:
            self._line(ax, self.scores, levels, looks)
        else:
            self._between(ax, looks, pairs)
        self.rows_ = style.scatter_classes(ax, self.points, self.y, self.classes, scatter_kwargs)
        self.mistakes_ = style.rings(ax, self.points[self.mistakes], "mistake")
        style.legend(ax)  # before rows fade, as its markers copy them
        if self.opacity is not None and "alpha" not in (scatter_kwargs or {}):
            for rows, label in zip(self.rows_, self.classes, strict=True):
                rows.set_alpha(self.opacity[self.y == label])
        style.finish(self, ax, name, self.said)
        return self

    def _line(self, ax: Any, height: Any, levels: Sequence[float], looks: dict[str, Any]) -> None:
        """Contours of the height; a level that it never reaches draws nothing."""
        shown = [level for level in np.sort(levels) if height.min() < level < height.max()]
        if shown:
            style_ = looks["linestyle"] or ["-" if level == 0.0 else "--" for level in shown]
            self.lines_.append(self._contour(ax, height, shown, looks, style_))

    def _between(self, ax: Any, looks: dict[str, Any], pairs: bool) -> None:
        assert self.scores is not None
        for a, b in combinations(range(len(self.classes)), 2):
            height = self.scores[..., a] - self.scores[..., b]
            if not height.min() < 0.0 < height.max():
                continue
            if pairs:
                self.pairs_.append(self._contour(ax, height, [0.0], looks, ":"))
            elsewhere = (self.predicted != a) & (self.predicted != b)
            seen = np.ma.array(height, mask=elsewhere)
            if seen.count() and seen.min() < 0.0 < seen.max():
                self.lines_.append(self._contour(ax, seen, [0.0], looks, looks["linestyle"] or "-"))

    def _contour(
        self, ax: Any, height: Any, levels: list[float], looks: dict[str, Any], linestyle: Any
    ) -> Any:
        colours = looks.get("color", style.ink(ax))
        return ax.contour(
            self.xx0, self.xx1, height, levels=levels, colors=[colours], linestyles=linestyle,
            linewidths=looks["linewidth"],
        )  # fmt: skip


def _counted(wrong: AnyArray) -> str:
    count = int(np.count_nonzero(wrong))
    mistakes = {0: "no mistake", 1: "one mistake"}.get(count, f"{count:,} mistakes")
    return f"{len(wrong):,} rows, {mistakes}"


def _opacity(distances: Array) -> Array:
    """Opacity of rows by their distance from the slice: 1 for rows on it."""
    far = 2.0 * distances.mean()
    share = np.minimum(distances / far, 1.0) if far > ROUNDING else np.zeros_like(distances)
    faded: Array = 1.0 - (1.0 - FAINTEST) * share
    return faded

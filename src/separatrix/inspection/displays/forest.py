"""Coefficients and their confidence intervals, one line each: a forest plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ...numeric.types import AnyArray, Array
from . import style

SHIFT = 0.6  # of the distance between lines: the share that the classes of a feature occupy
INTERCEPT = "(intercept)"


class ForestDisplay:
    """Coefficients with their confidence intervals, one line per feature.

    An interval that contains 0 has an empty marker. Infinite ends are arrows, and so is an infinite
    coefficient without an interval. With more than two classes every class has its own marker. Use
    :meth:`from_inference` to create one.

    Parameters
    ----------
    coef : array (m,)
    intervals : array (m, 2)
    names : list of str
        The feature of each coefficient.
    classes : sequence (m,)
        The class of each coefficient; empty for two classes.
    odds_ratios : bool
        Whether the axis shows ``exp(coef)``, on a logarithmic scale.
    level : float
        Probability of the intervals.
    name : str
        Name of the model.

    Attributes
    ----------
    lines_, markers_ : list of collections
        One per class: the intervals and the coefficients.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    inference : computes the intervals.
    CoefficientDisplay : the coefficients alone.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import ForestDisplay, LinearClassifier, inference
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> found = inference(LinearClassifier(l2=0.0).fit(X, y), X, y)
    >>> ForestDisplay.from_inference(found).ax_.get_xlabel()
    'coefficient and 95 % interval'
    """

    def __init__(
        self,
        coef: Array,
        *,
        intervals: Array,
        names: Sequence[str],
        classes: Sequence[Any] = (),
        odds_ratios: bool = False,
        level: float = 0.95,
        name: str = "",
    ) -> None:
        self.coef, self.intervals = np.asarray(coef, float), np.asarray(intervals, float)
        self.names, self.classes = [str(each) for each in names], list(classes)
        self.odds_ratios, self.level, self.name = odds_ratios, level, name
        m = len(self.coef)
        if self.intervals.shape != (m, 2) or len(self.names) != m:
            raise ValueError(
                f"there are {m} coefficients, {len(self.names)} names and intervals of shape "
                f"{self.intervals.shape}: expected a name and two ends for each"
            )
        if self.classes and len(self.classes) != m:
            raise ValueError(f"there are {m} coefficients and {len(self.classes)} classes")

    @classmethod
    def from_inference(
        cls,
        found: Any,
        *,
        odds_ratios: bool = False,
        intercept: bool = False,
        name: str | None = None,
        ax: Any = None,
        marker_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the result of :func:`separatrix.inference`, without the intercept unless wanted."""
        style.pyplot(f"{cls.__name__}.from_inference")
        names = np.array(found.names, dtype=object)
        kept = np.flatnonzero(intercept | (names != INTERCEPT))
        if not len(kept):
            raise ValueError("there is only an intercept: pass intercept=True to plot it")
        if odds_ratios:
            found.odds_ratios  # noqa: B018 (an error if the model has none)
        display = cls(
            found.coef[kept], intervals=found.intervals[kept], names=names[kept].tolist(),
            classes=[found.classes[j] for j in kept] if found.classes else (),
            odds_ratios=odds_ratios, level=found.level, name="" if name is None else name,
        )  # fmt: skip
        return display.plot(ax, marker_kwargs=marker_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        marker_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot all coefficients, the first at the top."""
        features, groups = list(dict.fromkeys(self.names)), list(dict.fromkeys(self.classes))
        ax = style.axes(self, ax, figsize=(6.4, 1.3 + 0.3 * len(features) * max(len(groups), 1)))
        number = {feature: place for place, feature in enumerate(features)}
        places = -np.array([number[each] for each in self.names], dtype=float)
        self.lines_: list[Any] = []
        self.markers_: list[Any] = []
        ends, middle = self._on_axis(self.intervals), self._on_axis(self.coef)
        if self.odds_ratios:
            ax.set_xscale("log")
        for order, group in enumerate(groups or [None]):
            at = np.array([not groups or each == group for each in self.classes or self.coef])
            off = SHIFT * ((order + 0.5) / max(len(groups), 1) - 0.5)
            self._mark(ax, middle[at], ends[at], places[at] - off, order, group, marker_kwargs)
        ax.axvline(self._on_axis(np.zeros(1))[0], color=style.ink(ax), linewidth=0.8, zorder=0)
        ax.set_yticks(-np.arange(len(features)), features, fontsize="small")
        ax.set_ylim(0.5 - len(features), 0.5)
        what = "odds ratio" if self.odds_ratios else "coefficient"
        ax.set_xlabel(f"{what} and {100.0 * self.level:g} % interval")
        if groups:
            style.legend_below(ax, "small")
        away = int(np.sum((self.intervals[:, 0] > 0.0) | (self.intervals[:, 1] < 0.0)))
        style.finish(self, ax, name, f"{away} of {len(self.coef)} intervals exclude "
                     + ("1" if self.odds_ratios else "0"))  # fmt: skip
        return self

    def _on_axis(self, values: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(values) if self.odds_ratios else values

    def _mark(
        self,
        ax: Any,
        middle: Array,
        ends: Array,
        places: AnyArray,
        order: int,
        group: Any,
        given: Mapping[str, Any] | None,
    ) -> None:
        """The intervals and coefficients of one class."""
        colour = style.colour(order)
        edges, (low, high) = _visible(ends, middle, self.odds_ratios)
        self.lines_.append(ax.hlines(places, *edges.T, color=colour, linewidth=1.6))
        for side, sign in ((0, "<"), (1, ">")):
            arrows = _endless(ends[:, side], side, self.odds_ratios)
            ax.plot(
                edges[arrows, side], places[arrows], linestyle="", marker=sign, color=colour,
                markersize=6,
            )  # fmt: skip
        lost = np.isnan(ends).all(axis=1)  # Wald's interval of an infinite coefficient
        for side, edge, sign in ((0, low, "<"), (1, high, ">")):
            arrows = lost & _endless(middle, side, self.odds_ratios)
            ax.plot(
                np.full(np.count_nonzero(arrows), edge), places[arrows], linestyle="", marker=sign,
                color=colour, markersize=6,
            )  # fmt: skip
        null = 1.0 if self.odds_ratios else 0.0
        away = (ends[:, 0] > null) | (ends[:, 1] < null)
        fill = [colour if out else style.paper(ax) for out in away]
        looks = {"marker": style.marker(order), "s": 34, "zorder": 3, **(given or {})}
        seen = np.isfinite(middle) & ((middle > 0.0) | (not self.odds_ratios))
        self.markers_.append(
            ax.scatter(
                np.where(seen, middle, np.nan), places, facecolors=fill, edgecolors=colour,
                label=None if group is None else str(group), **looks,
            )
        )  # fmt: skip


def _endless(end: Array, side: int, positive: bool) -> AnyArray:
    """Whether an end is at infinity, or too near to it for the axis."""
    low = (end == 0.0) if positive else (end == -np.inf)
    return np.asarray(np.isposinf(end) if side else low)


def _visible(ends: Array, middle: Array, positive: bool) -> tuple[Array, Array]:
    """The ends, and where those at infinity are: a little outside of everything that is finite."""
    finite = np.concatenate([ends.ravel(), middle])
    finite = finite[np.isfinite(finite) & ((finite > 0.0) | (not positive))]
    scaled = np.log(finite) if positive else finite
    low, high = (scaled.min(), scaled.max()) if len(scaled) else (-1.0, 1.0)
    room = 0.15 * (high - low) or 1.0
    edges = np.array([low - room, high + room])
    edges = np.exp(edges) if positive else edges
    shown = [
        np.where(_endless(ends[:, side], side, positive), edges[side], ends[:, side])
        for side in (0, 1)
    ]
    return np.column_stack(shown), edges

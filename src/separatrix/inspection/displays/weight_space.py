"""The path of the weights on the contours of the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from ...data.labels import refuse_several
from ...estimators import LinearClassifier
from ...losses import MarginLoss
from ...numeric.types import Array
from ...penalties import L2, Penalty
from ...proofs.units import original_weights
from ...training.trace import Trace
from . import style
from .classifiers import last_step, name_of, rows_before
from .margins import margin_loss
from .plane import as_table

MOST_STEPS = 2000
"""Maximum number of plotted points; of a longer path every second, third, ... and the last."""
MOST_NUMBERS = 1 << 22  # of margins at a time
LEVELS = 14  # of the contours
BIAS = "b"


class WeightSpaceDisplay:
    """Two of the weights (w, b), the objective over them, and the path of a fit.

    The other weights are fixed at the end of the path; the title shows them. Only for two classes.
    Use :meth:`from_estimator`, or, without a fit, :meth:`from_loss`.

    Parameters
    ----------
    xx0, xx1 : arrays (g, g)
        The grid of the two weights.
    objective : array (g, g)
        The mean loss plus the penalty on the grid.
    path : array (t, 2), optional
        The path, the start first.
    labels : (str, str)
        Names of the two weights.
    steps : bool
        Whether the loss is piecewise constant, without contour lines.
    said : str
        The fixed weights and their values.
    name : str
        Name of the classifier, or the loss.

    Attributes
    ----------
    contours_ : contours, or a mesh if the loss is piecewise constant
    path_ : line or None
    ends_ : list of lines
        The start, and the end.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    HistoryDisplay : the fit by pass.
    DescentDisplay : for one variable.

    Examples
    --------
    The 0-1 loss is constant except for jumps: there is nothing to descend.

    >>> from separatrix import WeightSpaceDisplay, datasets
    >>> X, y = datasets.logic("and")
    >>> display = WeightSpaceDisplay.from_loss("zero_one", X, y, at=[0, 0, -1.5])
    >>> display.ax_.get_title(), sorted(set(display.objective.ravel().tolist()))
    ('zero_one: b = -1.5', [0.0, 0.25, 0.5])
    """

    def __init__(
        self,
        xx0: Array,
        xx1: Array,
        objective: Array,
        *,
        path: Array | None = None,
        labels: tuple[str, str] = ("", ""),
        steps: bool = False,
        said: str = "",
        name: str = "",
    ) -> None:
        self.xx0, self.xx1, self.objective, self.path = xx0, xx1, objective, path
        self.labels, self.steps, self.said, self.name = labels, steps, said, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        weights: Sequence[int | str] | None = None,
        loss: str | MarginLoss | None = None,
        grid_resolution: int = 120,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Replay a fit on its rows, which must be given, and plot its path.

        ``weights`` are two features by number or name, or ``"b"``, the bias; None: the two that
        moved furthest. ``loss``: plot the contours of another loss than that of the fit, without
        penalty.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        X, estimator = rows_before(estimator, X), last_step(estimator)
        trace = getattr(estimator, "trace_", None)
        if not isinstance(trace, Trace):
            raise TypeError(
                f"{type(estimator).__name__} has no trace_ to replay: expected a fitted "
                "Perceptron, LinearClassifier or LinearClassifierCV"
            )
        refuse_several(y)
        if len(trace.classes) != 2:
            raise ValueError(
                f"there are {len(trace.classes)} classes, each with weights of its own: pass a "
                "fit of two"
            )
        walk = [step.weights[0] for step in trace.replay(X, y, sample_weight)]
        W = np.array([original_weights(trace.start, trace.features)[0], *walk])
        rows, names = as_table(X)
        weigh = compute_sample_weight(trace.class_weight, y)
        weigh = weigh if sample_weight is None else weigh * np.asarray(sample_weight, dtype=float)
        scale = getattr(estimator, "scale_", None)
        units = np.ones(rows.shape[1]) if scale is None else scale
        # All features, including those that no row stores, which a trace leaves out.
        whole = isinstance(estimator, LinearClassifier)
        penalty = estimator._penalty() if whole else trace.penalty
        penalty = penalty if loss is None else L2(0.0)
        kind = trace.loss if loss is None else margin_loss(loss)
        space = _Space(rows, y, weigh, kind, penalty, units)
        chosen = _chosen(weights, names, W)
        return cls._drawn(
            space, W[-1], chosen, names, W[:, chosen], None, grid_resolution,
            name_of(estimator, name), ax, curve_kwargs,
        )  # fmt: skip

    @classmethod
    def from_loss(
        cls,
        loss: str | MarginLoss,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        l2: float = 0.0,
        at: Any = None,
        weights: Sequence[int | str] | None = None,
        limits: float = 3.0,
        grid_resolution: int = 120,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the objective alone, ``mean of loss + l2 * |w|^2``, around the weights ``at``.

        ``at`` is (d + 1,), the bias last; None: zeros. The picture extends by ``limits`` to every
        side of the two ``weights``; None: the first two of (w, b).
        """
        style.pyplot(f"{cls.__name__}.from_loss")
        rows, names = as_table(X)
        n, d = rows.shape
        centre = np.zeros(d + 1) if at is None else np.asarray(at, dtype=np.float64)
        if centre.shape != (d + 1,):
            raise ValueError(f"at has shape {centre.shape}: expected ({d + 1},), the bias last")
        weigh = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        found = margin_loss(loss)
        space = _Space(rows, y, weigh, found, L2(float(l2)), np.ones(d))
        chosen = _chosen([0, 1 if d > 1 else BIAS] if weights is None else weights, names, None)
        label = (found.name or type(found).__name__) if name is None else name
        return cls._drawn(
            space, centre, chosen, names, None, float(limits), grid_resolution, label, ax, None
        )

    @classmethod
    def _drawn(
        cls, space: _Space, centre: Array, chosen: list[int], names: list[str], path: Array | None,
        reach: float | None, resolution: int, name: str, ax: Any,
        curve_kwargs: Mapping[str, Any] | None,
    ) -> Self:  # fmt: skip
        if resolution < 2:
            raise ValueError(f"grid_resolution must be 2 or more, got {resolution!r}")
        seen = centre[chosen][None] if path is None else path
        low, high = seen.min(axis=0), seen.max(axis=0)
        pad = np.full(2, reach) if reach else 0.25 * (high - low)
        pad = np.where(pad > 0.0, pad, 1.0)
        sides = [np.linspace(a, b, resolution) for a, b in zip(low - pad, high + pad, strict=True)]
        xx0, xx1 = np.meshgrid(*sides)
        words = [f"weight of {each}" for each in names] + ["bias b"]
        short = [f"w[{each}]" for each in names] + [BIAS]
        held = [j for j in range(len(centre)) if j not in chosen]
        said = ", ".join(f"{short[j]} = {centre[j]:.3g}" for j in held)
        if len(held) > 2:
            said = f"{len(held)} other weights fixed at the end"
        # A loss without a slope is piecewise constant, and drawn as such.
        display = cls(
            xx0, xx1, space.objective(centre, chosen, xx0, xx1), path=path,
            labels=(words[chosen[0]], words[chosen[1]]), steps=not space.loss.has_slope,
            said=said, name=name,
        )  # fmt: skip
        return display.plot(ax, curve_kwargs=curve_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        colorbar: bool = True,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the contours and the path; ``colorbar`` explains the heights of the contours."""
        ax = style.axes(self, ax)
        if self.steps:
            self.contours_ = ax.pcolormesh(
                self.xx0, self.xx1, self.objective, cmap="cividis", alpha=0.6, zorder=0
            )
        else:
            # Levels are quantiles, so that every band has the same area: a deep valley shows like a
            # high wall.
            levels = np.unique(np.quantile(self.objective, np.linspace(0.0, 1.0, LEVELS)))
            levels = levels if len(levels) > 1 else levels[0] + np.array([0.0, 1.0])
            self.contours_ = ax.contourf(
                self.xx0, self.xx1, self.objective, levels=levels, cmap="cividis", alpha=0.6,
                zorder=0,
            )  # fmt: skip
        if colorbar:
            bar = ax.figure.colorbar(self.contours_, ax=ax, format="%.3g")
            bar.set_label("mean loss" if self.path is None else "objective", fontsize="small")
            bar.ax.tick_params(labelsize="small")
        self.path_ = None
        self.ends_: list[Any] = []
        if self.path is not None:
            self._walk(ax, self.path, curve_kwargs)
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        style.finish(self, ax, name, self.said)
        return self

    def _walk(self, ax: Any, path: Array, given: Mapping[str, Any] | None) -> None:
        every = max(1, -(-len(path) // MOST_STEPS))
        drawn = np.concatenate([path[:-1:every], path[-1:]])
        looks = {
            "color": style.ink(ax), "linewidth": 1.0, "marker": "." if len(drawn) <= 200 else "",
            "markersize": 4, "zorder": 3,
        }  # fmt: skip
        (self.path_,) = ax.plot(*drawn.T, **style.merged(looks, given))
        for at, marker, label in ((0, "s", "start"), (-1, "*", "end")):
            self.ends_ += ax.plot(
                *path[at], marker=marker, markersize=8 + 4 * (marker == "*"), linestyle="",
                color=style.colour(2 if at else 1), markeredgecolor=style.paper(ax), label=label,
                zorder=4,
            )  # fmt: skip
        ax.legend(fontsize="small")


class _Space:
    """The objective on rows of two classes, for many weights at once."""

    def __init__(
        self, rows: Any, y: Any, weigh: Array, loss: Any, penalty: Penalty, units: Array
    ) -> None:
        labels = np.asarray(y)
        classes = np.unique(labels)
        if labels.shape != (rows.shape[0],) or len(classes) != 2:
            raise ValueError(
                f"y has shape {labels.shape} and {len(classes)} classes: expected a label for each "
                "row of X, out of two"
            )
        self.rows, self.loss, self.penalty, self.units = rows, loss, penalty, units
        self.signs = np.where(labels == classes[1], 1.0, -1.0)
        self.share = weigh / weigh.sum()

    def objective(self, centre: Array, chosen: list[int], xx0: Array, xx1: Array) -> Array:
        """The objective on a grid of two of the weights; the others are as in the centre."""
        rest = centre.copy()
        rest[chosen] = 0.0
        fixed = self.signs * (self.rows @ rest[:-1] + rest[-1])
        columns = np.column_stack([self.signs * self._column(j) for j in chosen])
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        size = max(1, MOST_NUMBERS // len(fixed))
        mean = np.concatenate([
            self.loss.phi(grid[i : i + size] @ columns.T + fixed) @ self.share
            for i in range(0, len(grid), size)
        ])  # fmt: skip
        found: Array = (mean + self._penalties(rest, chosen, grid)).reshape(xx0.shape)
        return found

    def _penalties(self, rest: Array, chosen: list[int], grid: Array) -> Array:
        """At every grid point: depends only on features in a group with the two weights."""
        units, d, moving = np.append(self.units, 1.0), len(self.units), np.array(chosen)
        numbers = getattr(self.penalty, "numbers", None)
        some = moving[moving < d]
        if numbers is not None:
            some = np.flatnonzero(np.isin(numbers, numbers[some]))
        here = np.append(some, d)
        part = self.penalty.on_features(some)
        at = np.tile((rest * units)[here], (len(grid), 1))
        for j, values in zip(chosen, grid.T, strict=True):
            at[:, here == j] = (values * units[j])[:, None]
        fixed = self.penalty.value((rest * units)[None]) - part.value((rest * units)[None, here])
        return fixed + np.array([part.value(weights[None]) for weights in at])

    def _column(self, j: int) -> Array:
        n, d = self.rows.shape
        if j == d:
            return np.ones(n)
        column = self.rows[:, [j]]
        return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()


def _chosen(weights: Sequence[int | str] | None, names: list[str], W: Array | None) -> list[int]:
    """The indices of two weights; d is the bias."""
    d = len(names)
    if weights is None:
        assert W is not None
        furthest = np.argsort(-np.ptp(W, axis=0), kind="stable")[:2]
        return sorted(int(j) for j in furthest)
    found = []
    for each in weights:
        if each == BIAS and BIAS not in names:
            found.append(d)
        elif isinstance(each, str) and each in names:
            found.append(names.index(each))
        elif not isinstance(each, str) and 0 <= each <= d:
            found.append(int(each))
        else:
            raise ValueError(
                f"there is no weight {each!r}: expected a number from 0 to {d}, the bias, 'b', or "
                f"a name among {', '.join(names[:5])}"
            )
    if len(found) != 2 or found[0] == found[1]:
        raise ValueError(f"weights must be two different ones, got {weights!r}")
    return found

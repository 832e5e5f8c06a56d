"""Gradient descent on a function of one variable, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from ...numeric.checks import is_number
from ...numeric.types import Array
from ...schedules import LearningRate
from ...training.any_function import Descent, gradient_descent
from . import style

POINTS = 601  # of the curve


class DescentDisplay:
    """A function of one variable, and the steps of gradient descent on it.

    The steps may converge, oscillate forever, or diverge; if there are several minima, they end in
    the one of the valley where they began. Use :meth:`from_function` or :meth:`from_descent` to
    create one.

    Parameters
    ----------
    grid, values : arrays (g,)
        The function.
    path, path_values : arrays (t,)
        The visited points, the start first, and the function values there.
    stop : str
        How the run ended.
    name : str
        Name of the run.

    Attributes
    ----------
    minima : array
        Minima of the function inside the picture.
    curve_, points_ : lines
    steps_ : arrows
    minima_ : list of lines
        The lowest one first.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    gradient_descent : computes the steps.
    WeightSpaceDisplay : a fit in the space of its weights.

    Examples
    --------
    >>> from separatrix import DescentDisplay
    >>> display = DescentDisplay.from_function(
    ...     lambda x: x**2, lambda x: 2 * x, -1, learning_rate=1.1
    ... )
    >>> display.ax_.get_title()
    'step 1.1: diverging'
    """

    def __init__(
        self,
        grid: Array,
        values: Array,
        *,
        path: Array,
        path_values: Array,
        stop: str = "",
        name: str = "",
    ) -> None:
        self.grid, self.values, self.path, self.path_values = grid, values, path, path_values
        self.stop, self.name = stop, name
        self.minima = _minima(grid, values)

    @classmethod
    def from_function(
        cls,
        function: Callable[[float], float],
        gradient: Callable[[float], float],
        start: float,
        *,
        learning_rate: LearningRate = 0.1,
        tol: float = 1e-8,
        max_iter: int = 1000,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Run :func:`separatrix.gradient_descent` from a number, and plot it.

        ``kwargs`` are passed to :meth:`from_descent`.
        """
        style.pyplot(f"{cls.__name__}.from_function")
        descent = gradient_descent(
            function, gradient, start, learning_rate=learning_rate, tol=tol, max_iter=max_iter
        )
        if name is None:
            name = f"step {learning_rate:g}" if is_number(learning_rate) else str(learning_rate)
        return cls.from_descent(function, descent, name=name, **kwargs)

    @classmethod
    def from_descent(
        cls,
        function: Callable[[float], float],
        descent: Descent,
        *,
        steps: int = 12,
        limits: tuple[float, float] | None = None,
        name: str = "",
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the first ``steps`` of a run, and its function.

        ``limits`` are the smallest and the largest x of the picture; None: the range of the steps.
        """
        style.pyplot(f"{cls.__name__}.from_descent")
        if descent.path.ndim != 1:
            raise ValueError(
                f"the run has {descent.path[0].size} variables, but a curve has one: "
                "expected a start that is a number"
            )
        if steps < 1:
            raise ValueError(f"steps must be 1 or more, got {steps!r}")
        path, values = descent.path[: steps + 1], descent.values[: steps + 1]
        known = np.isfinite(path) & np.isfinite(values)
        path, values = path[known], values[known]
        low, high = (path.min(), path.max()) if limits is None else limits
        pad = (0.15 * (high - low) or 1.0) if limits is None else 0.0
        if not low - pad < high + pad:
            raise ValueError(f"limits must be a smaller and a larger number, got {limits!r}")
        grid = np.linspace(low - pad, high + pad, POINTS)
        heights = np.array([float(function(x)) for x in grid.tolist()])
        display = cls(grid, heights, path=path, path_values=values, stop=descent.stop, name=name)
        return display.plot(ax, curve_kwargs=curve_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the function and the steps."""
        ax = style.axes(self, ax)
        looks = {"color": style.colour(0), "linewidth": 1.5, "zorder": 1}
        (self.curve_,) = ax.plot(self.grid, self.values, **style.merged(looks, curve_kwargs))
        self.minima_ = [self._minimum(ax, number, x) for number, x in enumerate(self.minima)]
        arrows = np.diff(self.path), np.diff(self.path_values)
        self.steps_ = ax.quiver(
            self.path[:-1], self.path_values[:-1], *arrows, angles="xy", scale_units="xy", scale=1,
            color=style.ink(ax), width=0.006, zorder=2,
        )  # fmt: skip
        (self.points_,) = ax.plot(
            self.path, self.path_values, linestyle="", marker="o", markersize=5, zorder=3,
            color=style.colour(1), markeredgecolor=style.ink(ax), markeredgewidth=0.6,
            label="steps, from the square",
        )  # fmt: skip
        ax.plot(
            self.path[:1], self.path_values[:1], marker="s", markersize=8, zorder=3,
            color=style.colour(1), markeredgecolor=style.ink(ax),
        )  # fmt: skip
        ax.set(xlabel="x", ylabel="f(x)")
        if len(self.minima) > 1:
            ax.legend(fontsize="small")
        style.finish(self, ax, name, self.stop)
        return self

    def _minimum(self, ax: Any, number: int, x: float) -> Any:
        low = float(np.interp(x, self.grid, self.values))
        label = {0: "lowest minimum here", 1: "local minimum"}.get(number)
        return ax.plot(
            x, low, linestyle="", marker="v" if number else "*", markersize=11 if not number else 8,
            color=style.colour(2), label=label, zorder=2,
        )[0]  # fmt: skip


def _minima(grid: Array, values: Array) -> Array:
    """Grid points below both their neighbours, the lowest first."""
    inside = (values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])
    at = np.flatnonzero(inside) + 1
    return np.asarray(grid[at[np.argsort(values[at], kind="stable")]])

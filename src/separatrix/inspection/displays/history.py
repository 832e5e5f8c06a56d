"""The history of a fit, pass by pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ...numeric.types import AnyArray
from . import style
from .classifiers import last_step, name_of

FIRST = ("objective", "mistakes", "mistakes_so_far", "passes_with_mistakes")
COMPANIONS = {
    "objective": "validation_loss",
    "mistakes_so_far": "mistake_bound",
    "passes_with_mistakes": "pass_bound",
}
"""Columns plotted into the same picture as another column."""
WORDS = {
    "norm": "|w|",
    "mistakes": "mistakes met",
    "mistakes_so_far": "mistakes so far",
    "mistake_bound": "bound on mistakes",
    "passes_with_mistakes": "passes with a mistake",
    "pass_bound": "bound on passes",
    "validation_loss": "loss of held-out rows",
}
"""Labels for columns of a history whose name is not enough."""
LARGE_RATIO = 20.0  # of the objective, from which its scale is logarithmic; for others its square
FEW_PASSES = 40  # marked individually


class HistoryDisplay:
    """The passes of a fit: objective, mistakes, norm, compared with the bounds of the theory.

    Use :meth:`from_estimator` to create one.

    Parameters
    ----------
    history : dict of arrays
        As ``history_`` of a fit: one entry per pass.
    lower_bound : float, optional
        Lower bound on the objective for all weights.
    stop : str
        Why the run ended.
    name : str
        Name of the classifier.

    Attributes
    ----------
    lines_ : dict of lines
        By the name of the column.
    bound_ : line or None
        The lower bound.
    axes_ : list
        One per plotted column.
    ax_, figure_
        The first axes, and the figure.

    See Also
    --------
    animate : the fit as an animation.

    Examples
    --------
    The mistakes of a perceptron and their bound:

    >>> from separatrix import HistoryDisplay, Perceptron, datasets, separability
    >>> X, y = datasets.logic("and")
    >>> clf = Perceptron(shuffle=False, monitor=separability(X, y)).fit(X, y)
    >>> display = HistoryDisplay.from_estimator(clf, columns="mistakes_so_far")
    >>> list(display.lines_), display.ax_.get_title()
    (['mistakes_so_far', 'mistake_bound'], 'Perceptron: no mistakes after 9 passes')
    """

    def __init__(
        self,
        history: Mapping[str, AnyArray],
        *,
        lower_bound: float | None = None,
        stop: str = "",
        name: str = "",
    ) -> None:
        self.history, self.lower_bound = dict(history), lower_bound
        self.stop, self.name = stop, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        columns: str | Sequence[str] | None = None,
        x: str = "pass",
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot a fitted classifier of this package, or a pipeline that ends in one.

        Other keyword arguments are passed to :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        last = last_step(estimator)
        history = getattr(last, "history_", None)
        if history is None:
            raise TypeError(
                f"{type(last).__name__} has no history_: expected a fitted classifier of "
                "separatrix, trained by fit"
            )
        gap = getattr(last, "gap_", None)
        display = cls(
            history, lower_bound=None if gap is None else last.objective_ - gap, stop=last.stop_,
            name=name_of(last, name),
        )  # fmt: skip
        return display.plot(ax, columns=columns, x=x, curve_kwargs=curve_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        x: str = "pass",
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the columns, one picture per column, above each other.

        ``columns`` of the history; None: objective and mistakes, if known. The objective is plotted
        with the loss of held-out rows, the mistakes so far with their bound. ``x`` is "pass" or
        "seconds". ``ax`` is one, or one per column: the axes of another display compare two runs.
        """
        names = self._columns(columns)
        if x not in ("pass", "seconds"):
            raise ValueError(f"x must be 'pass' or 'seconds', got {x!r}")
        self.axes_ = style.stacked_axes(self, ax, len(names))
        self.lines_: dict[str, Any] = {}
        self.bound_ = None
        name = self.name if name is None else name
        for number, (column, axes) in enumerate(zip(names, self.axes_, strict=True)):
            alone = not axes.get_lines()  # no other run was plotted there
            for each in (column, COMPANIONS.get(column, "")):
                if each in self.history:
                    self._curve(axes, x, each, name, curve_kwargs)
            if column == "objective" and self.lower_bound is not None:
                self.bound_ = axes.axhline(
                    self.lower_bound, color=style.ink(axes), linewidth=0.8, linestyle=":",
                    label="proven lower bound",
                )  # fmt: skip
            self._finish(axes, column, x if number == len(names) - 1 else "")
            if number == 0:
                style.title(axes, name if alone else "", self._said() if alone else "")
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self

    def _said(self) -> str:
        passes = len(self.history["pass"])
        return f"{self.stop} after {passes:,} pass{'es' if passes != 1 else ''}".lstrip()

    def _columns(self, columns: str | Sequence[str] | None) -> list[str]:
        if columns is None:
            companions = set(COMPANIONS.values())
            known = {c for c, v in self.history.items() if c not in companions and _is_known(v)}
            columns = [column for column in FIRST if column in known]
        names = [columns] if isinstance(columns, str) else list(columns)
        for column in names:
            if column not in self.history:
                raise ValueError(f"the history has no {column!r}; it has {', '.join(self.history)}")
            if not _is_known(self.history[column]):
                raise ValueError(f"the run did not record {column!r}: all values are NaN")
        if not names:
            raise ValueError(
                f"the run recorded neither objective nor mistakes; choose columns among "
                f"{', '.join(self.history)}"
            )
        return names

    def _curve(
        self, ax: Any, x: str, column: str, name: str, given: Mapping[str, Any] | None
    ) -> None:
        number = len(ax.get_lines())
        bound = column in ("mistake_bound", "pass_bound")
        words = WORDS.get(column, column)
        few = len(self.history["pass"]) <= FEW_PASSES and not bound
        looks = {
            "label": words if bound or not name else f"{name}: {words}",
            "color": style.ink(ax) if bound else style.colour(number),
            "linestyle": ":" if bound else style.dash(number),
            "marker": style.marker(number) if few else "", "markersize": 4, "linewidth": 1.5,
        }  # fmt: skip
        kwargs = style.merged(looks, None if bound else given)
        (self.lines_[column],) = ax.plot(self.history[x], self.history[column], **kwargs)

    def _finish(self, ax: Any, column: str, x: str) -> None:
        """Set scales and labels, and a legend if there is more than one line."""
        heights = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
        heights = heights[np.isfinite(heights)]
        large = LARGE_RATIO if column == "objective" else LARGE_RATIO**2
        if heights.min() > 0.0 and heights.max() > large * heights.min():
            ax.set_yscale("log")
        elif "mistakes" in column:
            ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel(WORDS.get(column, column))
        if x:
            ax.set_xlabel(x)
        if x == "pass":
            ax.xaxis.get_major_locator().set_params(integer=True)
        if len(ax.get_lines()) > 1:
            ax.legend(fontsize="small")


def _is_known(values: AnyArray) -> bool:
    return bool(np.any(np.isfinite(np.asarray(values, dtype=np.float64))))

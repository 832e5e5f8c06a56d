"""Losses over the margin, with the advantages and disadvantages of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ...losses import MarginLoss, names
from ...numeric.types import Array
from . import style
from .classifiers import last_step, name_of
from .margins import margin_loss, margins, margins_of

TRADE_OFFS = {
    "zero_one": ("the number of mistakes itself", "its slope is 0: no descent possible"),
    "perceptron": ("every mistake has a gradient", "least at w = 0, and requires no margin"),
    "logistic": ("convex, smooth, gives probabilities", "never 0: without penalty |w| may diverge"),
    "squared": ("convex, solved in closed form", "very good rows cost as much as bad ones"),
    "tanh_squared": ("smooth and bounded, from 4 to 0", "not convex: ignores very bad rows"),
    "hinge": ("convex, good rows cost nothing", "not smooth"),
    "squared_hinge": ("convex, smooth, good rows free", "very bad rows outweigh all others"),
}
"""Advantages and disadvantages, by the name of a loss."""


class LossDisplay:
    """Losses of a row as functions of its margin ``y * (w.x + b)``.

    A margin above 0 is a correct prediction, 0 and below a mistake. Use :meth:`from_losses`,
    :meth:`from_estimator` or :meth:`from_predictions` to create one.

    Parameters
    ----------
    grid : array (g,)
        Margins.
    values : dict of arrays (g,)
        Values of each loss on the grid, by name.
    trade_offs : dict of (str, str)
        Advantage and disadvantage of each loss, by name.
    rows : array (n,), optional
        Margins of rows, plotted as ticks.
    own : str, optional
        The loss to highlight.
    name : str
        Name of the classifier, if there is one.

    Attributes
    ----------
    lines_ : dict of lines
        By the name of the loss.
    rows_ : collection or None
        The ticks of the rows.
    gap_ : (fill, text) or None
        The difference of two losses.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    MarginDisplay : the margins of the rows.
    MarginLoss : a loss of your own.

    Examples
    --------
    >>> from separatrix import LossDisplay
    >>> display = LossDisplay.from_losses(["perceptron", "logistic"], gap=True)
    >>> display.gap_[1].get_text()
    'largest gap 0.693\\nat margin 0'
    """

    def __init__(
        self,
        grid: Array,
        values: Mapping[str, Array],
        *,
        trade_offs: Mapping[str, tuple[str, str]] | None = None,
        rows: Array | None = None,
        own: str | None = None,
        name: str = "",
    ) -> None:
        self.grid, self.values, self.rows, self.own = grid, dict(values), rows, own
        self.trade_offs = dict(trade_offs or {})
        self.name = name

    @classmethod
    def from_losses(
        cls,
        losses: Sequence[str | MarginLoss] | None = None,
        *,
        limits: tuple[float, float] = (-2.0, 3.0),
        rows: Array | None = None,
        own: MarginLoss | None = None,
        name: str = "",
        ax: Any = None,
        trade_offs: bool | None = None,
        gap: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot losses, given by name or as objects; None: all losses with a name.

        ``limits`` are the smallest and the largest margin; ``rows`` are margins for ticks; ``own``
        is the loss to highlight, added if necessary. Other keyword arguments are passed to
        :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_losses")
        low, high = limits
        if not low < high:
            raise ValueError(f"limits must be a smaller and a larger margin, got {limits!r}")
        grid = np.linspace(low, high, 501)
        if low < 0.0 < high:  # jumps and kinks are at 0, which must be a grid point
            grid = np.unique(np.append(grid, 0.0))
        chosen = [margin_loss(loss) for loss in (names() if losses is None else losses)]
        if own is not None and own not in chosen:
            chosen.append(own)
        values, notes = {}, {}
        for loss in chosen:
            values[_name(loss)] = np.asarray(loss.phi(grid))
            notes[_name(loss)] = TRADE_OFFS.get(_name(loss), _of_its_own(loss))
        display = cls(
            grid, values, trade_offs=notes, rows=rows, own=None if own is None else _name(own),
            name=name,
        )  # fmt: skip
        return display.plot(ax, trade_offs=trade_offs, gap=gap, curve_kwargs=curve_kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        losses: Sequence[str | MarginLoss] | None = None,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the margins of these rows as ticks, and highlight the loss of a fitted classifier.

        Only for two classes. ``kwargs`` are passed to :meth:`from_losses`.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        rows = margins_of(estimator, X, y)
        last = last_step(estimator)
        own = getattr(getattr(last, "trace_", None), "loss", None)
        if len(last.classes_) > 2:
            raise ValueError(
                f"there are {len(last.classes_)} classes, whose losses are not functions of one "
                "margin; pass the rows and a classifier of two classes"
            )
        return cls.from_losses(losses, rows=rows, own=own, name=name_of(estimator, name), **kwargs)

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, **kwargs: Any) -> Self:
        """Plot the margins ``y * score`` as ticks; the larger of two labels is +1.

        ``kwargs`` are passed to :meth:`from_losses`.
        """
        style.pyplot(f"{cls.__name__}.from_predictions")
        return cls.from_losses(rows=margins(y, np.ravel(scores)), **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        trade_offs: bool | None = None,
        gap: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the losses.

        ``trade_offs``: list advantages and disadvantages of each loss next to the picture; None:
        unless axes are given. ``gap``: show the difference of two losses: log(1 + e^-m) exceeds
        max(0, -m) by at most log 2.
        """
        trade_offs = ax is None if trade_offs is None else trade_offs
        ax = style.axes(self, ax, figsize=(8.0, 4.4) if trade_offs else None)
        self.lines_ = {}
        self.gap_: tuple[Any, Any] | None = None
        for number, (loss, values) in enumerate(self.values.items()):
            label = loss
            if trade_offs and loss in self.trade_offs:
                label = "{}\n+ {}\n\N{MINUS SIGN} {}".format(loss, *self.trade_offs[loss])
            looks = {
                "color": style.colour(number), "linestyle": style.dash(number), "label": label,
                "linewidth": 3.0 if loss == self.own else 1.5,
            }  # fmt: skip
            shown = _with_jumps(self.grid, values)
            (self.lines_[loss],) = ax.plot(*shown, **style.merged(looks, curve_kwargs))
        ax.axvline(0.0, color=style.ink(ax), linewidth=0.6)
        top = min(4.0, max(float(values.max()) for values in self.values.values()))
        ax.set(xlabel="margin y (w.x + b)", ylabel="loss", ylim=(-0.06 * top, 1.04 * top))
        ax.set_xlim(self.grid[0], self.grid[-1])
        if gap:
            self._draw_gap(ax)
        self.rows_ = None if self.rows is None else self._ticks(ax, self.rows)
        if trade_offs:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
        else:
            style.legend_below(ax, "small")
        name = self.name if name is None else name
        if self.rows is not None:
            wrong = int(np.count_nonzero(~(self.rows > 0.0)))
            style.title(ax, name, f"{len(self.rows):,} rows, {wrong:,} at or below 0")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _ticks(self, ax: Any, rows: Array) -> Any:
        """A small line per row at the bottom of the picture."""
        drawn = rows[style.some_rows(len(rows))]
        ends = ax.get_ylim()[0] * np.array([0.9, 0.1])
        return ax.vlines(drawn, *ends, color=style.ink(ax), linewidth=0.8, alpha=0.6)

    def _draw_gap(self, ax: Any) -> None:
        if len(self.values) != 2:
            raise ValueError(f"gap needs two losses, got {len(self.values)}")
        one, other = self.values.values()
        apart = np.abs(one - other)
        at = int(np.argmax(apart))
        fill = ax.fill_between(self.grid, one, other, color=style.colour(3), alpha=0.3)
        text = ax.annotate(
            f"largest gap {apart[at]:.3f}\nat margin {self.grid[at]:.3g}",
            (self.grid[at], 0.5 * (one[at] + other[at])), xytext=(18, 22),
            textcoords="offset points", fontsize="small",
            arrowprops={"arrowstyle": "->", "color": style.ink(ax)},
        )  # fmt: skip
        self.gap_ = (fill, text)


def _name(loss: MarginLoss) -> str:
    return loss.name or type(loss).__name__


def _of_its_own(loss: MarginLoss) -> tuple[str, str]:
    """Trade-offs of a loss without an entry, from its own attributes."""
    words = {"convex": loss.convex, "smooth": loss.smooth}
    yes = ", ".join(word for word, holds in words.items() if holds)
    no = ", ".join(f"not {word}" for word, holds in words.items() if not holds)
    return yes or "a loss of your own", no or "not stated"


def _with_jumps(grid: Array, values: Array) -> tuple[Array, Array]:
    """The curve, with a gap where the function jumps."""
    jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.5 * np.ptp(values)) + 1
    return np.insert(grid, jumps, np.nan), np.insert(values, jumps, np.nan)

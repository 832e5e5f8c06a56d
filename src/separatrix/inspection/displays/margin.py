"""The distribution of the margins of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ...numeric.types import Array
from . import style
from .classifiers import name_of
from .margins import margins, margins_of

MOST_BINS = 60  # narrower bars are not visible


class MarginDisplay:
    """The distribution of the margins of rows; mistakes have another colour and are hatched.

    The margin is ``y * (w.x + b)``, or, for more than two classes, the score of the row's own class
    minus that of its best rival: a mistake is 0 or below. Use :meth:`from_estimator`,
    :meth:`from_predictions` or :meth:`from_cv_results` to create one.

    Parameters
    ----------
    margins : array (n,)
    name : str
        Name of the classifier.

    Attributes
    ----------
    right_, mistakes_ : bars
    edges_ : array
        Edges of all bars; 0 is one of them.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    LossDisplay : the losses of these margins.

    Examples
    --------
    >>> from separatrix import MarginDisplay
    >>> display = MarginDisplay.from_predictions([0, 0, 1, 1], [-2.0, 0.5, 1.0, 3.0])
    >>> display.ax_.get_title()
    '1 mistake in 4 rows'
    """

    def __init__(self, margins: Array, *, name: str = "") -> None:
        self.margins, self.name = np.asarray(margins, dtype=np.float64), name
        if self.margins.ndim != 1 or not len(self.margins) or not np.all(np.isfinite(self.margins)):
            raise ValueError("margins must be finite numbers, one for each of one row or more")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Plot the margins of a fitted classifier; ``kwargs`` are passed to :meth:`plot`."""
        style.pyplot(f"{cls.__name__}.from_estimator")
        return cls(margins_of(estimator, X, y), name=name_of(estimator, name)).plot(**kwargs)

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, *, name: str = "", **kwargs: Any) -> Self:
        """Plot margins of scores, (n,) or (n, k); ``kwargs`` are passed to :meth:`plot`."""
        style.pyplot(f"{cls.__name__}.from_predictions")
        return cls(margins(y, scores), name=name).plot(**kwargs)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the margins of rows by the fits that did not see them.

        ``cv_results`` is the result of scikit-learn's ``cross_validate`` with
        ``return_estimator=True`` and ``return_indices=True``; ``kwargs`` are passed to
        :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_cv_results")
        if not {"estimator", "indices"} <= set(cv_results):
            raise ValueError(
                "cv_results has no estimator and indices: call cross_validate with "
                "return_estimator=True, return_indices=True"
            )
        fits, y = cv_results["estimator"], np.asarray(y)
        rows = getattr(X, "iloc", np.asarray(X) if isinstance(X, list) else X)
        found = [
            margins_of(fit, rows[test], y[test])
            for fit, test in zip(fits, cv_results["indices"]["test"], strict=True)
        ]
        label = f"{type(fits[0]).__name__}, rows held out" if name is None else name
        return cls(np.concatenate(found), name=label).plot(**kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        bins: int | None = None,
        bar_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the histogram; ``bins`` is the approximate number of bars, None for automatic."""
        ax = style.axes(self, ax)
        wrong = ~(self.margins > 0.0)
        self.edges_ = _edges(self.margins, bins)
        widths = np.diff(self.edges_)
        looks = (
            (~wrong, "right", style.colour(0), ""),
            (wrong, "mistake (0 and below)", style.colour(2), "////"),
        )
        bars = []
        for chosen, label, colour, hatch in looks:
            # The last bin includes its right edge: so a margin of 0 counts among the mistakes.
            edges = self.edges_ if chosen is not wrong else self.edges_[self.edges_ <= 0.0]
            heights = np.zeros(len(widths))
            if len(edges) > 1:
                heights[: len(edges) - 1] = np.histogram(self.margins[chosen], edges)[0]
            own = {
                "color": colour, "hatch": hatch, "edgecolor": style.paper(ax), "linewidth": 0.4,
                "label": label, **(bar_kwargs or {}),
            }  # fmt: skip
            bars.append(ax.bar(self.edges_[:-1], heights, widths, align="edge", **own))
        self.right_, self.mistakes_ = bars
        ax.axvline(0.0, color=style.ink(ax), linewidth=1.0)
        ax.set(xlabel="margin", ylabel="rows")
        ax.yaxis.get_major_locator().set_params(integer=True)
        style.legend(ax)
        count = int(wrong.sum())
        said = f"{count or 'no'} mistake{'' if count <= 1 else 's'} in {len(wrong):,} rows"
        style.finish(self, ax, name, said)
        return self


def _edges(margins: Array, bins: int | None) -> Array:
    """Edges of bars of equal width, including 0."""
    low, high = min(0.0, float(margins.min())), max(0.0, float(margins.max()))
    if low == high:
        return np.array([-0.5, 0.0, 0.5])
    if bins is None:
        bins = min(MOST_BINS, len(np.histogram_bin_edges(margins, "auto")) - 1)
    width = (high - low) / max(bins, 2)
    first = np.floor(low / width) - (low == margins.min() == 0.0)  # a bar for margins of 0
    found: Array = width * np.arange(first, np.ceil(high / width) + 1)
    return found

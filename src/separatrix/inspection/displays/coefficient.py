"""The weights of a linear classifier, the largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ...numeric.dense import dense
from ...numeric.types import AnyArray, Array
from . import style
from .classifiers import last_step, name_of, rows_before
from .plane import deviations


class CoefficientDisplay:
    """The largest weights of a linear classifier, one line per feature.

    With more than two classes every class has its own marker on the line. Use
    :meth:`from_estimator` to create one.

    Parameters
    ----------
    coefs : array (k, d)
        k is 1 for two classes.
    names : list of str
        Names of the features.
    classes : array
        The class of scores above 0; or one class per row of ``coefs``.
    scaled : bool
        Whether the weights are multiplied by the deviations of the features: then they can be
        compared, and the label says so.
    name : str
        Name of the classifier.
    proven : array (k, d) of bool, optional
        Weights that are proven: that they are 0 in every minimum, or that they are not, with their
        signs. The others are drawn hollow, and a legend says so.

    Attributes
    ----------
    order_ : array
        The indices of the plotted features, from the top.
    bars_ : bars or None
        For two classes.
    markers_ : list of collections
        For more classes, one per class.
    zeros_ : list of collections
        With ``proven``, for two classes: markers of the weights of 0 that are proven, and of those
        that are undecided.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    PathDisplay : the weights along ``l2``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import CoefficientDisplay, LinearClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = CoefficientDisplay.from_estimator(LinearClassifier().fit(X, y == 2))
    >>> display.names[display.order_[0]]
    'petal width (cm)'
    """

    def __init__(
        self,
        coefs: Array,
        *,
        names: Sequence[str],
        classes: AnyArray,
        scaled: bool = False,
        name: str = "",
        proven: AnyArray | None = None,
    ) -> None:
        self.coefs, self.names = np.atleast_2d(coefs), [str(each) for each in names]
        self.classes, self.scaled, self.name = classes, scaled, name
        if self.coefs.shape[1] != len(self.names):
            raise ValueError(
                f"there are {self.coefs.shape[1]} weights and {len(self.names)} names: expected "
                "one name per feature"
            )
        self.proven = None if proven is None else np.atleast_2d(proven)
        if self.proven is not None and self.proven.shape != self.coefs.shape:
            raise ValueError(
                f"proven has the shape {self.proven.shape}, expected that of the weights, "
                f"{self.coefs.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        top: int = 20,
        name: str | None = None,
        ax: Any = None,
        bar_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot a fitted linear classifier, of any library, or a pipeline that ends in one.

        With X, the rows, weights are multiplied by the deviations of the features, and so can be
        compared, whatever their units. For a fit with ``l1`` the picture shows which weights are
        proven (``zero_``, ``nonzero_``) and which are undecided. Other keyword arguments are passed
        to :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        last = last_step(estimator)
        if not hasattr(last, "coef_"):
            raise TypeError(f"{type(last).__name__} has no coef_: expected a fitted linear model")
        coefs = dense(last.coef_)
        if X is not None:
            coefs = coefs * deviations(rows_before(estimator, X))
        display = cls(
            coefs, names=feature_names(estimator, coefs.shape[1]), classes=last.classes_,
            scaled=X is not None, name=name_of(last, name), proven=_proven(last),
        )  # fmt: skip
        return display.plot(ax, top=top, bar_kwargs=bar_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        top: int = 20,
        name: str | None = None,
        bar_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the ``top`` features with the largest weights."""
        if top < 1:
            raise ValueError(f"top must be 1 or more, got {top!r}")
        size = np.abs(self.coefs).max(axis=0)
        self.order_ = np.argsort(-size, kind="stable")[:top]
        ax = style.axes(self, ax, figsize=(6.4, 1.2 + 0.26 * len(self.order_)))
        places = -np.arange(len(self.order_))
        self.bars_: Any = None
        self.markers_: list[Any] = []
        self.zeros_: list[Any] = []
        if len(self.coefs) == 1:
            self._draw_bars(ax, places, bar_kwargs)
        else:
            self._mark_classes(ax, places)
        ax.axvline(0.0, color=style.ink(ax), linewidth=0.8)
        ax.set_yticks(places, [self.names[j] for j in self.order_], fontsize="small")
        above = f", above 0 for {self.classes[-1]}" if len(self.coefs) == 1 else ""
        ax.set_xlabel(("scaled weight" if self.scaled else "weight") + above)
        d, shown = len(self.names), len(self.order_)
        said = f"{shown} largest of {d:,} weights" if shown < d else f"{d} weights"
        style.finish(self, ax, name, said)
        return self

    def _draw_bars(self, ax: Any, places: AnyArray, bar_kwargs: Mapping[str, Any] | None) -> None:
        weights = self.coefs[0, self.order_]
        colours = [style.colour(int(w > 0)) for w in weights]
        self.bars_ = ax.barh(places, weights, **({"color": colours} | dict(bar_kwargs or {})))
        for bar, weight in zip(self.bars_, weights, strict=True):
            bar.set_hatch("" if weight > 0 else "////")
            bar.set_edgecolor(style.paper(ax))
        if self.proven is None:
            return
        known = self.proven[0, self.order_]
        for bar, decided in zip(self.bars_, known, strict=True):
            if not decided:
                bar.set_edgecolor(bar.get_facecolor())
                bar.set_facecolor(style.paper(ax))
        for decided, label in ((True, "0, proven"), (False, "0, undecided")):
            at = places[(weights == 0.0) & (known == decided)]
            looks = self._looks(ax, style.ink(ax), decided)
            self.zeros_.append(
                ax.scatter(
                    np.zeros(len(at)), at, marker="D", **looks, s=20, zorder=3, clip_on=False
                )
            )
            if len(at):
                self.zeros_[-1].set_label(label)
        self._explain(ax, known[weights != 0.0])

    def _mark_classes(self, ax: Any, places: AnyArray) -> None:
        shown = self.coefs[:, self.order_]
        ax.hlines(places, shown.min(axis=0), shown.max(axis=0), color=style.colour(3), linewidth=1)
        for number, (label, weights) in enumerate(zip(self.classes, shown, strict=True)):
            looks: dict[str, Any] = {"color": style.colour(number)}
            if self.proven is not None:
                looks = self._looks(ax, style.colour(number), self.proven[number, self.order_])
            self.markers_.append(
                ax.scatter(weights, places, label=str(label), marker=style.marker(number), s=30,
                           zorder=3, **looks)
            )  # fmt: skip
        if self.proven is None:
            ax.legend(fontsize="small")
        else:
            self._explain(ax, self.proven[:, self.order_].ravel())

    @staticmethod
    def _looks(ax: Any, colour: str, known: AnyArray | bool) -> dict[str, Any]:
        """Colours of markers: hollow where a weight is undecided."""
        filled = np.atleast_1d(known).tolist()
        inner = [colour if each else style.paper(ax) for each in filled]
        return {"facecolors": inner, "edgecolors": colour}

    def _explain(self, ax: Any, known: AnyArray) -> None:
        """A legend that says what is hollow, with an entry for each kind that is there."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ink, paper = style.ink(ax), style.paper(ax)
        handles, labels = ax.get_legend_handles_labels()
        if self.markers_:  # filled, whether or not the first weight of a class is proven
            handles = [
                Line2D([], [], color=style.colour(c), marker=style.marker(c), linestyle="")
                for c in range(len(handles))
            ]
        for decided, label in ((True, "sign proven"), (False, "undecided")):
            if np.any(known == decided):
                handles.append(Patch(facecolor=ink if decided else paper, edgecolor=ink))
                labels.append(label if len(self.coefs) == 1 else label.replace("sign ", ""))
        ax.legend(handles, labels, fontsize="small")


def _proven(estimator: Any) -> AnyArray | None:
    """Weights of a fit with ``l1`` that are proven; None if it proves nothing about them."""
    found = getattr(estimator, "nonzero_", None)
    if found is None or estimator.trace_.penalty.smooth:
        return None
    proven: AnyArray = found | estimator.zero_
    return proven


def feature_names(estimator: Any, d: int) -> list[str]:
    """Names of the features of the last step, from it or the steps before it."""
    last = last_step(estimator)
    for known in ("coef_names_", "feature_names_in_"):
        if hasattr(last, "feature_names_in_") and hasattr(last, known):
            return [str(each) for each in getattr(last, known)]
    if hasattr(estimator, "steps") and len(estimator.steps) > 1:
        return [str(each) for each in estimator[:-1].get_feature_names_out()]
    return [f"x{j}" for j in range(d)]

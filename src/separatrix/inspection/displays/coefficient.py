"""The weights of a linear classifier, the largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ...numeric.dense import dense
from ...numeric.types import AnyArray, Array
from . import style
from .classifiers import last_step, name_of, rows_before


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

    Attributes
    ----------
    order_ : array
        The indices of the plotted features, from the top.
    bars_ : bars or None
        For two classes.
    markers_ : list of collections
        For more classes, one per class.
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
    ) -> None:
        self.coefs, self.names = np.atleast_2d(coefs), [str(each) for each in names]
        self.classes, self.scaled, self.name = classes, scaled, name
        if self.coefs.shape[1] != len(self.names):
            raise ValueError(
                f"there are {self.coefs.shape[1]} weights and {len(self.names)} names: expected "
                "one name per feature"
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
        compared, whatever their units. Other keyword arguments are passed to :meth:`plot`.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        last = last_step(estimator)
        if not hasattr(last, "coef_"):
            raise TypeError(f"{type(last).__name__} has no coef_: expected a fitted linear model")
        coefs = dense(last.coef_)
        if X is not None:
            coefs = coefs * _deviations(rows_before(estimator, X))
        display = cls(
            coefs, names=feature_names(estimator, coefs.shape[1]), classes=last.classes_,
            scaled=X is not None, name=name_of(last, name),
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
        if len(self.coefs) == 1:
            weights = self.coefs[0, self.order_]
            looks = {"color": [style.colour(int(w > 0)) for w in weights], **(bar_kwargs or {})}
            self.bars_ = ax.barh(places, weights, **looks)
            for bar, weight in zip(self.bars_, weights, strict=True):
                bar.set_hatch("" if weight > 0 else "////")
                bar.set_edgecolor(style.paper(ax))
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

    def _mark_classes(self, ax: Any, places: AnyArray) -> None:
        shown = self.coefs[:, self.order_]
        ax.hlines(places, shown.min(axis=0), shown.max(axis=0), color=style.colour(3), linewidth=1)
        for number, (label, weights) in enumerate(zip(self.classes, shown, strict=True)):
            self.markers_.append(
                ax.scatter(weights, places, color=style.colour(number), label=str(label),
                           marker=style.marker(number), s=30, zorder=3)
            )  # fmt: skip
        ax.legend(fontsize="small")


def feature_names(estimator: Any, d: int) -> list[str]:
    """Names of the features of the last step, from it or the steps before it."""
    last = last_step(estimator)
    for known in ("coef_names_", "feature_names_in_"):
        if hasattr(last, "feature_names_in_") and hasattr(last, known):
            return [str(each) for each in getattr(last, known)]
    if hasattr(estimator, "steps") and len(estimator.steps) > 1:
        return [str(each) for each in estimator[:-1].get_feature_names_out()]
    return [f"x{j}" for j in range(d)]


def _deviations(X: Any) -> Array:
    if not sp.issparse(X):
        return np.asarray(np.asarray(X, dtype=np.float64).std(axis=0))
    from sklearn.utils.sparsefuncs import mean_variance_axis

    found: Array = np.sqrt(mean_variance_axis(sp.csr_array(X), axis=0)[1])
    return found

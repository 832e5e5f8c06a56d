"""Two weights with their variances, as ellipses: the confidence of AROW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...numeric.types import Array
from . import style
from .classifiers import last_step, name_of


class ConfidenceDisplay:
    """Two weights of :class:`AROW` as a point, and their variances as an ellipse around it.

    The half-axes are the square roots of the variances, times ``deviations``; they are parallel to
    the axes, because the covariance is diagonal. With ``start=True`` a dotted circle has the
    variances of the start, 1. With more than two classes there is one ellipse per class. Use
    :meth:`from_estimator` to make one.

    Parameters
    ----------
    weights : array (m, 2)
        The two weights of each class, or of the larger of two classes.
    variances : array (m, 2)
        Their variances.
    names : (str, str)
        The features.
    classes : sequence
        The classes of the ellipses; empty for two classes.
    deviations : float
        Size of the ellipses, in standard deviations.
    name : str
        Name of the model.

    Attributes
    ----------
    ellipses_ : list of patches
        One per class.
    points_ : list of lines
        The weights.
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    AROW : the rule whose variances are drawn.
    ForestDisplay : confidence intervals of a model that minimises a loss.

    Examples
    --------
    >>> from separatrix import AROW, ConfidenceDisplay
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> display = ConfidenceDisplay.from_estimator(AROW(shuffle=False).fit(X, y))
    >>> display.ax_.get_xlabel(), len(display.ellipses_)
    ('weight of x0', 1)
    """

    def __init__(
        self,
        weights: Array,
        *,
        variances: Array,
        names: Sequence[str],
        classes: Sequence[Any] = (),
        deviations: float = 1.0,
        name: str = "",
    ) -> None:
        self.weights, self.variances = np.asarray(weights, float), np.asarray(variances, float)
        self.names, self.classes = [str(each) for each in names], list(classes)
        self.deviations, self.name = deviations, name
        m = len(self.weights)
        if self.weights.shape != (m, 2) or self.variances.shape != (m, 2) or len(self.names) != 2:
            raise ValueError(
                f"weights have the shape {self.weights.shape}, variances {self.variances.shape}, "
                f"and there are {len(self.names)} names: expected (m, 2), (m, 2) and 2"
            )
        if self.classes and len(self.classes) != m:
            raise ValueError(f"there are {m} pairs of weights and {len(self.classes)} classes")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Sequence[int | str] = (0, 1),
        deviations: float = 1.0,
        name: str | None = None,
        ax: Any = None,
        start: bool = False,
        ellipse_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot two weights of a fitted AROW, or of a pipeline that ends in one.

        ``features`` are two features, by number or name.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        clf = last_step(estimator)
        check_is_fitted(clf)
        if not hasattr(clf, "coef_variance_"):
            raise TypeError(
                f"ConfidenceDisplay draws the variances of AROW, and {type(clf).__name__} has "
                "none; use ForestDisplay.from_inference for standard errors"
            )
        names = [str(each) for each in clf.coef_names_]
        numbers = dict(zip([*names, *range(len(names))], [*range(len(names))] * 2, strict=True))
        if len(features) != 2 or not all(each in numbers for each in features):
            raise ValueError(
                f"features must be two numbers below {len(names)} or names, got {features!r}"
            )
        at = [numbers[each] for each in features]
        classes = clf.classes_.tolist() if len(clf.classes_) > 2 else []
        display = cls(
            np.asarray(clf.coef_)[:, at], variances=clf.coef_variance_[:, at],
            names=[names[j] for j in at], classes=classes, deviations=deviations,
            name=name_of(clf, name),
        )  # fmt: skip
        return display.plot(ax, start=start, ellipse_kwargs=ellipse_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        start: bool = False,
        ellipse_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot an ellipse per class, with the weights as its centre."""
        ax = style.axes(self, ax)
        from matplotlib import patches

        self.ellipses_, self.points_ = [], []
        for number, (w, variance) in enumerate(zip(self.weights, self.variances, strict=True)):
            colour = style.colour(number)
            width, height = 2.0 * self.deviations * np.sqrt(variance)
            settings = style.merged({"facecolor": colour, "alpha": 0.25}, ellipse_kwargs)
            self.ellipses_.append(ax.add_patch(patches.Ellipse(w, width, height, **settings)))
            label = str(self.classes[number]) if self.classes else None
            (point,) = ax.plot(*w, style.marker(number), color=colour, label=label)
            self.points_.append(point)
            if start:
                line = {"fill": False, "linestyle": ":", "edgecolor": colour}
                ax.add_patch(patches.Circle(w, self.deviations, **line))
        ax.autoscale_view()
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(f"weight of {self.names[0]}")
        ax.set_ylabel(f"weight of {self.names[1]}")
        if self.classes:
            style.legend_below(ax, "small")
        what = "one standard deviation" if self.deviations == 1.0 else (
            f"{self.deviations:g} standard deviations"
        )  # fmt: skip
        style.finish(self, ax, name, f"{what} of each weight")
        return self

"""Weights along the strength of the penalty, with held-out scores or the number of non-zeros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ...estimators import LinearClassifier, LinearClassifierCV, Path
from ...estimators.cv.results import chosen
from ...numeric.types import AnyArray, Array
from . import style
from .classifiers import name_of
from .path_fits import along_l2, along_strengths, of_best_ratio

MOST_NAMED = 6  # weights in the legend: the largest at the chosen l2
OTHERS: dict[str, Any] = {
    "linewidth": 0.6,
    "linestyle": "-",
    "zorder": 1,
}  # in grey, without a name
LARGE_RATIO = 10.0  # to the largest of these, from which weights are plotted on a logarithmic scale


class PathDisplay:
    """Weights along ``l2`` or strengths, and the scores on held-out rows, with the chosen value.

    The dashed line is the value with the best mean score, the dotted one the largest whose mean
    score is within one standard error of the best. Use :meth:`from_estimator` or
    :meth:`from_cv_results` to create one for a search, and :meth:`from_path` for a path.

    Parameters
    ----------
    l2s : array (p,)
        From the largest to the smallest; the strengths for a sparse path.
    coefs : array (p, k, d), optional
        The weights at each value.
    cv_results : dict of arrays, optional
        As ``cv_results_`` of :class:`LinearClassifierCV`.
    l2 : float, optional
        The chosen value, which is marked if different from these two.
    names : list of str, optional
        Names of the features.
    scaled : bool
        Whether the weights are for features divided by their deviations.
    name : str
        Name of the classifier.
    nonzeros : array (p,), optional
        Number of non-zero weights at each value.
    along : str
        Name of the values ``l2s``, if they are not l2.

    Attributes
    ----------
    best_l2, one_standard_error_l2 : float or None
        The values that the scores select.
    weights_ : list of lines
        One per weight.
    scores_ : line or None
    band_ : fill or None
        One standard error above and below.
    nonzeros_ : line or None
    axes_ : list
        Axes of the scores, of the numbers of weights and of the weights, as far as plotted.
    ax_, figure_
        The last axes, and the figure.

    See Also
    --------
    LinearClassifierCV, path : computes the path.
    CoefficientDisplay : the weights of one fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearClassifierCV, PathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = LinearClassifierCV(l2s=8, scoring="loss").fit(X, y == 2)
    >>> display = PathDisplay.from_estimator(clf, X, y == 2)
    >>> len(display.weights_), display.best_l2 == clf.l2_
    (4, True)
    """

    def __init__(
        self,
        l2s: Array,
        *,
        coefs: Array | None = None,
        cv_results: Mapping[str, AnyArray] | None = None,
        l2: float | None = None,
        names: Sequence[str] | AnyArray | None = None,
        scaled: bool = False,
        name: str = "",
        nonzeros: AnyArray | None = None,
        along: str = "l2",
    ) -> None:
        if coefs is None and cv_results is None:
            raise ValueError("there is nothing to draw: give coefs, cv_results or both")
        self.l2s, self.coefs = np.asarray(l2s, dtype=np.float64), coefs
        self.cv_results, self.l2, self.name = cv_results, l2, name
        self.names, self.scaled, self.nonzeros, self.along = names, scaled, nonzeros, along
        self.best_l2 = self.one_standard_error_l2 = None
        if cv_results is not None:
            table = dict(cv_results)
            self.best_l2 = float(self.l2s[chosen(table, "best")])
            self.one_standard_error_l2 = float(self.l2s[chosen(table, "one_standard_error")])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        l2s: Any = None,
        sample_weight: Any = None,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the path of a :class:`LinearClassifierCV` and its rows, or of a
        :class:`LinearClassifier`.

        The path is fitted again, one value of ``l2`` or strength after another. A fitted
        :class:`LinearClassifierCV` has values and scores; for a :class:`LinearClassifier`, fitted
        or not, ``l2s`` are the values, and there are no scores. For a search along strengths the
        path of the chosen ``l1_ratio_`` is plotted, with the number of weights that are not 0. With
        ``standardize`` the weights are for the features divided by their deviations, so they can be
        compared. ``ax`` is one, or a sequence of them: for the scores, the number of weights and
        the weights, as far as plotted.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(estimator, LinearClassifier | LinearClassifierCV):
            raise TypeError(
                f"{type(estimator).__name__} has no path of l2: expected a LinearClassifier or a "
                "LinearClassifierCV"
            )
        results = getattr(estimator, "cv_results_", None)
        if results is not None and "strength" in results:
            if l2s is not None:
                raise ValueError("a search along strengths has its own values: leave out l2s")
            found = along_strengths(estimator, X, y, sample_weight)
            of, at = name_of(estimator, name), estimator.strength_
            return cls._of_path(found, of, at, ax, curve_kwargs)
        if l2s is None:
            if results is None:
                raise ValueError(
                    "the values of l2 are not known: give l2s=..., or a fitted LinearClassifierCV"
                )
            l2s = results["l2"]
        elif results is not None:
            raise ValueError("a fitted LinearClassifierCV has its own values: leave out l2s")
        l2s = np.sort(np.asarray(l2s, dtype=np.float64))[::-1]
        if not len(l2s) or not np.all((l2s > 0.0) & np.isfinite(l2s)):
            raise ValueError(f"l2s must be numbers above 0 for the logarithmic axis, got {l2s}")
        fits = along_l2(estimator, X, y, sample_weight, l2s)
        display = cls(
            l2s, coefs=np.array([coef for coef, _ in fits]), cv_results=results,
            l2=getattr(estimator, "l2_", None), names=fits[0][1], scaled=estimator.standardize,
            name=name_of(estimator, name),
        )  # fmt: skip
        return display.plot(ax, curve_kwargs=curve_kwargs)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, AnyArray],
        *,
        l2: float | None = None,
        name: str = "",
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot only the scores: ``cv_results_`` of a :class:`LinearClassifierCV`.

        Of a search along strengths, those of the ``l1_ratio`` with the best score are plotted, and
        ``l2`` is the chosen strength.
        """
        style.pyplot(f"{cls.__name__}.from_cv_results")
        missing = {"l2", "mean_test_score", "standard_error"} - set(cv_results)
        if missing:
            raise ValueError(
                f"cv_results has no {', '.join(sorted(missing))}: expected cv_results_ of a "
                "LinearClassifierCV"
            )
        along, table = "l2", dict(cv_results)
        if "strength" in table:
            along, table = "strength", of_best_ratio(table)
        display = cls(table[along], cv_results=table, l2=l2, name=name, along=along)
        return display.plot(ax, curve_kwargs=curve_kwargs)

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        name: str | None = None,
        ax: Any = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the models of :func:`path`: weights, and the number of weights that are not 0.

        Along the strengths, with the scores on held-out rows if it was computed with ``cv``; a path
        with ``l1_ratio=0`` along ``l2``, without the number of weights. With ``standardize`` the
        weights are for the features divided by their deviations. ``ax`` is a sequence of axes, one
        for each part.
        """
        style.pyplot(f"{cls.__name__}.from_path")
        if not isinstance(path, Path):
            raise TypeError(
                f"{type(path).__name__} is not a path: expected the result of separatrix.path(X, y)"
            )
        name = f"path, l1_ratio = {path.l1_ratio:g}" if name is None else name
        return cls._of_path(path, name, None, ax, curve_kwargs)

    @classmethod
    def _of_path(
        cls, path: Path, name: str, chosen: float | None, ax: Any, given: Mapping[str, Any] | None
    ) -> Self:
        scale, sparse = path.at(float(path.strengths[0])).scale_, path.l1_ratio > 0.0
        display = cls(
            path.strengths if sparse else path.strengths / 2.0,
            coefs=path.coefficients * (1.0 if scale is None else scale),
            cv_results=path.cv_results, l2=chosen, nonzeros=path.nonzeros if sparse else None,
            along="strength" if sparse else "l2", names=path.feature_names,
            scaled=scale is not None, name=name,
        )  # fmt: skip
        return display.plot(ax, curve_kwargs=given)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the scores, the number of weights, and the weights, one above the other."""
        parts = [self._draw_scores] if self.cv_results is not None else []
        parts += [self._draw_nonzeros] if self.nonzeros is not None else []
        parts += [self._draw_weights] if self.coefs is not None else []
        self.axes_ = style.stacked_axes(self, ax, len(parts))
        self.weights_: list[Any] = []
        self.scores_: Any = None
        self.band_ = self.nonzeros_ = None
        for part, axes in zip(parts, self.axes_, strict=True):
            part(axes, curve_kwargs)
            self._mark(axes)
            axes.set_xscale("log")
        self.axes_[-1].set_xlabel(self.along)
        if self.cv_results is not None:
            style.legend(self.axes_[0])
        if self.coefs is not None:
            self._name_weights(self.axes_[-1], curve_kwargs)
        said = "" if self.l2 is None else f"{self.along} = {self.l2:.3g} chosen"
        style.title(self.axes_[0], self.name if name is None else name, said)
        self.ax_, self.figure_ = self.axes_[-1], self.axes_[-1].figure
        return self

    def _draw_scores(self, ax: Any, given: Mapping[str, Any] | None) -> None:
        assert self.cv_results is not None
        mean, error = self.cv_results["mean_test_score"], self.cv_results["standard_error"]
        looks = {"color": style.colour(0), "marker": "o", "markersize": 3.5, "label": "mean"}
        (self.scores_,) = ax.plot(self.l2s, mean, **style.merged(looks, given))
        self.band_ = ax.fill_between(
            self.l2s, mean - error, mean + error, color=style.colour(0), alpha=0.2, linewidth=0,
            label="one standard error",
        )  # fmt: skip
        style.ylabel(ax, "held-out score")

    def _draw_nonzeros(self, ax: Any, given: Mapping[str, Any] | None) -> None:
        assert self.nonzeros is not None
        looks = {"color": style.colour(0), "marker": "o", "markersize": 2.5}
        (self.nonzeros_,) = ax.plot(self.l2s, self.nonzeros, **style.merged(looks, given))
        ax.yaxis.get_major_locator().set_params(integer=True)
        style.ylabel(ax, "weights not\N{NO-BREAK SPACE}0")

    def _draw_weights(self, ax: Any, given: Mapping[str, Any] | None) -> None:
        assert self.coefs is not None
        p, k, d = self.coefs.shape
        names = [f"x{j}" for j in range(d)] if self.names is None else list(self.names)
        flat = self.coefs.reshape(p, k * d)
        l2 = self.best_l2 if self.l2 is None else self.l2
        at = p - 1 if l2 is None else int(np.argmin(np.abs(np.log(self.l2s / l2))))
        largest = np.argsort(-np.abs(flat[at]), kind="stable")[:MOST_NAMED].tolist()
        for weight in range(k * d):
            number = largest.index(weight) if weight in largest else None
            label = names[weight % d] + (f", class {weight // d}" if k > 1 else "")
            looks = {"color": style.colour(3), **OTHERS}
            if number is not None:
                looks = {"color": style.colour(number), "linestyle": style.dash(number),
                         "linewidth": 1.4, "label": label}  # fmt: skip
            self.weights_ += ax.plot(self.l2s, flat[:, weight], **style.merged(looks, given))
        self._named = [self.weights_[weight] for weight in largest]
        ax.axhline(0.0, color=style.ink(ax), linewidth=0.5)
        usual = float(np.abs(flat[at]).max())
        if usual > 0.0 and np.abs(flat).max() > LARGE_RATIO * usual:
            even = 10.0 ** np.ceil(np.log10(usual))  # a power of ten, so that ticks do not overlap
            ax.set_yscale("symlog", linthresh=even)
            ax.set_yticks(_ticks(even, float(np.abs(flat).max())))
        style.ylabel(ax, "scaled weight" if self.scaled else "weight")

    def _name_weights(self, ax: Any, given: Mapping[str, Any] | None) -> None:
        """A legend of the largest weights; those without room in it are drawn as the others."""
        shown = len(style.legend_below(ax, "x-small", self._named).get_lines())
        for line in self._named[shown:]:
            looks = {"color": style.colour(3), "label": "_", **OTHERS}
            line.set(**style.merged(looks, given))

    def _mark(self, ax: Any) -> None:
        """Mark the values that the scores, or the fit, choose; the scores have a legend of them."""
        marks = [
            (self.best_l2, "--", "best mean"),
            (self.one_standard_error_l2, ":", "within one standard error"),
        ]
        if self.l2 not in (self.best_l2, self.one_standard_error_l2):
            marks.append((self.l2, "-", "chosen"))
        for value, linestyle, label in marks:
            if value is not None:
                looks = {"color": style.ink(ax), "linewidth": 1.0, "linestyle": linestyle}
                ax.axvline(value, label=f"{label}: {value:.3g}", **looks)


def _ticks(even: float, largest: float) -> list[float]:
    """0 and two powers of ten on either side, spaced so that they do not overlap."""
    decades = max(1, int(np.log10(largest / even)))
    powers = [even * 10.0**decade for decade in {-(-decades // 2), decades}]
    return [0.0, *powers, *(-power for power in powers)]

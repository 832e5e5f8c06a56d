"""Weights along the strength of the penalty, with held-out scores or the number of non-zeros."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...estimators import LinearClassifier, LinearClassifierCV, Path
from ...estimators.cv.results import chosen
from ...numeric.types import AnyArray, Array
from . import style
from .classifiers import name_of

MOST_NAMED = 6  # weights in the legend: the largest at the chosen l2
LARGE_RATIO = 10.0  # to the largest of these, from which weights are plotted on a logarithmic scale


class PathDisplay:
    """Weights along ``l2``, and the scores on held-out rows, with the chosen value.

    The dashed line is the best ``l2``, the dotted one the largest whose mean score is within one
    standard error of the best. Use :meth:`from_estimator` or :meth:`from_cv_results` to create one,
    and :meth:`from_path` for the weights of sparse models along their strengths.

    Parameters
    ----------
    l2s : array (p,)
        From the largest to the smallest.
    coefs : array (p, k, d), optional
        The weights at each value.
    cv_results : dict of arrays, optional
        As ``cv_results_`` of :class:`LinearClassifierCV`.
    l2 : float, optional
        The chosen value, if different from these two.
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

    weights_: list[Any]
    scores_: Any
    band_: Any
    nonzeros_: Any
    axes_: list[Any]
    ax_: Any
    figure_: Any

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

        The path is fitted again, one value of ``l2`` after another. A fitted
        :class:`LinearClassifierCV` has values and scores; for a :class:`LinearClassifier`, fitted
        or not, ``l2s`` are the values, and there are no scores. With ``standardize`` the weights
        are for the features divided by their deviations, so they can be compared. ``ax`` is one, or
        a pair if there are scores.
        """
        style.pyplot(f"{cls.__name__}.from_estimator")
        if not isinstance(estimator, LinearClassifier | LinearClassifierCV):
            raise TypeError(
                f"{type(estimator).__name__} has no path of l2: expected a LinearClassifier or a "
                "LinearClassifierCV"
            )
        results = getattr(estimator, "cv_results_", None)
        _refuse_strengths(results or {})
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
        fits = _path(estimator, X, y, sample_weight, l2s)
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
        """Plot only the scores: ``cv_results_`` of a :class:`LinearClassifierCV`."""
        style.pyplot(f"{cls.__name__}.from_cv_results")
        _refuse_strengths(cv_results)
        missing = {"l2", "mean_test_score", "standard_error"} - set(cv_results)
        if missing:
            raise ValueError(
                f"cv_results has no {', '.join(sorted(missing))}: expected cv_results_ of a "
                "LinearClassifierCV"
            )
        display = cls(cv_results["l2"], cv_results=cv_results, l2=l2, name=name)
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
        """Plot the sparse models of :func:`path`: weights, and the number of non-zero weights.

        Along the strengths; for a path with ``standardize`` the weights are for the features
        divided by their deviations. ``ax`` is a pair.
        """
        style.pyplot(f"{cls.__name__}.from_path")
        if not isinstance(path, Path):
            raise TypeError(
                f"{type(path).__name__} is not a path: expected the result of separatrix.path(X, y)"
            )
        first = path.at(float(path.strengths[0]))
        scale = first.scale_
        display = cls(
            path.strengths, coefs=path.coefficients * (1.0 if scale is None else scale),
            nonzeros=path.nonzeros, along="strength", names=first.coef_names_,
            scaled=scale is not None,
            name=f"path, l1_ratio = {path.l1_ratio:g}" if name is None else name,
        )  # fmt: skip
        return display.plot(ax, curve_kwargs=curve_kwargs)

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
        self.weights_, self.scores_, self.band_, self.nonzeros_ = [], None, None, None
        for part, axes in zip(parts, self.axes_, strict=True):
            part(axes, curve_kwargs)
            self._mark(axes)
            axes.set_xscale("log")
        self.axes_[-1].set_xlabel(self.along)
        said = "" if self.l2 is None else f"l2 = {self.l2:.3g} chosen"
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
        ax.set_ylabel("held-out score")
        ax.legend(fontsize="small")

    def _draw_nonzeros(self, ax: Any, given: Mapping[str, Any] | None) -> None:
        assert self.nonzeros is not None
        looks = {"color": style.colour(0), "marker": "o", "markersize": 2.5}
        (self.nonzeros_,) = ax.plot(self.l2s, self.nonzeros, **style.merged(looks, given))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("weights not 0")

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
            looks: dict[str, Any] = {"color": style.colour(3), "linewidth": 0.6, "zorder": 1}
            if number is not None:
                looks = {"color": style.colour(number), "linestyle": style.dash(number),
                         "linewidth": 1.4, "label": label}  # fmt: skip
            self.weights_ += ax.plot(self.l2s, flat[:, weight], **style.merged(looks, given))
        ax.axhline(0.0, color=style.ink(ax), linewidth=0.5)
        usual = float(np.abs(flat[at]).max())
        if usual > 0.0 and np.abs(flat).max() > LARGE_RATIO * usual:
            even = 10.0 ** np.ceil(np.log10(usual))  # a power of ten, so that ticks do not overlap
            ax.set_yscale("symlog", linthresh=even)
            ax.set_yticks(_ticks(even, float(np.abs(flat).max())))
        ax.set_ylabel("scaled weight" if self.scaled else "weight")
        style.legend_below(ax, "x-small")

    def _mark(self, ax: Any) -> None:
        """Mark the values that the scores, or the fit, choose."""
        for l2, linestyle in ((self.best_l2, "--"), (self.one_standard_error_l2, ":")):
            if l2 is not None:
                ax.axvline(l2, color=style.ink(ax), linewidth=1.0, linestyle=linestyle)
        if self.l2 is not None and self.l2 not in (self.best_l2, self.one_standard_error_l2):
            ax.axvline(self.l2, color=style.ink(ax), linewidth=1.0)


def _refuse_strengths(results: Mapping[str, AnyArray]) -> None:
    if "strength" in results:
        raise ValueError(
            "this search used strengths of l1 and l2 (l1_ratio), but the plot is for a "
            "path in l2 only: PathDisplay.from_path(separatrix.path(X, y, l1_ratio=...)) draws "
            "the weights at every strength, and cv_results_ has the scores"
        )


def _ticks(even: float, largest: float) -> list[float]:
    """0 and two powers of ten on either side, spaced so that they do not overlap."""
    decades = max(1, int(np.log10(largest / even)))
    powers = [even * 10.0**decade for decade in {-(-decades // 2), decades}]
    return [0.0, *powers, *(-power for power in powers)]


def _path(
    estimator: Any, X: Any, y: Any, sample_weight: Any, l2s: Array
) -> list[tuple[Array, AnyArray]]:
    """The weights at each l2 and the names of their features; each fit is a warm start."""
    ours = set(LinearClassifier().get_params(deep=False))
    same = {key: value for key, value in estimator.get_params(deep=False).items() if key in ours}
    same |= {"warm_start": True, "callbacks": (), "verbose": False}
    clf, found = LinearClassifier(**same), []
    with warnings.catch_warnings():
        # The smallest values of l2 may cause this; the plot shows the result.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for l2 in l2s:
            clf.set_params(l2=float(l2)).fit(X, y, sample_weight)
            coef = clf.coef_ if clf.scale_ is None else clf.coef_ * clf.scale_
            found.append((coef, clf.coef_names_))
    return found

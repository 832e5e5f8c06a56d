"""The penalty by cross-validation: a whole path of fits per fold, without copying rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...data import InMemory, Source, Subset
from ...data.arrays import as_arrays
from ...losses import Loss
from ...numeric import checks
from ...numeric.types import Array
from ...objective import Objective
from ...solvers import LBFGS, DualAscent, LeastSquares, Newton, Solver, State
from ...solvers.least_squares import is_squared
from ...training.checkpoint import Checkpoint
from ...training.interrupt import passed_on
from ...training.loop import Callback
from ...training.minimize import minimize
from ...training.stopping import OPTIMISM, Stop
from ...training.units import original_weights
from ..base import FitSettings
from ..minimizer import LossModel
from ..sources import labels_of
from . import Folds, Path, disjoint, leave_one_out, row_hash, row_space
from .finished import FinishedFits, LastFit
from .l2_path import l2_path
from .press import press_scores
from .scores import (
    ARRIVED,
    Metadata,
    Unfinished,
    chosen,
    mean_scores,
    results,
    routed,
    scorer_scores,
    splits,
)
from .sums import ScoreSums, row_scores
from .thresholds import WEIGHTS_AT_ONCE

LOOSEST = 0.1  # change of the objective at which a fit along the path may count as settled
LEFT_OUT_TOL = 1e-10  # of fits from which rows are removed


class Given(NamedTuple):
    """Rows, and what deals them out to folds; of those in memory what splitters and scorers see."""

    source: Source
    cv: Any
    X: Any = None
    y: Any = None


class LinearClassifierCV(LossModel):
    """A :class:`LinearClassifier` whose ``l2`` is found by cross-validation.

    The path goes from the largest ``l2`` to the smallest, each fit starting where the one before
    ended. Where no row is left out twice, the loss is smooth and features are not too many, all
    folds are fitted together (see :mod:`separatrix.estimators.cv`), else one after another; rows
    left out are never copied. Rows with far more features than there are rows are fitted by as many
    coordinates, with the same scores. Then the chosen ``l2`` is fitted to all rows.

    The rows of a source are dealt out to folds by a hash of their number, in memory and elsewhere
    alike, and a source that is not in memory is read anew for every step of every fit: give it a
    cache, and few values of ``l2``.

    Parameters
    ----------
    loss, solver, max_iter, tol, standardize, fit_intercept, class_weight, n_jobs, random_state, \
callbacks, verbose
        As in :class:`LinearClassifier`. Callbacks and the live line are those of the last fit; a
        :class:`Checkpoint` keeps the finished fits of the search, too.
        With ``standardize`` every fold is scaled by the deviations of the rows that it trains on,
        and fitted by itself.
    l2s : int or array
        How many values, on a logarithmic grid of eight decades that begins where the penalty
        outweighs the data; or the values.
    cv : int, splitter, iterable of (train, test) rows, or "loo"
        One that asks for groups gets those of ``fit(X, y, groups=groups)``. Of a source that is
        not in memory only how many folds there are can be told.
        "loo" leaves out one row at a time: exactly for the squared loss; for a smooth convex
        loss, two classes and rows of equal weight by Newton steps from the fit to all, or by a fit
        without the row where these do not arrive, so that every score w.x + b is right to 1e-4.
        It works with square matrices of the rows or the features, whichever are fewer, and is
        refused for more than 8192 of these, which would take 4.3 GB.
    scoring : None, "loss", str or callable
        None: accuracy. "loss": minus the mean loss of the rows left out. Both are weighted.
        Otherwise as in scikit-learn, without weights (and with "loo" only "accuracy").
    rule : {"best", "one_standard_error"}
        The l2 with the best mean score (the largest on a tie), or the largest one whose score is
        within one standard error of it.

    Attributes
    ----------
    l2_ : float
    l2_path_ : array
        The values tried, from the largest to the smallest.
    cv_results_ : dict of arrays
        ``l2``, ``mean_test_score``, ``std_test_score``, ``standard_error`` of the mean, and
        ``split0_test_score``, ... for up to 100 folds.
    loo_check_ : LeaveOneOutCheck
        With "loo" by Newton steps only: at the l2 that scores best, the rows of largest
        influence left out in earnest.
    coef_, intercept_, objective_, solver_, stop_, ...
        Of the final fit, as in :class:`LinearClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LinearClassifierCV("squared", cv="loo").fit(X, y)
    >>> len(clf.l2_path_), round(float(clf.cv_results_["mean_test_score"].max()), 3)
    (20, 0.953)
    """

    start = "zeros"
    warm_start = False

    def __init__(
        self,
        loss: str | Loss = "logistic",
        *,
        l2s: Any = 20,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        solver: str | Solver = "auto",
        max_iter: int = 1000,
        tol: float | None = 1e-6,
        standardize: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.l2s = l2s
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Find l2 by cross-validation, then fit all rows, X and y or a source, with it.

        ``params`` go to the splitter and the scorer: where scikit-learn's metadata routing is
        enabled, to those that ask for them; else only ``groups``, to the splitter.
        """
        with self._all_or_nothing():
            metadata = routed(self, sample_weight, params)
            settings = self._checked_settings()
            rule = checks.choice("rule", self.rule, ("best", "one_standard_error"))
            given = self._given(X, y, sample_weight)
            settings, source = self._standardized(settings, given.source)
            objective = self._objective(settings, source)
            self._solver(objective, partial=False)  # refuses early
            if isinstance(self.cv, str):
                leave_one_out.check_arguments(self.cv, self.scoring, objective, self.standardize)
            self.__dict__.pop("loo_check_", None)
            self._unfinished = Unfinished()
            self.l2_path_ = l2_path(self.l2s, objective)
            keeps = [call for call in self.callbacks if isinstance(call, Checkpoint)]
            self._finished = FinishedFits(keeps, partial(self._told_settings, objective))
            with self._finished.begun():
                fits: list[Array] = []
                if isinstance(self.cv, str):
                    scores = self._left_out(settings, objective)
                elif self.standardize or not isinstance(given.source, InMemory):
                    scores = self._one_by_one(settings, objective, given, metadata)
                else:
                    scores, fits = self._folds(settings, objective, given, metadata)
                self.cv_results_ = results(self.l2_path_, scores)
                best = chosen(self.cv_results_, rule)
                self.l2_ = float(self.l2_path_[best])
                objective = objective.with_penalty(self.l2_)
                solver = self._solver(objective, partial=False)
                W = fits[best] if best < len(fits) else np.zeros(objective.shape)
                seed = checks.seed(self.random_state)
                settings = replace(settings, l2=self.l2_).kept_by(solver)
                result = self._minimize(settings, objective, solver, seed, W, None)
                self._note_fit(settings, solver, result)
                self._finish(objective, result)
            del self._finished
        self._warn_of_the_end()
        if self._unfinished.l2s:
            warnings.warn(self._unfinished.text(self.max_iter), ConvergenceWarning, stacklevel=2)
        return self

    def _given(self, X: Any, y: Any, sample_weight: Any) -> Given:
        """The rows, and what deals them out to folds."""
        if not isinstance(X, Source):
            return Given(self._source(X, y, sample_weight), self.cv, X, np.asarray(y))
        if self.scoring not in (None, "loss"):
            raise TypeError(
                f"scoring={self.scoring!r} is asked about arrays, and {type(X).__name__} is a "
                "source: set scoring=None or 'loss', or call fit(X, y)"
            )
        if not isinstance(X, InMemory):
            folds = row_hash.check_folds(self.cv, type(X).__name__)
            return Given(self._given_source(X, y, sample_weight), folds)
        source = as_arrays(cast(InMemory, self._given_source(X, y, sample_weight)))
        labels, cv = labels_of(source), self.cv
        if checks.is_integer(cv):
            cv = row_hash.hashed_splits(len(labels), row_hash.check_folds(cv, type(X).__name__))
        return Given(source, cv, np.empty((len(labels), 0)), labels)

    def _settings(self) -> FitSettings:
        return self._loss_settings(1.0)  # any positive one: those of the path are

    def get_metadata_routing(self) -> Any:
        """Who asks for what beside X and y: the splitter, and a scorer of scikit-learn's."""
        from sklearn.metrics import get_scorer
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        router = MetadataRouter(owner=self).add_self_request(self)
        to = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=self.cv, method_mapping=to)
        if self.scoring not in (None, "loss"):
            to = MethodMapping().add(caller="fit", callee="score")
            router.add(scorer=get_scorer(self.scoring), method_mapping=to)
        return router

    def _callbacks(self) -> tuple[Callback, ...]:
        """With what is kept of the search in the place of checkpoints."""
        others = [call for call in self.callbacks if not isinstance(call, Checkpoint)]
        return (LastFit(self._finished), *others) if self._finished.checkpoints else tuple(others)

    def _told_settings(self, objective: Objective) -> dict[str, Any]:
        """What all fits of the search depend on."""
        scoring = self.scoring if isinstance(self.scoring, str) else type(self.scoring).__name__
        return {
            "loss": objective.loss.to_dict(), "fit_intercept": objective.intercept,
            "l2s": self.l2_path_.tolist(), "scoring": scoring, "rule": self.rule, "tol": self.tol,
            "standardize": self.standardize, "data": objective.source.fingerprint(),
        }  # fmt: skip

    # ---- folds ---------------------------------------------------------------------------

    def _one_by_one(
        self, settings: FitSettings, objective: Objective, given: Given, metadata: Metadata
    ) -> Array:
        """Scores (folds, values) by fits to each fold alone, in units of its own if asked for."""
        each = []
        self.classes_ = given.source.classes  # for scorers
        for training, test in self._trainings(given, metadata):
            own, source = self._standardized(settings, training)
            alone = replace(objective, source=source)
            weights = (original_weights(W, own.features) for W in self._along(settings, alone))
            if self.scoring in (None, "loss"):
                each.append(self._scores(objective, test, weights))
            else:
                rows = cast(Subset, test).rows
                found = scorer_scores(self, given.X, given.y, rows, weights, metadata.score)
                each.append(found)
        return np.array(each)

    def _trainings(self, given: Given, metadata: Metadata) -> Iterator[tuple[Source, Source]]:
        """What every fold trains on, and what it tests."""
        if not isinstance(given.source, InMemory):
            yield from row_hash.source_folds(given.source, given.cv)
            return
        source = as_arrays(given.source)
        for split in splits(given.cv, source, given.X, given.y, metadata.split):
            yield split.training(source), Subset(source, split.test)

    def _folds(
        self, settings: FitSettings, objective: Objective, given: Given, metadata: Metadata
    ) -> tuple[Array, list[Array]]:
        """Scores (folds, values); and along the path, as far as they are known, fits to all."""
        objective, of_features = self._in_row_space(objective)
        source = as_arrays(objective.in_memory)
        folds, others = disjoint(
            objective, splits(given.cv, source, given.X, given.y, metadata.split)
        )
        known, fits = self._together(settings, folds) if others is None else ([], [])
        mine = folds.splits
        del folds  # its sample, too, takes room
        if len(known) == len(self.l2_path_) and self.scoring in (None, "loss"):
            tests = [split.test for split in mine]
            found = np.stack(known, axis=1)
            scores = mean_scores(self.scoring, objective.loss, source, tests, found)
            return scores, list(map(of_features, fits))
        each = []
        self.classes_ = source.classes  # for scorers
        for fold, split in enumerate(chain(mine, others or ())):
            alone = replace(objective, source=split.training(source))
            weights = self._along(settings, alone, [W[fold] for W in known])
            if self.scoring in (None, "loss"):
                each.append(self._scores(objective, Subset(source, split.test), weights))
            else:
                seen = map(of_features, weights)
                each.append(scorer_scores(self, given.X, given.y, split.test, seen, metadata.score))
        return np.array(each), list(map(of_features, fits))

    def _in_row_space(self, objective: Objective) -> tuple[Objective, Callable[[Array], Array]]:
        """What folds are fitted to, and what takes its weights to those of the features.

        Coordinates of the rows where these are fewer and every fit finds the minimum, for that is
        the same.
        """
        arrives = isinstance(
            self._solver(objective, partial=False), (LBFGS, Newton, LeastSquares, DualAscent)
        )
        if self.solver != "auto" or not (arrives and objective.loss.convex):
            return objective, np.asarray
        if not row_space.suits_folds(objective):
            return objective, np.asarray
        space = row_space.RowSpace.of(objective, float(self.l2_path_[-1]))
        return space.objective, space.weights

    def _together(self, settings: FitSettings, folds: Folds) -> tuple[list[Array], list[Array]]:
        """Weights (folds, k, d + 1) along the path and fits to all, as far as they can be had."""
        tol = settings.stop.tol
        smooth = isinstance(self._solver(folds.objective, partial=False), (LBFGS, Newton))
        known: list[Array] = []
        fits: list[Array] = []
        if self.solver != "auto" or not smooth or tol is None or not folds.applies:
            return known, fits
        path = Path(folds, min(tol, OPTIMISM * LOOSEST))
        for l2 in self.l2_path_.tolist():
            fit = path.fit(l2)
            if fit is None:
                break
            for fold in np.flatnonzero(~fit.is_converged):
                own = folds.without(int(fold)).with_penalty(l2)
                fit.folds[fold] = self._settled(settings, own, fit.folds[fold])
            self._unfinished.fits += int(fit.is_converged.sum())
            known.append(fit.folds)
            fits.append(fit.weights)
        return known, fits

    def _near_enough(self, settings: FitSettings, solver: Solver) -> Stop:
        """When the scores are those of the minimum.

        Each step of Newton's squares what remains: its own estimate of that, made before the
        step, needs no margin. Gradients are believed with one; others have to prove it.
        """
        stop = settings.stop
        if not isinstance(solver, (Newton, LBFGS, LeastSquares)):
            return stop
        if stop.tol is not None and isinstance(solver, Newton):
            stop = replace(stop, tol=min(stop.tol / OPTIMISM, LOOSEST))
        return replace(stop, prove=False)

    def _settled(
        self,
        settings: FitSettings,
        objective: Objective,
        start: Array,
        solver: Solver | None = None,
    ) -> Array:
        """Weights that are near enough for scores; or the fit is noted."""
        solver = solver or self._solver(objective, partial=False)
        keep, stop = settings.kept_by(solver).keep, self._near_enough(settings, solver)
        seed = checks.seed(self.random_state)
        fit = partial(minimize, objective, solver, stop=stop, seed=seed, keep=keep)

        def settled() -> State:
            with passed_on():  # Ctrl-C ends the search, not one of its many fits
                result = fit(start=start)
                if result.stop == "no progress" and start.any():
                    again = fit()  # where the last penalty led may be a bad place to begin
                    result = again if again.stop in ARRIVED else result
            return {"weights": result.weights, "stop": result.stop}

        def depends_on() -> list[Any]:
            chance = checks.is_left_to_chance(self.random_state)
            return [
                objective.source.fingerprint(), objective.penalty.l2, solver.to_dict(),
                asdict(stop), keep, None if chance else seed, start,
            ]  # fmt: skip

        found = self._finished.once(depends_on, settled)
        self._unfinished.note(objective.penalty.l2, found["stop"])
        weights: Array = found["weights"]
        return weights

    def _along(
        self, settings: FitSettings, objective: Objective, known: Sequence[Array] = ()
    ) -> Iterator[Array]:
        """Weights along the path: those known, then each from where the one before ended."""
        yield from known
        W = known[-1] if known else np.zeros(objective.shape)
        for l2 in self.l2_path_[len(known) :].tolist():
            W = self._settled(settings, objective.with_penalty(l2), W)
            yield W

    def _scores(self, objective: Objective, test: Source, weights: Iterator[Array]) -> list[float]:
        """Scores of the rows left out, for each of the weights: NaN if no row has a weight."""
        found: list[float] = []
        at_once = max(1, WEIGHTS_AT_ONCE // int(np.prod(objective.shape)))
        while some := list(islice(weights, at_once)):
            (sums,) = test.total(ScoreSums(self.scoring, objective.loss, np.array(some)))
            found += (sums / (test.weight_sum or np.nan)).tolist()
        return found

    # ---- leaving out one row at a time ---------------------------------------------------

    def _left_out(self, settings: FitSettings, objective: Objective) -> Array:
        """Scores of every row by the fit without it, along the path: (n, values)."""
        source = as_arrays(objective.in_memory)
        if is_squared(objective.loss):
            left_out = press_scores(objective, self.l2_path_)
        else:
            left_out = self._by_removal(settings, objective)[:, :, None]
        each = np.swapaxes(left_out, 1, 2)
        scores = row_scores(self.scoring, objective.loss, source.y, each).T.astype(np.float64)
        if source.present is not None:  # rows of weight 0 are as if absent
            scores[source.weights == 0.0] = np.nan
        return scores

    def _by_removal(self, settings: FitSettings, objective: Objective) -> Array:
        if row_space.is_wide(objective):
            objective = row_space.RowSpace.of(objective, float(self.l2_path_[-1])).objective
        strict = replace(settings, stop=replace(settings.stop, tol=LEFT_OUT_TOL))
        together = partial(self._settled, strict)
        alone = partial(self._settled, strict, solver=Newton())
        path, y = self.l2_path_, objective.in_memory.y
        scores, fits = leave_one_out.smooth_scores(objective, path, together, alone)
        means = row_scores(self.scoring, objective.loss, y, scores[:, None]).mean(axis=1)
        best = int(np.argmax(means))
        chosen = objective.with_penalty(float(path[best]))
        self.loo_check_ = leave_one_out.check(chosen, fits[best], scores[best], alone)
        return scores

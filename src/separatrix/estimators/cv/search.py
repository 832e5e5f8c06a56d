"""The search for a penalty: every fold is fitted along the path and scored on its held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ...data import InMemory, Source
from ...data.arrays import as_arrays
from ...numeric import checks
from ...numeric.expected import array, entries, optional, whole, word
from ...numeric.types import Array, Ints
from ...objective import Objective
from ...penalties import L2, Penalty
from ...proofs.units import original_weights
from ...solvers import LBFGS, DualAscent, LeastSquares, Newton, ProximalNewton, Solver, State
from ...training.interrupt import passed_on
from ...training.minimize import minimize
from ...training.stopping import OPTIMISM, Stop
from ..base import FitSettings
from ..minimizer import LossModel
from . import Fit, FoldPath, Folds, disjoint, leave_one_out, row_hash, row_space
from .candidates import Candidates
from .finished import FinishedFits
from .leave_one_out import LeaveOneOutCheck
from .results import ARRIVED, Unfinished
from .scores import fold_scores, mean_scores, scorer_scores
from .splits import Given, splits

LOOSEST = 0.1  # largest change of the objective at which a fit may count as converged
LEFT_OUT_TOL = 1e-10  # tolerance of fits from which rows are removed


class SearchResult(NamedTuple):
    scores: Array  # scores (folds, values); when leaving out one row at a time (rows, values)
    fits: Sequence[Array] = ()  # weights for all rows along the path, as far as they are known
    check: LeaveOneOutCheck | None = None
    """A check with some rows removed by fits, if others were removed by Newton steps."""
    weight: Array | None = None
    """Weights of the rows if each is left out alone; None: all count equally, as folds do."""


@dataclass
class PenaltySearch:
    """The fits that choose a penalty, with scores on the held-out rows."""

    clf: LossModel  # the estimator with the solver; scorers see it with the weights of each fit
    settings: FitSettings
    objective: Objective  # the objective on all rows, standardised if requested
    given: Given
    candidates: Candidates
    scoring: Any
    """How held-out rows are scored: None (accuracy), "loss" or a scorer of scikit-learn."""
    finished: FinishedFits
    unfinished: Unfinished = field(default_factory=Unfinished)

    @property
    def l2s(self) -> Array:
        """The path in l2, from the largest."""
        return self.candidates.values

    def run(self) -> SearchResult:
        """Search with single rows left out, with separate folds, or with all folds together."""
        self._notify("searching", self.candidates.values.tolist())
        if isinstance(self.given.cv, str):
            return self._left_out()
        sparse = self.candidates.l1_ratio is not None
        alone = self.clf.standardize or self.clf.stop is not None
        if sparse or alone or not isinstance(self.given.source, InMemory):
            return SearchResult(self._one_by_one())
        return self._folds()

    # ---- folds ---------------------------------------------------------------------------

    def _one_by_one(self) -> Array:
        """Scores (folds, values) by separate fits, each with its own scaling if requested."""
        each = []
        for training, test, rows in self._trainings():
            own, source = self.clf._standardized(self.settings, training)
            alone = replace(self.objective, source=source)
            along = self._along(alone, own=own)
            if self.clf.standardize:
                weights = (original_weights(W, own.features) for W in along)
                each.append(self._scores(test, rows, weights))
            else:
                each.append(self._scores(test, rows, along, self._as_given))
        return np.array(each)

    def _as_given(self, W: Array) -> Array:
        """Convert weights of the stored features to weights of all given features."""
        return original_weights(W, self.settings.features)

    def _trainings(self) -> Iterator[tuple[Source, Source, Ints | None]]:
        """Yield the training rows and the test rows of every fold, and the latter's numbers."""
        if not isinstance(self.given.source, InMemory):
            for fold in row_hash.source_folds(self.given.source, self.given.cv):
                yield *fold, None
            return
        source = as_arrays(self.given.source)
        for split in splits(self.given, source):
            yield split.training(source), split.tested(source), split.test

    def _folds(self) -> SearchResult:
        """Scores by fits to all folds together, as far as these are possible."""
        objective, of_features = self._in_row_space()
        source, scoring = as_arrays(objective.in_memory), self.scoring
        folds, others = disjoint(objective, splits(self.given, source))
        together = others is None and source.visitable  # on a device folds are weights of all rows
        known, fits = self._together(folds) if together else ([], [])
        mine = folds.splits
        del folds  # its sample takes memory, too
        fits = list(map(of_features, fits))
        if len(known) == len(self.l2s) and scoring in (None, "loss"):
            tests = [split.test for split in mine]
            found = np.stack(known, axis=1)
            return SearchResult(mean_scores(scoring, objective.loss, source, tests, found), fits)

        def as_given(W: Array) -> Array:
            return self._as_given(of_features(W))

        each = []
        for fold, split in enumerate(chain(mine, others or ())):
            alone = replace(objective, source=split.training(source))
            weights = self._along(alone, [W[fold] for W in known])
            each.append(self._scores(split.tested(source), split.test, weights, as_given))
        return SearchResult(np.array(each), fits)

    def _scores(
        self,
        test: Source,
        rows: Ints | None,
        weights: Iterator[Array],
        of_features: Callable[[Array], Array] = np.asarray,
    ) -> list[float]:
        """Scores on the test rows of a fold, for each of the weights of their coordinates."""
        if self.scoring in (None, "loss"):
            found = fold_scores(self.scoring, self.objective.loss, test, weights)
        else:
            assert rows is not None  # given_rows has refused other scorings
            self.clf.classes_, labels = self.given.source.classes, self.clf._label_columns
            W: Iterator[Array] = map(of_features, weights)
            if labels is not None:
                self.clf.classes_, attained = labels.names, self.objective.loss.attained
                W = (labels.all_weights(each, attained) for each in W)
            found = scorer_scores(self.clf, self.scoring, self.given, rows, W)
        self._notify("scored", found)
        return found

    def _in_row_space(self) -> tuple[Objective, Callable[[Array], Array]]:
        """The objective for the folds, and the function that converts its weights to the features.

        Row coordinates are used if they are fewer and every fit finds the minimum, which is the
        same.
        """
        objective = self.objective
        arrives = isinstance(self._solver(objective), (LBFGS, Newton, LeastSquares, DualAscent))
        if self.clf.solver != "auto" or not (arrives and objective.loss.convex):
            return objective, np.asarray
        if not row_space.suits_folds(objective):
            return objective, np.asarray
        space = row_space.RowSpace.of(objective, float(self.l2s[-1]))
        return space.objective, space.weights

    def _together(self, folds: Folds) -> tuple[list[Array], list[Array]]:
        """Weights (folds, k, d + 1) along the path, and fits to all rows, as far as possible."""
        tol = self.settings.stop.tol
        smooth = isinstance(self._solver(folds.objective), (LBFGS, Newton))
        known: list[Array] = []
        fits: list[Array] = []
        if self.clf.solver != "auto" or not smooth or tol is None or not folds.applies:
            return known, fits
        path = FoldPath(folds, min(tol, OPTIMISM * LOOSEST))
        for l2 in self.l2s.tolist():
            fit = self._fit_together(path, l2)
            if fit is None:
                break
            each = fit.folds.copy()  # the fit itself may be saved
            for fold in np.flatnonzero(~fit.is_converged):
                own = folds.without(int(fold)).with_penalty(L2(l2))
                each[fold] = self._settled(own, each[fold])
            self.unfinished.fits += int(fit.is_converged.sum())
            known.append(each)
            fits.append(fit.weights)
        return known, fits

    def _fit_together(self, path: FoldPath, l2: float) -> Fit | None:
        """Fit all folds for the next penalty, if the path could be followed so far."""

        def fitted() -> State:
            fit = path.fit(l2)
            return {"fit": None if fit is None else fit._asdict(), "path": path.to_state()}

        def depends_on() -> list[Any]:
            rows = [split.left_out for split in path.folds.splits]
            name = self.finished.fingerprint(path.folds.source)
            return [name, rows, path.tol, l2, path.to_state()]

        known = {"fit": optional(path.expected_fit()), "path": path.expected_state()}
        found = self.finished.once(depends_on, fitted, entries(known))
        path.restore(found["path"])
        self._notify("searched", l2)
        return None if found["fit"] is None else Fit(**found["fit"])

    # ---- leaving out one row at a time ---------------------------------------------------

    def _left_out(self) -> SearchResult:
        """Scores (rows, values) of every row by the fit without it."""
        stop = replace(self.settings.stop, tol=LEFT_OUT_TOL)
        together = partial(self._settled, stop=stop)
        alone = partial(self._settled, stop=stop, solver=Newton())
        scores, check = leave_one_out.scores(
            self.objective, self.l2s, self.scoring, together, alone
        )
        return SearchResult(scores, check=check, weight=self.objective.in_memory.weight)

    # ---- one fit -------------------------------------------------------------------------

    def _solver(self, objective: Objective) -> Solver:
        return self.clf._solver(objective, partial=False)

    def _along(
        self,
        objective: Objective,
        known: Sequence[Array] = (),
        own: FitSettings | None = None,
    ) -> Iterator[Array]:
        """Weights along the path: the known ones, then fits that start from the previous one.

        With early stopping they start from zeros, as a single fit does, and ``own`` has the
        features of this objective.
        """
        yield from known
        before: State = {"weights": known[-1] if known else np.zeros(objective.shape)}
        for penalty in self.candidates.penalties[len(known) :]:
            at, handed_on = before["weights"], before.get("handed_on")
            if self.settings.stop.validation is not None:
                at, handed_on = np.zeros(objective.shape), None
            posed = objective.with_penalty(penalty)
            found = self._fit(posed, at, handed_on=handed_on, own=own)
            before["handed_on"] = None  # as large as all labels, and only used by the next
            before = found
            yield found["weights"]
        before["handed_on"] = None

    def _settled(
        self,
        objective: Objective,
        start: Array,
        stop: Stop | None = None,
        solver: Solver | None = None,
    ) -> Array:
        """Weights that are accurate enough for scores; other fits are recorded."""
        weights: Array = self._fit(objective, start, stop, solver)["weights"]
        return weights

    def _fit(
        self,
        objective: Objective,
        start: Array,
        stop: Stop | None = None,
        solver: Solver | None = None,
        handed_on: State | None = None,
        own: FitSettings | None = None,
    ) -> State:
        """These weights, and the state that the solver passes to the next fit along the path."""
        solver = solver or self._solver(objective)
        stop = stop or self.settings.stop
        if stop.validation is None:  # else a fit that converges ends as a single one does
            stop = near_enough(stop, solver)
        keep, seed = self.settings.kept_by(solver).keep, checks.seed(self.clf.random_state)
        fit = partial(minimize, objective, solver, stop=stop, seed=seed, keep=keep)
        if own is not None and stop.validation is not None:  # rows with the features as given
            fit = partial(fit, features=own.features, given=own.given)
        state = handed_on if handed_on and handed_on["solver"] == solver.name else None

        def settled() -> State:
            with passed_on():  # Ctrl-C ends the search, not a single fit
                result = fit(start=start, state=state)
                passes = len(result.infos)
                if result.stop == "no progress" and start.any():
                    again = fit()  # the previous solution may be a bad start
                    passes = max(passes, len(again.infos))
                    result = again if again.stop in ARRIVED else result
            new = solver.handed_on(result.state)
            kept = None if new is None else new | {"solver": solver.name}
            return {
                "weights": result.weights, "stop": result.stop, "handed_on": kept, "passes": passes
            }  # fmt: skip

        def depends_on() -> list[Any]:
            chance = checks.is_left_to_chance(self.clf.random_state)
            name = self.finished.fingerprint(objective.source)
            return [
                name, objective.penalty.to_dict(), solver.to_dict(),
                stop.settings(), stop.seconds, keep, None if chance else seed, start,
            ]  # fmt: skip

        def handed_on_state(name: str, state: Any) -> None:
            if not isinstance(state, dict) or state.get("solver") != solver.name:
                raise ValueError(f"{name} is not of {solver!r}")
            alone = {key: value for key, value in state.items() if key != "solver"}
            solver.expected_state(objective)(name, alone)

        known = {
            "weights": array(*objective.shape, finite=True), "stop": word(), "passes": whole(),
            "handed_on": optional(handed_on_state),
        }  # fmt: skip
        found = self.finished.once(depends_on, settled, entries(known), stop.max_iter)
        value = self._value(objective.penalty)
        self.unfinished.note(value, found["stop"])
        self._notify("searched", value)
        return found

    def _value(self, penalty: Penalty) -> float:
        """The value that identifies a penalty of the path."""
        if self.candidates.l1_ratio is None:
            return penalty.l2
        return float(self.candidates.values[self.candidates.penalties.index(penalty)])

    def _notify(self, what: str, value: Any) -> None:
        """Notify callbacks that support it of the path, every fit, and the scores of a fold."""
        for callback in self.clf.callbacks:
            if hasattr(callback, what):
                getattr(callback, what)(value)


def near_enough(stop: Stop, solver: Solver) -> Stop:
    """The accuracy at which scores are those of the minimum.

    A Newton step squares the remaining error: its estimate before the step needs no margin.
    Gradient methods need a margin, and others a proof.
    """
    if not isinstance(solver, (Newton, ProximalNewton, LBFGS, LeastSquares)):
        return stop
    if stop.tol is not None and isinstance(solver, (Newton, ProximalNewton)):
        stop = replace(stop, tol=min(stop.tol / OPTIMISM, LOOSEST))
    return replace(stop, prove=False)

"""All fits of a search for a penalty: those of the folds, then the one of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...numeric import checks
from ...numeric.types import AnyArray, Array
from ...objective import Objective
from ...training.checkpoint import Checkpoint
from ...training.loop import Callback
from ..sparse import SparseModel
from . import leave_one_out
from .candidates import Candidates, checked_ratios, in_l2, in_strength
from .finished import FinishedFits, LastFit, settings_of_search
from .leave_one_out import LeaveOneOutCheck
from .results import Unfinished, chosen, results
from .rows import given_rows, held_out, occupied
from .search import PenaltySearch
from .splits import routed


class CrossValidated(SparseModel):
    """A minimiser whose penalty is chosen by cross-validation."""

    start = "zeros"
    warm_start = False
    _certifies = False
    l2_: float
    l2_path_: Array
    l1_: float
    strength_: float
    l1_ratio_: float
    cv_results_: dict[str, AnyArray]
    loo_check_: LeaveOneOutCheck
    callbacks: Sequence[Callback]

    def _searched(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any,
        scoring: Any,
        params: dict[str, Any],
    ) -> Unfinished:
        """All fits; returns those that did not converge."""
        metadata = routed(self, sample_weight, params)
        settings = self._checked_settings()
        self.__dict__.pop("decision_", None)
        rule = checks.choice("rule", self.rule, ("best", "one_standard_error"))
        given = given_rows(self, X, y, sample_weight, offset, metadata, scoring)
        self._note_offset(given.source)
        settings = replace(settings, stop=held_out(settings.stop, self, given.source))
        settings, given = occupied(settings, given, self.standardize)
        settings, source = self._standardized(settings, given.source)
        objective = self._objective(settings, source)
        self._solver(objective, partial=False)  # raises errors early
        if isinstance(self.cv, str):
            leave_one_out.check_arguments(self.cv, scoring, objective, self.standardize, self.stop)
        paths = self._paths(objective)
        keeps = [call for call in self.callbacks if isinstance(call, Checkpoint)]
        validation = settings.stop.validation
        settle = partial(settings_of_search, self, scoring, objective, paths, validation)
        self._finished = FinishedFits(keeps, settle)
        unfinished = Unfinished(paths[0].name)
        with self._finished.begun():
            searches = [
                PenaltySearch(
                    self, settings, objective, given, each, scoring, self._finished, unfinished
                )
                for each in paths
            ]
            self._fit_the_best(searches, rule)
        del self._finished
        return unfinished

    def _paths(self, objective: Objective) -> list[Candidates]:
        for name in ("l2_path_", "l1_", "strength_", "l1_ratio_", "loo_check_"):
            self.__dict__.pop(name, None)
        if self.l1_ratio is not None:
            return in_strength(checked_ratios(self.l1_ratio), self.strengths, objective)
        paths = in_l2(self.l2s, objective)
        self.l2_path_ = paths[0].values
        return paths

    def _fit_the_best(self, searches: list[PenaltySearch], rule: str) -> None:
        """Search, then fit all rows with the chosen penalty."""
        found = [search.run() for search in searches]
        if found[0].check is not None:
            self.loo_check_ = found[0].check
        tables = [search.candidates.columns() for search in searches]
        columns = {name: np.concatenate([each[name] for each in tables]) for name in tables[0]}
        scores = np.concatenate([each.scores for each in found], axis=1)
        self.cv_results_ = results(columns, scores, found[0].weight)
        best = chosen(self.cv_results_, rule)
        self.l2_ = float(columns["l2"][best])
        for name in columns.keys() - {"l2"}:
            setattr(self, f"{name}_", float(columns[name][best]))
        penalties = [each for search in searches for each in search.candidates.penalties]
        objective = searches[0].objective.with_penalty(penalties[best])
        solver = self._solver(objective, partial=False)
        fits = found[0].fits
        W = fits[best] if best < len(fits) else np.zeros(objective.shape)
        seed = checks.seed(self.random_state)
        settings = replace(searches[0].settings, penalty=objective.penalty).kept_by(solver)
        result = self._minimize(settings, objective, solver, seed, W, None)
        self._note_fit(settings, solver, result)
        self._finish(objective, result)

    def _callbacks(self) -> tuple[Callback, ...]:
        """The callbacks, with checkpoints replaced by the saved state of the search."""
        others = [call for call in self.callbacks if not isinstance(call, Checkpoint)]
        return (LastFit(self._finished), *others) if self._finished.checkpoints else tuple(others)

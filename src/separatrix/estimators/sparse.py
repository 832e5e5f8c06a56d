"""Which weights of a fit are 0, and which are proven to be 0."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Source
from ..numeric.dense import dense
from ..numeric.types import AnyArray
from ..objective import Objective
from ..proofs.gap import GapTracker
from ..proofs.screening import proven_zeros
from ..training.minimize import Result
from .base import FitSettings
from .certified import CertifiedModel


class SparseModel(CertifiedModel):
    """A minimiser of a loss with a penalty that may make weights 0."""

    penalty_weights: Any
    _zero: AnyArray | None

    @property
    def zero_(self) -> AnyArray:
        """Weights that are proven to be 0 in every minimum, (k, d)."""
        check_is_fitted(self)
        found = getattr(self, "_zero", None)
        return np.zeros(self.coef_.shape, dtype=np.bool_) if found is None else found.copy()

    @property
    def selected_(self) -> AnyArray:
        """Weights that are not 0, (k, d)."""
        check_is_fitted(self)
        selected: AnyArray = dense(self.coef_) != 0.0
        return selected

    @property
    def undecided_(self) -> AnyArray:
        """Weights that are 0, but not proven to be 0, (k, d)."""
        return ~self.selected_ & ~self.zero_

    @property
    def _given_weights(self) -> Any:
        """The factors of the penalty for every feature, or None."""
        return self.penalty_weights

    def _selects_nothing(self) -> bool:
        """Whether no penalised feature has a weight."""
        if self._given_weights is None:
            return not self.selected_.any()
        penalised = np.asarray(self._given_weights, dtype=np.float64) > 0.0
        return not self.selected_[:, penalised].any()

    def _warn_if_nothing_is_selected(self, l1: float) -> None:
        # Then a smaller l1 selects no features either.
        separated = self.stop_ == "no minimum" or self.objective_ == 0.0
        if l1 > 0.0 and not separated and self._selects_nothing():
            free = "" if self._given_weights is None else " and the features of weight 0"
            warnings.warn(
                f"l1={l1:g} is so large that no feature is selected: the model is its bias{free} "
                "alone; a smaller l1 selects some",
                UserWarning,
                stacklevel=3,
            )

    def _objective(self, settings: FitSettings, source: Source) -> Objective:
        settings.penalty.check_features(source.n_features)
        return super()._objective(settings, source)

    def _finish(self, objective: Objective, result: Result) -> None:
        super()._finish(objective, result)
        self._zero = None
        proof = result.proof
        if proof is None:
            return
        if not objective.penalty.coercive and proof.lower_bound == 0.0 < proof.value:
            self.gap_ = None  # the only known bound is 0
        if result.stop == "no minimum":
            self.gap_ = None
        elif not objective.penalty.smooth:
            self._zero = self._proven_zeros(proof)

    def _proven_zeros(self, proof: GapTracker) -> AnyArray:
        """Proven zeros of the given features: those that no row stores are 0 if l1 applies."""
        found, features = proven_zeros(proof), self._features
        if features is not None and features.occupied is not None:
            shape = len(found), self.coef_.shape[1]
            some, found = found, np.full(shape, proof.objective.penalty.l1 > 0.0)
            if self._given_weights is not None:
                found &= np.asarray(self._given_weights, dtype=np.float64) > 0.0
            found[:, features.occupied] = some
        if (labels := self._label_columns) is not None:
            some, found = found, np.ones(self.coef_.shape, dtype=np.bool_)
            found[labels.varying] = some
        proven: AnyArray = found & (self.coef_ == 0.0)
        return proven

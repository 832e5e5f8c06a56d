"""Which weights of a fit are 0, and which are proven to be 0 or not 0 at every minimum."""

from __future__ import annotations

import warnings
from typing import Any, Self

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
from .certified import UNDECIDED, CertifiedModel, RowNames
from .selection import check_selection, proven_in_fit, proven_on_request

PROVEN = "proven"
OF_FIT = RowNames("certify_selection", "X", "y", "offset", "pass one that has all rows in memory")


class SparseModel(CertifiedModel):
    """A minimiser of a loss with a penalty that may make weights 0."""

    penalty_weights: Any
    _zero: AnyArray | None
    _nonzero: AnyArray | None

    @property
    def zero_(self) -> AnyArray:
        """Weights that are proven to be 0 in every minimum, (k, d)."""
        check_is_fitted(self)
        found = getattr(self, "_zero", None)
        return np.zeros(self.coef_.shape, dtype=np.bool_) if found is None else found.copy()

    @property
    def nonzero_(self) -> AnyArray | None:
        """Weights that are proven not to be 0 in any minimum, (k, d); None without a proof.

        There the signs of ``coef_`` are proven, too.
        """
        check_is_fitted(self)
        found = getattr(self, "_nonzero", None)
        return None if found is None else found.copy()

    @property
    def selection_(self) -> str:
        """ "proven" if ``zero_`` and ``nonzero_`` cover every weight, else "undecided"."""
        nonzero = self.nonzero_
        decided = nonzero is not None and bool(np.all(nonzero | self.zero_))
        return PROVEN if decided else UNDECIDED

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
        self._zero = self._nonzero = None
        proof = result.proof
        if proof is None:
            return
        if not objective.penalty.coercive and proof.lower_bound == 0.0 < proof.value:
            self.gap_ = None  # the only known bound is 0
        if result.stop == "no minimum":
            self.gap_ = None
        elif not objective.penalty.smooth:
            self._zero = self._proven_zeros(proof)
        if self.gap_ is not None:
            found = self._of_all_features(proven_in_fit(proof, result.weights), absent=False)
            self._nonzero = found & (self.coef_ != 0.0)

    def _proven_zeros(self, proof: GapTracker) -> AnyArray:
        """Proven zeros of the given features: those that no row stores are 0 if l1 applies."""
        d = self.coef_.shape[1]
        absent = np.full(d, proof.objective.penalty.l1 > 0.0)
        if self._given_weights is not None:
            absent &= np.asarray(self._given_weights, dtype=np.float64) > 0.0
        found = self._of_all_features(proven_zeros(proof), absent, constant=True)
        proven: AnyArray = found & (self.coef_ == 0.0)
        return proven

    def _of_all_features(
        self, found: AnyArray, absent: AnyArray | bool, constant: bool = False
    ) -> AnyArray:
        """What is proven of the weights of the objective, as (k, d) for the features as given.

        ``absent`` and ``constant`` hold for features that no row stores, and for labels that do not
        vary.
        """
        features, labels = self._features, self._label_columns
        if features is not None and features.occupied is not None:
            some, found = found, np.tile(absent, (len(found), 1))
            found = np.broadcast_to(found, (len(some), self.coef_.shape[1])).copy()
            found[:, features.occupied] = some
        if labels is not None:
            some, found = found, np.full(self.coef_.shape, constant)
            found[labels.varying] = some
        return found

    # ---- on request ----------------------------------------------------------------------------

    def certify_selection(
        self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Prove more weights of the fit, from its rows: ``nonzero_`` and ``selection_``.

        A fit limits the work for ``nonzero_``. This does not: it repeats the proof, and then fits
        again without each selected feature that is still undecided. If the objective is larger than
        ``objective_`` even so, by a lower bound, the feature has a weight in every minimum. Neither
        of two equal columns is ever proven: a minimum can do without either.

        The fits are for two classes, without groups. ``coef_`` does not change.

        Parameters
        ----------
        X, y, sample_weight, offset
            Those of the fit, or a source as X.

        Returns
        -------
        self : the classifier
        """
        check_is_fitted(self)
        check_selection(self)
        source = self._rows_of_fit(X, y, sample_weight, offset, OF_FIT)
        proven = self._of_all_features(proven_on_request(self, source), absent=False)
        before = self._nonzero
        self._nonzero = proven if before is None else before | proven
        return self

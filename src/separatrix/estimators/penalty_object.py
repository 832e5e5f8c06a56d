"""The parameter ``penalty``: an object, or the word that scikit-learn expects."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

from .sparse import SparseModel


class PenaltyObject(SparseModel):
    """A minimiser whose penalty may be given as an object."""

    l1: float

    @property
    def penalty(self) -> Any:
        """The penalty object, if one is given; else the word for it.

        ``sklearn.feature_selection.SelectFromModel`` asks for the word, "l1" or "l2".
        """
        given = self.__dict__.get("penalty")
        if given is not None:
            return given
        l1: Any = self.l1  # unchecked
        return "l1" if isinstance(l1, Real) and float(l1) > 0.0 else "l2"

    @penalty.setter
    def penalty(self, given: Any) -> None:
        self.__dict__["penalty"] = given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, as they were given."""
        return {**super().get_params(deep), "penalty": self.__dict__.get("penalty")}

    def set_params(self, **params: Any) -> Self:
        example = "set_params(penalty=ElasticNet(l1=0.01))"
        super().set_params(**self._with_nested("penalty", params, example))
        return self

    @property
    def _given_weights(self) -> Any:
        given = self.__dict__.get("penalty")
        return self.penalty_weights if given is None else given.weights

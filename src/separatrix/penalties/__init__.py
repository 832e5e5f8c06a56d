"""Every penalty on the weights. The bias is never penalised."""

from collections.abc import Mapping
from typing import Any

from ..numeric import registry
from .base import REGISTRY, Penalty
from .elastic_net import ElasticNet
from .l2 import L2

__all__ = ["L2", "REGISTRY", "ElasticNet", "Penalty", "from_dict"]


def from_dict(data: Mapping[str, Any]) -> Penalty:
    """The penalty that ``to_dict`` wrote down as plain data.

    >>> from_dict(L2(0.5).to_dict())
    L2(l2=0.5)
    """
    return registry.from_dict(Penalty, data)  # type: ignore[type-abstract]

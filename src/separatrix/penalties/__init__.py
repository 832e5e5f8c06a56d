"""Every penalty on the weights. The bias is never penalised."""

from collections.abc import Mapping
from typing import Any

from ..numeric import registry
from .base import REGISTRY, Penalty
from .constrained import ConstrainedElasticNet, constrained
from .elastic_net import ElasticNet
from .group_lasso import GroupLasso
from .l2 import L2, is_l2
from .sparsity_inducing import SparsityInducing

__all__ = [
    "L2",
    "REGISTRY",
    "ConstrainedElasticNet",
    "ElasticNet",
    "GroupLasso",
    "Penalty",
    "SparsityInducing",
    "constrained",
    "from_dict",
    "is_l2",
]


def from_dict(data: Mapping[str, Any]) -> Penalty:
    """Create a penalty from the dict that ``to_dict`` returned.

    >>> from_dict(L2(0.5).to_dict())
    L2(l2=0.5)
    """
    return registry.from_dict(Penalty, data)  # type: ignore[type-abstract]

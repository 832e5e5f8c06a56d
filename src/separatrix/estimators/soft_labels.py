"""Fits to probabilities in place of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Source
from ..data.cluster.dask_input import is_dask
from ..data.soft_labels import check_probabilities, check_shares
from ..data.weighted_copies import Probabilities, WeightedCopies
from ..losses import Loss, get_loss
from ..numeric import checks
from ..numeric.types import Array
from ..rows.device import DeviceRows


def check_soft_labels(clf: Any, loss: Loss) -> bool:
    """Whether a classifier is fitted to probabilities, after its parameters have been checked."""
    if not checks.flag("soft_labels", clf.soft_labels):
        return False
    if not loss.log_likelihood:
        raise ValueError(
            f"soft_labels=True is not for loss={loss.name!r}, which is no likelihood of "
            "probabilities: use loss='logistic'"
        )
    if clf.class_weight is not None:
        raise ValueError(
            f"class_weight={clf.class_weight!r} is for labels, and with soft_labels=True a row "
            "has a probability of every class: weigh the rows with sample_weight"
        )
    return True


def refuse_labelled_rows(X: Any) -> None:
    """Refuse rows that come with labels of their own."""
    if isinstance(X, Source) or is_dask(X):
        raise TypeError(
            f"soft_labels=True takes X in memory and y as an array of probabilities, and "
            f"{type(X).__name__} has labels of its own: pass X and y"
        )


def soft_rows(clf: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """Every row as a copy with each label, weighted by its probability."""
    P: Array = check_probabilities(y)
    k = P.shape[1]
    if not get_loss(clf.loss).for_classes(k).log_likelihood:
        raise ValueError(
            f"soft_labels=True is not for loss={clf.loss!r} and {k} classes, whose columns are "
            "fitted one by one: use loss='logistic', softmax"
        )
    source = clf._source(X, P.argmax(axis=1), sample_weight, classes=np.arange(k))
    if isinstance(source.stored, DeviceRows):
        raise TypeError(
            "soft_labels=True is for rows in main memory, and X is on a GPU: copy it first, or set "
            "device='cpu'"
        )
    check_shares(P, source.weight)
    return WeightedCopies(source, Probabilities(P))

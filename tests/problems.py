"""Objectives of tables that several tests need."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix import L2, ArraySource, Objective, get_loss
from separatrix.data.validation import check_rows
from separatrix.proofs.rounding import ExactValue


def correlated(n, d, condition, seed=0):
    """Columns whose covariance has this condition number, all of which count for the label."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, d))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    y = np.where(Z @ rng.standard_normal(d) * (3 / d**0.5) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return Z * np.geomspace(1.0, condition**-0.5, d) @ turn + 3.0, y


def objective_of(X, y, loss="logistic", l2=1e-5, weight=None, intercept=True, n_jobs=None):
    classes = np.unique(y)
    y = y if len(classes) == 2 else y.astype(np.int64)
    rows = check_rows(X) if sp.issparse(X) else X
    source = ArraySource(rows, y, classes, weight, n_jobs)
    found = get_loss(loss) if len(classes) == 2 else get_loss(loss).multiclass()
    return Objective(found, L2(l2), source, intercept)


def exact_value(objective, W):
    """J at W, from scores of twice the working precision."""
    (loss_sum,) = objective.source.total(ExactValue(objective.loss, W))
    return objective.mean(loss_sum, W)

"""What scikit-learn's linear models minimise, as their documentation has it, in plain NumPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

LOSS = {
    "log_loss": lambda m: np.logaddexp(0.0, -m),
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "perceptron": lambda m: np.maximum(0.0, -m),
}


def weights_of_rows(model, y, sample_weight, counted):
    """Sample weights times class weights; "balanced" by the counts of rows or by their weights."""
    c = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    each = _class_weights(model, y, c, counted)
    return c * sum((y == label) * weight for label, weight in each.items())


def _class_weights(model, y, c, counted):
    classes = np.unique(y)
    if model.class_weight is None:
        return dict.fromkeys(classes.tolist(), 1.0)
    if model.class_weight == "balanced":
        size = np.ones(len(y)) if counted else c
        share = {label: size[y == label].sum() for label in classes}
        return {label: size.sum() / (len(classes) * share[label]) for label in classes}
    return {label: model.class_weight.get(label, 1.0) for label in classes}


def scores(W, X):
    return X @ W[:, :-1].T + W[:, -1]


def weights(model):
    coef = np.atleast_2d(model.coef_)
    return np.column_stack([coef, np.broadcast_to(np.ravel(model.intercept_), len(coef))])


def logistic_regression(model, W, X, y, sample_weight=None, C=None):
    """``C * sum of -log(p) + |w|^2 / 2``; liblinear's bias is b = scaling * v with v penalised."""
    C = model.C if C is None else C
    c, s, classes = weights_of_rows(model, y, sample_weight, False), scores(W, X), np.unique(y)
    if len(classes) == 2:
        losses = LOSS["log_loss"](np.where(y == classes[1], 1.0, -1.0) * s[:, 0])
    else:
        losses = logsumexp(s, axis=1) - s[np.arange(len(y)), np.searchsorted(classes, y)]
    if np.isinf(C):
        return float(c @ losses / c.sum())
    value = C * float(c @ losses) + 0.5 * float(np.sum(W[:, :-1] ** 2))
    if model.solver == "liblinear" and model.fit_intercept:
        scaling = getattr(model, "intercept_scaling", 1.0) if C is model.C else 1.0
        value += 0.5 * float(np.sum((W[:, -1] / scaling) ** 2))
    return value


def one_vs_rest(model, W, X, y, sample_weight, counted):
    """Yields labels of -1 and +1, weights and scores of every two-class problem."""
    classes = np.unique(y)
    c = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    s = scores(W, X)
    if len(classes) == 2:
        signs = np.where(y == classes[1], 1.0, -1.0)
        yield signs, weights_of_rows(model, y, sample_weight, counted), s[:, 0]
        return
    each = _class_weights(model, y, c, counted)
    for number, label in enumerate(classes):
        own = y == label
        yield np.where(own, 1.0, -1.0), np.where(own, each[label], 1.0) * c, s[:, number]


def linear_svc(model, W, X, y, sample_weight=None):
    """``C * sum + |w|^2 / 2 + (b / scaling)^2 / 2`` for each class against the rest."""
    if model.multi_class == "crammer_singer":
        c, s, classes = weights_of_rows(model, y, sample_weight, False), scores(W, X), np.unique(y)
        V = W
        if len(classes) == 2:  # both classes' weights, whose difference is reported
            s, V = np.column_stack([-s / 2, s / 2]), np.concatenate([-W / 2, W / 2])
        own = np.searchsorted(classes, y)
        rows = np.arange(len(y))
        margins = s + 1.0
        margins[rows, own] -= 1.0
        total = model.C * float(c @ (margins.max(axis=1) - s[rows, own]))
    else:
        V = W
        total = sum(
            model.C * float(c @ LOSS[model.loss](signs * s))
            for signs, c, s in one_vs_rest(model, W, X, y, sample_weight, False)
        )
    total += 0.5 * float(np.sum(V[:, :-1] ** 2))
    if model.fit_intercept:
        total += 0.5 * float(np.sum((V[:, -1] / model.intercept_scaling) ** 2))
    return total


def sgd(model, W, X, y, sample_weight=None):
    """``sum / n + alpha * |w|^2 / 2`` for each class against the rest."""
    loss = LOSS[getattr(model, "loss", "perceptron")]
    total = sum(
        float(c @ loss(signs * s)) / len(y)
        for signs, c, s in one_vs_rest(model, W, X, y, sample_weight, True)
    )
    alpha = 0.0 if model.penalty is None else model.alpha
    return total + 0.5 * alpha * float(np.sum(W[:, :-1] ** 2))


def ridge(model, W, X, y, sample_weight=None, alpha=None):
    """``sum of (t - s)^2 + alpha * |w|^2`` over the columns of targets -1 and +1."""
    classes, s = np.unique(y), scores(W, X)
    T = np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)
    c = weights_of_rows(model, y, sample_weight, True)
    alpha = model.alpha if alpha is None else alpha
    return float(c @ ((T - s) ** 2).sum(axis=1)) + alpha * float(np.sum(W[:, :-1] ** 2))


def least(objective, model, X, y, sample_weight=None, fixed_bias=False, **more):
    """The least value of a smooth objective by BFGS, from zeros, with a numerical gradient."""
    shape = weights(model).shape
    deviation = X.std(axis=0)

    def value(v):
        W = v.reshape(shape).copy()
        W[:, :-1] /= deviation  # other variables than any library uses
        if fixed_bias:
            W[:, -1] = 0.0
        return objective(model, W, X, y, sample_weight, **more)

    found = minimize(value, np.zeros(shape[0] * shape[1]), method="BFGS", tol=1e-10,
                     options={"maxiter": 2000})  # fmt: skip
    return found.fun

"""Row by row with l1: against the paper's loop over all weights after every batch."""

from __future__ import annotations

import numpy as np
import pytest
from layouts import LAYOUTS, data, stored

from separatrix import loops
from separatrix.losses import get_loss

SMOOTH = ["logistic", "squared", "squared_hinge", "tanh_squared"]


def slopes_at(name, m):
    if name == "logistic":
        return -1.0 / (1.0 + np.exp(m))
    if name == "tanh_squared":
        return -2.0 * (1.0 - np.tanh(m)) / np.cosh(m) ** 2
    return -2.0 * (1.0 - m if name == "squared" else np.maximum(1.0 - m, 0.0))


def plain_pass(X, y, slopes_of, W, u, q, *, order, steps, l1, l2, batch, weight, scale):
    """All weights after every batch, as the paper has it; a decay shrinks what is owed, too."""
    Z = np.column_stack([X, np.ones(len(X))])
    W, q = W.copy(), q.copy()
    for t, at in enumerate(range(0, len(order), batch)):
        rows, step = order[at : at + batch], steps[t]
        change = np.zeros(W.shape)
        for i in rows:
            change += weight[i] * scale / len(rows) * np.outer(slopes_of(y[i], W @ Z[i]), Z[i])
        decay = max(0.0, 1.0 - 2.0 * step * l2)
        W[:, :-1] *= decay
        W -= step * change
        u, q = decay * u + step * l1, decay * q
        for c, j in np.ndindex(*W[:, :-1].shape):
            before = W[c, j]
            if before > 0.0:
                W[c, j] = max(0.0, before - (u + q[c, j]))
            elif before < 0.0:
                W[c, j] = min(0.0, before + (u - q[c, j]))
            q[c, j] += W[c, j] - before
    return W, u, q


def drawn(k=1, n=70, d=13):
    X, y, rng = data(n, d)
    given = {
        "order": rng.permutation(n)[:61], "steps": 0.05 / np.sqrt(np.arange(1.0, 62.0)),
        "weight": rng.integers(0, 4, n).astype(float), "batch": 1, "l1": 0.2, "l2": 0.0,
    }  # fmt: skip
    return X, y, 0.3 * rng.standard_normal((k, d + 1)), given


def run(one_pass, rows, y, loss, W, given, times=1):
    weights = loops.OnlineWeights.start(W, None, np.zeros(W.shape))
    for _ in range(times):
        one_pass(rows, y, loss, weights, weight_scale=0.7, **given)
        weights.fold()
    return weights


@pytest.mark.sampled
@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("l2", [0.0, 0.01, 0.4, 3.0])
def test_a_pass_is_that_of_the_paper(level, kind, batch, l2):
    X, y, W, given = drawn()
    given |= {"batch": batch, "l2": l2}
    zeros = 0
    for name in SMOOTH:
        plain, u, q = W, 0.0, np.zeros(W.shape)
        for _ in range(2):
            plain, u, q = plain_pass(
                X, y, lambda y, s, name=name: y * slopes_at(name, y * s), plain, u, q,
                scale=0.7, **given,
            )  # fmt: skip
        for one_pass in (loops.online_pass, loops.online_pass_twin):
            weights = run(one_pass, stored(X, kind), y, get_loss(name), W, given, times=2)
            np.testing.assert_allclose(weights.weights, plain, rtol=1e-10, atol=1e-12)
            np.testing.assert_array_equal(weights.weights == 0.0, plain == 0.0)
            np.testing.assert_allclose(weights.cumulative, u, rtol=1e-12)
            np.testing.assert_allclose(weights.received[:, :-1], q[:, :-1], rtol=1e-9, atol=1e-11)
        zeros += np.count_nonzero(plain == 0.0)
    assert zeros > 10


@pytest.mark.parametrize("kind", ["dense64", "csr64"])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_three_classes(level, kind, l2):
    X, _, W, given = drawn(k=3)
    label = np.random.default_rng(1).integers(0, 3, len(X))
    given |= {"batch": 2, "l2": l2}

    def softmax(label, scores):
        p = np.exp(scores - scores.max())
        return p / p.sum() - (np.arange(3) == label)

    plain, u, _ = plain_pass(X, label, softmax, W, 0.0, np.zeros(W.shape), scale=0.7, **given)
    for one_pass in (loops.online_pass, loops.online_pass_twin):
        loss = get_loss("logistic").for_classes(3)
        weights = run(one_pass, stored(X, kind), label, loss, W, given)
        np.testing.assert_allclose(weights.weights, plain, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(weights.cumulative, u, rtol=1e-12)
    assert (plain == 0.0).sum() > 3


def test_a_pass_in_pieces_has_the_same_bits_and_shows_weights_without_debts():
    X, y, W, given = drawn()
    given |= {"l2": 0.05, "steps": np.array([0.2])}
    order, rows, loss = given.pop("order"), stored(X, "csr64"), get_loss("logistic")
    whole = run(loops.online_pass, rows, y, loss, W, given | {"order": order})
    pieces, at = loops.OnlineWeights.start(W, None, np.zeros(W.shape)), 0
    while at < len(order):
        at += loops.online_pass(
            rows, y, loss, pieces, weight_scale=0.7, order=order[at:], max_updates=1, **given
        ).position
        reported, again = pieces.weights, pieces.weights
        np.testing.assert_array_equal(reported, again)
    shown = pieces.weights
    pieces.fold()
    np.testing.assert_allclose(shown, pieces.weights, rtol=1e-14)
    for name in ("v", "scalars", "received"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))


def test_weights_that_are_not_numbers_stay_so():
    X, y = np.ones((3, 2)), np.ones(3)
    for one_pass in (loops.online_pass, loops.online_pass_twin):
        weights = loops.OnlineWeights.start(np.full((1, 3), np.nan), None, np.zeros((1, 3)))
        with np.errstate(invalid="ignore"):
            one_pass(X, y, get_loss("logistic"), weights, steps=np.array([0.1]), l1=1.0)
        weights.fold()
        assert np.isnan(weights.weights).all()

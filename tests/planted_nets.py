"""Elastic nets whose minimum is known, for weights of the features were made to fit it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from l1_oracles import Net, mean_loss

from separatrix import ElasticNet, Objective, get_loss
from separatrix.data.validation import array_source, check_rows

LOSSES = ("logistic", "squared", "squared_hinge")
AWAY = (0.0, 1e-9, 1e-6, 1e-4, 1e-2, 0.3)  # of a weight's own size: how far from the minimum
ABOVE = (0.0, 1e-14, 1e-9, 1e-4, 1e-1, 1.0)  # how much stronger than the pull a threshold is


@dataclass(frozen=True)
class Planted:
    """A problem, and a minimum of it: all in its subdifferential holds to the last bits."""

    net: Net
    weights: np.ndarray  # (rows of weights, d + 1)
    pulls: np.ndarray  # |gradient of the mean loss| there, (rows, d), in long doubles

    @property
    def may_move(self):
        """Weights that are not 0 at this minimum, or that nothing keeps at 0 in others."""
        thresholds = np.longdouble(self.net.l1) * self.net.p.astype(np.longdouble)
        return (self.weights[:, :-1] != 0.0) | (self.pulls >= thresholds)

    @property
    def least(self):
        return self.net.value(self.weights)


def planted(seed):
    """One of many small problems: whatever l1, the p of a feature makes its weight right.

    ``p_j = |g_j| / (l1 + 2 l2 |w_j|)`` for a weight whose sign is that of -g_j, and for the others
    a little more than ``|g_j| / l1``.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.choice([2, 2, 3, 4]))
    n, d = int(rng.integers(k + 2, 16)), int(rng.integers(1, 13))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.5, 1.5, d)
    X += rng.choice([0.0, 3.0]) * rng.standard_normal(d) * rng.choice([0.0, 1.0], d)
    if d > 2 and seed % 4 == 0:
        X[:, 1], X[:, 2] = X[:, 0], 1.0  # a feature twice, and one that does not vary
    X[rng.random(X.shape) < rng.choice([0.0, 0.4])] = 0.0
    y = np.append(np.arange(k), rng.integers(0, k, n - k))
    c = rng.choice([1.0, 1.0, 2.0, 0.5], n) if seed % 3 else np.ones(n)
    loss, intercept = str(rng.choice(LOSSES)), bool(seed % 5)
    net = Net(loss, X, y, 10.0 ** rng.uniform(-3, 0), float(rng.choice([0.0, 1e-3, 0.1])), c,
              None, intercept)  # fmt: skip
    W = with_best_bias(net, np.zeros(net.shape))
    g = gradient_of_loss(net, W)
    strongest = np.abs(g).argmax(axis=0)  # of every feature one class may have a weight
    own = (np.arange(len(g))[:, None] == strongest) & (rng.random(d) < 0.7)
    size = rng.random(d) * 10.0 ** rng.choice([0, 0, -3, -9], d) / np.abs(X).max(axis=0).clip(1e-3)
    W[:, :-1] = np.where(own, -np.sign(g).astype(float) * size, 0.0)
    while True:  # those whose sign the others have turned are left out
        W = with_best_bias(net, W)
        g = gradient_of_loss(net, W)
        pulls, w = np.sort(np.abs(g), axis=0), np.abs(W[:, :-1]).sum(axis=0)
        most, next_to_it = pulls[-1], pulls[-2] if len(pulls) > 1 else 0.0
        share = net.l1 / (net.l1 + 2.0 * net.l2 * w)  # of the pull that l1 must hold
        wrong = (W[:, :-1] * g > 0.0) | (np.abs(g) < 1e-6) | (np.abs(g) < most)
        wrong |= next_to_it > share * most  # another class would not stay at 0
        if not np.any(wrong & (W[:, :-1] != 0.0)):
            break
        W[:, :-1][wrong] = 0.0
    above = 1.0 + np.where(w == 0.0, rng.choice(ABOVE, d), 0.0)
    net.p = (above * most / (net.l1 + 2.0 * net.l2 * w)).astype(float)
    net.p[net.p == 0.0] = 1.0  # of a feature that nothing pulls at
    return Planted(net, W, np.abs(g))


def gradient_of_loss(net, W):
    return mean_loss(net.name, net.X, net.y, W, net.c, net.k)[1][:, :-1]


def with_best_bias(net, W):
    """Newton's steps in the biases alone, with differences for a curvature."""
    if not net.intercept:
        return W
    W = W.copy()
    for _ in range(60):
        slope = bias_slope(net, W)
        curvature = np.empty((len(W), len(W)))
        for c in range(len(W)):
            moved = W.copy()
            moved[c, -1] += 1e-6
            curvature[c] = (bias_slope(net, moved) - slope) / 1e-6
        step = np.linalg.lstsq(curvature, slope.astype(float), rcond=1e-8)[0]
        length = np.abs(step).max()
        W[:, -1] -= step * min(1.0, 2.0 / max(length, 1e-300))
        if length < 1e-15:
            break
    return W


def bias_slope(net, W):
    return mean_loss(net.name, net.X, net.y, W, net.c, net.k)[1][:, -1]


def objective_of(net, sparse):
    rows = sp.csr_array(net.X) if sparse else net.X
    source = array_source(check_rows(rows), net.y, sample_weight=net.c)
    loss = get_loss(net.name).for_classes(net.k)
    return Objective(loss, ElasticNet(net.l1, net.l2, tuple(net.p)), source, net.intercept)


def near(of, rng, away):
    """The minimum with some weights moved, some of them away from 0."""
    sizes = np.append(1.0 / np.sqrt(np.mean(of.net.X**2, axis=0)).clip(1e-3), 1.0)
    way = rng.standard_normal(of.weights.shape) * sizes * (rng.random(of.weights.shape) < 0.5)
    W = of.weights + away * way
    W[:, -1] *= of.net.intercept
    return W


def parts(first, *ends):
    """Lists of seeds; a quick run takes the first."""
    slow = [pytest.param(range(*part), marks=pytest.mark.slow) for part in itertools.pairwise(ends)]
    return pytest.mark.parametrize("seeds", [first, *slow], ids=["first", *map(str, ends[1:])])

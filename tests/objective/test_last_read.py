"""Losses and gradients that were read last are not read again, along a path above all."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import ArraySource, ElasticNet, Objective, get_loss


class Counted(ArraySource):
    reads = 0

    def total(self, sum):
        self.reads += 1
        return super().total(sum)


@pytest.fixture
def objective():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), np.where(rng.random(30) < 0.5, -1.0, 1.0)
    source = Counted(X.astype(np.float32), y, np.array([0, 1]))
    return Objective(get_loss("logistic"), ElasticNet(0.1, 0.2), source)


def test_the_same_weights_are_read_once_whatever_the_strength(objective):
    W = np.random.default_rng(1).standard_normal((1, 5))
    first = objective.value_and_gradient(W)
    first.gradient[:] = np.nan  # it is the caller's
    weaker = objective.with_penalty(ElasticNet(0.05, 0.3))
    again = weaker.value_and_gradient(W.copy())
    value, mistakes = weaker.value(W)
    assert objective.source.reads == 1
    fresh = Objective(weaker.loss, weaker.penalty, objective.source)
    anew = fresh.value_and_gradient(W)
    assert (again.value, again.mistakes) == (anew.value, anew.mistakes) == (value, mistakes)
    np.testing.assert_array_equal(again.gradient, anew.gradient)


def test_weights_that_were_changed_in_place_are_read_anew(objective):
    W = np.ones((1, 5))
    before = objective.value_and_gradient(W).value
    W += 1.0
    assert objective.value_and_gradient(W).value != before
    assert objective.source.reads == 2


def test_sums_in_float32_are_apart(objective):
    W, rough = np.ones((1, 5)), objective.in_float32()
    reads = objective.source.reads  # of the moments
    rough.value_and_gradient(W)
    objective.value(W)
    assert objective.source.reads == reads + 2

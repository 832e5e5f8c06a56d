"""Every sum over rows: sent by pickle, pure, and the same however rows are cut into blocks."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from itertools import pairwise

import numpy as np
import pytest
from conftest import overlapping

from separatrix import ArraySource, get_loss
from separatrix.data import Block, Subset, Sum
from separatrix.losses import MultiLabel
from separatrix.numeric.standardization import Standardization
from separatrix.objective import sums
from separatrix.objective.thresholds import GRAM_TILE
from separatrix.proofs import rounding
from separatrix.rows import DenseRows, with_offset

N, D = 60, 3
X, Y = overlapping(N, D, seed=1)
WEIGHT = np.random.default_rng(2).integers(0, 3, N).astype(float)
MARGIN, SOFTMAX = get_loss("logistic"), get_loss("logistic").multiclass()
OFFSET = np.random.default_rng(4).standard_normal((N, 3))
W1, W3 = np.random.default_rng(3).standard_normal((2, 3, D + 1))
PLAIN = Standardization(np.array([0.5, -1.0, 0.0]), np.array([1.0, 2.0, 0.5, 1.0]))
SOME = Standardization(PLAIN.mean[[0, 2]], PLAIN.scale[[0, 2, 3]])  # of two features
COLUMNS = get_loss("one_vs_rest_logistic").for_classes(3)
BLOCKS = {
    1: Block(X, Y, WEIGHT, 0),
    3: Block(X, np.arange(N) % 3, WEIGHT, 0),
    "offset": Block(with_offset(DenseRows(X), OFFSET[:, :1]), Y, WEIGHT, 0),
    "offsets": Block(with_offset(DenseRows(X), OFFSET), np.arange(N) % 3, WEIGHT, 0),
    "labels": Block(
        X, np.where(np.arange(2 * N).reshape(N, 2) % 7 < 3, 1, -1).astype(np.int8), WEIGHT, 0
    ),
}


def of_both(kind, *rest):
    yield 1, kind(MARGIN, W1[:1].copy(), *rest)
    yield 3, kind(SOFTMAX, W3.copy(), *rest)


ASKED = [
    *of_both(sums.Value),
    *of_both(sums.ValueGradient),
    *of_both(sums.Hessian, PLAIN),
    *of_both(sums.ClassHessian, PLAIN),
    (3, sums.ClassHessian(SOFTMAX, W3, PLAIN, np.float64, 2)),
    *of_both(sums.WorkingHessian, np.array([0, 2]), SOME),
    (3, sums.WorkingHessian(COLUMNS, W3, np.array([0, 2]), SOME)),
    (1, sums.HessianProduct(MARGIN, W1[:1].copy(), W3[:1].copy())),
    (3, sums.HessianProduct(SOFTMAX, W3, W1)),
    *of_both(sums.BiasCurvature),
    (1, sums.Gram(PLAIN)),
    (1, sums.MomentSums(np.array([0.1, 0.2, 0.3]), 2)),
    (3, sums.MomentSums(None, 3)),
    ("labels", sums.LabelMomentSums(None)),
    ("labels", sums.LabelMomentSums(np.array([0.1, 0.2, 0.3]))),
    ("labels", sums.ValueGradient(MultiLabel(MARGIN), W3[:2].copy())),
    ("labels", sums.SignedRowSum(2)),
    ("labels", rounding.ExactTangents(MultiLabel(MARGIN), W3[:2].copy())),
    (1, sums.Mistakes(MARGIN, np.stack([W1[:1], W3[:1]]))),
    (3, sums.Mistakes(SOFTMAX, np.stack([W1, W3]))),
    (1, sums.SignedRowSum(1)),
    (3, sums.SignedRowSum(3)),
    *of_both(rounding.ExactValue),
    *of_both(rounding.ExactMistakes),
    ("offset", sums.OffsetSums(1)),
    ("offsets", sums.OffsetSums(3)),
    ("offset", sums.Hessian(MARGIN, W1[:1].copy(), PLAIN)),
    ("offsets", sums.Hessian(SOFTMAX, W3.copy(), PLAIN)),
    ("offsets", sums.HessianProduct(SOFTMAX, W3, W1)),
    ("offset", sums.Mistakes(MARGIN, np.stack([W1[:1], W3[:1]]))),
    ("offset", rounding.ExactTangents(MARGIN, W1[:1].copy())),
    ("offsets", rounding.ExactTangents(COLUMNS, W3.copy())),
    ("offsets", rounding.ExactValue(SOFTMAX, W3.copy())),
    (1, rounding.ExactTangents(MARGIN, W1[:1].copy())),
    (1, rounding.ExactTangents(MARGIN, W1[:1].copy(), np.linspace(0.1, 0.9, N)[:, None])),
]


def numbers(found):
    """The entries of what a sum gives, pairs added up."""
    for each in found:
        yield np.asarray(each.high + each.low if hasattr(each, "high") else each)


@pytest.mark.parametrize(("k", "asked"), ASKED, ids=lambda v: getattr(type(v), "__name__", v))
def test_it_can_be_sent_and_writes_nothing(k, asked):
    block = BLOCKS[k]
    before = pickle.dumps((asked, block))
    found = asked.of(block)
    assert pickle.dumps((asked, block)) == before
    again = pickle.loads(pickle.dumps(asked)).of(block)
    for here, there in zip(numbers(found), numbers(again), strict=True):
        np.testing.assert_array_equal(here, there)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(asked, dataclasses.fields(asked)[0].name, None)


@pytest.mark.parametrize(("k", "asked"), ASKED, ids=lambda v: getattr(type(v), "__name__", v))
def test_it_is_the_sum_of_its_blocks(k, asked):
    """Of uneven ones, in which a class may be absent, and one without rows."""
    whole = BLOCKS[k]
    edges = [0, 1, 1, 25, 26, N]
    parts = [
        asked.of(Block(whole.rows.part(a, b).X, whole.y[a:b], whole.weight[a:b], a))
        for a, b in pairwise(edges)
    ]
    expected = list(numbers(asked.of(whole)))
    for entry, each in enumerate(zip(*map(numbers, parts), strict=True)):
        np.testing.assert_allclose(sum(each[1:], each[0]), expected[entry], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shift", [None, np.array([0.1, -0.2, 3.0])])
def test_sums_of_labels_are_those_of_plain_loops(shift):
    block = BLOCKS["labels"]
    by_label, counts, squares, total = sums.LabelMomentSums(shift).of(block)
    away = X if shift is None else X - shift
    for q in range(2):
        own = WEIGHT * (block.y[:, q] > 0)
        np.testing.assert_allclose(by_label[q], own @ away, rtol=1e-12, atol=1e-12)
        assert counts[q] == own.sum()
    np.testing.assert_allclose(squares, WEIGHT @ away**2, rtol=1e-12)
    np.testing.assert_allclose(total, WEIGHT @ away, rtol=1e-12, atol=1e-12)


def test_all_sums_of_these_files_are_here():
    named = {type(asked) for _, asked in ASKED}
    for module in (sums, rounding):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Sum) and kind is not Sum:
                assert kind in named, kind


@pytest.mark.parametrize(("k", "loss"), [(1, MARGIN), (3, SOFTMAX)])
def test_the_hessian_of_some_features_is_a_part_of_that_of_all(k, loss):
    W = W1[:k].copy()
    *_, whole = sums.Hessian(loss, W, PLAIN).of(BLOCKS[k])
    (part,) = sums.WorkingHessian(loss, W, np.array([0, 2]), SOME).of(BLOCKS[k])
    at = (np.arange(k)[:, None] * (D + 1) + [0, 2, 3]).ravel()
    np.testing.assert_allclose(part[0], whole[np.ix_(at, at)], rtol=1e-12, atol=1e-12)


def test_columns_have_a_hessian_each():
    (part,) = sums.WorkingHessian(COLUMNS, W3, np.array([0, 2]), SOME).of(BLOCKS[3])
    for c in range(3):
        (own,) = sums.ClassHessian(COLUMNS, W3, PLAIN, np.float64, c).of(BLOCKS[3])
        np.testing.assert_allclose(part[c], own[np.ix_([0, 2, 3], [0, 2, 3])], rtol=1e-12)


@pytest.mark.parametrize("kind", ["ClassHessian", "Gram"])
@pytest.mark.parametrize("subset", [False, True])
def test_large_sums_are_those_of_plain_products_on_any_number_of_threads(kind, subset):
    rng = np.random.default_rng(0)
    n, d = 700, GRAM_TILE + 5
    rows, y, weight = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n), rng.random(n)
    weight[::7] = 0.0
    W = 0.1 * rng.standard_normal((1, d + 1))
    plain = Standardization(rng.standard_normal(d), 1.0 + rng.random(d + 1))
    asked = sums.ClassHessian(MARGIN, W, plain) if kind == "ClassHessian" else sums.Gram(plain, 64)
    assert asked.batch_rows is not None
    keep = np.flatnonzero(rng.random(n) < 0.5) if subset else np.arange(n)
    z = np.column_stack([rows - plain.mean, np.ones(n)]) / plain.scale
    share = 1.0 / (1.0 + np.exp(rows @ W[0, :-1] + W[0, -1]))
    curvature = weight * (share * (1.0 - share) if kind == "ClassHessian" else 1.0)
    expected = (curvature[keep, None] * z[keep]).T @ z[keep]
    found = []
    for threads in (1, 2):
        source = ArraySource(rows, y, np.array([0, 1]), weight, threads)
        (total,) = (Subset(source, keep) if subset else source).total(asked)
        found.append(total)
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)
    assert np.array_equal(*found)

"""What comes in: containers of other libraries, and numbers of classes."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from conftest import overlapping

from separatrix import (
    L2,
    ArraySource,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Objective,
    Perceptron,
    Rosenblatt,
    diagnose,
    get_loss,
    loops,
    minimize,
    separability,
)
from separatrix.data import Block, Source
from separatrix.features import RadialBasis
from separatrix.rows.device import cuda

X, Y = overlapping(60, 4)
EVERY = [
    Perceptron(5, random_state=0), LinearClassifier(),
    LinearClassifierCV(l2s=3, cv=3, scoring=None),
    KernelPerceptron("linear", max_iter=5, random_state=0),
]  # fmt: skip
names = pytest.mark.parametrize("clf", EVERY, ids=lambda clf: type(clf).__name__)


# ---- containers --------------------------------------------------------------------------


@names
def test_a_sparse_frame_is_a_sparse_matrix(clf):
    rows = np.where(X > 0.5, np.round(X), 0.0)
    frame = pd.DataFrame(rows, columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))
    reference = clf.fit(sp.csr_array(rows), Y)
    scores = reference.decision_function(sp.csr_array(rows))
    fitted = clf.fit(frame, Y)
    np.testing.assert_array_equal(fitted.decision_function(frame), scores)
    np.testing.assert_array_equal(fitted.feature_names_in_, list("abcd"))
    booleans = (frame != 0).astype(pd.SparseDtype(bool, False))
    found = clf.fit(booleans, Y).decision_function(booleans)
    there = sp.csr_array(rows != 0)
    np.testing.assert_array_equal(found, clf.fit(there, Y).decision_function(there))
    with pytest.raises(ValueError, match=r"columns \['a'\] have another fill value than 0"):
        clf.fit(pd.DataFrame({"a": X[:, 0]}).astype(pd.SparseDtype(float)), Y)


DATES = np.datetime64("2020-01-01") + np.arange(60)
CLASSES = np.where(Y > 0, "a", "b")


@names
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pl.DataFrame(X).lazy(), r"X is a polars LazyFrame.*pass X.collect\(\)"),
        (np.ma.masked_array(X, X > 1), r"X is a masked array with \d+ masked values.*leave out"),
        (np.stack([DATES, DATES], axis=1), "X holds dates.*expected numbers"),
        (np.stack([DATES, DATES], axis=1) - DATES[0], "X holds dates.*expected numbers"),
        ([[day, 1.0] for day in DATES], "X holds dates.*expected numbers"),
        ([[datetime.date(2020, 1, 1)]] * 60, "X holds dates.*expected numbers"),
        (np.array([[datetime.date(2020, 1, 1)]] * 60), "X holds dates.*expected numbers"),
        (pd.DataFrame({"when": DATES, "x": X[:, 0]}), r"columns \['when'\], holds dates"),
        (pd.DataFrame({"when": DATES.astype(object)}), r"columns \['when'\], holds dates"),
        (pd.DataFrame({"when": pd.period_range("2020", periods=60)}), r"\['when'\], holds dates"),
        (pl.DataFrame({"x": X[:, 0], "when": DATES}), r"columns \['when'\], holds dates"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_taken_are_refused_in_a_sentence(clf, rows, message):
    with pytest.raises(ValueError, match=message):
        clf.fit(rows, Y)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, Y).predict(rows)


@names
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, *CLASSES[1:]], r"1 missing label \(NaN or None\), the first in row 0"),
        (np.array([*CLASSES[1:], None], dtype=object), "1 missing label .* the first in row 59"),
        (np.array([*CLASSES[1:], np.nan], dtype=object), "1 missing label .* the first in row 59"),
        (np.where(np.arange(60) > 50, np.nan, Y), "9 missing labels .* the first in row 51"),
        (pd.Series([None, *CLASSES[1:]]), "1 missing label .* the first in row 0"),
        (pd.Series([None, *CLASSES[1:]], dtype="category"), "1 missing label"),
        (pd.Series([None, *(Y[1:] > 0)], dtype="Int64"), "1 missing label"),
        (pd.Series([None, *(Y[1:] > 0)], dtype="boolean"), "1 missing label"),
        (pl.Series([None, *CLASSES[1:].tolist()]), "1 missing label"),
        (np.ma.masked_array(Y > 0, X[:, 0] > 1), "y is a masked array with"),
        (pl.DataFrame({"y": Y}).lazy(), r"y is a polars LazyFrame.*pass y.collect\(\)"),
        (np.where(Y > 0, DATES[0], DATES[1]), "y holds dates.*expected a class for every row"),
        ([datetime.date(2020, 1, 1 + int(y > 0)) for y in Y], "y holds dates"),
        (pd.Series(DATES).dt.tz_localize("UTC"), "y holds dates"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_taken_are_refused_in_a_sentence(clf, labels, message):
    with pytest.raises(ValueError, match=message):
        clf.fit(X, labels)


def test_masks_that_hide_nothing_are_no_matter():
    fit = LinearClassifier().fit(np.ma.masked_array(X), np.ma.masked_array(Y))
    np.testing.assert_array_equal(fit.coef_, LinearClassifier().fit(X, Y).coef_)
    with pytest.raises(ValueError, match="sample_weight is a masked array with 1 masked value,"):
        fit.fit(X, Y, sample_weight=np.ma.masked_array(np.ones(60), np.arange(60) == 3))


class Foreign:
    """An array of another library, with what the array API's standard asks for and little else."""

    def __init__(self, values, device=1, fails=False):
        self.values, self.device, self.fails = np.asarray(values), device, fails
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, "foreign.float64"

    def __array_namespace__(self, api_version=None):
        return sys.modules[__name__]

    def __len__(self):
        return len(self.values)

    def __getitem__(self, at):
        return Foreign(self.values[at])

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        if self.fails:
            raise RuntimeError("it requires grad")
        return self.values.__dlpack__(**options)


class Viewed(Foreign):
    """One that NumPy can ask by itself."""

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


@names
@pytest.mark.parametrize("kind", [Foreign, Viewed])
def test_arrays_of_other_libraries_are_seen_through_numpy(clf, kind):
    reference = clf.fit(X, Y)
    coefficients, scores = reference.coef_.copy(), reference.decision_function(X)
    fitted = clf.fit(kind(X), Y if isinstance(clf, LinearClassifierCV) else kind(Y))
    np.testing.assert_array_equal(fitted.coef_, coefficients)
    np.testing.assert_array_equal(fitted.decision_function(kind(X)), scores)


@names
def test_arrays_that_numpy_cannot_see_are_refused_in_a_sentence(clf):
    rows = Foreign(X, fails=True)
    with pytest.raises(TypeError, match=r"X is a .*Foreign, of which NumPy has no view.*CPU"):
        clf.fit(rows, Y)
    with pytest.raises(TypeError, match="of which NumPy has no view"):
        clf.fit(X, Y).predict(rows)
    with pytest.raises(TypeError, match=r"y is a .*Foreign, of which NumPy has no view"):
        clf.fit(X, Foreign(Y, fails=True))


@names
def test_arrays_on_a_gpu_need_cupy(clf, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    cuda.cache_clear()
    there = Foreign(X, device=2)
    for call in (
        lambda: clf.fit(there, Y),
        lambda: clf.fit(X, Foreign(Y, device=2)),
        lambda: clf.fit(X, Y).predict(there),
    ):
        # KernelPerceptron takes no rows on a GPU.
        with pytest.raises((ImportError, TypeError), match=r"need CuPy.*X\.cpu|move it to the CPU"):
            call()


def test_the_other_doors_take_the_same_containers():
    with pytest.raises(ValueError, match="X is a masked array"):
        separability(np.ma.masked_array(X, X > 1), Y)
    with pytest.raises(ValueError, match="X is a masked array"):
        diagnose(LinearClassifier().fit(X, Y), np.ma.masked_array(X, X > 1), Y)
    with pytest.raises(ValueError, match="X holds dates"):
        RadialBasis(n_centers=2).fit(DATES[:, None])


# ---- numbers of classes ------------------------------------------------------------------


class Elsewhere(Source):
    """Rows that are not one array: its blocks come as they are."""

    def __init__(self, X, y, classes):
        self.X, self.y, self.classes, self.n_features = X, y, classes, X.shape[1]

    @property
    def n_rows(self):
        return len(self.y)

    @property
    def weight_sum(self):
        return float(len(self.y))

    def blocks(self):
        half = len(self.y) // 2
        yield Block(self.X[:half], self.y[:half], None, 0)
        yield Block(self.X[half:], self.y[half:], None, half)


@pytest.mark.parametrize("wrong", [3, -1, 2**62, -(2**63)])
def test_numbers_of_classes_out_of_range_are_refused_once_by_the_source(wrong):
    y = np.arange(60) % 3
    y[-1] = wrong
    with pytest.raises(ValueError, match=r"numbers of 3 classes, int64 from 0 to 2, got int64"):
        ArraySource(X, y, np.arange(3))
    with pytest.raises(ValueError, match=r"numbers of 3 classes, int64 from 0 to 2, got float64"):
        ArraySource(X, y.astype(float), np.arange(3))
    loss = get_loss("perceptron").multiclass()
    objective = Objective(loss, L2(0.0), Elsewhere(X, y, np.arange(3)))
    with pytest.raises(ValueError, match="numbers of 3 classes"):
        minimize(objective, Rosenblatt(shuffle=False))


def test_a_call_looks_only_at_the_labels_of_the_rows_that_it_visits():
    """Replays go from update to update: a look at all labels each time took most of it."""
    y = np.arange(60) % 3
    y[-1] = 7
    weights = loops.OnlineWeights.start(np.zeros((3, 5)), None)
    loss = get_loss("perceptron").multiclass()
    visits = np.arange(59)
    done = loops.online_pass(X, y, loss, weights, steps=np.ones(1), order=visits, max_updates=1)
    assert (done.updates, done.position) == (1, 1)

"""What comes in: sparse matrices whose parts do not fit, and containers of other libraries."""

from __future__ import annotations

import datetime
import subprocess
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
from separatrix.data.validation import check_rows
from separatrix.features import RadialBasis
from separatrix.numeric.rows import CsrRows

X, Y = overlapping(60, 4)
EVERY = [
    Perceptron(5, random_state=0), LinearClassifier(), LinearClassifierCV(l2s=3, cv=3),
    KernelPerceptron("linear", max_iter=5, random_state=0),
]  # fmt: skip
names = pytest.mark.parametrize("clf", EVERY, ids=lambda clf: type(clf).__name__)


# ---- sparse rows -------------------------------------------------------------------------

# Each of these went wherever the indices point: in a process of its own, as it may not come back.
BROKEN = {
    "largest": "X.indices[7] = 2**31 - 1",
    "negative": "X.indices[7] = -1",
    "one too many": "X.indices[7] = 4",
    "beyond": "X.indices[-1] = 11",
    "offset beyond": "X.indptr[3] = 10**8",
    "last offset beyond": "X.indptr[-1] = 10**8",
    "offset back": "X.indptr[3] = 1",
    "negative offset": "X.indptr[3] = -5",
    "first offset": "X.indptr[0] = 2",
    "short data": "X.data = X.data[:100].copy()",
    "short indices": "X.indices = X.indices[:100].copy()",
    "short indptr": "X.indptr = X.indptr[:20].copy()",
    "fractions": "X.indices = X.indices.astype(float)",
}
USES = """
import sys, numpy as np, scipy.sparse as sp
from separatrix import *
from separatrix.features import RadialBasis
rng = np.random.default_rng(0)
dense = rng.standard_normal((60, 4)); y = dense[:, 0] + rng.standard_normal(60) > 0
whole = sp.csr_array(dense)
fitted = [
    Perceptron(5, random_state=0).fit(whole, y), LinearClassifier().fit(whole, y),
    LinearClassifierCV(l2s=3, cv=3).fit(whole, y),
    KernelPerceptron("linear", max_iter=5).fit(whole, y), KernelPerceptron(max_iter=5).fit(whole, y)
]
basis = RadialBasis(n_centers=3, random_state=0).fit(whole)
uses = [c.fit for c in fitted] + [c.partial_fit for c in fitted[:2]]
uses += [lambda X, y, c=c: c.predict(X) for c in fitted]
uses += [separability, lambda X, y: diagnose(fitted[1], X, y)]
uses += [lambda X, y: basis.fit(X), lambda X, y: basis.transform(X)]
uses += [lambda X, y: list(fitted[0].trace_.replay(X, y))]
for number, use in enumerate(uses):
    for kind in (np.int32, np.int64):
        for name, change in BROKEN.items():
            X = sp.csr_array(dense)
            X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
            exec(change)
            try:
                use(X, y)
                print(number, kind, name, "taken")
            except ValueError as error:
                words = "expected", "build the matrix anew"
                if not str(error).startswith("X is a ") or not all(w in str(error) for w in words):
                    print(number, kind, name, error)
"""


def test_sparse_rows_whose_parts_do_not_fit_are_refused_by_everyone():
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"BROKEN = {BROKEN!r}\n{USES}"],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    assert out == ""


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.bsr_array])
def test_other_sparse_formats_that_do_not_fit_are_refused(make):
    rows = make(X)
    if hasattr(rows, "indices"):
        rows.indices[3] = 10**6
    else:
        rows.coords[1][3] = 10**6
    with pytest.raises(ValueError, match=r"ind(ex|ices)"):
        Perceptron().fit(rows, Y)


def test_the_entry_that_is_wrong_is_named():
    rows = sp.csr_array(X)
    rows.indices[9] = 7
    message = r"indices\[9\], in row 2, is 7, expected from 0 to 3; build the matrix anew"
    with pytest.raises(ValueError, match=message):
        check_rows(rows)
    rows = sp.csr_array(X)
    rows.indptr[4] = 3
    with pytest.raises(ValueError, match=r"indptr\[4\] is 3, expected from 0 to 240"):
        check_rows(rows)
    rows = sp.csr_array(X)
    rows.data = rows.data[:100]
    with pytest.raises(ValueError, match=r"indptr\[26\] is 104, expected from 0 to 100"):
        check_rows(rows)


@names
def test_strided_and_byte_swapped_parts_are_converted(clf):
    integers = np.random.default_rng(0).integers(-2, 3, (60, 4)).astype(float)
    reference = clf.fit(sp.csr_array(integers), Y)
    scores = reference.decision_function(sp.csr_array(integers))

    def apart(values):
        return np.repeat(values, 2)[::2]

    def swapped(values):
        return values.astype(values.dtype.newbyteorder("S"))

    def unusual(values):
        return values.astype(np.float64 if values.dtype.kind == "f" else np.uint16)

    for change in (apart, swapped, unusual):
        for some in (["data"], ["indices"], ["indptr"], ["data", "indices", "indptr"]):
            rows = sp.csr_array(integers)
            for name in some:
                setattr(rows, name, change(getattr(rows, name)))
            again = clf.fit(rows, Y)
            np.testing.assert_array_equal(again.decision_function(rows), scores)


def test_rows_that_only_claim_to_be_in_order_are_put_in_order():
    rows = sp.csr_array(X)
    assert rows.has_canonical_format
    rows.indices[:4] = rows.indices[:4][::-1].copy()
    rows.data[:4] = rows.data[:4][::-1].copy()
    assert rows.has_canonical_format  # which is no longer true
    found = check_rows(rows)
    np.testing.assert_array_equal(found.indices[:4], [0, 1, 2, 3])
    np.testing.assert_array_equal(found.data, X.ravel())


def test_flaws_are_found_as_their_twin_finds_them(rng):
    ends = [2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
    seen = set()
    for trial in range(600):
        kind = (np.int32, np.int64)[trial % 2]
        d, n = int(rng.integers(1, 50)), int(rng.integers(1, 8))
        indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 6, n))])
        indices = rng.integers(0, d, indptr[-1] + rng.integers(0, 3))
        if rng.random() < 0.5:
            for i in range(n):
                indices[indptr[i] : indptr[i + 1]].sort()
        for array in (indices, indptr):
            if len(array) and rng.random() < 0.3:
                odd = [-1, d, d + 7, *(end for end in ends if kind(0).itemsize == 8)][:7]
                odd += ends[:2]
                array[rng.integers(len(array))] = rng.choice(np.array(odd, dtype=object))
        rows = CsrRows(np.ones(len(indices)), indices.astype(kind), indptr.astype(kind), d)
        flaw = loops.csr_flaw(rows)
        assert flaw == loops.csr_flaw_twin(rows)
        seen.add(flaw)
    assert seen == {0, loops.OFFSETS, loops.RANGE, loops.ORDER}


def test_every_index_of_a_very_wide_matrix_is_in_range():
    indices, indptr = np.array([0, 2**31 - 1], np.int32), np.array([0, 2], np.int32)
    rows = CsrRows(np.ones(2), indices, indptr, 2**40)
    assert loops.csr_flaw(rows) == 0
    assert loops.csr_flaw(rows._replace(n_features=2**31 - 1)) == loops.RANGE
    assert loops.csr_flaw(rows._replace(n_features=0)) == loops.RANGE
    empty = CsrRows(np.ones(0), np.zeros(0, np.int32), np.zeros(4, np.int32), 0)
    assert loops.csr_flaw(empty) == 0


def test_stored_features_are_those_of_their_twin(rng):
    for trial in range(200):
        kind = (np.int32, np.int64)[trial % 2]
        d, n = int(rng.integers(1, 30)), int(rng.integers(1, 8))
        indptr = rng.integers(0, 3) + np.concatenate([[0], np.cumsum(rng.integers(0, 6, n))])
        indices = rng.integers(0, d, indptr[-1] + rng.integers(0, 3))
        rows = CsrRows(np.ones(len(indices)), indices.astype(kind), indptr.astype(kind), d)
        there = np.isin(np.arange(d), indices[indptr[0] : indptr[-1]])
        for most in (d, there.sum(), there.sum() - 1, 0):
            found, twin = (
                f(rows, most) for f in (loops.stored_features, loops.stored_features_twin)
            )
            if there.sum() <= most:
                np.testing.assert_array_equal(found, there)
                np.testing.assert_array_equal(twin, there)
            else:
                assert found is None
                assert twin is None


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
    with pytest.raises(ValueError, match=r"columns \['a'\] leave out another value than 0"):
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
    for rows in (Foreign(X, device=2), Foreign(X, fails=True)):
        with pytest.raises(TypeError, match=r"X is a .*Foreign, of which NumPy has no view.*CPU"):
            clf.fit(rows, Y)
        with pytest.raises(TypeError, match="of which NumPy has no view"):
            clf.fit(X, Y).predict(rows)
    with pytest.raises(TypeError, match=r"y is a .*Foreign, of which NumPy has no view"):
        clf.fit(X, Foreign(Y, device=2))


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

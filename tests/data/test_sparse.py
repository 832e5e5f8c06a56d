"""Sparse rows: what does not fit together is refused, the rest is put in order."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import overlapping
from loops import twins

from separatrix import (
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    Perceptron,
    loops,
)
from separatrix.data.validation import check_rows
from separatrix.rows import CsrRows

X, Y = overlapping(60, 4)
EVERY = [
    Perceptron(5, random_state=0), LinearClassifier(),
    LinearClassifierCV(l2s=3, cv=3, scoring=None),
    KernelPerceptron("linear", max_iter=5, random_state=0),
]  # fmt: skip
names = pytest.mark.parametrize("clf", EVERY, ids=lambda clf: type(clf).__name__)


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
                words = "expected", "rebuild the matrix"
                if not str(error).startswith("X is a ") or not all(w in str(error) for w in words):
                    print(number, kind, name, error)
"""


@pytest.mark.processes
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
    message = r"indices\[9\], in row 2, is 7, expected from 0 to 3; rebuild the matrix"
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


@pytest.mark.sampled(2)
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
        assert flaw == twins.csr_flaw(rows)
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
            found, twin = (f(rows, most) for f in (loops.stored_features, twins.stored_features))
            if there.sum() <= most:
                np.testing.assert_array_equal(found, there)
                np.testing.assert_array_equal(twin, there)
            else:
                assert found is None
                assert twin is None

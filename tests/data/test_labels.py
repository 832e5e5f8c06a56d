"""Labels that need no other check than that they are known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import overlapping

from separatrix import LinearClassifier, Perceptron
from separatrix.data.labels import check_labels, encoded_if_known

X, Y = overlapping(60, 4)
KNOWN = [
    (np.array([0, 1]), np.array([1, 0, 0])),
    (np.array([-1, 1]), np.array([1.0, -1.0])),
    (np.array([-1.0, 1.0]), np.array([1.0, -1.0], dtype=np.float32)),
    (np.array([False, True]), np.array([True])),
    (np.array(["no", "yes"]), np.array(["yes", "no", "yes"])),
    (np.array(["a", "bb", "ccc"]), np.array(["bb", "a"])),
    (np.array([3, 5, 9, 11]), np.array([9, 3, 11, 5, 5], dtype=np.int8)),
    (np.array([2**60, 2**60 + 1]), np.array([2**60 + 1, 2**60])),
    (np.array([0, 1], dtype=np.uint8), np.array([0, 1, 1], dtype=np.uint8)),
]


@pytest.mark.parametrize(("classes", "labels"), KNOWN)
@pytest.mark.parametrize("stride", [1, 2])
def test_known_labels_are_numbered_without_another_check(classes, labels, stride):
    labels = np.repeat(labels, stride)[::stride]
    labels.setflags(write=False)
    at = [classes.tolist().index(label) for label in labels.tolist()]
    expected = at if len(classes) > 2 else [2.0 * number - 1.0 for number in at]
    found = encoded_if_known(labels, classes)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (np.int64 if len(classes) > 2 else np.float64)


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array([0, 1]), np.array([0, 1, 2])),
        (np.array([0, 1]), np.array([0.0, np.nan])),
        (np.array([0, 1]), np.array([0.5])),
        (np.array([0.5, 1.0]), np.array([0.5])),  # a number, not a class
        (np.array([0.0, 1.0]), np.array([np.inf])),
        (np.array([0, 2**53 + 1]), np.array([2.0**53])),
        (np.array([0, 2**60 + 1]), np.array([2.0**60])),
        (np.array([0, 1]), np.array([[0, 1]])),
        (np.array([0, 1]), np.array([], dtype=np.int64)),
        (np.array([0, 1]), np.array(["0", "1"])),
        (np.array(["a", "b"]), np.array([0, 1])),
        (np.array(["a", "b"]), np.array(["a", None], dtype=object)),
        (np.array([0, 1]), np.array([0, 1], dtype="M8[D]")),
        (np.array([0, 1, 2]), np.array([3])),
        (np.array([0, 1, 2]), np.array([-1])),
        (np.array([0, 1]), [0, 1]),
        (np.array([0, 1]), None),
    ],
)
def test_labels_that_need_another_look_get_it(classes, labels):
    assert encoded_if_known(labels, classes) is None


def test_a_label_that_is_not_known_is_refused_in_a_stream_and_changes_nothing():
    clf = Perceptron().partial_fit(X, Y > 0)
    weights = clf.coef_
    for wrong, message in [
        (np.array([2]), "not among the classes"), (np.array([np.nan]), "missing label"),
        (np.array([0.5]), "continuous"), (np.array(["a"]), "not among the classes"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(X[:1], wrong)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            clf.partial_fit(X[:2], np.array([True]))
    assert clf.coef_ is weights
    # A row of weight 0 may have any label: it is as if absent.
    clf.partial_fit(X[:2], np.array([0, 7]), sample_weight=[1.0, 0.0])


def test_a_word_that_is_no_label_is_refused_before_all_take_its_room():
    y = ["a", "b"] * 500 + ["z" * 1_000_000]
    with pytest.raises(ValueError, match=r"y\[1000\] is a label of 1000000 characters; expected"):
        check_labels(y)


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, pl.Series, pd.Series, partial(np.array, dtype=object),
        partial(pd.Series, dtype="string"), partial(pd.Series, dtype="category"),
        partial(pl.Series, dtype=pl.Categorical), lambda words: pd.DataFrame({"y": words}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_a_label_that_numpy_would_change_is_refused(make):
    with pytest.raises(ValueError, match=r"y\[1\] is the label 'a\\x00', which ends with a NUL"):
        check_labels(make(["a", "a\0"]))


def test_labels_with_nul_that_stay_as_they_are():
    for words in (["\0a", "a"], np.array(["\0a", "a"], dtype=object)):
        clf = LinearClassifier().fit([[0.0], [1.0]], words)
        assert clf.predict([[0.0], [1.0]]).tolist() == clf.classes_.tolist() == ["\0a", "a"]

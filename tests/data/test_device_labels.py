"""Labels and weights on a device against those of NumPy arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from emulated_gpu import COMPILER, EmulatedGpu, Tensor

import separatrix as sx
from separatrix.data import device_arrays
from separatrix.data.device_labels import distinct, resident_labels, resident_weights
from separatrix.data.labels import encoded, labels_and_classes
from separatrix.data.validation import array_source, weighed_classes
from separatrix.rows.device import DeviceDenseRows, DeviceValues

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernels as C++")
LABELS = {
    "0 and 1": np.array([0, 1, 1, 0, 1]),
    "bool": np.array([True, False, True, True, False]),
    "negative": np.array([-3, 7, 7, -3, 7, 7], np.int8),
    "bytes": np.array([250, 3, 3, 250], np.uint8),
    "far apart": np.array([-(2**40), 2**40, 2**40, -(2**40)]),
    "three": np.array([5000, 70, 5000, 70, 5002, 5002, 70]),
    "whole floats": np.array([2.0, -1.0, 2.0, -1.0]),
    "short floats": np.array([0.0, 2.0, 1.0, 2.0, 0.0, 1.0], np.float32),
}


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    device = EmulatedGpu()
    monkeypatch.setattr(device_arrays, "cuda", lambda number: device)
    return device


def rows_of(n, gpu):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return DeviceDenseRows(gpu, gpu.upload(X), "float64")


def stays(values):
    """Whether no copy was made in main memory."""
    return isinstance(values, DeviceValues) and values._copy is None


@pytest.mark.parametrize("name", LABELS)
def test_classes_and_their_numbers(name, gpu):
    y = LABELS[name]
    there = resident_labels(Tensor(y), rows_of(len(y), gpu))
    labels, classes = labels_and_classes(there)
    assert labels is there
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, np.unique(y))
    codes = encoded(there, classes)
    assert stays(there)
    assert stays(codes)
    expected = encoded(y, np.unique(y))
    assert codes.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(codes), expected)


@pytest.mark.parametrize(
    ("y", "error"),
    [
        (np.array([0.0, np.nan, 1.0, 0.0]), "missing label"),
        (np.array([0.5, 1.5, 0.5, 1.5]), "continuous"),
        (np.array([0.0, np.inf, 0.0, np.inf]), "infinity|inf"),
        (np.array([1, 1, 1, 1]), "only one class"),
        (np.zeros((4, 2), np.int64), "indicator"),
        (np.array([0, 1, 0]), "inconsistent numbers"),
    ],
)
def test_wrong_labels_have_the_error_of_the_host(y, error):
    X = np.random.default_rng(0).standard_normal((4, 2))
    messages = []
    for rows, labels in ((X, y), (Tensor(X), Tensor(y))):
        with pytest.raises(ValueError, match=error) as found:
            sx.Perceptron()._source(rows, labels, None)
        messages.append(str(found.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("weight", "class_weight"),
    [
        (None, None),
        (None, "balanced"),
        (None, {1: 2.0}),
        (None, {0: 0.0}),
        ([1, 0, 2, 3, 1, 0, 1], None),
        ([1, 0, 2, 3, 1, 0, 1], "balanced"),
        ([1e-200, 0, 2e-200, 3e-200, 1e-200, 0, 1e-200], {2: 0.5}),
        ([1, 1, 0, 1, 1, 0, 1], None),
    ],
)
@pytest.mark.filterwarnings("ignore:every row of the classes")
def test_weights_of_rows_and_classes(weight, class_weight, gpu):
    y, given = np.array([0, 1, 2, 0, 1, 2, 1]), None if weight is None else np.array(weight, float)
    rows = rows_of(7, gpu)
    labels = resident_labels(Tensor(y), rows)
    there = None if given is None else resident_weights(Tensor(given), rows)
    ours = weighed_classes(labels, distinct(labels), there, class_weight)
    theirs = weighed_classes(y, np.unique(y), given, class_weight)
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert (ours[1] is None) == (theirs[1] is None)
    if ours[1] is not None:
        np.testing.assert_array_equal(np.asarray(ours[1]), theirs[1])
    assert ours[2] == theirs[2]


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        ([1.0, np.nan, 1.0, 1.0], "NaN or infinity"),
        ([1.0, -1.0, 1.0, 1.0], "must not be negative, got -1.0"),
        ([0.0] * 4, "zero for every row"),
        ([1.0] * 3, r"has shape \(3,\)"),
        ([[1.0] * 4], r"shape \(1, 4\)"),
    ],
)
def test_wrong_weights(weight, error, gpu):
    rows, y = rows_of(4, gpu), np.array([0, 1, 0, 1])
    there = resident_weights(Tensor(np.array(weight)), rows)
    with pytest.raises(ValueError, match=error):
        array_source(rows, y, sample_weight=there)


def test_sums_of_weights_and_samples_stay_on_the_device(gpu):
    y = np.arange(200) % 3
    weight = np.where(np.arange(200) % 5, 1.5, 0.0)
    rows = rows_of(200, gpu)
    weights = resident_weights(Tensor(weight), rows)
    source = array_source(rows, resident_labels(Tensor(y), rows), sample_weight=weights)
    np.testing.assert_allclose(source.class_weight_sums(), np.bincount(y, weight), rtol=1e-15)
    assert source.weight_sum == weight.sum()
    here = sx.ArraySource(rows.to_dense(), y, np.arange(3), weight)
    ours, theirs = source.sample(20), here.sample(20)
    np.testing.assert_array_equal(np.asarray(ours.y), theirs.y)
    np.testing.assert_array_equal(np.asarray(ours.weight), theirs.weight)
    assert ours.n_rows == theirs.n_rows
    unweighted = array_source(rows, resident_labels(Tensor(y), rows))
    assert unweighted.class_weight_sums().tolist() == [67.0, 67.0, 66.0]
    assert stays(unweighted.y)
    assert (
        unweighted.fingerprint() == sx.ArraySource(rows.to_dense(), y, np.arange(3)).fingerprint()
    )


def test_values_stand_for_a_numpy_array(gpu):
    values = DeviceValues(gpu, gpu.upload(np.array([3.0, 0.0, -1.0])))
    assert (values > 0.0).dtype == bool
    assert stays(values > 0.0)
    assert (len(values), values.ndim, values.shape, values.size) == (3, 1, (3,), 3)
    assert (values.min(), values.max(), values.sum(), values.all(), values.any()) == (
        -1,
        3,
        2,
        False,
        True,
    )
    assert values.max(initial=5.0) == 5.0
    np.testing.assert_array_equal(np.asarray(values[np.array([2, 0])]), [-1.0, 3.0])
    np.testing.assert_array_equal(values * np.array([1.0, 2.0, 3.0]), [3.0, 0.0, -3.0])
    np.testing.assert_array_equal(np.where(values > 0.0, 1, 2), [1, 2, 2])
    np.testing.assert_array_equal(values[:, None], [[3.0], [0.0], [-1.0]])
    assert values.tolist() == [3.0, 0.0, -1.0]
    doubled = values
    doubled *= np.array([2.0, 2.0, 2.0])
    np.testing.assert_array_equal(doubled, [6.0, 0.0, -2.0])
    assert values.tolist() == [3.0, 0.0, -1.0]
    assert values[1:].home.tolist() == [0.0, -1.0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(values)), values.home)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(values)[0] = 1.0


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_have_the_bits_of_labels_in_main_memory(k, weighted):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((300, 3))
    y = (X[:, :k] + rng.standard_normal((300, k))).argmax(axis=1)
    weight = rng.random(300) if weighted else None
    options = {"l2": 1e-3, "solver": sx.LBFGS(), "class_weight": "balanced" if weighted else None}
    there = None if weight is None else Tensor(weight)
    ours = sx.LinearClassifier(**options).fit(Tensor(X), Tensor(y), there)
    theirs = sx.LinearClassifier(**options).fit(Tensor(X), y, weight)
    assert np.array_equal(ours.coef_, theirs.coef_)
    assert (ours.objective_, ours.gap_) == (theirs.objective_, theirs.gap_)

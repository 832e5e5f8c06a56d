"""Model files with a right digest whose contents are wrong: refused, or they can be used."""

from __future__ import annotations

import copy
import itertools
import json
import random

import numpy as np
import pytest
import scipy.sparse as sp
from hostile_files import (
    DELETE,
    arrays_of,
    at,
    parts,
    places,
    refused,
    replaced,
    signed,
    with_arrays,
    with_model,
)
from kept_models import CORPUS, TWO, X, fits

import separatrix
from separatrix import LinearClassifier

MUTATIONS = 150  # of every file
STRANGE = [
    DELETE, None, True, -1, 0, 2**63, 10**400, 1e308, "", "x", "\ud800", [], {}, [[]], {"": None},
    {"$float": "nan"}, {"$float": "1"}, {"$number": ["<f8", 1]}, {"$number": ["<V8", 1]},
    {"$array": "coef_"}, {"$array": 3}, {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$dict": 3},
    {"$values": ["<U1000000000", ["a"]]}, {"$values": ["O", [None]]}, {"$values": ["<i8", [2**70]]},
    {"$record": ["Trace", {}]}, {"$record": ["os.system", {}]}, {"$record": ["Linear", {}]},
    {"$records": ["Number", {}]}, {"$records": ["Number", {"name": ["a", "b"], "fill": [1.0]}]},
    {"$records": ["Trace", {"n_iter": [1, 1]}]}, {"$records": ["os.system", {"name": ["a"]}]},
    {"$loss": {"loss": "hinge"}}, {"$solver": {"solver": "LBFGS", "memory": -1}}, {"$loss": 3},
    {"$csr": [True, [2**40, 2**40], {}]}, {"$unknown": 1}, {"$float": "nan", "x": 1},
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("name", CORPUS)
def test_a_changed_model_with_a_right_digest_is_refused_or_can_be_used(name, corpus, tmp_path):
    header, data = parts(corpus[name])
    model, draw = json.loads(header["__metadata__"]["model"]), random.Random(name)
    path, where = tmp_path / "model.sep", list(places(model))
    for _ in range(MUTATIONS):
        strange = draw.random() < 0.8
        # Else something of the same file, elsewhere.
        value = draw.choice(STRANGE) if strange else at(model, draw.choice(where))
        place = draw.choice(where[1:])
        value = value if value is DELETE else copy.deepcopy(value)
        header["__metadata__"]["model"] = json.dumps(replaced(copy.deepcopy(model), place, value))
        path.write_bytes(signed(header, data))
        loaded, error = outcome(separatrix.load, path)
        assert loaded is not None or "cannot be loaded: " in error
        if hasattr(loaded, "classes_"):  # let in: then it predicts, or says what is wrong
            predicted, error = outcome(loaded.predict, fits()[name][1])
            assert error if predicted is None else len(predicted) == 60


ATTRIBUTES = {
    "a word for weights": lambda a: a.update(coef_="x"),
    "an attribute less": lambda a: a.pop("stop_"),
    "a method": lambda a: a.update(predict="x"),
    "a dunder": lambda a: a.update(__class__="x"),
    "one class": lambda a: a.update(classes_={"$values": ["<U1", ["a"]]}),
    "a class twice": lambda a: a.update(classes_={"$values": ["<U1", ["a", "a", "b"]]}),
    "other features": lambda a: a.update(n_features_in_=7),
    "names of others": lambda a: a.update(feature_names_in_={"$values": ["|O", ["a"]]}),
    "an array twice": lambda a: a.update(intercept_={"$array": "coef_"}),
    "an array less": lambda a: a.update(intercept_=None),
    "no trace": lambda a: a.update(trace_=None),
}


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_attributes_that_do_not_belong_together(what, corpus, tmp_path):
    raw = with_model(corpus["three"], lambda model: ATTRIBUTES[what](model["attributes"]))
    refused(tmp_path / "model.sep", raw)


def test_parameters_and_estimators_that_are_none(corpus, tmp_path):
    path, raw = tmp_path / "model.sep", corpus["three"]
    refused(path, with_model(raw, lambda m: m["parameters"].update(no_such=1)), "no parameter")
    refused(
        path, with_model(raw, lambda m: m.update(estimator="Pipeline")), "unknown to this version"
    )
    refused(path, with_model(raw, lambda m: m.update(estimator=["a"])), "unknown to this version")
    refused(path, with_model(raw, lambda m: m["parameters"].update(loss="zero")), "unknown loss")


def outcome(function, *given):
    try:
        return function(*given), ""
    except ValueError as error:
        return None, str(error)


def used(clf, rows):
    """Everything that works on what a file holds; a ValueError says what is wrong."""
    repr(clf)
    copy.deepcopy(clf)
    outcome(clf.predict, rows)
    if not hasattr(clf, "partial_fit"):
        return
    y = clf.classes_[np.arange(60) % len(clf.classes_)]
    outcome(lambda: clf.trace_.strengths)
    outcome(lambda: list(itertools.islice(clf.trace_.replay(X, y), 3)))
    outcome(lambda: clf.trace_.recording(X, y, max_steps=3))
    outcome(lambda: copy.deepcopy(clf).partial_fit(X, y))
    outcome(clf.sparsify)


def other_arrays(array):
    """Arrays of other shapes, types and values in the place of one."""
    yield array[:0]
    yield array[:-1]
    yield np.concatenate([array, array])
    yield array[None]
    if array.dtype.kind == "f":
        yield array.astype(np.float32)
        yield np.full_like(array, np.nan)
        yield array.astype(np.int64) if np.all(np.isfinite(array)) else array[:0]
    if array.dtype.kind == "i":
        yield array + 10**6
        yield array - 10**6
        yield array.astype(np.float64)


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", [*CORPUS, "standardized", "linear kernel"])
def test_other_arrays_are_refused_or_can_be_used(name, corpus, tmp_path):
    clf, rows = fits()[name]
    path = tmp_path / "model.sep"
    separatrix.save(clf, path)
    raw = path.read_bytes()
    for where, array in arrays_of(raw).items():
        for other in other_arrays(array):
            path.write_bytes(with_arrays(raw, **{where: other}))
            loaded, error = outcome(separatrix.load, path)
            if loaded is None:
                assert f"{path}' cannot be loaded: " in error
            else:
                used(loaded, rows)


WRONG_ARRAYS = {
    "stream": {"_stream.state.weights": (1, 2), "trace_.state.weights": (0,)},
    "by rows": {"_stream.state.weights": (3, 5)},
    "perceptron": {"_stream.state.sum": (0,), "_stream.state.weights": (1, 5)},
    "standardized": {"_features.standardization.mean": (2,), "_features.standardization.scale": 0},
    "occupied": {"_features.occupied": (0,), "trace_.features.occupied": (3,)},
    "rbf": {"_expansion.vectors": np.float16, "_expansion.sums": np.float32},
    "laplacian": {"_expansion.vectors.2.data": np.int64},
    "linear kernel": {"_coef": (1, 2), "embedding_strengths_": (0,)},
    "loo": {"loo_check_.exact": (0,)},
    "voted": {"_expansion.votes.sizes": np.int64, "history_.pass": np.float64},
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_an_array_of_a_wrong_shape_type_or_value_is_refused_at_once(name, tmp_path):
    path = tmp_path / "model.sep"
    wide = sp.csr_array((np.ones(60), (np.arange(60), np.arange(60) % 5)), shape=(60, 1000))
    clf = LinearClassifier().fit(wide, TWO) if name == "occupied" else fits()[name][0]
    separatrix.save(clf, path)
    raw = path.read_bytes()
    for where, wrong in WRONG_ARRAYS[name].items():
        array = arrays_of(raw)[where]
        if isinstance(wrong, tuple):
            other = np.zeros(wrong, array.dtype)
        else:
            other = np.zeros_like(array) if wrong == 0 else array.astype(wrong)
        refused(path, with_arrays(raw, **{where: other}))


NEWTON = {"$solver": {"solver": "Newton", "direct_weights": 5}}

NET = {"$penalty": {"penalty": "elastic_net", "l1": 0.1, "l2": 0.0, "weights": [1.0, 2.0]}}

LARGE = {"$penalty": {"penalty": "l2", "l2": 10**400}}

ASKED = ["_stream", "$record", 1, "asked", "$solver", "learning_rate"]

SLOW = {"schedule": "inverse_scaling", "step": 1.0, "power": 0.5, "delay": 10**400}

RECORDED = ["trace_", "$record", 1, "recorded"]

ENCODING = ["_reading", "$record", 1, "encoding", "$record", 1]

COLUMN = [*ENCODING, "columns", "$tuple", 2, "$record", 1]

OTHERS = {"$values": ["<i8", [1, 2]]}

WRONG_VALUES = {
    "a stream that does not go by rows": ("stream", ["_stream", "$record", 1, "used"], NEWTON),
    "rows beyond all bounds": ("perceptron", ["trace_", "$record", 1, "n_rows"], 10**17),
    "more passes than were made": ("perceptron", [*RECORDED, "n_iter"], 10**15),
    "classes of others": ("three", ["trace_", "$record", 1, "classes"], OTHERS),
    "classes out of order": ("two classes", ["classes_"], {"$values": ["<i8", [1, 0]]}),
    "a type of rows": ("table", ["_reading", "$record", 1, "dtype"], "V1000000000"),
    "a format": ("table", ["_reading", "$record", 1, "format"], "pickle"),
    "values of a row": ("hashed", [*ENCODING, "row_values"], 1e18),
    "a number of features": ("hashed", [*COLUMN, "hash_bits"], 30),
    "a power of two": ("stream", ["_stream", "$record", 1, "state", "weight_power"], 10**9),
    "a solver's number": ("two classes", ["solver_", "$solver", "direct_weights"], "x"),
    "a penalty of other features": ("two classes", ["trace_", "$record", 1, "penalty"], NET),
    "a penalty of 400 digits": ("two classes", ["trace_", "$record", 1, "penalty"], LARGE),
    "a schedule of 400 digits": ("perceptron", ASKED, SLOW),
    "a dictionary with a key twice": ("two classes", ["stop_"], {"$dict": [[1, 1], [1, 2]]}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_VALUES)
def test_a_value_that_would_do_harm_later_is_refused_at_once(what, tmp_path):
    name, where, value = WRONG_VALUES[what]
    path = tmp_path / "model.sep"
    separatrix.save(fits()[name][0], path)

    def change(model):
        assert where[-1] in at(model["attributes"], where[:-1])
        replaced(model["attributes"], where, value)

    refused(path, with_model(path.read_bytes(), change))

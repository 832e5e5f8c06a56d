"""Files of skops: models come back as they were."""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from apps.cli.skops_schemas import a_model, nodes, write
from sklearn.base import BaseEstimator
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from separatrix.apps.cli.skops_files import NAMES, TRUSTED, loaded

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
NUMBERS = {2: (X[:, 0] > 0).astype(int), 3: np.digitize(X[:, 0], [-0.5, 0.5])}
TEXT = np.array(["a", "b", "c"])
SGD_LOSSES = (
    "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber",
    "epsilon_insensitive", "squared_epsilon_insensitive",
)  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def models():
    """Every supported class with the parameters and attributes that a file may hold."""
    y, table = NUMBERS[2], pd.DataFrame(X, columns=["a", "b", "c"])
    generator = np.random.RandomState(3)
    for k, labels in NUMBERS.items():
        yield LogisticRegression(C=np.float64(2.0)).fit(X, labels)
        yield LogisticRegression(C=np.inf, random_state=generator).fit(table, TEXT[labels])
        yield LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=k == 2
        ).fit(X, TEXT.astype(object)[labels])
        yield RidgeClassifier(solver="lsqr").fit(table, labels)
        yield RidgeClassifierCV(alphas=np.array([0.1, 1.0])).fit(X, TEXT[labels])
        yield Perceptron(penalty="l1", random_state=generator).fit(X, labels.astype(float))
        yield LinearSVC(multi_class="crammer_singer").fit(table, labels)
        yield SGDClassifier(average=True, random_state=0).fit(X.astype(np.float32), labels)
    for loss in SGD_LOSSES:
        yield SGDClassifier(loss, random_state=0).fit(X, y)
    for scaler in (
        StandardScaler(), MinMaxScaler((0, 2), clip=True), MaxAbsScaler(), Normalizer(),
        RobustScaler(quantile_range=(10.0, 90.0)), StandardScaler().set_output(transform="pandas"),
        make_pipeline("passthrough", StandardScaler()),
    ):  # fmt: skip
        yield make_pipeline(scaler, LogisticRegression()).fit(table, y)
    for weights, labels in (
        ({0: 1.0, 1: 2}, y), ({np.int64(0): 1.0, np.int64(1): 2.0}, y), ("balanced", y),
        ({"a": 1.0, "b": np.float32(2.0)}, TEXT[y]), ({np.str_("a"): 1.0, "b": 2.0}, TEXT[y]),
        ({True: 1.0, False: 2.0}, y > 0), ({0.0: 1.0, 1.0: 2.0}, y.astype(float)),
    ):  # fmt: skip
        yield LogisticRegression(class_weight=weights).fit(X, labels)
    yield LinearSVC()
    several = np.column_stack([y, y, 1 - y])
    several[:, 0] = 1  # a label that does not vary
    yield OneVsRestClassifier(LogisticRegression()).fit(X, several)


def assert_same(found, expected):
    """Equal in type and value; losses and generators, which only fit uses, are left out."""
    of = (type(expected).__module__, type(expected).__name__)
    if of in TRUSTED["LossNode"] | TRUSTED["RandomStateNode"]:
        assert found is None
    elif isinstance(expected, BaseEstimator):
        assert type(found) is type(expected)
        assert vars(found).keys() == vars(expected).keys()
        for name, value in vars(expected).items():
            assert_same(vars(found)[name], value)
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert type(found) is type(expected)
        assert found == expected


def test_every_model_comes_back_as_it_was_without_skops(monkeypatch):
    """Also compressed. Every class that is trusted is a part of some model here."""
    skops = pytest.importorskip("skops.io")
    seen = set()
    with warnings.catch_warnings(action="ignore"):
        written = []
        for number, model in enumerate(models()):
            method = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
            written.append((model, skops.dumps(model, compression=method)))
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for model, content in written:
        Path("m.skops").write_bytes(content)
        assert_same(loaded("m.skops"), model)
        schema = json.loads(zipfile.ZipFile("m.skops").read("schema.json"))
        seen |= {tuple(node[key] for key in NAMES) for node in nodes(schema)}
    plain = {name for name in seen if not name[0].startswith(("NdArray", "Type"))}
    assert plain == {
        (loader, *name)
        for loader, names in TRUSTED.items()
        if loader not in ("NdArrayNode", "TypeNode")
        for name in names
    }


def test_a_file_of_an_older_scikit_learn_may_lack_a_parameter():
    model = a_model()
    lost = model["content"]["content"]
    number = list(lost).index("l1_ratio")
    del lost["l1_ratio"], model["content"]["key_types"]["content"][number]
    write(model)
    assert loaded("m.skops").l1_ratio == LogisticRegression().l1_ratio


def test_sparse_weights_are_refused_with_a_remedy():
    """Their indices would have to be checked, and they are an archive in an archive."""
    skops = pytest.importorskip("skops.io")
    skops.dump(LogisticRegression().fit(X, NUMBERS[2]).sparsify(), "m.skops")
    with pytest.raises(ValueError, match=r"csr_matrix \(SparseMatrixNode\): call densify\(\)"):
        loaded("m.skops")

"""What benchmarks are run on: generated data, and the machine."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from benchmarks import data, machine, memory, separability

# ---- data, machine, memory -----------------------------------------------------------------------


def test_data_is_the_same_every_time_and_has_its_shape():
    for make in (
        lambda: data.clouds(50, 3),
        lambda: data.correlated(50, 3),
        lambda: data.separable(50, 3, 0.1),
        lambda: data.images(50, 30, 4),
        lambda: data.rings(50, 4),
        lambda: data.many_clouds(50, 3, 4),
        lambda: data.few_relevant(50, 6, 2),
        lambda: data.few_relevant(50, 6, 2, 3),
    ):
        (X, y), (again, labels) = make(), make()
        assert X.dtype == np.float32
        assert np.array_equal(X, again)
        assert np.array_equal(y, labels)
        assert len(np.unique(y)) >= 2


def test_correlated_columns_have_the_condition_number():
    X, _ = data.correlated(20_000, 5, condition=100.0)
    assert np.linalg.cond(np.cov(X.T)) == pytest.approx(100.0, rel=0.1)


def test_neighbouring_columns_are_correlated_and_few_of_them_count():
    X, y = data.few_relevant(20_000, 30, 3)
    C = np.corrcoef(X.T)
    assert np.diag(C, 1) == pytest.approx(0.5, abs=0.03)
    assert np.diag(C, 2) == pytest.approx(0.25, abs=0.03)
    assert X.std(axis=0) == pytest.approx(1.0, abs=0.03)
    w = LogisticRegression(C=1e6).fit(X, y).coef_[0]
    assert np.sum(np.abs(w) > 0.5) == 3
    assert np.sum(np.abs(w) > 0.15) == 3


def test_text_is_canonical_csr_of_unit_rows_with_common_and_rare_words():
    X, _ = data.text(500, 400, 20)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.has_canonical_format
    assert np.allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    assert 10 <= X.nnz / 500 <= 25
    counts = np.sort(np.bincount(X.indices, minlength=400))
    assert counts[-1] > 10 * np.median(counts)


@pytest.mark.parametrize("k", [2, 5])
def test_documents_have_the_skew_of_text(k):
    X, y = data.documents(3000, 2000, 30, k)
    again, labels = data.documents(3000, 2000, 30, k)
    assert np.array_equal(X.toarray(), again.toarray())
    assert np.array_equal(y, labels)
    assert X.has_canonical_format
    assert X.data.min() == 1.0
    assert np.array_equal(X.data, np.rint(X.data))
    counts, lengths = np.bincount(X.indices, minlength=2000), np.diff(X.indptr)
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(30, rel=0.1)
    assert np.std(np.log(lengths)) == pytest.approx(0.65, abs=0.1)  # log-normal
    common = np.sort(counts)[::-1]
    assert common[9] / common[99] == pytest.approx(7, rel=0.5)  # about 1/rank
    sizes = np.bincount(np.searchsorted(np.unique(y), y))
    assert sizes[0] / sizes[-1] == pytest.approx(k, rel=0.2)
    half = LogisticRegression(C=100.0).fit(data.tf_idf(X)[:1500], y[:1500])
    assert half.score(data.tf_idf(X)[1500:], y[1500:]) > 0.75  # there is something to learn


def test_rows_with_one_level_of_each_feature():
    X, y = data.one_hot(400, 6, 9)
    assert X.shape == (400, 54)
    assert np.array_equal(X.toarray().reshape(400, 6, 9).sum(axis=2), np.ones((400, 6)))
    assert set(np.unique(y)) == {-1, 1}


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("processor\t: 0\nmodel name\t: Abacus: 8 beads\n", "Abacus: 8 beads"),
        ("CPU(s):        2\nModel name:    Neoverse-N1\nModel:    1\n", "Neoverse-N1"),
        ("Model name:    -\n", ""),
        ("machdep.cpu.brand_string: Apple M1\n", "Apple M1"),
        ("processor\t: 0\nCPU part\t: 0xd0c\n", ""),
    ],
)
def test_the_name_of_the_processor(reported, name):
    assert machine.model_name(reported) == name


def test_machine_limits():
    found = machine.limits("tiny")
    assert found["read_gb_per_second_1"] > 0
    assert found[f"gflop_per_second_float32_{machine.CORES}"] > 0


@pytest.mark.processes
@pytest.mark.skipif(not memory.REFS.exists(), reason="only Linux reports it")
def test_memory_of_a_fit_is_measured_in_a_child():
    extra = memory.extra_bytes("passes-tall-32", "tiny", "separatrix", 0)
    assert extra is not None
    assert 0 <= extra < 1 << 30


@pytest.mark.parametrize("kind", data.ONE_HOT_KINDS)
def test_one_hot_tables_have_one_level_of_each_category(kind):
    X, y = data.one_hot_of_kind(200, 40, kind)
    again, labels = data.one_hot_of_kind(200, 40, kind)
    assert np.array_equal(X.toarray(), again.toarray())
    assert np.array_equal(y, labels)
    levels = X.toarray().reshape(200, 4, 10)
    assert np.all(levels.sum(axis=2) == 1.0)
    assert set(y) == {-1, 1}
    rare = levels[:, :, -1]
    if kind == "quasi-single":
        assert set(y[rare[:, :3].any(axis=1)]) == {1}
    if kind == "quasi-sum":
        sums = rare @ [1.0, -1.0, 1.0, -1.0]
        assert np.array_equal(np.sign(sums[sums != 0]), y[sums != 0])


@pytest.mark.parametrize(
    ("kind", "library", "answer"),
    [
        ("overlapping", "separatrix", "overlapping"),
        ("overlapping", "highs", "overlapping"),
        ("quasi-sum", "separatrix", "quasi-separable"),
        ("quasi-sum", "highs", "weakly separable"),
    ],
)
def test_verdicts_and_programs_answer(kind, library, answer, capsys):
    separability.child(60, 12, kind, 10, library)
    found, seconds = json.loads(capsys.readouterr().out)
    assert found == answer
    assert seconds > 0.0


def test_a_verdict_beyond_its_limit_is_reported(capsys):
    small = ["--rows", "60", "--columns", "12", "--repeats", "2", "--limit", "0.001"]
    separability.main([*small, "--kinds", "separable"])
    expected = "| 60 | 12 | separable | no answer | > 0 | no answer | > 0 |\n"
    assert capsys.readouterr().out.endswith(expected)

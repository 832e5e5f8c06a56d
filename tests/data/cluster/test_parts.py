"""Parts: what they refuse, what they tell, and what becomes of one that is made again."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cluster_engine import HereEngine, clustered
from sklearn.base import clone
from source_kinds import EDGES, N, csr, data

from separatrix import ArraySource, Checkpoint, LinearClassifier, ProximalPoint
from separatrix.data.cluster.parts import loaded
from separatrix.data.cluster.source import Advanced, ClusterSource
from separatrix.solvers.dual.streamed_proximal_point import StreamedSums

X = np.arange(12.0).reshape(6, 2) % 5.0
Y = np.array(["a", "b", "a", "b", "a", "a"])


def source(*parts):
    return ClusterSource(HereEngine([(*part, None)[:3] for part in parts]))


def test_nan_in_one_part_is_found_by_part_and_row():
    wrong = X.copy()
    wrong[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"part 1, row 4 .*NaN or infinity.*leave out"):
        source((X, Y), (wrong, Y))
    with pytest.raises(ValueError, match=r"part 0, row 4 .*NaN or infinity"):
        source((sp.csr_array(wrong), Y))


@pytest.mark.parametrize("type", ["object", "category"])
def test_columns_of_words_are_named_with_their_part_and_a_way_out(type):
    numbers = pd.DataFrame({"a": X[:, 0], "kind": X[:, 1]})
    words = numbers.assign(kind=pd.Series(Y).astype(type))
    with pytest.raises(ValueError, match=r"part 1: X, in the col.*'kind'\], holds words.*read"):
        source((numbers, Y), (words, Y))


def test_labels_and_weights_are_checked_by_part():
    with pytest.raises(ValueError, match=r"part 1: X has 6 rows and y 5 labels"):
        source((X, Y), (X, Y[:5]))
    with pytest.raises(ValueError, match=r"part 0, row 2 .*: the weight is .*-1"):
        source((X, Y, np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])))
    with pytest.raises(ValueError, match=r"part 1: y contains 1 missing label"):
        source((X, Y), (X, np.array([0.0, 1.0, np.nan, 0.0, 1.0, 0.0])))
    with pytest.raises(ValueError, match=r"zero for every row"):
        source((X, Y, np.zeros(6)))


def test_different_columns_and_other_parts_that_do_not_fit_together():
    with pytest.raises(ValueError, match=r"part 1 has 1 columns and part 0 2"):
        source((X, Y), (X[:, :1], Y))
    with pytest.raises(ValueError, match=r"part 2 is csr and part 0 dense"):
        source((X, Y), (X, Y), (sp.csr_array(X), Y))
    with pytest.raises(ValueError, match=r"labels of part 1 are numbers and those of part 0 words"):
        source((X, Y), (X, np.arange(6) % 2))
    pd = pytest.importorskip("pandas")
    frames = (pd.DataFrame(X, columns=names) for names in (["u", "v"], ["u", "w"]))
    with pytest.raises(ValueError, match=r"part 1 has other columns than part 0: 'w' in the place"):
        source(*((frame, Y) for frame in frames))
    with pytest.raises(ValueError, match=r"none of the 2 parts has a row"):
        source((X[:0], Y[:0]), (X[:0], Y[:0]))


def test_float32_and_float64_mixed_become_float64():
    mixed = source((X.astype(np.float32), Y), (X, Y))
    assert mixed.dtype == np.float64
    assert all(block.X.dtype == np.float64 for block in mixed.blocks())
    assert source((X.astype(np.float32), Y)).dtype == np.float32


def test_classes_are_those_of_rows_that_count_wherever_they_are():
    found = source(
        (X, np.full(6, "b")), (X[:0], Y[:0]), (X, np.full(6, "a"), np.zeros(6)),
        (X, np.full(6, "c"), np.array([0.0, 2.0, 0.5, 0.0, 1.0, 1.0])),
    )  # fmt: skip
    assert found.classes.tolist() == ["b", "c"]
    assert (found.n_rows, found.length, found.weight_sum) == (10, 18, 10.5)
    np.testing.assert_array_equal(found.class_weight_sums(), [6.0, 4.5])
    np.testing.assert_array_equal(found.take(np.array([0, 13, 17])).y, [-1.0, 1.0, 1.0])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_bits_do_not_depend_on_the_number_of_workers(sparse, loss):
    X, y, classes, weight = data(3, weighted=True)
    rows = csr(X) if sparse else X
    fits = [
        LinearClassifier(loss, l2=0.01, tol=1e-8).fit(
            clustered(rows, y, classes, weight, EDGES, workers)
        )
        for workers in (1, 3, 20)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
        np.testing.assert_array_equal(fit.intercept_, fits[0].intercept_)


def test_a_part_that_is_made_again_goes_through_all_changes():
    def lose(step, info):
        rows.engine.lost = [info.iteration % len(EDGES[1:]), 5]

    rows = clustered(*data(2, weighted=True), EDGES)
    found = LinearClassifier(tol=1e-10, callbacks=[lose]).fit(rows)
    whole = LinearClassifier(tol=1e-10).fit(clustered(*data(2, weighted=True), EDGES))
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    assert found.n_iter_ > 2


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3])
def test_centers_stay_with_their_rows_and_come_to_the_same_bits_when_made_again(k):
    """Of proximal points: a number for every row, or one for each class, which never travels."""

    def lose(step, info):
        rows.engine.lost = [1, 4, info.iteration % len(EDGES[1:])]

    model = LinearClassifier("hinge", solver=ProximalPoint(), l2=1e-3, tol=1e-10)
    whole = clone(model).fit(clustered(*data(k, weighted=True), EDGES))
    rows = clustered(*data(k, weighted=True), EDGES)
    found = clone(model).set_params(callbacks=[lose]).fit(rows)
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    assert found.stop_ == "optimal"
    moves = [change for change in rows.engine.changes if isinstance(change, Advanced)]
    assert len(moves) > 1
    of = [ask for ask in rows.engine.asked if isinstance(getattr(ask, "sum", None), StreamedSums)]
    assert len(of) > len(moves)
    assert all(len(pickle.dumps(ask)) < 8 * N + 2000 for ask in of)
    here = clone(model).fit(ArraySource(*data(k, weighted=True)))
    assert found.objective_ == pytest.approx(here.objective_, rel=1e-10)
    del found, whole  # and with them, all users of the numbers
    gc.collect()
    rows.sample(1)
    assert not any(part.kept for part in rows.engine.parts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{"standardize": True}, {"class_weight": "balanced"}])
def test_centers_of_rows_that_are_mapped(options):
    model = LinearClassifier("hinge", solver=ProximalPoint(), l2=1e-2, tol=1e-10, **options)
    here = clone(model).fit(ArraySource(*data(2, weighted=True)))
    found = clone(model).fit(clustered(*data(2, weighted=True), EDGES))
    assert found.objective_ == pytest.approx(here.objective_, rel=1e-10)


def test_a_run_by_proximal_points_is_taken_up_again(tmp_path):
    model = LinearClassifier("hinge", solver=ProximalPoint(), l2=1e-3, tol=1e-10)
    whole = clone(model).fit(clustered(*data(2, weighted=True), EDGES))
    for last in (whole.n_iter_ // 2, None):
        kept = Checkpoint(tmp_path / "run.ckpt")
        calls = [kept, lambda step, info, last=last: info.iteration == last]
        found = clone(model).set_params(callbacks=calls)
        found.fit(clustered(*data(2, weighted=True), EDGES))
    assert found.n_iter_ == whole.n_iter_ > 4
    np.testing.assert_array_equal(found.coef_, whole.coef_)


def test_names_of_data_tell_rows_and_where_parts_end():
    rows = data(2, weighted=False)
    names = {clustered(*rows, edges).fingerprint() for edges in (EDGES, EDGES[1:], [0, 240])}
    assert len(names) == 2  # a part without rows has none
    assert clustered(*rows, EDGES).layout(False) != clustered(*rows, [0, 240]).layout(False)


def test_a_part_tells_its_size():
    part = loaded(0, np.zeros((1000, 10)), np.arange(1000) % 2)
    assert 80_000 <= part.__sizeof__() <= 100_000
    assert loaded(0, np.zeros((0, 10)), np.zeros(0)).X is None

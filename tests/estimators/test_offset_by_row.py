"""Row-by-row training with an offset, against the same steps in plain NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from offset_oracles import table, weights_of

from separatrix import (
    BatchPerceptron,
    GradientDescent,
    LinearClassifier,
    Perceptron,
    get_loss,
    read,
    separability,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
STEP, L2, PASSES = 0.02, 0.05, 3


def signs_of(y, k):
    return np.where(y == 1, 1.0, -1.0)[:, None] if k == 1 else 2.0 * np.eye(k)[y] - 1.0


def slopes(loss, s, y):
    """Derivatives of each row's loss by its scores, (n, k)."""
    k, each = s.shape[1], np.arange(len(y))
    if k > 1 and loss == "logistic":
        e = np.exp(s - s.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True) - np.eye(k)[y]
    if k > 1 and loss in ("hinge", "perceptron"):
        lifted = s + (loss == "hinge") * (1.0 - np.eye(k)[y])
        lifted[each, y] = -np.inf
        rival = lifted.argmax(axis=1)
        wrong = lifted[each, rival] - s[each, y]
        counts = wrong > 0.0 if loss == "hinge" else wrong >= 0.0
        return (np.eye(k)[rival] - np.eye(k)[y]) * counts[:, None]
    t = signs_of(y, k)
    m = t * s
    of_margin = {
        "logistic": lambda: -1.0 / (1.0 + np.exp(m)),
        "hinge": lambda: np.where(m < 1.0, -1.0, 0.0),
        "perceptron": lambda: np.where(m <= 0.0, -1.0, 0.0),
        "squared": lambda: -2.0 * (1.0 - m),
        "squared_hinge": lambda: -2.0 * np.maximum(0.0, 1.0 - m),
        "tanh_squared": lambda: -2.0 * (1.0 - np.tanh(m)) * (1.0 - np.tanh(m) ** 2),
    }
    return t * of_margin[loss]()


def descended(loss, X, y, offset, W, *, batch=1, weight=None, step=STEP, l2=L2, passes=PASSES):
    """The weights after some passes in the given order, and their mean after every batch."""
    n, k = len(y), len(W)
    W, offset = W.copy(), offset.reshape(n, -1)
    c = np.ones(n) if weight is None else weight * n / weight.sum()
    seen = []
    for _ in range(passes):
        for start in range(0, n, batch):
            at = slice(start, start + batch)
            s = X[at] @ W[:, :-1].T + W[:, -1] + offset[at]
            slope = c[at, None] * slopes(loss, s, y[at]) / len(s)
            W[:, :-1] *= 1.0 - 2.0 * step * l2
            W -= step * slope.T @ np.column_stack([X[at], np.ones(len(s))])
            seen.append(W.copy())
    return W, np.mean(seen, axis=0).reshape(k, -1)


def reported(loss, W):
    """Joint losses depend on differences of biases alone, which are reported with sum 0."""
    if len(W) > 1 and loss in ("logistic", "hinge"):
        W[:, -1] -= W[:, -1].mean()
    return W


def by_row(loss, W, batch=1, average=False, **given):
    solver = GradientDescent(batch, shuffle=False, learning_rate=STEP, average=average)
    return LinearClassifier(loss, l2=L2, solver=solver, start=W, max_iter=PASSES, tol=None, **given)


CASES = [(loss, 2) for loss in ("logistic", "hinge", "squared", "squared_hinge", "tanh_squared")]
CASES += [(loss, 3) for loss in ("logistic", "hinge", "squared", "squared_hinge")]


@pytest.mark.parametrize(("loss", "k"), CASES)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_descent_takes_the_steps_of_the_definition(loss, k, batch, average, sparse):
    X, y, offset = table(n=60, k=k)
    rng = np.random.default_rng(1)
    W, weight = rng.normal(size=(1 if k == 2 else k, 5)), rng.integers(1, 4, 60).astype(float)
    clf = by_row(loss, W, batch, average)
    clf.fit(sp.csr_array(X) if sparse else X, y, weight, offset=offset)
    expected = descended(loss, X, y, offset, W, batch=batch, weight=weight)[average]
    np.testing.assert_allclose(weights_of(clf), reported(loss, expected), rtol=1e-9, atol=1e-11)
    assert clf.uses_offset_


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("size", [1, 20])
def test_chunks_take_the_steps_of_a_pass(k, size):
    X, y, offset = table(n=60, k=k)
    W = np.random.default_rng(1).normal(size=(1 if k == 2 else k, 5))
    clf = by_row("logistic", W)
    for start in range(0, 60, size):
        at = slice(start, start + size)
        clf.partial_fit(X[at], y[at], classes=range(k), offset=offset[at])
        assert clf.uses_offset_
    expected = reported("logistic", descended("logistic", X, y, offset, W, passes=1)[0])
    np.testing.assert_allclose(weights_of(clf), expected, rtol=1e-9, atol=1e-11)
    s = X @ clf.coef_.T + clf.intercept_ + offset.reshape(60, -1)
    np.testing.assert_allclose(
        clf.decision_function(X, offset=offset), s[:, 0] if k == 2 else s, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("keep", ["last", "average"])
def test_the_perceptron_corrects_the_mistakes_of_the_offset(k, sparse, keep):
    X, y, offset = table(n=60, k=k)
    W = np.zeros((1 if k == 2 else k, 5))
    clf = Perceptron(PASSES, learning_rate=0.3, shuffle=False, keep=keep, patience=None)
    clf.fit(sp.csr_array(X) if sparse else X, y, offset=offset)
    expected = descended("perceptron", X, y, offset, W, step=0.3, l2=0.0)[keep == "average"]
    np.testing.assert_allclose(weights_of(clf), expected, rtol=1e-9, atol=1e-11)
    chunks = Perceptron(learning_rate=0.3, shuffle=False, keep=keep)
    for start in range(0, 60, 20):
        at = slice(start, start + 20)
        chunks.partial_fit(X[at], y[at], classes=range(k), offset=offset[at])
    expected = descended("perceptron", X, y, offset, W, step=0.3, l2=0.0, passes=1)
    np.testing.assert_allclose(weights_of(chunks), expected[keep == "average"], atol=1e-11)


@pytest.mark.parametrize("update", ["online", "batch"])
def test_an_offset_that_is_right_is_left_alone(update):
    X, y, _ = table()
    clf = Perceptron(update=update, shuffle=False).fit(X, y, offset=2.0 * y - 1.0)
    assert clf.stop_ == "no mistakes"
    assert not clf.coef_.any()
    assert clf.score(X, y, offset=2.0 * y - 1.0) == 1.0


def test_the_batch_perceptron_adds_all_mistakes():
    X, y, offset = table(n=60)
    clf = LinearClassifier("perceptron", l2=0.0, solver=BatchPerceptron(0.3), max_iter=4)
    clf.fit(X, y, offset=offset)
    w, seen = np.zeros(5), []
    Z, t = np.column_stack([X, np.ones(60)]), 2.0 * y - 1.0
    for _ in range(4):
        wrong = t * (Z @ w + offset) <= 0.0
        w = w + 0.3 * (t * wrong) @ Z
        seen.append(w)
    kept = weights_of(clf)[0]  # the best of them, or the start
    assert min(abs(kept - each).max() for each in [np.zeros(5), *seen]) < 1e-12


def test_the_step_size_matters_with_an_offset():
    """Without one it only rescales the weights, and is divided out."""
    X, y, offset = table()
    one, small = (
        Perceptron(2, learning_rate=step, shuffle=False, keep="last").fit(X, y, offset=offset)
        for step in (1.0, 0.01)
    )
    ratio = small.coef_ / one.coef_
    assert abs(ratio - 0.01).max() > 1e-4


@pytest.mark.parametrize("model", [
    LinearClassifier(solver=GradientDescent(1), random_state=0, max_iter=3),
    LinearClassifier("hinge", solver=GradientDescent(8), random_state=0, max_iter=3),
], ids=str)  # fmt: skip
def test_zeros_change_no_bit(model):
    X, y, _ = table(n=300)
    plain = model.fit(X, y)
    coef, intercept = plain.coef_.copy(), plain.intercept_.copy()
    other = model.fit(X, y, offset=np.zeros(300))
    np.testing.assert_array_equal(other.coef_, coef)
    np.testing.assert_array_equal(other.intercept_, intercept)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_default_steps_come_near_the_minimum(loss):
    X, y, offset = table(n=400)
    best = LinearClassifier(loss, l2=1e-2).fit(X, y, offset=offset)
    assert best.stop_ == "optimal"
    clf = LinearClassifier(
        loss, l2=1e-2, solver=GradientDescent(1, average=True), max_iter=100, random_state=0
    )
    clf.fit(X, y, offset=offset)
    assert best.objective_ - 1e-12 <= clf.objective_ <= 1.1 * best.objective_


def test_replay_gives_every_step_of_the_rows():
    X, y, offset = table(n=40)
    clf = Perceptron(3, random_state=0, keep="last").fit(X, y, offset=offset)
    *_, last = clf.trace_.replay(X, y, offset=offset)
    np.testing.assert_array_equal(last.weights[:, :-1], clf.coef_)


def test_files_and_float32_are_visited_with_their_offset(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y, offset = table(n=90)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, o=offset)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    source = read(tmp_path / "rows.csv", target="y", offset="o", block_rows=40, dtype="float64")
    for model in (
        Perceptron(PASSES, shuffle=False, keep="last"),
        by_row("logistic", np.zeros((1, 5))),
    ):
        of_file = weights_of(model.fit(source))
        np.testing.assert_allclose(of_file, weights_of(model.fit(X, y, offset=offset)), atol=1e-9)
        single = weights_of(model.fit(X.astype(np.float32), y, offset=offset))
        np.testing.assert_allclose(single, of_file, rtol=1e-3, atol=1e-3)


def test_standardised_rows_keep_their_offset():
    X, y, offset = table()
    model = LinearClassifier(
        l2=0.0, solver=GradientDescent(1, shuffle=False, learning_rate=STEP), standardize=True,
        max_iter=PASSES, tol=None,
    )  # fmt: skip
    clf = model.fit(X, y, offset=offset)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    start = np.append(np.zeros(4), -offset.mean())[None]  # zeros, and the bias takes the mean back
    W = descended("logistic", Z, y, offset, start, l2=0.0)[0]
    w = W[0, :-1] / X.std(axis=0)
    np.testing.assert_allclose(clf.coef_[0], w, rtol=1e-8)
    np.testing.assert_allclose(clf.intercept_, W[0, -1] - w @ X.mean(axis=0), rtol=1e-8)


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LinearClassifier(), Perceptron()], ids=str)
def test_later_chunks_need_an_offset_too(model):
    X, y, offset = table()
    model.partial_fit(X, y, offset=offset)
    before = weights_of(model)
    with pytest.raises(ValueError, match="was fitted with an offset"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"offset has shape \(119,\), expected \(120,\)"):
        model.partial_fit(X, y, offset=offset[:-1])
    with pytest.raises(ValueError, match="NaN or infinity, first in row 3"):
        model.partial_fit(X, y, offset=np.where(np.arange(120) == 3, np.inf, offset))
    np.testing.assert_array_equal(weights_of(model), before)
    assert model.n_iter_ == 1
    model.partial_fit(X, y, offset=np.zeros(120))  # zeros are an offset
    assert model.n_iter_ == 2


def test_a_stream_without_an_offset_may_get_one():
    """The rows before then count with an offset of 0."""
    X, y, offset = table(n=60)
    W = np.zeros((1, 5))
    clf = by_row("logistic", W).partial_fit(X[:30], y[:30])
    assert not clf.uses_offset_
    clf.partial_fit(X[30:], y[30:], offset=offset[30:])
    assert clf.uses_offset_
    given = np.where(np.arange(60) < 30, 0.0, offset)
    expected = descended("logistic", X, y, given, W, passes=1)[0]
    np.testing.assert_allclose(weights_of(clf), expected, rtol=1e-9, atol=1e-11)
    # A perceptron's step no longer only rescales: its weights are those of the real step from then.
    stream = Perceptron(learning_rate=0.3, shuffle=False, keep="last").partial_fit(X[:30], y[:30])
    stream.partial_fit(X[30:], y[30:], offset=offset[30:])
    expected = descended("perceptron", X, y, given, W, step=0.3, l2=0.0, passes=1)[0]
    np.testing.assert_allclose(weights_of(stream), expected, rtol=1e-9, atol=1e-11)


def test_the_mistake_bound_is_of_runs_without_an_offset():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = Perceptron(monitor=separability(X, y))
    with pytest.raises(ValueError, match="monitor bounds the mistakes of a run without an offset"):
        model.fit(X, y, offset=np.zeros(4))


def test_a_loss_of_the_users_own_sees_the_offset():
    class Mine(type(get_loss("logistic"))):
        pass

    X, y, offset = table(n=30)
    W = np.zeros((1, 5))
    with pytest.warns(UserWarning, match="is not compiled"):
        clf = by_row(Mine(), W).fit(X, y, offset=offset)
    expected = descended("logistic", X, y, offset, W)[0]
    np.testing.assert_allclose(weights_of(clf), expected, rtol=1e-9, atol=1e-11)

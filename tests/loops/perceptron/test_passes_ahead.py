"""Short passes made at once and orders drawn ahead do not change any result."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from separatrix import ArraySource, GradientDescent, LinearClassifier, Perceptron, loops
from separatrix.data import Shuffle
from separatrix.data.blocks import GROUP, NEIGHBOURS_BYTES
from separatrix.solvers import online

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TWO = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)
THREE = np.digitize(X[:, 1] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])
WEIGHT = RNG.integers(0, 3, 60).astype(float)

MODELS = {
    "auto": Perceptron(30, random_state=0),
    "last": Perceptron(30, random_state=1, keep="last", patience=None),
    "in order": Perceptron(30, shuffle=False, keep="best", random_state=0),
    "step": Perceptron(23, learning_rate=0.1, random_state=0, keep="average"),
    "penalty": Perceptron(17, l2=0.01, random_state=0),
    "norm": Perceptron(30, max_norm=5.0, random_state=0),
    "tol": Perceptron(30, tol=0.3, random_state=0),
    "schedule": Perceptron(9, learning_rate=lambda t: 1.0 / t, random_state=0),
    "smooth": LinearClassifier(
        solver=GradientDescent(batch_size=7, learning_rate=0.1), max_iter=12, random_state=0
    ),
}


def fitted(name, rows, y, weight, monkeypatch, most):
    monkeypatch.setattr(online, "MOST_AHEAD", most)
    seen = []
    model = clone(MODELS[name])
    model.callbacks = (lambda step, info: seen.append(step),)
    return model.fit(rows, y, sample_weight=weight), seen


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("form", [np.array, sp.csr_array, np.float32])
def test_passes_made_ahead_have_the_bits_of_passes_made_alone(name, y, weight, form, monkeypatch):
    rows = form(X)
    alone, steps = fitted(name, rows, y, weight, monkeypatch, 1)
    ahead, others = fitted(name, rows, y, weight, monkeypatch, 8)
    np.testing.assert_array_equal(ahead._weights(), alone._weights())
    assert ahead.trace_.updates_per_pass == alone.trace_.updates_per_pass
    for column in ("objective", "mistakes", "norm"):
        np.testing.assert_array_equal(ahead.history_[column], alone.history_[column])
    for one, other in zip(steps, others, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.state.keys() == other.state.keys()
        for key, value in one.state.items():
            np.testing.assert_array_equal(value, other.state[key])
        if one.rows is None:
            assert other.rows is None
        else:
            np.testing.assert_array_equal(one.rows, other.rows)
        if one.average is not None:
            np.testing.assert_array_equal(one.average, other.average)


def test_only_short_passes_are_made_ahead(monkeypatch):
    calls = []
    make = loops.online_pass

    def counted(*args, **options):
        calls.append(options.get("ends"))
        return make(*args, **options)

    monkeypatch.setattr(online.loops, "online_pass", counted)
    Perceptron(20, random_state=0, patience=None).fit(X, TWO)
    assert len(calls) == 5  # 1, 2, 4, 8 and 8 passes
    calls.clear()
    Perceptron(20, random_state=0, patience=None).fit(
        RNG.normal(size=(3000, 30)), RNG.integers(0, 2, 3000)
    )
    assert calls == [None] * 20


def test_a_clean_pass_ends_the_run_and_those_made_ahead():
    separable = np.where(X[:, 0] > 0, 1, 0)
    clf = Perceptron(100, random_state=0).fit(
        X[np.abs(X[:, 0]) > 0.3], separable[np.abs(X[:, 0]) > 0.3]
    )
    assert clf.stop_ == "no mistakes"
    assert clf.trace_.updates_per_pass[-1] == 0
    assert 0 not in clf.trace_.updates_per_pass[:-1]
    assert clf.n_iter_ == len(clf.history_["pass"]) == clf.trace_.n_iter


def test_ctrl_c_during_passes_made_ahead_keeps_the_last_that_was_reported():
    reported = []

    def stop(step, info):
        reported.append(step.weights.copy())
        if info.iteration == 5:
            loops.request_stop()

    with pytest.warns(UserWarning, match="interrupted after 5 passes"):
        clf = Perceptron(50, random_state=0, patience=None, keep="last", callbacks=(stop,)).fit(
            X, TWO
        )
    assert clf.stop_ == "interrupted"
    np.testing.assert_array_equal(clf._weights(), reported[-1])


def test_orders_drawn_ahead_are_those_of_their_passes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30_000, 20)), np.ones(30_000)
    source = ArraySource(X, y, np.array([0, 1]), n_jobs=2)
    assert source.threads == 2
    # Passes one after another, then another seed, then back: no pass gets an order of others.
    for shuffle in [
        *(Shuffle(5, p) for p in range(5)),
        Shuffle(6, 5),
        Shuffle(5, 5),
        Shuffle(5, 6),
    ]:
        ((_, order),) = source.visits(shuffle)
        expected = loops.draw_orders(len(y), int(NEIGHBOURS_BYTES / 160), GROUP, *shuffle)
        np.testing.assert_array_equal(order, expected[0])

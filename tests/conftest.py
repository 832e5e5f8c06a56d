"""Data and oracles shared by the tests."""

from __future__ import annotations

import os

# One thread for BLAS: two workers with two threads each wait for one another, and a test takes up
# to ten times as long. Tests about the threads of BLAS set their number themselves.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import gc
import signal
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import settings
from sklearn.exceptions import ConvergenceWarning

from separatrix import MarginLoss, loops
from separatrix.losses import names

pytest_plugins = ["tiers"]

# A process started in the background may ignore Ctrl-C; Python then installs no handler.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What is made before the first test stays to the end: it is not searched for garbage.
gc.disable()

settings.register_profile("separatrix", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("separatrix")

CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
LOGIC = {"and": [-1, -1, -1, 1], "or": [-1, 1, 1, 1], "xor": [-1, 1, 1, -1]}
TRAINABLE = [name for name in names() if name != "zero_one"]
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class OwnLogistic(MarginLoss):
    """A user's loss: no name, no curvature, no conjugate."""

    def phi(self, m):
        return np.logaddexp(0, -m)

    def slope(self, m):
        return -1 / (1 + np.exp(m))


@contextmanager
def level_in_use(name):
    """The loops of one instruction set, and then again those before."""
    before = loops.level()
    loops.use_level(name)
    try:
        yield name
    finally:
        loops.use_level(before)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(params=loops.levels())
def level(request):
    with level_in_use(request.param) as name:
        yield name


@pytest.fixture
def fused_levels():
    """The levels with fused multiply-add, at least two of them: their bits are to be compared."""
    names = [name for name in loops.levels() if name != "baseline"]
    if len(names) < 2:
        pytest.skip("fewer than two of these levels: `make test-all` compiles all")
    return names


@pytest.fixture(autouse=True)
def seeded():
    """What `random_state=None` draws is the same at every run, whichever tests ran before."""
    np.random.seed(0)  # noqa: NPY002 (what None is drawn from)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def overlapping(n=200, d=5, seed=0, scale=1.0):
    """Two Gaussian clouds that no plane separates."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d)) + 0.8 * y[:, None] * rng.standard_normal(d)
    return X * scale, y


@pytest.fixture
def only_what_is_always_there(monkeypatch):
    """As if no peer but scikit-learn were installed."""
    from benchmarks.peers import roster

    always = {"separatrix", "scikit-learn"}
    monkeypatch.setattr(
        roster, "why_missing", lambda peer: None if peer in always else "not in the tests"
    )


def warned(clf, X, y, **given):
    """The texts of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y, **given)
    assert all(w.category is ConvergenceWarning for w in caught)
    return [str(w.message) for w in caught]

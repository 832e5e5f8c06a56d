"""Workers that are processes, and are killed: the fit goes on, to the same bits."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from separatrix import LBFGS, LinearClassifier, MarginLoss

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

# Sockets and threads of clusters that come and go are Dask's own affair.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)

WORKERS, PARTS, EACH = 2, 7, 60
PATIENCE = 120  # seconds, for a process to start


@pytest.fixture(scope="module")
def cluster():
    """It waits for workers that start again, however slowly: else it gives them up for good."""
    options = {"processes": True, "dashboard_address": ":0", "threads_per_worker": 1}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": PATIENCE}),
        distributed.LocalCluster(n_workers=WORKERS, **options) as started,
    ):
        yield started


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as found:
        found.wait_for_workers(WORKERS, timeout=PATIENCE)
        yield found


def kill_one(client):
    """The process of a worker, with all that it holds."""
    pids = client.run(os.getpid)
    os.kill(pids[max(pids)], signal.SIGKILL)


def parts(seconds=0.0):
    """Delayed rows and labels, which take a while to be read."""

    def read(number):
        time.sleep(seconds)
        rng = np.random.default_rng(number)
        X = rng.standard_normal((EACH, 4))
        return X, (X @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(EACH) > 0).astype(int)

    pieces = [dask.delayed(read, pure=False)(number) for number in range(PARTS)]
    return [piece[0] for piece in pieces], [piece[1] for piece in pieces]


def slow(seconds):
    """A loss that takes its time over every block."""

    class Slow(MarginLoss):
        def phi(self, m):
            time.sleep(seconds)
            return np.logaddexp(0.0, -m)

        def slope(self, m):
            return -1.0 / (1.0 + np.exp(m))

    return Slow()


@pytest.fixture(scope="module")
def undisturbed():
    """The same parts in memory, by the same tree."""
    import cloudpickle
    from cluster_engine import HereEngine

    from separatrix.data.cluster.source import ClusterSource

    rows = zip(*dask.compute(*parts(), scheduler="synchronous"), strict=True)
    source = ClusterSource(HereEngine([(X, y, None) for X, y in rows], dumps=cloudpickle.dumps))
    return LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(source)


def test_ctrl_c_keeps_the_model_and_leaves_the_cluster_usable(client, undisturbed):
    timers = []

    def interrupt(step, info):
        if info.iteration == 2:
            timers.append(threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]))
            timers[-1].start()

    model = LinearClassifier(slow(0.1), solver=LBFGS(), tol=1e-8, callbacks=[interrupt])
    with pytest.warns(UserWarning, match="interrupted after 2 passes"):
        model.fit(*parts())
    timers[0].join()
    assert model.stop_ == "interrupted"
    assert model.coef_.shape == (1, 4)
    again = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(*parts())
    np.testing.assert_array_equal(again.coef_, undisturbed.coef_)


def test_a_worker_is_killed_between_two_sums(client, undisturbed):
    def kill(step, info):
        if info.iteration == 3:
            kill_one(client)

    model = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8, callbacks=[kill])
    found = model.fit(*parts())
    assert found.n_iter_ == undisturbed.n_iter_ > 4
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


def test_a_worker_is_killed_in_the_middle_of_a_sum(client, undisturbed):
    timers = []

    def kill(step, info):
        if info.iteration == 3:
            timers.append(threading.Timer(0.1, kill_one, [client]))
            timers[-1].start()

    model = LinearClassifier(slow(0.05), solver=LBFGS(), tol=1e-8, callbacks=[kill])
    found = model.fit(*parts())
    timers[0].join()
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


def test_a_worker_is_killed_while_parts_are_placed(client, undisturbed):
    timer = threading.Timer(0.5, kill_one, [client])
    timer.start()
    found = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(*parts(0.3))
    timer.join()
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)

"""Workers that are processes, and are killed: the fit goes on, to the same bits."""

from __future__ import annotations

import os
import signal
import threading
import time

import cloudpickle
import numpy as np
import pytest
from cluster_engine import HereEngine
from dask_cluster import client_of, dask, delayed_parts, local_cluster, sockets_left
from sklearn.base import clone

from separatrix import LBFGS, LinearClassifier, MarginLoss, Perceptron, ProximalPoint
from separatrix.data.cluster.source import ClusterSource

pytestmark = [sockets_left, pytest.mark.cluster]
WORKERS, LENGTHS = 2, [60] * 7


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(WORKERS, processes=True) as started:
        yield started


@pytest.fixture
def client(cluster):
    with client_of(cluster, WORKERS) as found:
        yield found


def kill_one(client):
    """The process of a worker, with all that it holds."""
    pids = client.run(os.getpid)
    os.kill(pids[max(pids)], signal.SIGKILL)


def kill_all(client):
    """Others are started in their place."""
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


def slow(seconds):
    """A loss that takes its time over every block."""

    class Slow(MarginLoss):
        def phi(self, m):
            time.sleep(seconds)
            return np.logaddexp(0.0, -m)

        def slope(self, m):
            return -1.0 / (1.0 + np.exp(m))

    return Slow()


def in_memory(model):
    """Fitted to the same parts here, along the same tree."""
    rows = zip(*dask.compute(*delayed_parts(LENGTHS), scheduler="synchronous"), strict=True)
    source = ClusterSource(HereEngine([(X, y, None) for X, y in rows], dumps=cloudpickle.dumps))
    return clone(model).fit(source)


@pytest.fixture(scope="module")
def undisturbed():
    return in_memory(LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8))


def test_ctrl_c_keeps_the_model_and_leaves_the_cluster_usable(client, undisturbed):
    timers = []

    def interrupt(step, info):
        if info.iteration == 2:
            timers.append(threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]))
            timers[-1].start()

    model = LinearClassifier(slow(0.1), solver=LBFGS(), tol=1e-8, callbacks=[interrupt])
    with pytest.warns(UserWarning, match="interrupted after 2 passes"):
        model.fit(*delayed_parts(LENGTHS))
    timers[0].join()
    assert model.stop_ == "interrupted"
    assert model.coef_.shape == (1, 4)
    again = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(*delayed_parts(LENGTHS))
    np.testing.assert_array_equal(again.coef_, undisturbed.coef_)


def test_a_worker_is_killed_between_two_sums(client, undisturbed):
    def kill(step, info):
        if info.iteration == 3:
            kill_one(client)

    model = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8, callbacks=[kill])
    found = model.fit(*delayed_parts(LENGTHS))
    assert found.n_iter_ == undisturbed.n_iter_ > 4
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


def test_a_worker_is_killed_in_the_middle_of_a_sum(client, undisturbed):
    timers = []

    def kill(step, info):
        if info.iteration == 3:
            timers.append(threading.Timer(0.1, kill_one, [client]))
            timers[-1].start()

    model = LinearClassifier(slow(0.05), solver=LBFGS(), tol=1e-8, callbacks=[kill])
    found = model.fit(*delayed_parts(LENGTHS))
    timers[0].join()
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


def test_a_worker_is_killed_while_parts_are_placed(client, undisturbed):
    timer = threading.Timer(0.5, kill_one, [client])
    timer.start()
    found = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(*delayed_parts(LENGTHS, 0.3))
    timer.join()
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


def test_all_workers_are_killed_while_parts_are_placed(client, undisturbed):
    """Dask keeps tasks for the workers they were sent to, although others take their place."""
    timer = threading.Timer(0.5, kill_all, [client])
    timer.start()
    found = LinearClassifier(slow(0.0), solver=LBFGS(), tol=1e-8).fit(*delayed_parts(LENGTHS, 0.3))
    timer.join()
    np.testing.assert_array_equal(found.coef_, undisturbed.coef_)


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier("hinge", solver=ProximalPoint(), l2=1e-3, tol=1e-10),
        Perceptron(max_iter=8, random_state=0),
    ],
    ids=["anchors of proximal points", "mixed weights"],
)
@pytest.mark.parametrize("kill_some", [kill_one, kill_all])
def test_what_parts_have_gone_through_is_gone_through_again(client, kill_some, model):
    """Workers are killed in a run whose parts keep numbers, or whose weights are mixed."""
    whole = in_memory(model)

    def kill(step, info):
        if info.iteration == 4:
            kill_some(client)

    found = clone(model).set_params(callbacks=[kill]).fit(*delayed_parts(LENGTHS))
    assert found.n_iter_ == whole.n_iter_ > 5
    np.testing.assert_array_equal(found.coef_, whole.coef_)
    np.testing.assert_array_equal(found.intercept_, whole.intercept_)

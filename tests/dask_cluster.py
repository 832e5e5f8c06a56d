"""Clusters of Dask's on this machine, and rows in delayed parts for them."""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

PATIENCE = 300  # seconds, for a process to start
WORKERS = 3  # of a cluster of threads

# Sockets and threads of clusters that come and go are Dask's own affair.
sockets_left = pytest.mark.filterwarnings(
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@contextmanager
def local_cluster(workers, processes=False, threads=1):
    """Workers are threads of this process, unless they are to be lost."""
    # One that was killed is given up if it is not back in 15 seconds: too early on a busy machine.
    patient = {"distributed.deploy.lost-worker-timeout": f"{PATIENCE}s"}
    options = {"processes": processes, "threads_per_worker": threads, "dashboard_address": ":0"}
    with dask.config.set(patient), distributed.LocalCluster(n_workers=workers, **options) as found:
        yield found


@contextmanager
def client_of(cluster, workers):
    """Of a cluster all of whose workers are there."""
    with distributed.Client(cluster) as found:
        found.wait_for_workers(workers, timeout=PATIENCE)
        yield found


def delayed_parts(lengths, seconds=0.0, d=4):
    """Rows and labels of parts of these lengths, which take a while to be read."""

    def read(number, n):
        time.sleep(seconds)
        rng = np.random.default_rng(number)
        X = rng.standard_normal((n, d))
        noise = rng.standard_normal(n)
        return X, np.where(X[:, 0] - 2.0 * X[:, 1] + noise > 0, "bee", "ant")

    pieces = [dask.delayed(read, pure=False, nout=2)(at, n) for at, n in enumerate(lengths)]
    return [X for X, _ in pieces], [y for _, y in pieces]

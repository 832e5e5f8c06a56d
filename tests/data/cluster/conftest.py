"""A cluster whose workers are threads of this process."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def cluster():
    from dask_cluster import WORKERS, local_cluster

    with local_cluster(WORKERS) as started:
        yield started


@pytest.fixture
def client(cluster):
    from dask_cluster import WORKERS, client_of

    with client_of(cluster, WORKERS) as found:
        yield found

"""Rows of files in a process of its own: its memory is bounded, and Ctrl-C ends it."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from processes import in_children
from pyarrow import csv, parquet

MEMORY = """
import re, resource, sys
import numpy as np
import separatrix
from separatrix import GradientDescent, LinearClassifier

def peak():
    try:  # ru_maxrss begins with that of the process which started this one
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

folder, format, cache = sys.argv[1:]
options = {"target": "y", "block_rows": 8192, "cache": folder if cache == "cached" else None}
fits = [dict(max_iter=1), dict(solver=GradientDescent(1), max_iter=1)]
peaks = []
for name in ("small", "large"):
    for options_of_fit in fits:
        source = None  # one holds room for its next blocks
        source = separatrix.read(f"{folder}/{name}.{format}", **options)
        fit = LinearClassifier(tol=None, **options_of_fit).fit(source)
    fit.score(source)
    peaks.append(peak())
print((peaks[1] - peaks[0]) / (8192 * 32 * 8))
"""


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer keeps freed memory")
@pytest.mark.slow
def test_memory_is_bounded(tmp_path):
    """A file of 20 blocks takes at most 6 blocks more than one of two."""
    rng = np.random.default_rng(0)
    for name, blocks in (("small", 2), ("large", 20)):
        values = rng.integers(0, 10, (blocks * 8192, 32))
        table = pa.table({f"x{j}": values[:, j] for j in range(32)})
        table = table.append_column("y", pa.array(values[:, 0] > 5))
        csv.write_csv(table, tmp_path / f"{name}.csv")
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=1 << 14)
    cases = [
        [str(tmp_path), format, cache] for format in ("parquet", "csv") for cache in ("", "cached")
    ]
    # With an arena of memory for every thread the C library keeps free what another could use.
    reported = in_children(
        MEMORY, cases, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MALLOC_ARENA_MAX="1"
    )
    for case, blocks in zip(cases, reported, strict=True):
        assert float(blocks) <= 6.0, case


CTRL_C = """
import os, signal, sys, threading
import numpy as np
import separatrix
from separatrix import LinearClassifier

rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 5)); y = (X[:, 0] + rng.standard_normal(2000) > 0).astype(int)
slow, woken, answer = [], [], threading.Event()

def pieces():
    for start in range(0, 2000, 100):
        if slow:
            os.kill(os.getpid(), signal.SIGINT)
            answer.wait()  # a disk that does not
            woken.append(start)
        yield X[start:start + 100], y[start:start + 100]

source = separatrix.read(pieces, block_rows=100)
import warnings
warnings.simplefilter("ignore")
after_two = lambda step, info: slow.append(1) if info.iteration == 2 else None
fit = LinearClassifier(tol=0.0, callbacks=[after_two]).fit(source)
print(fit.stop_, woken, len(fit.coef_))
answer.set()
"""


@pytest.mark.processes
def test_ctrl_c_ends_a_fit_that_waits_for_a_disk():
    assert in_children(CTRL_C, [[]]) == ["interrupted [] 1\n"]

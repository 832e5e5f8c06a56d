"""The limits of the machine, measured in the same run: reading and arithmetic."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from .contest import Contestant

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
PLAIN = {**os.environ, "LC_ALL": "C"}  # answers in English
SIZES = {"tiny": (1 << 20, 64), "small": (1 << 26, 512), "full": (1 << 30, 2048)}


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CORES)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def flat_parts(X: Any) -> list[Any]:
    """The numbers as a vector and, for sparse rows, as many bytes as their indices have.

    Not the indices themselves: small integers read as floats are slow to multiply.
    """
    if sp.issparse(X):
        return [X.data, np.ones(X.indices.nbytes // 4, np.float32)]
    return [np.ravel(X, order="K")]


def read(parts: list[Any], cores: int) -> None:
    """Read every byte once: the product of a vector with itself is limited only by memory."""
    with _blas().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        for part in parts:
            shares = np.array_split(part, cores)
            if cores == 1:
                np.dot(part, part)
            else:
                list(_pool().map(np.dot, shares, shares))


def reader(X: Any, cores: int) -> Contestant:
    """The limit of any method that reads all of X."""
    parts = flat_parts(X)
    return Contestant(f"{cores} core{'s' * (cores > 1)}", lambda _: read(parts, cores))


def best_time(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of a few: a limit is the best possible time."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def limits(size: str) -> dict[str, Any]:
    """GB/s of reading and GFLOP/s of matrix products, with one core and with all."""
    n_bytes, side = SIZES[size]
    memory = [np.ones(n_bytes // 8)]
    found: dict[str, Any] = {"processor": processor(), "cores": CORES}
    # A default argument binds the loop variable; mypy cannot infer the type of such a lambda.
    for cores in sorted({1, CORES}):
        rate = n_bytes / best_time(lambda cores=cores: read(memory, cores))  # type: ignore[misc]
        found[f"read_gb_per_second_{cores}"] = rate / 1e9
        for dtype in (np.float32, np.float64):
            square = np.ones((side, side), dtype)
            with _blas().limit(limits=cores, user_api="blas"):
                seconds = best_time(lambda square=square: square @ square)  # type: ignore[misc]
            name = f"gflop_per_second_{np.dtype(dtype).name}_{cores}"
            found[name] = 2.0 * side**3 / seconds / 1e9
    return found


def processor() -> str:
    """The name of the processor, from a file or, for ARM and macOS, from a command."""
    texts = [Path("/proc/cpuinfo").read_text()] if Path("/proc/cpuinfo").exists() else []
    for command in (("lscpu",), ("sysctl", "machdep.cpu.brand_string")):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=PLAIN)
        except (OSError, subprocess.CalledProcessError):
            continue
        texts.append(done.stdout)
    names = [name for text in texts if (name := model_name(text))]
    return names[0] if names else platform.processor() or platform.machine()


def model_name(text: str) -> str:
    """Find the name in the system's output; "" if it is missing, or "-"."""
    for line in text.splitlines():
        key, _, name = line.partition(":")
        if key.strip().lower() in ("model name", "machdep.cpu.brand_string") and name.strip(" -"):
            return name.strip()
    return ""

"""Tests on a GPU: `make test-gpu`. Without one they are skipped."""

from __future__ import annotations

import pytest


def gpu_count():
    """How many GPUs CuPy can use."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:
        return 0


def pytest_collection_modifyitems(items):
    if gpu_count():
        return
    for item in items:
        if "/gpu/" in str(item.path):
            item.add_marker(pytest.mark.skip(reason="needs a GPU and CuPy"))

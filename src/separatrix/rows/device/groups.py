"""Sums of the weights of groups of rows, such as classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numeric.types import AnyArray, Array
from .device import Device
from .kernels import MOST_BLOCKS, THREADS, CudaKernel
from .thresholds import TILE_ROWS


def counts(device: Device, values: Any, least: int, size: int) -> AnyArray:
    """How often each whole number from ``least`` on occurs among int64 of the device: (size,)."""
    found, kernel = device.zeros((size,), np.int64), CudaKernel.of("count_values")
    blocks = min(-(-len(values) // THREADS), device.resident_blocks(kernel, THREADS))
    device.launch(
        kernel, blocks, values, np.int64(len(values)), np.int64(least), np.int32(size), found
    )
    return device.download(found)


def members(device: Device, group: Any, weight: Any, rows: int, groups: int) -> Any:
    """The weight of each row in the column of its group: (rows, groups)."""
    out = device.empty((rows, groups))
    blocks = min(-(-rows * groups // THREADS), MOST_BLOCKS)
    device.launch(
        CudaKernel.of("group_weights"), blocks, group, weight, np.int64(rows), np.int32(groups), out
    )
    return out


def weight_sums(rows: Any, group: Any, weight: Any, groups: int) -> Array:
    """Sum of the weights of the rows of each group, in a fixed order: (groups,).

    ``rows`` are :class:`DeviceRows`; without ``group`` all rows are in one.
    """
    device, n = rows.device, rows.shape[0]
    if weight is None:
        if group is None:
            return np.full(1, float(n))
        return counts(device, group, 0, groups).astype(np.float64)
    totals, size = device.zeros((groups,)), max(1, min(n, TILE_ROWS))
    for start in range(0, n, size):
        at = slice(start, min(start + size, n))
        some = None if group is None else group[at]
        own = members(device, some, weight[at], at.stop - at.start, groups)
        rows.column_sums(own, totals, add=True)
    found: Array = device.download(totals)
    return found

"""A few dense rows on a device, ready for products of matrices.

``rows`` are :class:`DeviceDenseRows`, which make these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import MOST_BLOCKS, CudaKernel
from .tiled import Tile


class DenseTile(Tile):
    """Rows (x, 1) in float64, padded with columns of zeros."""

    def __init__(self, rows: Any, start: int, stop: int) -> None:
        self.rows, self.device = rows, rows.device
        self.z = rows.standardized_on_device(start, stop)

    def scores(self, W: Any) -> Any:
        """By one product; the weights are padded, too."""
        out = self.device.empty((self.z.shape[0], len(W)))
        self.device.multiply(self.z, self.rows.padded(W, np.float64), out, turn_b=True)
        return out

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        padded = self.device.empty((len(out), self.z.shape[1]))
        self.device.multiply(coefficients, self.z, padded, turn_a=True)
        out += padded[:, : out.shape[1]]


class SplitTile(Tile):
    """Rows (x, 1) as sums of two bfloat16: products keep about five digits, ten times as fast."""

    def __init__(self, rows: Any, start: int, stop: int) -> None:
        self.rows, self.device = rows, rows.device
        self.z = self.split(rows.standardized_on_device(start, stop, dtype=np.float32))

    def split(self, values: Any) -> tuple[Any, Any]:
        """A float32 matrix in two parts."""
        high, low = (self.device.empty(values.shape, np.uint16) for _ in range(2))
        count = int(np.prod(values.shape))
        blocks = min(self.rows.blocks(count), MOST_BLOCKS)
        kernel = CudaKernel.of("split_bfloat16")
        self.device.launch(kernel, blocks, values, np.int64(count), high, low)
        return high, low

    def scores(self, W: Any) -> Any:
        """In float32, from three products."""
        out = self.device.empty((self.z[0].shape[0], len(W)), np.float32)
        weights = self.split(self.rows.padded(W, np.float32))
        self._multiply(self.z, weights, out, turn_b=True)
        return out

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        """From three products; sums of tiles are in float64."""
        padded = self.device.empty((len(out), self.z[0].shape[1]), np.float32)
        self._multiply(self.split(coefficients), self.z, padded, turn_a=True)
        out += padded[:, : out.shape[1]]

    def _multiply(self, a: tuple[Any, Any], b: tuple[Any, Any], out: Any, **turns: bool) -> None:
        self.device.multiply(a[0], b[0], out, **turns)
        self.device.multiply(a[0], b[1], out, **turns, add=True)
        self.device.multiply(a[1], b[0], out, **turns, add=True)

"""Rows on a device, a tile at a time: the size of tiles, and sums over their rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import Rows
from .device import Device
from .kernels import THREADS, CudaKernel
from .thresholds import FREE_SHARE, SUMMED_ROWS, TILE_BYTES, TILE_ROWS

SUMMED_COLUMNS = 8  # of a block that sums rows


class Tile:
    """A few rows on a device, ready for products."""

    def scores(self, W: Any) -> Any:
        """``(rows, 1) W'`` for weights (k, d + 1) of the device: (rows, k)."""
        raise NotImplementedError

    def products(self, V: Any) -> Any:
        """The same without an offset."""
        return self.scores(V)

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        """Add ``coefficients' (rows, 1)`` to (k, d + 1) of the device."""
        raise NotImplementedError


class TiledRows(Rows):
    """Rows of one device in tiles."""

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    @abstractmethod
    def tile(self, start: int, stop: int, single: bool = False) -> Tile:
        """Rows start, ..., stop - 1; with ``single`` products may keep five digits."""

    def tile_rows(self, k: int) -> int:
        """Rows of a tile, by memory; the same for each pass unless memory becomes short."""
        free = max(1 << 20, self.device.free_bytes() // FREE_SHARE)
        # A power of two, so that small changes of the free memory do not change the last bits.
        budget = min(TILE_BYTES, 1 << (free.bit_length() - 1))
        each = 8 * (self.tile_width + k + 4)
        fitting = max(1, budget // each)
        return int(min(fitting, max(TILE_ROWS, (32 << 20) // each)))

    @property
    def tile_width(self) -> int:
        """Numbers in float64 that a row of a tile takes."""
        return 0

    def tiles(self, k: int, single: bool = False) -> Iterator[tuple[slice, Tile]]:
        """All rows, a tile at a time."""
        n, size = self.shape[0], self.tile_rows(k)
        for start in range(0, n, size):
            stop = min(start + size, n)
            yield slice(start, stop), self.tile(start, stop, single)

    def blocks(self, rows: int, each: int = THREADS) -> int:
        """Blocks of threads for the given number of rows."""
        return -(-rows // each)

    def column_sums(self, values: Any, out: Any, add: bool) -> None:
        """Sum the rows of a matrix in a fixed order, or add the sums to ``out``."""
        count, width = values.shape
        if count > 2 * SUMMED_ROWS:
            partial = self.device.empty((-(-count // SUMMED_ROWS), width))
            self._column_sums(values, SUMMED_ROWS, partial, add=False)
            values, count = partial, len(partial)
        self._column_sums(values, count, out, add)

    def _column_sums(self, values: Any, each: int, out: Any, add: bool) -> None:
        """Sums over ``each`` rows at a time: one row of ``out`` for them."""
        count, width = values.shape
        columns = 2 if width <= 2 else SUMMED_COLUMNS
        kernel = CudaKernel.of("sum_rows", COLUMNS=columns, ADD=int(add))
        self.device.launch(
            kernel, self.blocks(width, columns) * max(1, self.blocks(count, max(each, 1))), values,
            np.int64(count), np.int32(width), np.int64(each), out,
        )  # fmt: skip

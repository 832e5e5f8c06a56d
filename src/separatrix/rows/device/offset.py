"""Rows on a device with an offset there, which is added to the scores of every tile."""

from __future__ import annotations

from typing import Any, cast

from ...numeric.types import Array
from ..host import HostRows
from ..offset import RowsPlusOffset
from .base import DeviceRows
from .tiled import Tile


class OffsetTile(Tile):
    """A few rows with the offset (rows, k) of their scores."""

    def __init__(self, given: Tile, offset: Any) -> None:
        self.given, self.offset = given, offset

    def scores(self, W: Any) -> Any:
        """Also for several models: weights (m * k, d + 1)."""
        found, k = self.given.scores(W), self.offset.shape[1]
        for first in range(0, len(W), k):
            found[:, first : first + k] += self.offset
        return found

    def products(self, V: Any) -> Any:
        return self.given.scores(V)

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        self.given.add_transpose(coefficients, out)


class DeviceOffsetRows(RowsPlusOffset, DeviceRows):
    """Rows of a device and an offset (n, k), of which the device has a copy."""

    __slots__ = ("_offset", "given", "held")

    given: DeviceRows

    def __init__(self, given: DeviceRows, offset: Array, held: Any = None) -> None:
        super().__init__(given.device, given.residents)
        self.given, self._offset = given, offset
        self.held = self.device.upload(offset) if held is None else held

    def part(self, start: int, stop: int) -> DeviceOffsetRows:
        at, some = slice(start, stop), self.given.part(start, stop)
        return DeviceOffsetRows(cast(DeviceRows, some), self._offset[at], self.held[at])

    @property
    def finite(self) -> bool:
        return self.given.finite

    def home(self) -> HostRows:
        return self.given.home()

    def home_part(self, start: int, stop: int) -> HostRows:
        return self.given.home_part(start, stop)

    @property
    def tile_width(self) -> int:
        return self.given.tile_width

    def tile_rows(self, k: int) -> int:
        return self.given.tile_rows(k)

    def tile(self, start: int, stop: int, single: bool = False) -> Tile:
        return OffsetTile(self.given.tile(start, stop, single), self.held[start:stop])


DeviceRows.offset_rows = DeviceOffsetRows

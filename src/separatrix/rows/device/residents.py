"""Copies on a device of host arrays that accompany its rows in many sums: labels and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...numeric.types import AnyArray
from .device import Device
from .values import DeviceValues

MOST = 6  # arrays of one set of rows: a cross-validation has weights for every fold


class Resident(NamedTuple):
    """An array of the host, which is kept, and its copy."""

    host: AnyArray
    copy: Any

    def copied(self, values: AnyArray) -> Any:
        """The copy of a contiguous part of the array; None if the values are no part of it."""
        size, first = self.host.itemsize, self.host.__array_interface__["data"][0]
        start, rest = divmod(values.__array_interface__["data"][0] - first, size)
        stop = start + len(values)
        if values.dtype != self.host.dtype or rest or start < 0 or stop > len(self.host):
            return None
        return self.copy[start:stop]


class Residents:
    """Arrays that do not change, registered by their source."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.known: list[AnyArray] = []
        self.resident: list[Resident] = []

    def keep(self, values: AnyArray | DeviceValues) -> None:
        """Register an array of which slices will be needed; it is copied when first used."""
        if isinstance(values, DeviceValues):
            return
        if values.ndim == 1 and values.flags.c_contiguous and len(values):
            self.known = [*self.known, values][-MOST:]

    def on_device(self, values: AnyArray | DeviceValues) -> Any:
        if isinstance(values, DeviceValues):
            return values.held
        if not values.flags.c_contiguous or not len(values):
            return self.device.upload(np.ascontiguousarray(values))
        for resident in self.resident:
            if (copy := resident.copied(values)) is not None:
                return copy
        for known in self.known:
            if Resident(known, known).copied(values) is not None:
                resident = Resident(known, self.device.upload(known))
                self.resident = [*self.resident, resident][-MOST:]
                return resident.copied(values)
        return self.device.upload(values)

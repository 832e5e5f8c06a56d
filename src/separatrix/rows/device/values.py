"""A number for every row, such as labels and weights, on a device."""

from __future__ import annotations

from numbers import Number
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ...numeric.types import AnyArray
from .device import Device

T = TypeVar("T")


class DeviceValues(np.lib.mixins.NDArrayOperatorsMixin):
    """An array (n,) of a device in the place of a NumPy array.

    Slices, comparisons with numbers, and the methods below are computed on the device. Everything
    else gets a copy in main memory, which is made when it is first needed. The values never change.
    """

    __slots__ = ("_copy", "device", "held")
    ndim = 1

    def __init__(self, device: Device, held: Any, copy: AnyArray | None = None) -> None:
        self.device, self.held, self._copy = device, held, copy

    @property
    def home(self) -> AnyArray:
        """The copy in main memory."""
        if self._copy is None:
            self._copy = self.device.download(self.held)
            self._copy.flags.writeable = False
        return self._copy

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.held.dtype
        return dtype

    @property
    def shape(self) -> tuple[int]:
        """(n,)."""
        return (len(self),)

    @property
    def size(self) -> int:
        """n."""
        return len(self)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, at: Any) -> Any:
        """Slices, and rows by an array of their numbers, stay on the device."""
        if isinstance(at, slice):
            return DeviceValues(
                self.device, self.held[at], None if self._copy is None else self._copy[at]
            )
        if isinstance(at, np.ndarray) and at.ndim == 1 and at.dtype.kind in "iu":
            return DeviceValues(self.device, np.take(self.held, self.device.upload(at)))
        return self.home[at]

    def astype(self, dtype: DTypeLike, copy: bool = True) -> DeviceValues:
        """Converted values; themselves if they are of this type."""
        same = self.dtype == np.dtype(dtype)
        return self if same else DeviceValues(self.device, self.held.astype(dtype))

    def view(self, dtype: DTypeLike) -> DeviceValues:
        """The same bits as values of another type."""
        return DeviceValues(self.device, self.held.view(dtype))

    def all(self) -> bool:
        """Whether no value is 0."""
        return bool(np.all(self.held != 0))

    def any(self) -> bool:
        """Whether a value is not 0."""
        return bool(np.any(self.held != 0))

    def sum(self) -> Any:
        """The sum, in an order that depends on the number of values and the device."""
        return self.dtype.type(np.sum(self.held).item())

    def min(self) -> Any:
        """The smallest value."""
        return self.dtype.type(self.held.min().item())

    def max(self, initial: float | None = None) -> Any:
        """The largest value, at least ``initial``."""
        if not len(self) and initial is not None:
            return initial
        largest = self.dtype.type(self.held.max().item())
        return largest if initial is None else max(largest, initial)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """The copy in main memory, read-only unless another copy is asked for."""
        home = self.home
        if dtype is not None and np.dtype(dtype) != home.dtype:
            return home.astype(dtype)
        return home.copy() if copy else home

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """With numbers and other values of the device there, else in main memory."""
        here = all(isinstance(each, (DeviceValues, Number)) for each in inputs)
        if method == "__call__" and here and not options and ufunc.nout == 1:
            held = [each.held if isinstance(each, DeviceValues) else each for each in inputs]
            return DeviceValues(self.device, ufunc(*held))
        if any(isinstance(each, DeviceValues) for each in options.get("out", ())):
            del options["out"]  # as these values do not change, ``c *= 2`` makes a new array
        return getattr(ufunc, method)(*map(at_home, inputs), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.home, name)

    def __reduce__(self) -> tuple[Any, tuple[AnyArray]]:
        return np.array, (self.home,)


def device_values(values: object) -> DeviceValues | None:
    """Values of a device that stand for a NumPy array; None for anything else."""
    return values if isinstance(values, DeviceValues) else None


def at_home(values: T) -> T | AnyArray:
    """A NumPy array in place of values of a device; anything else unchanged."""
    return values.home if isinstance(values, DeviceValues) else values

"""Vectors of the size of the weights on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...loops import CurvaturePair
from ...numeric.types import AnyArray, Array
from ..vectors import HOST, VectorSpace
from .device import Device
from .thresholds import HOST_WEIGHTS, HOST_WIDTH

COPIES = 32  # vectors whose copies are kept: more than a step of L-BFGS reports
CONSTANTS = 4  # arrays of the host whose copies are kept: sums over classes and over rows


class DeviceVectors(VectorSpace):
    def __init__(self, device: Device) -> None:
        self.device = device
        self._copies: list[tuple[Any, AnyArray]] = []
        self._constants: list[tuple[AnyArray, Any]] = []

    def unless_few(self, shape: tuple[int, int]) -> VectorSpace:
        """This space, or main memory for weights of which each launch of a kernel takes longer."""
        k, width = shape
        return HOST if k * width <= HOST_WEIGHTS and width <= HOST_WIDTH else self

    def asarray(self, v: Any) -> Any:
        if not isinstance(v, np.ndarray):
            return v
        for known, copy in self._copies:
            if copy is v:
                return known
        return self.device.upload(v)

    def to_host(self, v: Any) -> AnyArray:
        """A copy in main memory, read-only; vectors that stay the same are copied once."""
        if isinstance(v, np.ndarray):
            return v
        if v.ndim == 1:  # a column of weights, made for this call
            return self.device.download(v)
        for known, copy in self._copies:
            if known is v:
                return copy
        copy = self.device.download(v)
        copy.flags.writeable = False
        self._copies = [*self._copies, (v, copy)][-COPIES:]
        return copy

    def kept(self, v: Array) -> Any:
        """A copy that is made once."""
        for known, copy in self._constants:
            if known is v:
                return copy
        copy = self.device.upload(v)
        self._constants = [*self._constants, (v, copy)][-CONSTANTS:]
        return copy

    def two_loop(self, gradient: Any, pairs: Sequence[CurvaturePair]) -> tuple[Any, float]:
        """Nocedal's two-loop recursion (1980), and the slope along the direction."""
        q, steps = gradient.copy(), []
        for pair in reversed(pairs):
            steps.append(float(np.vdot(pair.s, q)) / pair.sy)
            q -= steps[-1] * pair.y
        if pairs:
            q *= pairs[-1].sy / pairs[-1].yy
        for pair, step in zip(pairs, reversed(steps), strict=True):
            q += (step - float(np.vdot(pair.y, q)) / pair.sy) * pair.s
        return -q, -float(np.vdot(gradient, q))

    def solve_triangular(self, factors: Sequence[Any], right: Any, trans: int) -> Any:
        """All classes of a factor together."""
        out = self.device.empty(right.shape)
        if len(factors) == 1:
            columns = self._columns(right, factors[0])
            out[:] = np.transpose(self.device.solve_triangular(factors[0], columns, trans))
            return out
        for c, factor in enumerate(factors):
            columns = self._columns(right[c : c + 1], factor)
            found = self.device.solve_triangular(factor, columns, trans)
            out[c : c + 1] = np.transpose(found)
        return out

    @staticmethod
    def _columns(right: Any, factor: Any) -> Any:
        return np.transpose(right).astype(factor.dtype)

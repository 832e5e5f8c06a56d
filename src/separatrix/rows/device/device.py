"""What rows need of a device: memory, kernels and products of matrices.

Arrays of a device have operators, and follow NumPy's functions, as CuPy's do. :mod:`.gpu` is the
only implementation of the package; the tests have another one without a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...numeric.types import AnyArray
from .kernels import THREADS, CudaKernel


class Device(ABC):
    name: str  # as in ``device="cuda:0"``

    @abstractmethod
    def adopt(self, X: Any) -> Any:
        """An array of another library on this device, not copied."""

    @abstractmethod
    def upload(self, values: AnyArray) -> Any:
        """Copy an array of the host."""

    @abstractmethod
    def download(self, values: Any) -> AnyArray:
        """Copy an array to the host, after all work before is done."""

    @abstractmethod
    def copied_ahead(self, items: Iterable[Sequence[AnyArray]]) -> Iterator[list[Any]]:
        """Copies of the contiguous arrays of each item, made while the item before it is used.

        They are overwritten when the item after the next is asked for.
        """

    def expect_copies(self, values: AnyArray) -> None:  # noqa: B027 (a device may do nothing)
        """Announce an array of the host of which parts will be copied until ``release``."""

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Any:
        """An array without values."""

    @abstractmethod
    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Any:
        """An array of zeros."""

    @abstractmethod
    def aligned(self, values: Any, size: int) -> bool:
        """Whether the address of an array is a multiple of ``size``."""

    @abstractmethod
    def launch(
        self, kernel: CudaKernel, blocks: int, *arguments: Any, threads: int = THREADS
    ) -> None:
        """Run a kernel on arrays, ``np.int32`` and ``np.int64``; None is a null pointer."""

    @abstractmethod
    def resident_blocks(self, kernel: CudaKernel, threads: int) -> int:
        """How many blocks of a kernel all multiprocessors hold at a time."""

    @abstractmethod
    def multiply(
        self,
        a: Any,
        b: Any,
        out: Any,
        *,
        turn_a: bool = False,
        turn_b: bool = False,
        add: bool = False,
    ) -> None:
        """Write the product of two matrices to ``out``, or add it; either may be transposed.

        Matrices of bfloat16 (as uint16) have a product in float32.
        """

    @abstractmethod
    def solve_triangular(self, factor: Any, right: Any, trans: int) -> Any:
        """Solve an upper triangular system for the columns of a matrix."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Bytes that can be allocated."""

    @abstractmethod
    def release(self) -> None:
        """Return unused memory, so that other libraries can allocate it."""

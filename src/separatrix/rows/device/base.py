"""Rows on a device: arguments and results are arrays of the host, sums are made on the device.

Weights may be vectors of the device instead; a sum of their shape is then one, too. Rows are
processed in tiles: a few rows as float64, and their scores for all classes. There is never an array
of all rows times all classes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, cast

import numpy as np

from ...loops import Interrupted, stop_requested
from ...losses import Loss
from ...numeric.tolerances import EPS
from ...numeric.types import AnyArray, Array, Ints
from ..base import Rows
from ..host import HostRows
from ..vectors import VectorSpace
from .curvature import class_curvature, curvature_product, curvature_sum, curved
from .device import Device
from .groups import weight_sums
from .kernels import THREADS, WARP, CudaKernel
from .losses import MARGINS, KernelLoss, kernel_loss
from .own_losses import summed, takes_device_arrays
from .residents import Residents
from .thresholds import START_BYTES
from .tiled import TiledRows
from .values import DeviceValues
from .vectors import DeviceVectors


class DeviceRows(TiledRows):
    __slots__ = ("residents", "vector_space")
    offset_rows: ClassVar[type[DeviceRows]]
    """Rows with an offset: set by offset.py, which imports this file."""
    compiled = True  # a value and gradient of all rows needs no blocks
    on_threads = False  # the device is the only worker
    start_bytes = START_BYTES

    def __init__(self, device: Device, residents: Residents | None = None) -> None:
        super().__init__(device)
        self.residents = Residents(device) if residents is None else residents
        self.vector_space = DeviceVectors(device)

    def with_own_offset(self, offset: Array) -> DeviceRows:
        return self.offset_rows(self, offset)  # type: ignore[arg-type]

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        """On the device, unless there are so few weights that launching kernels takes longer."""
        return self.vector_space.unless_few(shape)

    @property
    def rounding(self) -> float:
        return EPS

    def keep(self, *values: AnyArray | None) -> None:
        for array in values:
            if array is not None:
                self.residents.keep(array)

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether no value is NaN or infinite."""

    @abstractmethod
    def home_part(self, start: int, stop: int) -> HostRows:
        """A copy of some rows in main memory."""

    def home(self) -> HostRows:
        return self.home_part(0, self.shape[0])

    def to_dense(self) -> Array:
        return self.home().to_dense()

    def absolute(self) -> Rows:
        return self.home().absolute()

    def row_products(self) -> Array:
        """From a copy in main memory, of few rows."""
        return self.home().row_products()

    # ---- sums --------------------------------------------------------------------------------

    def value_gradient(
        self,
        y: AnyArray,
        loss: Loss,
        W: Any,
        weight: Array | None = None,
        gradient: Any | None = None,
        curvature: Array | None = None,
        float32_sums: bool = False,
    ) -> tuple[float, float]:
        """See :meth:`Rows.value_gradient`; ``W`` and ``gradient`` may be on the device."""
        if stop_requested():
            raise Interrupted("asked to stop between two reads of the rows")
        known = kernel_loss(loss)
        if known is None:
            return self._with_host_loss(y, loss, W, weight, gradient, curvature)
        if curvature is not None and (known.form != MARGINS or len(W) > 1):
            raise TypeError(f"{loss!r} is not a function of the margin")
        bend = None if curvature is None else self.device.empty((len(y),))
        sums = self._summed(y, known, W, weight, gradient, bend, float32_sums)
        if curvature is not None:
            curvature[:] = self.device.download(bend)
        return sums

    def value_gradient_on_threads(
        self,
        y: AnyArray,
        loss: Loss,
        W: Any,
        weight: Array | None,
        edges: Ints,
        threads: int,
        float32_sums: bool,
    ) -> tuple[float, float, Any]:
        """All rows at once; the gradient is where the weights are."""
        gradient = np.zeros(W.shape) if isinstance(W, np.ndarray) else self.device.zeros(W.shape)
        sums = self.value_gradient(y, loss, W, weight, gradient, None, float32_sums)
        return *sums, gradient

    def _summed(
        self,
        y: AnyArray,
        loss: KernelLoss,
        W: Any,
        weight: Array | None,
        gradient: Any | None,
        curvature: Any | None,
        float32_sums: bool,
    ) -> tuple[float, float]:
        """Tile by tile: scores, losses and derivatives, and their products with the rows."""
        device, k = self.device, len(W)
        on_device, totals = self.on_device(W), self.device.zeros((2,))
        total = None if gradient is None else device.zeros(W.shape)
        labels, weights = self.labels_of(y, k), self.weights_of(weight)
        for at, tile in self.tiles(k, float32_sums):
            scores = tile.scores(on_device)
            rows = at.stop - at.start
            sums = device.empty((rows, 2))
            bend = None if curvature is None else curvature[at]
            self.losses(
                loss, scores, labels[at], None if weights is None else weights[at], sums,
                total is not None, bend,
            )  # fmt: skip
            self.column_sums(sums, totals, add=True)
            if total is not None:
                tile.add_transpose(scores, total)
        if gradient is not None:
            gradient += self._like(total, gradient)
        value, mistakes = device.download(totals).tolist()
        return value, mistakes

    def losses(
        self,
        loss: KernelLoss,
        scores: Any,
        labels: Any,
        weight: Any,
        sums: Any,
        gradient: bool,
        curvature: Any | None = None,
        of: int | None = None,
    ) -> None:
        rows, k = scores.shape
        lanes = 1 if k <= 4 else WARP
        kernel = CudaKernel.of(
            "class_losses", FORM=loss.form, LOSS=loss.margin, LANES=lanes, GRADIENT=int(gradient),
            CURVATURE=int(curvature is not None),
            Score="double" if scores.dtype == np.float64 else "float",
        )  # fmt: skip
        self.device.launch(
            kernel, self.blocks(rows, THREADS // lanes), scores, np.int64(rows), np.int32(k),
            labels, weight, sums, curvature, np.int32(-1 if of is None else of),
        )  # fmt: skip

    def _with_host_loss(
        self,
        y: AnyArray,
        loss: Loss,
        W: Any,
        weight: Array | None,
        gradient: Any | None,
        curvature: Array | None,
    ) -> tuple[float, float]:
        """A loss without kernels: its functions get the scores of a tile, if possible there."""
        own = takes_device_arrays(self.device, loss, len(W))
        if own is not None:
            return summed(self, y, own, W, weight, gradient, curvature)
        given = W if isinstance(W, np.ndarray) else self.device.download(W)
        found = np.zeros(given.shape)
        value = mistakes = 0.0
        size = self.tile_rows(len(W))
        for start in range(0, self.shape[0], size):
            at = slice(start, min(start + size, self.shape[0]))
            some = None if weight is None else weight[at]
            bend = None if curvature is None else curvature[at]
            sums = Rows.value_gradient(
                self.part(at.start, at.stop),
                y[at],
                loss,
                given,
                some,
                None if gradient is None else found,
                bend,
            )
            value, mistakes = value + sums[0], mistakes + sums[1]
        if gradient is not None:
            gradient += found if isinstance(gradient, np.ndarray) else self.device.upload(found)
        return value, mistakes

    def class_curvature(
        self, y: AnyArray, loss: Loss, W: Any, weight: Array | None, of: int | None
    ) -> Array | None:
        """See :meth:`Rows.class_curvature`; by a kernel, on the device."""
        known = curved(loss, W)
        if known is None:
            return None
        if len(W) == 1:
            bend = self.curvatures(y, known, W, weight)
        else:
            bend = class_curvature(self, y, known, W, weight, of)
        return cast(Array, DeviceValues(self.device, bend))

    def curvatures(self, y: AnyArray, loss: KernelLoss, W: Any, weight: Array | None) -> Any:
        """Weight times second derivative of every row for two classes: (n,) on the device."""
        bend = self.device.empty((len(y),))
        self._summed(y, loss, W, weight, None, bend, False)
        return bend

    def curvature_product(
        self, y: AnyArray, loss: Loss, W: Any, V: Any, weight: Array | None
    ) -> Any | None:
        """See :meth:`Rows.curvature_product`; by kernels."""
        known = curved(loss, W)
        if known is None:
            return None
        if len(W) == 1:
            bend, out = self.curvatures(y, known, W, weight), self.device.zeros(V.shape)
            self.hessian_product(cast(Array, DeviceValues(self.device, bend)), V, out)
            return self._like(out, V)
        return self._like(curvature_product(self, y, known, W, V, weight), V)

    def curvature_sum(self, y: AnyArray, loss: Loss, W: Any, weight: Array | None) -> Array | None:
        """See :meth:`Rows.curvature_sum`; by kernels."""
        known = curved(loss, W)
        if known is None:
            return None
        if len(W) == 1:
            bend = DeviceValues(self.device, self.curvatures(y, known, W, weight))
            return np.full((1, 1), bend.sum())
        return curvature_sum(self, y, known, W, weight)

    def scores(self, W: Any, out: Array | None = None) -> Array:
        """``(rows, 1) W'``, copied to main memory."""
        found = np.empty((self.shape[0], len(W))) if out is None else out
        on_device = self.on_device(W)
        for at, tile in self.tiles(len(W)):
            found[at] = self.device.download(tile.scores(on_device))
        return found

    def transpose_product(self, coefficients: Array, out: Array) -> None:
        """Add ``coefficients' (rows, 1)``, for coefficients of main memory."""
        total = self.device.zeros(out.shape)
        for at, tile in self.tiles(len(out)):
            some = np.ascontiguousarray(coefficients[at], dtype=np.float64)
            tile.add_transpose(self.device.upload(some), total)
        out += self.device.download(total)

    def weight_sums(self, weight: Array | None, group: Ints, groups: int) -> Array:
        groups_of = self.residents.on_device(group.astype(np.int64, copy=False))
        return weight_sums(self, groups_of, self.weights_of(weight), groups)

    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        """From copies of a tile at a time in main memory."""
        high, low = np.empty((2, self.shape[0], len(W)))
        for at, rows in self._home_parts(len(W)):
            high[at], low[at] = rows.compensated_scores(W)
        return high, low

    def compensated_transpose_product(self, coefficients: Array) -> tuple[Array, Array]:
        """From copies of a tile at a time; the rounding of their sums is kept, too."""
        high, low = np.zeros((2, coefficients.shape[1], self.shape[1] + 1))
        for at, rows in self._home_parts(coefficients.shape[1]):
            part, rest = rows.compensated_transpose_product(np.ascontiguousarray(coefficients[at]))
            total = high + part
            turn = total - high
            low += (high - (total - turn)) + (part - turn) + rest  # Knuth's exact sum
            high = total
        total = high + low
        return total, low - (total - high)

    def _home_parts(self, k: int) -> Iterator[tuple[slice, HostRows]]:
        n, size = self.shape[0], self.tile_rows(k)
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            yield at, self.home_part(at.start, at.stop)

    # ---- weights and vectors -----------------------------------------------------------------

    def labels_of(self, y: AnyArray, k: int) -> Any:
        """Labels on the device, of the type that the kernels read."""
        return self.residents.on_device(y.astype(np.float64 if k == 1 else np.int64, copy=False))

    def weights_of(self, weight: Array | None) -> Any:
        return None if weight is None else self.residents.on_device(weight)

    def on_device(self, W: Any) -> Any:
        """Weights as an array of the device in C order."""
        return self.device.upload(W) if isinstance(W, np.ndarray) else W

    def _like(self, found: Any, given: Any) -> Any:
        """A vector of the device where another vector is."""
        return self.device.download(found) if isinstance(given, np.ndarray) else found

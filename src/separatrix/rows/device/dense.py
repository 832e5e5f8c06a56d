"""Dense rows on a device: a fused pass for two classes, products of matrices for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ...numeric.standardization import Standardization
from ...numeric.types import AnyArray, Array, Ints
from ..dense import DenseRows
from .base import DeviceRows
from .device import Device
from .groups import members
from .kernels import MOST_BLOCKS, WARP, CudaKernel
from .losses import MARGINS, KernelLoss
from .residents import Residents
from .team import Team
from .thresholds import MOMENTS_PER_LANE
from .tiled import Tile
from .tiles import DenseTile, SplitTile

PADDING = 8  # rows of a tile are multiples of this many numbers: products are faster
VALUES = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 17}
"""How kernels number the types of values. Bfloat16 is held as its bits, uint16."""


class DeviceDenseRows(DeviceRows):
    """Rows in an array (n, d) of a device, in C order; bfloat16 as uint16."""

    __slots__ = ("array", "kind")

    def __init__(
        self, device: Device, array: Any, kind: str, residents: Residents | None = None
    ) -> None:
        super().__init__(device, residents)
        self.array, self.kind = array, kind

    # ---- storage -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.array.shape
        return n, d

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, or float32 for all shorter types."""
        return np.dtype(np.float64 if self.kind == "float64" else np.float32)

    @property
    def value_bytes(self) -> int:
        return int(self.array.dtype.itemsize)

    @property
    def n_values(self) -> int:
        n, d = self.shape
        return n * d

    @property
    def nbytes(self) -> int:
        return self.n_values * self.value_bytes

    @property
    def row_bytes(self) -> float:
        return float(self.value_bytes * self.shape[1])

    def _with(self, array: Any, residents: Residents | None = None) -> DeviceDenseRows:
        return DeviceDenseRows(self.device, array, self.kind, residents)

    def part(self, start: int, stop: int) -> DeviceDenseRows:
        return self._with(self.array[start:stop], self.residents)

    def take(self, at: Ints) -> DeviceDenseRows:
        return self._with(np.take(self.array, self.device.upload(at), axis=0))

    def take_features(self, at: Ints) -> DeviceDenseRows:
        return self._with(np.take(self.array, self.device.upload(at), axis=1), self.residents)

    @classmethod
    def concatenated(cls, parts: Sequence[DeviceDenseRows]) -> DeviceDenseRows:
        return parts[0]._with(np.concatenate([part.array for part in parts]))

    def features_as_dense(self, at: Ints) -> Array:
        return self.take_features(at).home().to_dense()

    def home_part(self, start: int, stop: int) -> DenseRows:
        """A copy in main memory: float64, or float32 for shorter types."""
        some = self.array[start:stop]
        if self.kind in ("float16", "bfloat16"):
            n, d = some.shape
            out = self.device.empty((n, d), np.float32)
            columns = self._with(some)._standardize(None, None, None, out, d)
            return DenseRows(self.device.download(columns))
        return DenseRows(self.device.download(some))

    # ---- tiles -------------------------------------------------------------------------------

    @property
    def tile_width(self) -> int:
        """Features and the bias, padded."""
        return -(-(self.shape[1] + 1) // PADDING) * PADDING

    def tile(self, start: int, stop: int, single: bool = False) -> Tile:
        split = single and self.kind != "float64"
        return (SplitTile if split else DenseTile)(self, start, stop)

    def padded(self, W: Any, dtype: DTypeLike) -> Any:
        """Weights of the device, padded with zeros."""
        out = self.device.zeros((len(W), self.tile_width), dtype)
        out[:, : W.shape[1]] = W
        return out

    def standardized_on_device(
        self,
        start: int,
        stop: int,
        standardization: Any = None,
        factor: Any = None,
        root: bool = False,
        power: int = 1,
        dtype: DTypeLike = np.float64,
    ) -> Any:
        """``((x - mean, 1) / scale)^power`` times the row's factor, or its root: padded."""
        out = self.device.empty((stop - start, self.tile_width), dtype)
        mean, scale = (None, None) if standardization is None else standardization
        some = self.part(start, stop)
        return some._standardize(mean, scale, factor, out, self.tile_width, root, power)

    def _standardize(
        self,
        mean: Any,
        scale: Any,
        factor: Any,
        out: Any,
        width: int,
        root: bool = False,
        power: int = 1,
    ) -> Any:
        n, d = self.shape
        kernel = CudaKernel.of(
            "standardize_rows", VALUES=VALUES[self.kind], ROOT=int(root), POWER=power,
            Out="double" if out.dtype == np.float64 else "float",
        )  # fmt: skip
        self.device.launch(
            kernel, min(self.blocks(n * width), MOST_BLOCKS), self.array, np.int64(n),
            np.int32(d), mean, scale, factor, out, np.int32(width),
        )  # fmt: skip
        return out

    # ---- sums --------------------------------------------------------------------------------

    @property
    def team(self) -> Team | None:
        """How the fused pass reads these rows; None if they are too wide for it."""
        return Team.of(self.shape[1], self.value_bytes, self.device.aligned(self.array, 16))

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
        """One read for two classes, else tile by tile."""
        team = self.team
        if len(W) > 1 or loss.form != MARGINS or team is None or not self.shape[0]:
            return super()._summed(y, loss, W, weight, gradient, curvature, float32_sums)
        single = float32_sums and self.kind != "float64"
        sums = self._pass(
            team, W, gradient is not None, labels=y, weight=weight, curvature=curvature,
            loss=loss.margin, single=single,
        )  # fmt: skip
        at_home = self.device.download(sums if isinstance(gradient, np.ndarray) else sums[-2:])
        if gradient is not None:
            gradient[0] += (at_home if isinstance(gradient, np.ndarray) else sums)[: W.shape[1]]
        value, mistakes = at_home[-2:].tolist()
        return value, mistakes

    def _pass(
        self,
        team: Team,
        W: Any,
        gradient: bool,
        *,
        labels: AnyArray | None = None,
        weight: Array | None = None,
        given: Any = None,
        curvature: Any = None,
        loss: int = 0,
        single: bool = False,
    ) -> Any:
        """The gradient, losses and mistakes, (d + 3,) on the device, in one read of the rows."""
        n, d = self.shape
        kernel = CudaKernel.of(
            "dense_pass", VALUES=VALUES[self.kind], PACK=team.pack, PER_LANE=team.per_lane,
            WARPS=team.warps, ROWS=team.rows, TEAMS=team.per_block, STAGES=team.stages,
            RESIDENT=team.resident, FULL=int(team.full),
            Sum="float" if single else "double", LOSS=loss, MODE=int(given is not None),
            GRADIENT=int(gradient), CURVATURE=int(curvature is not None),
        )  # fmt: skip
        threads = WARP * team.warps * team.per_block
        most = self.blocks(n, team.rows * team.per_block)
        blocks = min(self.device.resident_blocks(kernel, threads), most)
        partials = self.device.empty((blocks, d + 3))
        self.device.launch(
            kernel, blocks, self.array, np.int64(n), np.int32(d), self.on_device(W),
            None if labels is None else self.labels_of(labels, 1), self.weights_of(weight),
            given, partials, curvature,
            threads=threads,
        )  # fmt: skip
        sums = self.device.empty((d + 3,))
        self.column_sums(partials, sums, add=False)
        return sums

    def hessian_product(self, curvature: Array, V: Any, out: Any) -> None:
        """In one read for each class, if rows fit into registers."""
        team = self.team
        if team is None or not self.shape[0]:
            super().hessian_product(curvature, V, out)
            return
        given = self.weights_of(curvature)
        for c in range(len(V)):
            sums = self._pass(team, V[c : c + 1], True, given=given)[: V.shape[1]]
            out[c] += self._like(sums, out)

    def squared_norms(self, out: Array | None = None) -> Array:
        """From squares of a tile at a time."""
        n, d = self.shape
        found = np.empty(n) if out is None else out
        ones = np.zeros((1, self.tile_width))
        ones[0, :d] = 1.0
        right = self.device.upload(ones)
        for start in range(0, n, self.tile_rows(1)):
            stop = min(start + self.tile_rows(1), n)
            squares = self.standardized_on_device(start, stop, power=2)
            sums = self.device.empty((stop - start, 1))
            self.device.multiply(squares, right, sums, turn_b=True)
            found[start:stop] = self.device.download(sums)[:, 0]
        return found

    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        """In one read for two groups, else from products of a tile with the weights of each."""
        n, d = self.shape
        if self.team is not None and n and (group is None or len(sum) == 2):
            both, second, powers = self._two_moments(weight, group, shift)
            squares += powers
            sum += both if group is None else np.array([both - second, second])
            return
        groups = 1 if group is None else len(sum)
        mean = None if shift is None else self.device.upload(shift)
        on_device = self.residents.on_device
        groups_of = None if group is None else on_device(group.astype(np.int64, copy=False))
        weights = None if weight is None else on_device(weight)
        sums = self.device.zeros((groups, self.tile_width))
        powers = self.device.zeros((1, self.tile_width))
        size = self.tile_rows(groups)
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            some = None if weights is None else weights[at]
            z = self.standardized_on_device(at.start, at.stop, (mean, None))
            group_of = None if groups_of is None else groups_of[at]
            member = members(self.device, group_of, some, at.stop - at.start, groups)
            self.device.multiply(member, z, sums, turn_a=True, add=True)
            z = self.standardized_on_device(at.start, at.stop, (mean, None), power=2)
            member = members(self.device, None, some, at.stop - at.start, 1)
            self.device.multiply(member, z, powers, turn_a=True, add=True)
        found = self.device.download(sums)[:, :d]
        sum += found[0] if group is None else found
        squares += self.device.download(powers)[0, :d]

    def _two_moments(self, weight: Array | None, group: Ints | None, shift: Array | None) -> Array:
        """Sums over all rows, over those of group 1, and of squares: (3, d)."""
        n, d = self.shape
        team = Team.of(d, self.value_bytes, self.device.aligned(self.array, 16), MOMENTS_PER_LANE)
        assert team is not None
        on_device = self.residents.on_device
        kernel = CudaKernel.of(
            "dense_moments", VALUES=VALUES[self.kind], PACK=team.pack, PER_LANE=team.per_lane,
            WARPS=team.warps, ROWS=team.rows, TEAMS=team.per_block,
        )  # fmt: skip
        threads = WARP * team.warps * team.per_block
        most = self.blocks(n, team.rows * team.per_block)
        blocks = min(self.device.resident_blocks(kernel, threads), most)
        partials = self.device.empty((blocks * team.per_block, 3 * d))
        self.device.launch(
            kernel, blocks, self.array, np.int64(n), np.int32(d),
            None if shift is None else self.device.upload(shift),
            None if weight is None else on_device(weight),
            None if group is None else on_device(group.astype(np.int64, copy=False)), partials,
            threads=threads,
        )  # fmt: skip
        sums = self.device.empty((3 * d,))
        self.column_sums(partials, sums, add=False)
        return self.device.download(sums).reshape(3, d)

    def gram(
        self,
        weight: Array,
        standardization: Standardization,
        dtype: DTypeLike = np.float64,
    ) -> Array:
        """By products of tiles, in float64."""
        n, d = self.shape
        width, root = self.tile_width, n == 0 or float(weight.min()) >= 0.0
        numbers = tuple(map(self.device.upload, (standardization.mean, standardization.scale)))
        factor = self.weights_of(weight)
        total, size = self.device.zeros((width, width)), self.tile_rows(0)
        for start in range(0, n, size):
            stop = min(start + size, n)
            z = self.standardized_on_device(start, stop, numbers, factor[start:stop], root)
            plain = z if root else self.standardized_on_device(start, stop, numbers)
            self.device.multiply(z, plain, total, turn_a=True, add=True)
        found: Array = self.device.download(total)[: d + 1, : d + 1].copy()
        return found

    def standardized(
        self, standardization: Standardization, dtype: DTypeLike = np.float64
    ) -> Array:
        """``(x - mean, 1) / scale`` of a few rows, in main memory."""
        return self.home().standardized(standardization, dtype)

    @property
    def finite(self) -> bool:
        found, count = self.device.zeros((1,)), self.n_values
        kernel = CudaKernel.of("not_finite", VALUES=VALUES[self.kind])
        blocks = min(self.blocks(count), MOST_BLOCKS)
        self.device.launch(kernel, blocks, self.array, np.int64(count), found)
        return not self.device.download(found)[0]

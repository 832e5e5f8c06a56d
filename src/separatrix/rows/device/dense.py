"""Dense rows on a device: a fused pass for two classes, products of matrices for more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ...numeric.standardization import Standardization
from ...numeric.types import AnyArray, Array, Ints
from ..dense import DenseRows
from .base import DeviceRows, Tile
from .device import Device
from .kernels import WARP, CudaKernel
from .losses import MARGINS, KernelLoss
from .residents import Residents
from .thresholds import (
    AHEAD_BYTES,
    MOMENTS_PER_LANE,
    MOST_PER_LANE,
    REGISTERS,
    RESIDENT_PER_LANE,
    SHARED_BYTES,
)

PADDING = 8  # rows of a tile are multiples of this many numbers: products are faster
VALUES = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 17}
"""How kernels number the types of values. Bfloat16 is held as its bits, uint16."""
MOST_BLOCKS = 1 << 16  # of a kernel whose threads take several values


class Team(NamedTuple):
    """How ``dense_pass`` shares rows among lanes."""

    pack: int
    per_lane: int
    warps: int
    rows: int
    full: bool
    stages: int
    """Groups of rows that are read ahead."""

    @classmethod
    def of(
        cls, d: int, size: int, aligned: bool, most: int = MOST_PER_LANE, registers: int = REGISTERS
    ) -> Team | None:
        """For d features of ``size`` bytes; None if a row does not fit into registers."""
        pack = 1
        while aligned and 2 * pack * size <= 16 and d % (2 * pack) == 0 and 2 * pack * WARP <= d:
            pack *= 2
        for warps in (1, 2, 4, 8):
            per_lane = -(-d // (WARP * warps * pack)) * pack
            if per_lane <= (most if warps < 8 else 2 * MOST_PER_LANE):
                held = per_lane * (2 if size == 8 else 1)
                rows = 8
                while rows > 1 and rows * held > registers:
                    rows //= 2
                group = rows * per_lane * size * WARP * (4 if warps == 1 else warps)
                stages = 2 if 2 * group <= AHEAD_BYTES else int(group <= SHARED_BYTES)
                return cls(pack, per_lane, warps, rows, per_lane * WARP * warps == d, stages)
        return None

    @property
    def resident(self) -> int:
        """Blocks that a multiprocessor must hold: 4 if they are small, to hide latency."""
        return 4 if self.warps == 1 and self.per_lane <= RESIDENT_PER_LANE else 1

    @property
    def per_block(self) -> int:
        """Teams of a block: one if its warps wait for each other."""
        return 4 if self.warps == 1 else 1


class DenseTile(Tile):
    """Rows (x, 1) in float64, padded with columns of zeros."""

    def __init__(self, rows: DeviceDenseRows, start: int, stop: int) -> None:
        self.rows, self.device = rows, rows.device
        self.z = rows.standardized_on_device(start, stop)

    def scores(self, W: Any) -> Any:
        """By one product; the weights are padded, too."""
        out = self.device.empty((self.z.shape[0], len(W)))
        self.device.multiply(self.z, self.rows.padded(W, np.float64), out, turn_b=True)
        return out

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        """By one product."""
        padded = self.device.empty((len(out), self.z.shape[1]))
        self.device.multiply(coefficients, self.z, padded, turn_a=True)
        out += padded[:, : out.shape[1]]


class SplitTile(Tile):
    """Rows (x, 1) as sums of two bfloat16: products keep about five digits, ten times as fast."""

    def __init__(self, rows: DeviceDenseRows, start: int, stop: int) -> None:
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
        """Number of rows and of features."""
        n, d = self.array.shape
        return n, d

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, or float32 for all shorter types."""
        return np.dtype(np.float64 if self.kind == "float64" else np.float32)

    @property
    def value_bytes(self) -> int:
        """Bytes of a value."""
        return int(self.array.dtype.itemsize)

    @property
    def n_values(self) -> int:
        """Number of values."""
        n, d = self.shape
        return n * d

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return self.n_values * self.value_bytes

    @property
    def row_bytes(self) -> float:
        """Bytes of a row."""
        return float(self.value_bytes * self.shape[1])

    def _with(self, array: Any, residents: Residents | None = None) -> DeviceDenseRows:
        return DeviceDenseRows(self.device, array, self.kind, residents)

    def part(self, start: int, stop: int) -> DeviceDenseRows:
        """A view of some rows."""
        return self._with(self.array[start:stop], self.residents)

    def take(self, at: Ints) -> DeviceDenseRows:
        """A copy of some rows on the device."""
        return self._with(np.take(self.array, self.device.upload(at), axis=0))

    def take_features(self, at: Ints) -> DeviceDenseRows:
        """A copy of some features on the device."""
        return self._with(np.take(self.array, self.device.upload(at), axis=1), self.residents)

    @classmethod
    def concatenated(cls, parts: Sequence[DeviceDenseRows]) -> DeviceDenseRows:
        """Concatenate rows of one device."""
        return parts[0]._with(np.concatenate([part.array for part in parts]))

    def features_as_dense(self, at: Ints) -> Array:
        """Some features, copied to main memory."""
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
        """Rows start, ..., stop - 1."""
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
            member = self._members(None if groups_of is None else groups_of[at], some, at, groups)
            self.device.multiply(member, z, sums, turn_a=True, add=True)
            z = self.standardized_on_device(at.start, at.stop, (mean, None), power=2)
            member = self._members(None, some, at, 1)
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

    def _members(self, group: Any, weight: Any, at: slice, groups: int) -> Any:
        """The weight of each row in the column of its group."""
        rows = at.stop - at.start
        out = self.device.empty((rows, groups))
        self.device.launch(
            CudaKernel.of("group_weights"), min(self.blocks(rows * groups), MOST_BLOCKS), group,
            weight, np.int64(rows), np.int32(groups), out,
        )  # fmt: skip
        return out

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
        """Whether no value is NaN or infinite."""
        found, count = self.device.zeros((1,)), self.n_values
        kernel = CudaKernel.of("not_finite", VALUES=VALUES[self.kind])
        blocks = min(self.blocks(count), MOST_BLOCKS)
        self.device.launch(kernel, blocks, self.array, np.int64(count), found)
        return not self.device.download(found)[0]

"""Sparse rows on a device, with one transposed index for the products by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...losses import Loss
from ...numeric.standardization import Standardization
from ...numeric.types import AnyArray, Array, Ints
from ..base import Storage
from ..csr import CsrRows
from .base import DeviceRows
from .dense import VALUES
from .device import Device
from .kernels import MOST_BLOCKS, THREADS, WARP, CudaKernel
from .own_losses import sums_of_pairs, takes_device_arrays
from .residents import Residents
from .thresholds import COEFFICIENT_BYTES, FREE_SHARE, SEGMENT, SORT_BYTES, SORTED_BYTES
from .tiled import Tile


class Transposed(NamedTuple):
    """The entries of some rows column by column, copied; segments lie in one column."""

    values: Any
    row_of: Any
    edges: Any
    first_segment: Any
    segments: int

    @classmethod
    def of(cls, rows: DeviceCsrRows, start: int, stop: int) -> Transposed:
        """For rows start, ..., stop - 1, whose numbers begin with 0."""
        device, d = rows.device, rows.n_features
        at = slice(int(rows.indptr[start]), int(rows.indptr[stop]))
        count = at.stop - at.start
        row_of = device.empty((count,), np.int32)
        device.launch(
            CudaKernel.of("csr_row_numbers"), rows.blocks(stop - start, THREADS // WARP),
            rows.offsets[start : stop + 1], np.int64(stop - start), row_of,
        )  # fmt: skip
        order = np.argsort(rows.indices[at], kind="stable")
        row_of, values = np.take(row_of, order), np.take(rows.data[at], order)
        del order
        counts = np.bincount(rows.indices[at], minlength=d).astype(np.int64)
        ends, first = np.cumsum(counts), device.zeros((d + 1,), np.int64)
        first[1:] = np.cumsum(-(-counts // SEGMENT))
        segments = int(device.download(first[d:])[0])
        edges = device.empty((segments + 1,), np.int64)
        device.launch(
            CudaKernel.of("column_segments", SEGMENT=SEGMENT), rows.blocks(d), ends, first,
            np.int32(d), edges,
        )  # fmt: skip
        return cls(values, row_of, edges, first.astype(np.int32), segments)


class CsrTile(Tile):
    """Some sparse rows."""

    def __init__(self, rows: DeviceCsrRows, start: int, stop: int) -> None:
        self.rows, self.start, self.stop = rows, start, stop

    def scores(self, W: Any) -> Any:
        """A few lanes for each row."""
        rows, count = self.rows, self.stop - self.start
        out = rows.device.empty((count, len(W)))
        kernel = CudaKernel.of(
            "csr_scores", VALUES=VALUES[rows.kind], Index=rows.index_type, LANES=rows.lanes
        )
        rows.device.launch(
            kernel, rows.blocks(count, THREADS // rows.lanes), rows.data, rows.indices,
            rows.offsets[self.start : self.stop + 1], np.int64(count), np.int32(rows.n_features),
            W, np.int32(len(W)), out,
        )  # fmt: skip
        return out

    def add_transpose(self, coefficients: Any, out: Any) -> None:
        """By the transposed index; the bias is summed over the rows."""
        self.rows.add_columns(self.start, self.stop, coefficients, out, power=1)


class DeviceCsrRows(DeviceRows):
    """Sparse rows in arrays of a device; ``indptr`` is on the host, and on the device."""

    __slots__ = ("data", "indices", "indptr", "kind", "n_features", "offsets", "turned")
    storage: Storage = "csr"

    def __init__(
        self,
        device: Device,
        data: Any,
        indices: Any,
        indptr: Ints,
        n_features: int,
        kind: str,
        residents: Residents | None = None,
        turned: dict[tuple[int, int], Transposed] | None = None,
        offsets: Any | None = None,
    ) -> None:
        super().__init__(device, residents)
        self.data, self.indices, self.kind = data, indices, kind
        self.indptr, self.n_features = indptr.astype(np.int64, copy=False), n_features
        self.offsets = device.upload(self.indptr) if offsets is None else offsets
        self.turned: dict[tuple[int, int], Transposed] = {} if turned is None else turned

    # ---- storage -----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @property
    def index_type(self) -> str:
        """In the language of the kernels."""
        return "int" if self.indices.dtype == np.int32 else "long long"

    @property
    def lanes(self) -> int:
        """Threads that share a row."""
        return 8 if self.row_values <= 64 else WARP

    @property
    def n_values(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def nbytes(self) -> int:
        return self.n_values * int(self.data.dtype.itemsize + self.indices.dtype.itemsize)

    @property
    def row_values(self) -> float:
        return self.n_values / max(self.shape[0], 1)

    @property
    def row_bytes(self) -> float:
        return self.nbytes / max(self.shape[0], 1)

    def part(self, start: int, stop: int) -> DeviceCsrRows:
        """Some rows: only the offsets change."""
        if (start, stop) == (0, self.shape[0]):
            return self
        return DeviceCsrRows(
            self.device, self.data, self.indices, self.indptr[start : stop + 1], self.n_features,
            self.kind, self.residents, self.turned, self.offsets[start : stop + 1],
        )  # fmt: skip

    def take(self, at: Ints) -> DeviceCsrRows:
        sizes = np.diff(self.indptr)[at]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.indptr[at] - indptr[:-1], sizes) + np.arange(indptr[-1])
        some = self.device.upload(entries)
        return DeviceCsrRows(
            self.device, np.take(self.data, some), np.take(self.indices, some), indptr,
            self.n_features, self.kind,
        )  # fmt: skip

    @classmethod
    def concatenated(cls, parts: Sequence[DeviceCsrRows]) -> DeviceCsrRows:
        first = parts[0]
        at = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in parts]
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        return cls(
            first.device,
            np.concatenate([part.data[some] for part, some in zip(parts, at, strict=True)]),
            np.concatenate([part.indices[some] for part, some in zip(parts, at, strict=True)]),
            np.concatenate([[0], np.cumsum(lengths)]), first.n_features, first.kind,
        )  # fmt: skip

    def home_part(self, start: int, stop: int) -> CsrRows:
        indptr = self.indptr[start : stop + 1]
        at = slice(int(indptr[0]), int(indptr[-1]))
        indices = self.device.download(self.indices[at])
        offsets = (indptr - indptr[0]).astype(indices.dtype)
        return CsrRows(self.device.download(self.data[at]), indices, offsets, self.n_features)

    def take_features(self, at: Ints) -> CsrRows:
        return self.home_part(0, self.shape[0]).take_features(at)

    def features_as_dense(self, at: Ints) -> Array:
        return self.home_part(0, self.shape[0]).features_as_dense(at)

    # ---- sums --------------------------------------------------------------------------------

    def tile_rows(self, k: int) -> int:
        """Few enough rows that coefficients stay in the cache and entries can be sorted."""
        free = max(1 << 20, self.device.free_bytes() // FREE_SHARE)
        budget = min(SORTED_BYTES, 1 << (free.bit_length() - 1))
        sorted_rows = budget / (SORT_BYTES * max(self.row_values, 1.0) + 8 * (k + 4))
        return max(1, int(min(sorted_rows, COEFFICIENT_BYTES / (8 * k))))

    def tile(self, start: int, stop: int, single: bool = False) -> CsrTile:
        """Rows start, ..., stop - 1; products are always in float64."""
        return CsrTile(self, start, stop)

    def add_columns(self, start: int, stop: int, coefficients: Any, out: Any, power: int) -> None:
        """Add ``coefficients' (rows^power, 1)`` of some rows to (k, d + 1)."""
        device, k = self.device, coefficients.shape[1]
        turned = self._turned(start, stop)
        if turned.segments:
            sums = device.empty((turned.segments, k))
            kernel = CudaKernel.of("csr_transpose", VALUES=VALUES[self.kind], POWER=power)
            device.launch(
                kernel, self.blocks(turned.segments, THREADS // WARP), turned.values,
                turned.row_of, turned.edges, np.int64(turned.segments), coefficients, np.int32(k),
                sums,
            )  # fmt: skip
            device.launch(
                CudaKernel.of("column_sums"), self.blocks(self.n_features * k), sums,
                turned.first_segment, np.int32(self.n_features), np.int32(k), out,
            )  # fmt: skip
        bias = device.empty((k,))
        self.column_sums(coefficients, bias, add=False)
        out[:, -1] += bias

    def _turned(self, start: int, stop: int) -> Transposed:
        """The transposed index of some rows; those of overlapping rows are dropped."""
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        if (first, last) not in self.turned:
            for known in list(self.turned):
                if known[0] < last and first < known[1]:
                    del self.turned[known]
            self.turned[first, last] = Transposed.of(self, start, stop)
        return self.turned[first, last]

    def squared_norms(self, out: Array | None = None) -> Array:
        """By a kernel, copied to main memory."""
        n = self.shape[0]
        found, norms = np.empty(n) if out is None else out, self.device.empty((n,))
        kernel = CudaKernel.of("csr_norms", VALUES=VALUES[self.kind], LANES=self.lanes)
        self.device.launch(
            kernel, self.blocks(n, THREADS // self.lanes), self.data, self.offsets, np.int64(n),
            norms,
        )  # fmt: skip
        found[:] = self.device.download(norms)
        return found

    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        """By a kernel, copied to main memory."""
        high, low = self._exact_scores(W)
        return self.device.download(high), self.device.download(low)

    def exact_sums(
        self,
        y: AnyArray,
        loss: Loss,
        losses: Callable[[AnyArray, Array, Array], Array],
        W: Array,
        weight: Array | None,
    ) -> tuple[float, float] | None:
        """On the device, for two classes, unless a score overflows."""
        if takes_device_arrays(self.device, loss, len(W)) is None:
            return None
        high, low = self._exact_scores(W)
        if not (np.all(np.isfinite(high)) and np.all(np.isfinite(low))):
            return None
        return sums_of_pairs(self, y, losses, high, low, weight)

    def _exact_scores(self, W: Any) -> tuple[Any, Any]:
        shape = (self.shape[0], len(W))
        high, low = self.device.empty(shape), self.device.empty(shape)
        kernel = CudaKernel.of(
            "csr_exact_scores", VALUES=VALUES[self.kind], Index=self.index_type, LANES=self.lanes
        )
        self.device.launch(
            kernel, self.blocks(shape[0], THREADS // self.lanes), self.data, self.indices,
            self.offsets, np.int64(shape[0]), np.int32(self.n_features), self.on_device(W),
            np.int32(len(W)), high, low,
        )  # fmt: skip
        return high, low

    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        """By the transposed index; sparse rows are not shifted."""
        d = self.n_features
        groups = 1 if group is None else len(sum)
        on_device = self.residents.on_device
        groups_of = None if group is None else on_device(group.astype(np.int64, copy=False))
        weights = None if weight is None else on_device(weight)
        sums, powers = self.device.zeros((groups, d + 1)), self.device.zeros((1, d + 1))
        for at, _ in self.tiles(groups):
            of_rows = None if groups_of is None else groups_of[at]
            some = None if weights is None else weights[at]
            for group_of, out, power in ((of_rows, sums, 1), (None, powers, 2)):
                member = self.device.empty((at.stop - at.start, len(out)))
                self.device.launch(
                    CudaKernel.of("group_weights"),
                    min(self.blocks(member.shape[0] * len(out)), MOST_BLOCKS), group_of, some,
                    np.int64(member.shape[0]), np.int32(len(out)), member,
                )  # fmt: skip
                self.add_columns(at.start, at.stop, member, out, power)
        found = self.device.download(sums)[:, :d]
        sum += found[0] if group is None else found
        squares += self.device.download(powers)[0, :d]

    def gram(
        self, weight: Array, standardization: Standardization, dtype: Any = np.float64
    ) -> Array:
        """From copies of a tile at a time in main memory."""
        total = np.zeros((self.n_features + 1, self.n_features + 1))
        for at, rows in self._home_parts(1):
            total += rows.gram(np.ascontiguousarray(weight[at]), standardization, dtype)
        return total

    def sums_stored_alone(self, standardization: Standardization) -> bool:
        """As for rows in main memory, by a copy of a few."""
        rows: CsrRows = self.home_part(0, min(self.shape[0], THREADS))
        return rows.sums_stored_alone(standardization)

    def add_gram(self, weight: Array, standardization: Standardization, out: Array) -> None:
        out += self.gram(weight, standardization)

    @property
    def finite(self) -> bool:
        found, count = self.device.zeros((1,)), len(self.data)
        kernel = CudaKernel.of("not_finite", VALUES=VALUES[self.kind])
        blocks = min(self.blocks(count), MOST_BLOCKS)
        self.device.launch(kernel, blocks, self.data, np.int64(count), found)
        return not self.device.download(found)[0]

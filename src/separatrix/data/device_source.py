"""Sources whose rows are on a device: moved there before a fit, or copied there in every sum."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..numeric.tolerances import EPS
from ..numeric.types import AnyArray, Array, Ints
from ..rows import CsrRows, HostRows, VectorSpace, host_rows_of, rows_of, with_offset
from ..rows.device import Device, DeviceCsrRows, DeviceDenseRows, DeviceRows, DeviceVectors, cuda
from ..rows.device.residents import Residents
from ..rows.device.thresholds import SAMPLED_SHARE, STREAMED_BYTES
from .arrays import ArraySource, as_arrays
from .blocks import Block, concatenated
from .class_moments import ClassMoments
from .device_arrays import ROW_NUMBERS, device_number, fits, placed, uploaded
from .source import InMemory, Source
from .wrapped import WrappedSource


def placed_source(source: Source, device: str | None) -> Source:
    """The rows of a source on the device of that name, with their labels and weights.

    Rows that do not fit there are copied block by block in every sum.
    """
    if device is None or isinstance(source, StreamedSource):
        return source
    number = device_number(device)
    if isinstance(source, ArraySource):
        given = source.stored.without_offset.X
        X = placed(given, device)
        X = source.X if X is given else with_offset(rows_of(X), source.offset).X
        if number is not None and not isinstance(X, DeviceRows):
            return StreamedSource(source, cuda(number))
        return source if X is source.X else source.with_rows(X)
    if number is None:
        return source
    if source.parts is not None:
        raise TypeError(
            f"device={device!r} is for rows of this process, and {type(source).__name__} has them "
            "on workers: leave out device="
        )
    there, n = cuda(number), source.length
    if not fits(there, source.row_bytes * n, n, source.storage):
        return StreamedSource(source, there)
    blocks = [
        block._replace(X=with_offset(uploaded(host_rows_of(block.X).X, there), block.rows.offset))
        for block in source.blocks()
        if len(block.y)
    ]
    made = Source.gathered(concatenated(blocks), source.classes)
    made.validation, made.reading, made.target = source.validation, source.reading, source.target
    return made


class StreamedSource(WrappedSource):
    """The rows of another source, copied to a device block by block in every sum.

    Blocks end where the size of the rows says, and are smaller only if memory is short: so bits are
    the same from run to run. Samples and rows that are taken stay on the device.
    """

    visitable = False  # rows are on the device for a moment only
    threads = 1  # the device is the only worker
    rounding = EPS

    def __init__(self, source: Source, device: Device) -> None:
        super().__init__(source)
        self.device = device
        # Two blocks take at most half of the free memory: a power of two, which seldom changes.
        quarter = max(device.free_bytes() // 4, 1)
        self.block_bytes = min(STREAMED_BYTES, 1 << (quarter.bit_length() - 1))
        self.residents, self._vectors = Residents(device), DeviceVectors(device)
        self.validation, self.reading = source.validation, source.reading
        self.labels, self.target = source.labels, source.target
        if isinstance(source, ArraySource):
            for values in (source.y, source.weight):
                if values is not None:
                    self.residents.keep(values)

    # ---- sums --------------------------------------------------------------------------------

    def vectors_of(self, shape: tuple[int, int]) -> VectorSpace:
        """The vectors of the device, unless there are few weights."""
        return self._vectors.unless_few(shape)

    def blocks(self) -> Iterator[Block]:
        """Blocks on the device; each is overwritten when the one after the next is asked for."""
        waiting: deque[Block] = deque()
        if isinstance(self.source, ArraySource):
            for array in arrays_of(host_rows_of(self.source.X)):
                self.device.expect_copies(array)

        def arrays() -> Iterator[Sequence[AnyArray]]:
            for block in self._host_blocks():
                waiting.append(block)
                yield arrays_of(host_rows_of(block.X))

        for copies in self.device.copied_ahead(arrays()):
            block = waiting.popleft()
            rows = self._on_device(host_rows_of(block.X), copies)
            yield block._replace(X=with_offset(rows, block.rows.offset))

    def _host_blocks(self) -> Iterator[Block]:
        """The blocks of the source, cut; labels and weights are kept while the next is read."""
        for block in self.source.blocks():
            if not isinstance(self.source, InMemory):
                weight = None if block.weight is None else block.weight.copy()
                block = block._replace(y=block.y.copy(), weight=weight)
            n, size = len(block.y), self.block_rows
            for start in range(0, n, size):
                yield block.part(start, min(start + size, n))

    @property
    def block_rows(self) -> int:
        return max(1, int(self.block_bytes / (self.row_bytes + ROW_NUMBERS)))

    def _on_device(self, rows: HostRows, copies: list[Any]) -> DeviceRows:
        if isinstance(rows, CsrRows):
            data, indices = copies
            offsets, kind = rows.indptr.astype(np.int64) - int(rows.indptr[0]), str(rows.dtype)
            return DeviceCsrRows(
                self.device, data, indices, offsets, rows.n_features, kind, self.residents
            )
        return DeviceDenseRows(self.device, copies[0], str(rows.dtype), self.residents)

    def layout(self, shuffled: bool) -> dict[str, Any]:
        return {**self.source.layout(shuffled), "streamed_rows": self.block_rows}

    # ---- what the source knows without the device ----------------------------------------------

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def class_weight_sums(self) -> Array:
        return self.source.class_weight_sums()

    def class_moments(self) -> ClassMoments | None:
        return self.source.class_moments()

    def approximate_mean(self) -> Array | None:
        return self.source.approximate_mean()

    def sample(self, size: int) -> InMemory:
        """Random rows of the source, copied to the device; fewer if they are large."""
        most = SAMPLED_SHARE * self.device.free_bytes() / (self.row_bytes + ROW_NUMBERS)
        fitting = 1 << max(int(most).bit_length() - 1, 0)  # so that most sizes stay the same
        return self._copied(self.source.sample(min(size, fitting, self.n_rows)))

    def take(self, rows: Ints) -> InMemory:
        return self._copied(self.source.take(rows))

    def _copied(self, found: InMemory) -> InMemory:
        arrays = as_arrays(found)
        rows = uploaded(host_rows_of(arrays.X).X, self.device)
        return arrays.with_rows(with_offset(rows, arrays.offset))


def arrays_of(rows: HostRows) -> list[AnyArray]:
    """The arrays that a device needs: values, and column numbers of sparse rows."""
    if isinstance(rows, CsrRows):
        return [rows.data[rows.entries], rows.indices[rows.entries]]
    return [rows.values]

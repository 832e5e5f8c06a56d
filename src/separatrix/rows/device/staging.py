"""Copies of host arrays to a GPU while it computes with the arrays before.

Two slots of device memory take turns: the copy of an item begins, on a stream of its own, before
the item that precedes it is used. A GPU copies pages of the host at full speed if they are locked.
Pages of arrays that last are locked where they are; other arrays are copied to a locked buffer, on
threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...loops import Interrupted, stop_requested
from ...numeric.threads import equal_parts, n_threads, ordered_sum
from ...numeric.types import AnyArray
from .thresholds import COPY_BYTES, LOCKED_BYTES, MOST_LOCKED

ALIGNED = 256  # bytes: as memory of its own would be aligned
TO_DEVICE = 1  # cudaMemcpyHostToDevice


class HostBytes(NamedTuple):
    """Bytes of the host, by their addresses."""

    start: int
    stop: int

    @classmethod
    def of(cls, array: AnyArray) -> HostBytes:
        """The bytes of a contiguous array."""
        start = array.__array_interface__["data"][0]
        return cls(start, start + array.nbytes)

    def pieces(self) -> Iterator[HostBytes]:
        """Cut at multiples of a fixed number of bytes, so that pieces begin with a page."""
        first = self.start
        while first < self.stop:
            last = min((first // LOCKED_BYTES + 1) * LOCKED_BYTES, self.stop)
            yield HostBytes(first, last)
            first = last


class LockedPages:
    """Arrays of NumPy whose pages are locked piece by piece, when they are first copied."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.owners: list[tuple[HostBytes, AnyArray]] = []
        self.pieces: dict[HostBytes, bool] = {}

    def note(self, array: AnyArray) -> None:
        """The pages of this array may be locked until ``close``, which keeps it until then.

        Memory that another library has allocated is left alone, and so are files: their pages may
        be more than the memory.
        """
        if not hasattr(os, "sysconf"):  # on Windows all rows go through a buffer
            return
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if any(known is owner for _, known in self.owners):
            return
        if owner.base is not None or not owner.flags.c_contiguous or owner.dtype.hasobject:
            return
        most = MOST_LOCKED * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        noted = sum(span.stop - span.start for span, _ in self.owners)
        if LOCKED_BYTES <= owner.nbytes <= most - noted:
            self.owners.append((HostBytes.of(owner), owner))

    def locked(self, span: HostBytes) -> list[HostBytes] | None:
        """The parts of a span, each in one locked piece; None if it is to be copied."""
        for whole, _ in self.owners:
            if whole.start <= span.start and span.stop <= whole.stop:
                parts = list(span.pieces())
                return parts if all(self._lock(part, whole) for part in parts) else None
        return None

    def _lock(self, part: HostBytes, whole: HostBytes) -> bool:
        first = part.start // LOCKED_BYTES * LOCKED_BYTES
        piece = HostBytes(max(first, whole.start), min(first + LOCKED_BYTES, whole.stop))
        if piece not in self.pieces:
            try:
                self.runtime.hostRegister(piece.start, piece.stop - piece.start, 0)
                self.pieces[piece] = True
            except self.runtime.CUDARuntimeError:  # pages may be locked elsewhere, or be too many
                self.pieces[piece] = False
        return self.pieces[piece]

    def close(self) -> None:
        """Unlock all pages."""
        for piece, locked in self.pieces.items():
            if locked:
                self.runtime.hostUnregister(piece.start)
        self.pieces.clear()
        self.owners.clear()


class SlotPlace(NamedTuple):
    """Where an array of an item lies in its slot."""

    at: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Slot:
    """Memory of the device for one item, and a locked buffer of the host."""

    def __init__(self, cupy: Any, device: Any, stream: Any, pages: LockedPages) -> None:
        self.cupy, self.device, self.stream, self.pages = cupy, device, stream, pages
        self.copied = cupy.cuda.Event(disable_timing=True)
        self.memory: Any = None
        self.buffer: AnyArray | None = None
        self.places: list[SlotPlace] = []

    def fill(self, arrays: Sequence[AnyArray]) -> None:
        """Begin to copy contiguous arrays, after the work so far on the current stream."""
        with self.device:
            ends = np.cumsum([0, *(-(-array.nbytes // ALIGNED) * ALIGNED for array in arrays)])
            starts, size = ends[:-1].tolist(), int(ends[-1])
            self.places = [
                SlotPlace(at, array.nbytes, array.shape, array.dtype)
                for at, array in zip(starts, arrays, strict=True)
            ]
            self.copied.synchronize()  # then the buffer may be written again
            if self.memory is None or self.memory.nbytes < size:
                self.memory = None
                self.memory = self.cupy.empty(size, np.uint8)
            self.stream.wait_event(self.cupy.cuda.get_current_stream().record())
            for at, array in zip(starts, arrays, strict=True):
                self._copy(at, array, size)
            self.copied.record(self.stream)

    def _copy(self, at: int, array: AnyArray, size: int) -> None:
        """From locked pages, or through the buffer."""
        parts = self.pages.locked(HostBytes.of(array))
        if parts is None:
            parts = [self._buffered(at, array, size)]
        first = parts[0].start if parts else 0
        for part in parts:
            self.cupy.cuda.runtime.memcpyAsync(
                self.memory.data.ptr + at + part.start - first, part.start,
                part.stop - part.start, TO_DEVICE, self.stream.ptr,
            )  # fmt: skip

    def _buffered(self, at: int, array: AnyArray, size: int) -> HostBytes:
        """Copy an array to the locked buffer, on threads."""
        if self.buffer is None or len(self.buffer) < size:
            self.buffer = None
            memory = self.cupy.cuda.alloc_pinned_memory(size)
            self.buffer = np.frombuffer(memory, np.uint8, size)
        target = self.buffer[at : at + array.nbytes]
        copy_on_threads(array.reshape(-1).view(np.uint8), target)
        return HostBytes.of(target)

    def filled(self) -> list[Any]:
        """The arrays on the device; work that follows on the current stream waits for them."""
        with self.device:
            self.cupy.cuda.get_current_stream().wait_event(self.copied)
            return [
                self.memory[at : at + nbytes].view(dtype).reshape(shape)
                for at, nbytes, shape, dtype in self.places
            ]


class Staging:
    """Copies to one GPU. Slots are kept from pass to pass, until ``close``."""

    def __init__(self, cupy: Any, device: Any) -> None:
        self.cupy, self.device = cupy, device
        with device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
        self.pages = LockedPages(cupy.cuda.runtime)
        self.idle: list[list[Slot]] = []
        self.active = 0

    def copied_ahead(self, items: Iterable[Sequence[AnyArray]]) -> Iterator[list[Any]]:
        """See :meth:`Device.copied_ahead`."""
        slots = self.idle.pop() if self.idle else self._new()
        self.active += 1
        try:
            yield from ahead(items, slots[0], slots[1])
        finally:
            self.stream.synchronize()
            self.idle.append(slots)
            self.active -= 1

    def _new(self) -> list[Slot]:
        with self.device:
            return [Slot(self.cupy, self.device, self.stream, self.pages) for _ in range(2)]

    def close(self) -> None:
        """Give memory back and unlock pages, unless another thread copies."""
        if self.active:
            return
        self.stream.synchronize()
        self.idle.clear()
        self.pages.close()


def ahead(items: Iterable[Sequence[AnyArray]], one: Any, other: Any) -> Iterator[list[Any]]:
    """Fill two slots in turns; each item is yielded after the copy of the next has begun."""
    before = None
    for arrays in items:
        if stop_requested():
            raise Interrupted("asked to stop while rows were copied to a GPU")
        one.fill(arrays)
        if before is not None:
            yield before.filled()
        before, one, other = one, other, one
    if before is not None:
        yield before.filled()


def copy_on_threads(source: AnyArray, target: AnyArray) -> None:
    """Copy bytes; a thread alone would be slower than the bus."""
    parts = equal_parts(len(source), max(1, len(source) // COPY_BYTES))

    def copy(at: slice) -> tuple[()]:
        np.copyto(target[at], source[at])
        return ()

    ordered_sum(copy, parts, n_threads(None))

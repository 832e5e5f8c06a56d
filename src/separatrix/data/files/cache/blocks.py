"""Blocks that are decoded once and then read from the cache, also in later runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ....numeric.warn import warn
from ...blocks import Block
from .file import CacheWriter, DecodedCache
from .index import CacheDamaged, Identity

Blocks = Iterator[Block]
Decode = Callable[[], Iterable[Block]]


class CacheWarning(UserWarning):
    """A cache is missing or cannot be read or written, so every pass decodes the rows.

    The results are the same.
    """


class CachedBlocks:
    """Blocks from a cache; if there is none, they are decoded and written to it.

    If a cache is damaged, rows are decoded again, even in the middle of a pass, so no wrong number
    is used. If it cannot be written (full disk), every pass decodes. ``tell`` warns of both.
    ``where`` is "auto", a folder, or None for no cache. Without ``keep`` later runs cannot use it,
    as for data that cannot be recognised again.
    """

    def __init__(
        self, where: str | os.PathLike[str] | None, identity: Identity, keep: bool = True
    ) -> None:
        self._where, self._identity, self._keep = where, identity, keep
        self.cache: DecodedCache | None = None
        self.notices: list[str] = []
        self._advised = False
        if where is not None:
            try:
                self.cache = DecodedCache.open(where, identity)
            except CacheDamaged as damage:
                self.give_up(damage)

    def tell(self) -> None:
        """Issue the collected warnings; called on the user's thread, not the reading one."""
        while self.notices:
            warn(self.notices.pop(0), CacheWarning)

    def advise(self, text: str) -> None:
        """Give this advice once, and only if no cache was requested."""
        if self._where is None and not self._advised:
            self._advised = True
            self.notices.append(text)

    def give_up(self, damage: CacheDamaged) -> None:
        """Discard the cache: decode again, and write a new one."""
        self.cache = None
        self.notices.append(f"{damage}: all is decoded again")

    @property
    def wanted(self) -> bool:
        """Whether a cache was requested but does not exist yet."""
        return self._where is not None and self.cache is None

    def blocks(self, decode: Decode, summary: Callable[[], dict[str, Any]] = dict) -> Blocks:
        """The blocks of ``decode``, which must return the same ones each time, decoded once.

        The first complete pass writes the cache, with the plain data of ``summary`` in
        ``cache.about``.
        """
        given = 0
        if self.cache is not None:
            try:
                for block in self.cache:
                    yield block
                    del block  # before the next is made: it may be large
                    given += 1
                return
            except CacheDamaged as damage:
                self.give_up(damage)
        yield from islice(self._written(decode, summary), given, None)

    def _written(self, decode: Decode, summary: Callable[[], dict[str, Any]]) -> Blocks:
        """Decode blocks and write them to a new cache."""
        writer = self._writer()
        try:
            for block in decode():
                if writer is not None and writer.open:
                    with self._disable_on_error(writer):
                        writer.write(block)
                yield block
                del block  # before the next is made: it may be large
            if writer is not None and writer.open:
                with self._disable_on_error(writer):
                    self.cache = writer.close(summary(), self._keep)
        finally:
            if writer is not None:
                writer.discard()

    def _writer(self) -> CacheWriter | None:
        if self._where is not None:
            with self._disable_on_error():
                return CacheWriter(self._where, self._identity)
        return None

    @contextmanager
    def _disable_on_error(self, writer: CacheWriter | None = None) -> Iterator[None]:
        """Turn an OSError into a warning: the fit can continue without a cache."""
        try:
            yield
        except OSError as error:
            if writer is not None:
                writer.discard()  # at once: others may need the room
            problem = f"the cache of decoded rows cannot be written to {self._where!r} ({error})"
            self._where, self._advised = None, True
            self.notices.append(
                f"{problem}: caching is disabled; pass a writable folder with enough space "
                "as cache=, or None"
            )

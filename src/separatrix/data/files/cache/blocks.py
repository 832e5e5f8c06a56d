"""Blocks that are decoded once, and come from the cache in later passes and later runs."""

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
    """A cache cannot be read or written, or is not there: rows are decoded again and again.

    The results are the same.
    """


class CachedBlocks:
    """Blocks from a cache, if there is one, and decoded and written there if not.

    A damaged cache is given up and decoded again, also in the middle of a pass: nobody sees a wrong
    number. If it cannot be written, as on a full disk, every pass decodes. ``tell`` warns of both.
    ``where`` is "auto", a folder, or None: no cache. Without ``keep`` no later run finds
    it: of what cannot be known again.
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
        """Warn of what went wrong: by the thread of the user, for another reads."""
        while self.notices:
            warn(self.notices.pop(0), CacheWarning)

    def advise(self, text: str) -> None:
        """Once, and only who asked for no cache."""
        if self._where is None and not self._advised:
            self._advised = True
            self.notices.append(text)

    def give_up(self, damage: CacheDamaged) -> None:
        """Decode again, and write another cache."""
        self.cache = None
        self.notices.append(f"{damage}: all is decoded again")

    @property
    def wanted(self) -> bool:
        """Whether there is to be a cache, and is none."""
        return self._where is not None and self.cache is None

    def blocks(self, decode: Decode, summary: Callable[[], dict[str, Any]] = dict) -> Blocks:
        """The blocks that ``decode`` gives, the same each time it is called, decoded once.

        The first pass that goes to its end writes the cache, and asks ``summary`` for plain data to
        be kept beside the blocks (then in ``cache.about``).
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
        """Decoded, and written on the way."""
        writer = self._writer()
        try:
            for block in decode():
                if writer is not None and writer.open:
                    with self._told(writer):
                        writer.write(block)
                yield block
                del block  # before the next is made: it may be large
            if writer is not None and writer.open:
                with self._told(writer):
                    self.cache = writer.close(summary(), self._keep)
        finally:
            if writer is not None:
                writer.discard()

    def _writer(self) -> CacheWriter | None:
        if self._where is not None:
            with self._told():
                return CacheWriter(self._where, self._identity)
        return None

    @contextmanager
    def _told(self, writer: CacheWriter | None = None) -> Iterator[None]:
        """What the disk refuses is told, and is no reason to end a fit that can go on."""
        try:
            yield
        except OSError as error:
            if writer is not None:
                writer.discard()  # at once: others may need the room
            told = f"the cache of decoded rows cannot be written to {self._where!r} ({error})"
            self._where, self._advised = None, True
            self.notices.append(
                f"{told}: every pass decodes; give cache= a folder that can be written to and has "
                "room, or None"
            )

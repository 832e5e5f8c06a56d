"""What to do where the memory does not suffice for blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def advise_on_memory(block_rows: int | None) -> Iterator[None]:
    """Add advice to a MemoryError."""
    try:
        yield
    except MemoryError as error:
        given = "the default" if block_rows is None else f"{block_rows}"
        raise MemoryError(
            f"there is not enough memory to read rows by blocks ({error or 'allocation failed'}): "
            f"read with fewer rows at a time, block_rows= less than {given}, or dtype='float32'"
        ) from error

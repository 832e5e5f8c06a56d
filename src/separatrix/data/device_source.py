"""Sources whose rows are moved to a device before a fit."""

from __future__ import annotations

from .arrays import ArraySource
from .blocks import concatenated
from .device_arrays import device_number, placed
from .source import Source


def placed_source(source: Source, device: str | None) -> Source:
    """The rows of a source on the device of that name, with their labels and weights."""
    if device is None:
        return source
    if isinstance(source, ArraySource):
        return source.with_rows(placed(source.X, device))
    if device_number(device) is None:
        return source
    if source.parts is not None:
        raise TypeError(
            f"device={device!r} is for rows of this process, and {type(source).__name__} has them "
            "on workers: leave out device="
        )
    blocks = [
        block._replace(X=placed(block.stored.X, device))
        for block in source.blocks()
        if len(block.y)
    ]
    made = Source.gathered(concatenated(blocks), source.classes)
    made.validation, made.reading, made.target = source.validation, source.reading, source.target
    return made

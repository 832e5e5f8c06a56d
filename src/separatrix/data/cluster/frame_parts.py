"""Partitions of a Dask frame, encoded on the workers that hold them, as files are.

A first pass finds types, categories and means, which are merged along the tree. Then each worker
encodes its partitions and keeps the numbers in place of the frame. A partition that is lost is
computed and encoded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..files.readers.frames import FrameReader, arrow_table
from .parts import Part


@dataclass(frozen=True)
class FramePart:
    """A partition of a Dask frame where it is held."""

    table: pa.Table
    name: str

    def __str__(self) -> str:
        return self.name

    def findings(self) -> Any:
        return FrameReader(self.name, self.table).findings()

    def open(self, common: Any) -> FrameReader:
        """Its reader, given the types of all partitions."""
        return FrameReader(self.name, self.table, common)


def framed(number: int, frame: Any) -> Part:
    """A part whose rows are still a frame."""
    name = f"partition {number} of the Dask frame"
    file = FramePart(arrow_table(frame, name), name)
    return Part(number, None, np.empty(0), None, None, file=file)

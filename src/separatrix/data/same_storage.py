"""Sources whose rows are stored as those of another source."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..numeric.types import AnyArray
from ..rows import Rows, Storage, VectorSpace
from .source import Source


class SameStorage(Source):
    """A source whose precision, accuracy and sizes are those of other rows."""

    @property
    @abstractmethod
    def original(self) -> Source | Rows:
        """The other rows."""

    @property
    def storage(self) -> Storage:
        return self.original.storage

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.original.dtype

    @property
    def row_bytes(self) -> float:
        return self.original.row_bytes

    @property
    def row_values(self) -> float:
        return self.original.row_values

    @property
    def rounding(self) -> float:
        return self.original.rounding

    @property
    def offset(self) -> AnyArray | float:
        return self.original.offset

    @property
    def vectors(self) -> VectorSpace:
        return self.original.vectors

    @property
    def visitable(self) -> bool:
        return self.original.visitable

"""Storage of rows: every storage offers sums over rows, some also allow visits row by row."""

from .base import Rows, Storage
from .csr import CsrRows
from .dense import DenseRows
from .given import HostRowsLike, RowsLike, concatenate_rows, host_rows_of, rows_of
from .host import HostRows
from .offset import OffsetRows, widened, with_offset
from .standardized import StandardizedRows
from .standardizer import Standardizer
from .vectors import HOST, VectorSpace
from .visits import Visits

__all__ = [
    "HOST",
    "CsrRows",
    "DenseRows",
    "HostRows",
    "HostRowsLike",
    "OffsetRows",
    "Rows",
    "RowsLike",
    "StandardizedRows",
    "Standardizer",
    "Storage",
    "VectorSpace",
    "Visits",
    "concatenate_rows",
    "host_rows_of",
    "rows_of",
    "widened",
    "with_offset",
]

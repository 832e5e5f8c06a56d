"""The interface of readers: pieces of rows, in the same order at each call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....numeric.types import AnyArray, Array
from ....rows import RowsLike

if TYPE_CHECKING:
    import pyarrow as pa

    from .paths import Files
    from .wide import WideBatch


class Place(NamedTuple):
    """The place of some rows, for errors."""

    part: str = ""
    """Their file or object, and its part: "flights.csv" or "part-0.parquet, row group 3"."""
    first: int = 0  # number of the first of them in their file
    line_of: Callable[[int], int] | None = None  # the line of a row of text; slow

    def __str__(self) -> str:
        return f"{self.part}, from {self._number(self.first)}"

    def row(self, at: int) -> str:
        """The place of one row, by its number among these."""
        name = self._number(self.first + at)
        name = f"{self.part}, {name}" if self.part else name
        return name if self.line_of is not None else f"{name} (counted from 0)"

    def _number(self, row: int) -> str:
        return f"row {row}" if self.line_of is None else f"line {self.line_of(row)}"


class Piece(NamedTuple):
    """Some rows as they were read, any number of them."""

    X: RowsLike | pa.RecordBatch | WideBatch  # numbers already, or columns yet to be encoded
    y: AnyArray | None
    """Labels as the file has them; None for a table, whose target is one of its columns."""
    weight: Array | None
    where: Place


class Reader(ABC):
    """Rows of files, of an object or of a function, piece by piece in bounded memory."""

    name: str  # what errors call it

    format: str | None = None  # that of its files; None for what is read from no file

    spool: Path | None = None  # the file that keeps what could be read only once

    once = False
    """Whether it can be read only once, as standard input: then only ``spooled`` is of use."""

    takes: tuple[str, ...] = ()
    """Options of ``read`` about columns that it heeds by itself; tables leave all to others."""

    left_out = 0  # values that were left out in the last read, for a model has no weights for them

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """All rows afresh, in the same order at each call."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What the rows come from, as plain data: format, files with their versions, options.

        Equal for equal rows. If such data cannot identify the rows, it contains a unique
        ``token``.
        """

    def check_unchanged(self) -> None:  # noqa: B027 (what has no files cannot be looked at)
        """Raise if a file changed or vanished since this reader was made, and name it."""

    def spooled(self, folder: Path) -> Reader:
        """The same rows, written to a file in this folder if they could be read only once.

        The file goes with the reader that is returned.
        """
        return self


class SharedParts(Reader):
    """A reader of one of several parts, which are read at once as if one had read all of them."""

    @abstractmethod
    def findings(self) -> Any:
        """What these rows show about all rows; findings of several can be added."""

    @abstractmethod
    def common(self, findings: Any = None) -> Any:
        """What must be known about all parts to read one, given the findings of all.

        Without findings: what is known before any row is read, or None if that is not enough.
        """

    @abstractmethod
    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> Reader:
        """The same rows as some of all rows; or a stretch of one file."""


class SharedFiles(SharedParts):
    """A reader of files, which several processes read."""

    files: Files

    def parts_of(self, path: Path) -> Sequence[tuple[int, int] | None]:
        """Stretches of one file that can be read apart; None: all of it."""
        return [None]


class TypesRefuted(Exception):
    """A row is not of the types that were guessed: all are to be read again by their own."""


class TableReader(Reader):
    """Columns with names and Arrow types."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the columns, looked up when first asked for."""

    @property
    def names(self) -> list[str]:
        names: list[str] = self.schema.names
        return names

    @property
    def types(self) -> dict[str, pa.DataType]:
        """Names and types as a dictionary, in the order of the columns."""
        schema = self.schema
        return dict(zip(schema.names, schema.types, strict=True))

    @abstractmethod
    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """All rows afresh, in the same order at each call; only these columns, in this order."""

    def mixed(self) -> dict[str, Callable[[], str]]:
        """Columns of text that hold numbers too, each with a function that says where.

        They are categories only if ``categorical`` names them: else a mistake would make a column
        of numbers one of words.
        """
        return {}

    def with_text(self, names: Iterable[str]) -> TableReader:
        """A reader that takes what these columns hold for words, though all may look like numbers.

        Only text leaves a doubt: other tables say what they hold.
        """
        return self

    def guessed(self, exact: Iterable[str]) -> TableReader:
        """A reader that guesses types which depend on all rows, for a first pass over these.

        That raises :class:`TypesRefuted` if the guess was wrong. Only of ``exact`` columns it
        matters whether numbers are whole: others may be read as fractions.
        """
        return self

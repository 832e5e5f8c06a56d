"""Tables in files: one schema for all of them, and batches brought to it."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ....numeric.lazy import cached_property
from .paths import Files
from .reader import Piece, Place, SharedFiles, TableReader
from .wide import WideBatch

LONGEST_NAME = 1000  # characters of the name of a column
MOST_DECODED = 1 << 27  # bytes of text of one column in the rows of one batch: 16 KB for each row
NAMELESS_INDEX = re.compile(r"__index_level_\d+__")  # pandas keeps the numbers of its rows so


class TableFiles(TableReader, SharedFiles):
    """Files with the same columns, in any order; their types are the narrowest that hold all."""

    format: str
    is_part = False  # whether others have rows, if these have none
    stretch: tuple[int, int] | None = None
    """Row groups that are read, from the first to before the last; None: all."""

    def __init__(self, files: Files, block_rows: int) -> None:
        self.files, self.name = files, str(files)
        self.block_rows = block_rows

    @abstractmethod
    def _batches(
        self, path: Path, columns: list[str]
    ) -> Iterator[tuple[pa.RecordBatch | WideBatch, Place]]:
        """These columns of one file with their ``types``, and the place to be named in errors."""

    def _first_row(self, path: Path) -> int:
        return 0

    def identity(self) -> dict[str, Any]:
        """Format and files; types follow from these."""
        return {"format": self.format, "files": self.files.identity()}

    def check_unchanged(self) -> None:
        self.files.check_unchanged()

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        names = known_names(self.names, columns)
        empty = True
        for path in self.files.paths:
            start = first = self._first_row(path)
            for batch, place in self._batches(path, names):
                yield from cut(batch, place, start, self.block_rows)
                start += batch.num_rows
            empty = empty and start == first
        if empty and not self.is_part:
            raise ValueError(f"{self.files} has columns but no rows; expected at least two.")


class TypedFiles(TableFiles):
    """Files that say the types of their columns, without a look at their rows."""

    @property
    def schema(self) -> pa.Schema:
        return self._common_schema

    @abstractmethod
    def _schema(self, path: Path) -> pa.Schema:
        """Names and types of the columns of one file."""

    @cached_property
    def _common_schema(self) -> pa.Schema:
        first = self.files.paths[0]
        common = plain_schema(self._schema(first), str(first))
        for path in self.files.paths[1:]:
            common = unified(common, plain_schema(self._schema(path), str(path)), first, path)
        return common

    def findings(self) -> Any:
        return self._common_schema

    def common(self, findings: Any = None) -> Any:
        """The types, which files declare without a look at their rows."""
        return self._common_schema

    def as_part(self, common: Any, stretch: tuple[int, int] | None = None) -> TypedFiles:
        found = copy(self)
        found.is_part, found.stretch = True, stretch
        found.__dict__["_common_schema"] = common
        return found


def plain_schema(schema: pa.Schema, of: str) -> pa.Schema:
    """Without the index that pandas writes, and with text in the one type that all can work on."""
    plain_names(schema.names, of)
    fields = zip(schema.names, map(plain_type, schema.types), strict=True)
    return pa.schema([field for field in fields if not _is_nameless_index(field[0])])


def plain_names(names: list[str], of: str) -> list[str]:
    """The names of columns, each once, without the index that pandas writes."""
    _check_length(names, of)
    if twice := sorted(repeated(names)):
        raise ValueError(f"{of} has several columns named {twice!r}; expected different names.")
    return [name for name in names if not _is_nameless_index(name)]


def _is_nameless_index(name: str) -> bool:
    return name.startswith("__") and NAMELESS_INDEX.fullmatch(name) is not None


def _check_length(names: list[str], of: str) -> None:
    """Names are copied for every category of their column."""
    if max(map(len, names), default=0) <= LONGEST_NAME:
        return
    for number, name in enumerate(names):
        if len(name) > LONGEST_NAME:
            raise ValueError(
                f"{of}: the name of column {number + 1} has {len(name)} characters "
                f"({name[:20]!r}...); expected at most {LONGEST_NAME}: does the table begin with "
                "the names of its columns? If so, give the column a shorter one."
            )


def check_decoded(column: pa.DictionaryArray, name: str) -> None:
    """Text of a dictionary may stand in every row: a small file could fill the memory."""
    most = column.dictionary.nbytes * len(column)
    if kind_is_text(column.type.value_type) and most > MOST_DECODED:
        lengths = pc.binary_length(column.dictionary.cast(pa.large_string()))
        size = pc.sum(lengths.take(column.indices)).as_py() or 0
        if size > MOST_DECODED:
            raise ValueError(
                f"column {name!r} has {size} bytes of text in {len(column)} rows; expected "
                f"categories, of at most {MOST_DECODED} bytes there: leave it out by "
                "features=[...], or shorten its values"
            )


def kind_is_text(type: pa.DataType) -> bool:
    """Whether values are text, of any of Arrow's types."""
    return type in (pa.string(), pa.large_string(), pa.string_view())


def repeated(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, each of them once."""
    names = list(names)
    if len(set(names)) == len(names):
        return []
    return [name for name, times in Counter(names).items() if times > 1]


def plain_type(type: pa.DataType) -> pa.DataType:
    """Views of text as text: few of Arrow's functions take them."""
    if pa.types.is_dictionary(type):
        return pa.dictionary(type.index_type, plain_type(type.value_type), type.ordered)
    return pa.string() if type in (pa.string_view(), pa.large_string()) else type


def unified(common: pa.Schema, other: pa.Schema, first: Any, path: Any) -> pa.Schema:
    """The types that hold those of both; the names must be the same."""
    check_same_names(common.names, other.names, first, path)
    fields = []
    for field in common:
        one, another = field.type, other.field(field.name).type
        type = one if one == another else _wider(one, another)
        if type is None:
            raise ValueError(
                f"column {field.name!r} is {one} in {first} and {another} in {path}; expected one "
                "type: write one of them anew, or read them apart."
            )
        fields.append(pa.field(field.name, type))
    return pa.schema(fields)


def check_same_names(names: list[str], others: list[str], first: Any, path: Any) -> None:
    """That two files have the same columns, in any order."""
    mine, its = set(names), set(others)
    lacking = [name for name in names if name not in its]
    beyond = [name for name in others if name not in mine]
    if lacking or beyond:
        differences = [f"it lacks {lacking!r}"] * bool(lacking)
        differences += [f"only it has {beyond!r}"] * bool(beyond)
        raise ValueError(
            f"{path} has not the columns of {first}: {' and '.join(differences)}. Expected "
            "the same columns in all files: read those apart that differ."
        )


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds both, None if there is none: text and numbers have none."""
    one, other = (
        type.value_type if pa.types.is_dictionary(type) else type for type in (one, other)
    )
    schemas = [pa.schema([("", type)]) for type in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None


def selected(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Only these columns, in this order; all if there is no choice."""
    names = known_names(schema.names, columns)
    return schema if schema.names == names else pa.schema([schema.field(name) for name in names])


def known_names(names: list[str], columns: Sequence[str] | None) -> list[str]:
    """These columns, each of which must be there; all names if there is no choice."""
    if columns is None:
        return names
    known = set(names)
    if unknown := [name for name in columns if name not in known]:
        raise ValueError(f"there are no columns {unknown!r}; there are {names!r}.")
    return list(columns)


def brought_to(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with these columns, of these types."""
    if batch.schema.equals(schema):
        return batch
    columns = [_cast(batch.column(field.name), field.type, field.name) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, type: pa.DataType, name: str) -> pa.Array:
    if column.type == type:
        return column
    if pa.types.is_dictionary(column.type):
        if not pa.types.is_dictionary(type):
            check_decoded(column, name)
            return _cast(column.dictionary, type, name).take(column.indices)
        values = _cast(column.dictionary, type.value_type, name)
        return pa.DictionaryArray.from_arrays(column.indices.cast(type.index_type), values)
    return column.cast(type)


def cut(batch: pa.RecordBatch | WideBatch, place: Place, start: int, rows: int) -> Iterator[Piece]:
    """The batch, from this row on, in pieces of at most ``rows`` rows, without copies."""
    for at in range(0, batch.num_rows, rows):
        yield Piece(batch.slice(at, rows), None, None, place._replace(first=start + at))


def explained(error: Exception, where: str, remedy: str) -> ValueError:
    """What Arrow found wrong, with where, and what to do."""
    return ValueError(f"{where} cannot be read ({str(error).rstrip('. ')}): {remedy}")

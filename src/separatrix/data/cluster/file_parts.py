"""Files that workers read themselves, with shared columns, dictionaries and means.

Parts are whole files, or some row groups of Parquet. First they are only named. A first pass finds
types, categories and means, which are merged along the tree. Then each worker reads its rows once
and keeps them. A part that is lost is read again.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...rows import concatenate_rows, host_rows_of, rows_of
from ..files.encoding.decoding import decoded, refuse_mixed
from ..files.encoding.encoding import Encoding
from ..files.readers.formats import FORMATS, format_of, kept_format, open_files
from ..files.readers.paths import Files, is_stream, named_files
from ..files.readers.reader import Reader, SharedFiles, SharedParts, TableReader
from ..files.reading import Reading, is_path
from .engine import Engine
from .parts import Part, fill
from .source import ClusterSource

if TYPE_CHECKING:
    from ..files.encoding.options import EncodingOptions
    from ..files.encoding.survey import Survey
    from .frame_parts import FramePart

PIECE_ROWS = 1 << 13  # that are decoded at a time


@dataclass(frozen=True)
class FilePart:
    """A file, or some row groups of it, as the client sees it."""

    path: Path
    size: int
    digest: str  # digest of samples of its content: copies on several machines differ in times
    format: str
    groups: tuple[int, int] | None = None
    """First row group and the one after the last; None: the whole file."""

    def __str__(self) -> str:
        return str(self.path)

    def findings(self) -> Any:
        """Its findings about all files."""
        return self._checked().findings()

    def open(self, common: Any) -> Reader:
        """Its reader, given what is known about all files."""
        return self._checked().as_part(common, self.groups)

    def _checked(self) -> SharedFiles:
        """Its reader where this runs, if it is there and the same."""
        try:
            files = Files([self.path])
        except OSError as error:
            raise FileNotFoundError(
                f"{self.path} cannot be opened on the worker at {socket.gethostname()} "
                f"({error.strerror}): workers read files by themselves; put it where all of them "
                "see it under this path, or leave out engine='dask'."
            ) from None
        size = files.first[self.path].size
        if size != self.size or files.digests[self.path] != self.digest:
            found = f"{size} bytes" if size != self.size else "other content"
            raise ValueError(
                f"{self.path} has {found} on the worker at {socket.gethostname()}, and "
                f"{self.size} bytes where it was first looked at: expected one file that all see, "
                "unchanged; read it anew."
            )
        return _shared(files, self.format)


def _shared(files: Files, format: str) -> SharedFiles:
    reader = open_files(files, format, None, None, PIECE_ROWS)
    assert isinstance(reader, SharedFiles)
    return reader


def file_parts(what: Any, format: str | None) -> tuple[SharedFiles, list[FilePart]]:
    """A reader of all files, and the parts in which workers read them."""
    if not is_path(what):
        raise TypeError(
            f"engine='dask' reads files on the workers, got a {type(what).__name__}: expected a "
            "path, a glob or a list of them; pass a collection of Dask's to fit, or leave out "
            "engine."
        )
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)} or None, got {format!r}.")
    paths = [path.absolute() for path in named_files(what)]
    format = format or format_of(paths)
    if format == "npy":
        raise ValueError(
            "engine='dask' does not read .npy files: fit to dask arrays of them, e.g. "
            "dask.array.from_array(numpy.load(path, mmap_mode='r'), chunks=(100_000, -1))."
        )
    for path in paths:
        if is_stream(path):
            raise ValueError(f"{path} is a pipe, which only one can read: expected files.")
    files = Files(paths)
    reader = _shared(files, format)
    parts = [
        FilePart(path, files.first[path].size, files.digests[path], format, groups)
        for path in paths
        for groups in reader.parts_of(path)
    ]
    return reader, parts


def file_source(
    engine: Engine,
    files: SharedParts,
    options: EncodingOptions | None,
    dtype: str,
    like: Reading | None = None,
) -> ClusterSource:
    """Rows that workers read, as a source; ``options`` are for tables, ``like`` in their place."""
    if like is not None:
        adapted, dtype = like.adapted(files), like.dtype
        assert isinstance(adapted, SharedParts)
        files = adapted
    engine.place()
    common = files.common()
    if common is None:
        common = files.common(*engine.total(Findings()))
    reader = files.as_part(common)
    encoding = None if like is None else like.encoding
    if encoding is None and options is not None:
        encoding = _encoding(engine, reader, options, common)
    engine.change(Read(common, encoding, dtype))
    source = ClusterSource(engine, placed=True)
    column = "" if encoding is None else f" {encoding.target!r}"
    source.target = f"the target{column} of {reader.name}"
    if like is None:
        if encoding is not None and source.classes.dtype.kind == "U":
            encoding = encoding.with_text_target()
        like = Reading(encoding, source.n_features, dtype, kept_format(reader))
    source.reading = like
    return source


def _encoding(engine: Engine, reader: Reader, options: EncodingOptions, common: Any) -> Encoding:
    from ..files.encoding.survey import Survey

    assert isinstance(reader, TableReader)
    reader = options.prepared(reader)
    survey = Survey(reader.types.items(), options)
    named = options.categorical if isinstance(options.categorical, Mapping) else {}
    refuse_mixed(reader, set(survey.features).difference(named))
    if survey.needs_rows:
        (survey,) = engine.total(Surveyed(options, common))
    return survey.encoding()


@dataclass(frozen=True)
class Findings:
    """What each file shows about all files: types of columns, or the number of features."""

    def __call__(self, part: Part, threads: int) -> tuple[Any]:
        return (_file(part).findings(),)


@dataclass(frozen=True)
class Surveyed:
    """The categories and means of a file, to be merged."""

    options: EncodingOptions
    common: Any

    def __call__(self, part: Part, threads: int) -> tuple[Survey]:
        from ..files.encoding.survey import Survey

        reader = _file(part).open(self.common)
        assert isinstance(reader, TableReader)
        reader = self.options.prepared(reader)
        survey = Survey(reader.types.items(), self.options)
        for piece in reader.pieces(survey.names):
            batch: Any = piece.X
            survey.add(batch, piece.where)
        return (survey,)


@dataclass(frozen=True)
class Read:
    """The change from a part that is only named to one with rows."""

    common: Any
    encoding: Encoding | None
    dtype: str

    def __call__(self, part: Part) -> None:
        pieces = list(decoded(_file(part).open(self.common), self.encoding, self.dtype))
        if not pieces:
            return
        rows = rows_of(concatenate_rows([piece.X for piece in pieces]))
        y, weight = (
            np.concatenate([getattr(piece, name) for piece in pieces])
            if getattr(pieces[0], name) is not None
            else None
            for name in ("y", "weight")
        )
        fill(part, host_rows_of(rows).as_matrix(), y, weight, rows.offset)
        part.file = str(part.file)  # a frame is no longer needed


def _file(part: Part) -> FilePart | FramePart:
    assert part.file is not None, "a part that is to be read has its file or frame"
    return part.file  # type: ignore[no-any-return]

"""Read data that does not fit in memory from files, objects and functions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..numeric import checks
from .cluster.dask_input import is_dask
from .cluster.source import ClusterSource
from .files.cache.folder import cache_folder
from .files.encoding.label_sets import as_target, target_names
from .files.readers.formats import import_arrow, open_reader
from .files.readers.paths import named_as
from .files.readers.reader import Reader, SharedParts, TableReader
from .files.reading import Reading
from .files.source import FileSource
from .files.stored import StoredRows

Categorical = Literal["onehot", "hash", "error"]
PIECE_ROWS = 1 << 13  # rows decoded at a time, unless blocks are smaller


def read(
    what: Any,
    *,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    weight: str | None = None,
    offset: str | None = None,
    like: Any = None,
    format: str | None = None,
    categorical: Categorical | Mapping[str, Categorical] = "onehot",
    hash_bits: int = 18,
    max_categories: int | None = None,
    min_frequency: int | float | None = None,
    drop_first: bool = False,
    missing: Literal["error", "mean", "zero", "indicator"] = "error",
    dates: Mapping[str, Sequence[str]] | None = None,
    block_rows: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    dtype: Literal["float32", "float64"] = "float64",
    validation: float | None = None,
    engine: Literal["dask"] | None = None,
) -> FileSource | ClusterSource:
    """Rows of files, objects or functions as a source: a few blocks in memory at a time.

    A source replaces X and y: ``LinearClassifier().fit(separatrix.read("part-*.parquet",
    target="label"))``; ``predict``, ``predict_proba``, ``decision_function`` and ``score`` also
    take one. The first pass, which finds classes, counts and categories, is made here.

    Parameters
    ----------
    what : path, glob, list of them, object or function
        Files of Parquet, Arrow or Feather, CSV (also .gz and .zst), LIBSVM or SVMlight text (also
        .gz), ``.npy``; any object with ``__arrow_c_stream__`` (of polars, pyarrow, DuckDB, ...); a
        polars LazyFrame; or a function that returns a fresh iterator of ``(X, y)`` or
        ``(X, y, weight)`` at each call. Streams, which can be read only once, need ``cache``. A
        Dask frame, or a list of delayed frames, is encoded by the workers that hold it.
    target : str, list of str or None
        The column of labels; or a list of columns of 0 and 1, if rows may have several labels.
        LIBSVM text and functions contain labels and need none. Without labels, rows can be
        predicted but not trained on.
    features : list of str or None
        The columns used as features, in this order; None: see ``keep`` and ``drop``.
    keep : list of str or None
        The columns used as features, by name or pattern, such as ``["age", "visits_*"]``, in the
        order of the table; None: all except ``target``, ``weight`` and ``drop``. In a pattern ``*``
        is any text, ``?`` any character, and ``[a-c]`` one of these. A fitted model needs only
        these columns to predict.
    drop : list of str
        Columns to leave out, by name or pattern, also of those in ``keep``.
    weight : str or None
        The column of weights; rows of weight 0 are ignored.
    offset : str or None
        The column of known numbers that are added to the scores, for two classes: see ``fit`` of
        :class:`LinearClassifier`. Tables to predict need it, too.
    like : estimator or None
        A model fitted to files. The data is read with the columns, dictionaries and means of its
        fit, and with its target and weight unless others are named.
    format : str or None
        "parquet", "arrow", "csv", "svmlight" or "npy"; None: by the suffix. Features of LIBSVM text
        are numbered from 0 if index 0 occurs, else from 1; "svmlight-0" and "svmlight-1" set it.
    categorical : "onehot", "hash", "error", or a dict of these by column
        How columns of strings are encoded: one feature per category, ``2**hash_bits`` shared
        features, or an error. Integer columns are numbers unless named in a dict.
    hash_bits : int
        See ``categorical``.
    max_categories, min_frequency : int, float or None
        Rare categories share one feature, as in scikit-learn's OneHotEncoder.
    drop_first : bool
        Whether the first category of each column has no feature: the others are compared with it.
        For fits without a penalty, as all features of a column sum to 1 like the intercept. Of two
        categories the first never has one.
    missing : "error", "mean", "zero" or "indicator"
        How missing values are handled; "indicator" adds a feature that marks them.
    dates : dict or None
        Parts of dates by column: ``{"signup": ["year", "month", "weekday"]}``. The month, the
        weekday and the hour are categories; the year, the day of the month and the days since
        1970-01-01 ("days") are numbers. Text must be ISO 8601, 2024-12-31 or 2024-12-31 23:59.
    block_rows : int or None
        Rows per block. The last bits of a result depend on it, but not on the reader. None: blocks
        of 8 MB, at most 65536 rows; 8192 sparse rows.
    cache : None, "auto" or a folder
        Where decoded blocks are kept for later passes and runs with the same files and options.
        "auto": the user's cache folder (``$XDG_CACHE_HOME/separatrix``), at most 64 GB; the least
        recently used caches that are not open are removed first. Without a cache every pass
        decodes again, and fits make 10 to 100 passes: a cache pays off for CSV and other text,
        compression and categories, for all but the fastest readers. A table that is one block of
        at most 8 MB is decoded once and stays in memory.
    dtype : "float32" or "float64"
        Precision of the features.
    validation : float or None
        Share of the rows to hold out, by a hash of their number: ``history_`` contains their mean
        loss after each pass as "validation_loss", and ``source.validation`` is a source of them.
        They are not used for training, nor for categories and means.
    engine : "dask" or None
        "dask": the workers of the active Dask client read the files in parts (a file, or some row
        groups of Parquet) and hold the rows in memory. All workers need the files under the same
        paths. Not for ``.npy``, objects and functions, nor with ``block_rows``, ``cache`` or
        ``validation``.

    Returns
    -------
    FileSource or ClusterSource
        See FileSource for how rows are shuffled.

    See Also
    --------
    Source : what it returns.
    LinearClassifier : ``fit(read(...))``.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix
    >>> def halves():
    ...     X, y = np.arange(20.0).reshape(10, 2), np.array(["no", "yes"])
    ...     yield X[:6], y[[0, 0, 1, 0, 0, 0]]
    ...     yield X[6:], y[[1, 1, 0, 1]]
    >>> source = separatrix.read(halves)
    >>> source.n_rows, source.n_features, source.classes.tolist()
    (10, 2, ['no', 'yes'])
    >>> separatrix.LinearClassifier().fit(source).score(source)
    0.8
    """
    checks.choice("dtype", dtype, ("float32", "float64"))
    if block_rows is not None:
        checks.integer("block_rows", block_rows)
    if validation is not None and not 0.0 < checks.number("validation", validation) < 1.0:
        raise ValueError(f"validation must be a share between 0 and 1, or None, got {validation!r}")
    if cache is not None and not isinstance(cache, (str, os.PathLike)):
        raise TypeError(f'cache must be None, "auto" or a folder, got {cache!r}')
    given: dict[str, Any] = {
        "target": target, "features": features, "keep": keep, "drop": drop, "weight": weight,
        "offset": offset,
        "categorical": categorical, "hash_bits": hash_bits, "max_categories": max_categories,
        "min_frequency": min_frequency, "drop_first": drop_first, "missing": missing,
        "dates": dates,
    }  # fmt: skip
    if engine is not None or is_dask(what):
        checks.choice("engine", engine or "dask", ("dask",))
        kept = {"block_rows": block_rows, "cache": cache, "validation": validation}
        found = _by_workers(what, format, dtype, like, given, kept)
        if like is None and found.reading is not None:
            _warn_of_columns(found.reading.encoding, found.n_rows, categorical)
        return found
    opened = open_reader(
        what, format=format, target=target, weight=weight,
        block_rows=min(block_rows or PIECE_ROWS, PIECE_ROWS),
    )  # fmt: skip
    reader = _again(opened, cache)
    blocks: dict[str, Any] = {
        "block_rows": block_rows, "validation": validation or 0.0, "cache": cache,
        "keep_cache": not opened.once,
    }  # fmt: skip
    if like is not None:
        with named_as(reader.name, reader.spool):
            return _alike(reader, reading_of(like), given, blocks)
    options = _options(reader, given, dtype)
    with named_as(reader.name, reader.spool):
        source = FileSource(StoredRows(reader, options, dtype=dtype, **blocks))
    _warn_of_columns(source.rows.encoding, source.n_rows, categorical)
    _warn_of_labels(source)
    return source


DEFAULTS = {
    "categorical": "onehot", "drop": (), "hash_bits": 18, "missing": "error", "drop_first": False,
}  # fmt: skip


def _warn_of_columns(encoding: Any, n_rows: int, categorical: Any) -> None:
    """Warn of categories that are probably dates or names of rows."""
    if encoding is None:
        return
    from .files.encoding.suspects import ColumnWarning, suspects

    named = categorical if isinstance(categorical, Mapping) else ()
    for found in suspects(encoding, n_rows, named):
        warnings.warn(f"{found.what}: {found.advice}", ColumnWarning, stacklevel=3)


def _warn_of_labels(source: FileSource) -> None:
    """Warn of labels that are probably mistyped."""
    encoding = source.rows.encoding
    if encoding is None:
        return
    from .files.encoding.suspects import ColumnWarning, doubtful_labels

    for said in doubtful_labels(source.rows, encoding.target, source.length):
        warnings.warn(said, ColumnWarning, stacklevel=3)


def reading_of(model: Any) -> Reading:
    """How a model that was fitted to files reads rows."""
    found = getattr(model, "_reading", None)
    if not isinstance(found, Reading):
        raise TypeError(
            f"like={type(model).__name__}: expected a model that was fitted to files or tables; "
            "other models have no columns"
        )
    return found


def _alike(
    reader: Reader, reading: Reading, given: Mapping[str, Any], blocks: dict[str, Any]
) -> FileSource:
    """Read rows as in the fit of a model."""
    reading = _with_roles(reading, given)
    rows = StoredRows(
        reading.adapted(reader), encoding=reading.encoding, dtype=reading.dtype, **blocks
    )  # fmt: skip
    source = FileSource(rows)
    source.n_features = reading.check_width(source.storage, source.n_features)
    return source


def _with_roles(reading: Reading, given: Mapping[str, Any]) -> Reading:
    """The reading of a model, with another target and weight if they are named."""
    for name, value in given.items():
        if value != DEFAULTS.get(name) and name not in ("target", "weight", "offset"):
            raise ValueError(f"like= says how columns are read, and {name}={value!r} too: say one")
    encoding = reading.encoding
    if encoding is None:
        return reading
    given = {**given, "target": as_target(given["target"])}
    for role, holds in (("target", "labels"), ("weight", "weights"), ("offset", "offsets")):
        features = encoding.column_names(labels=False, offset=False)
        if clash := [name for name in target_names(given[role]) if name in features]:
            fitted = getattr(encoding, role)
            before = f"; in the fit it was {fitted!r}" if fitted else ""
            raise ValueError(
                f"{role} names the column {clash[0]!r}, which is a feature of the model: "
                f"expected the column of {holds}{before}"
            )
    target, weight = given["target"] or encoding.target, given["weight"] or encoding.weight
    offset = given["offset"] or encoding.offset
    encoding = replace(encoding, target=target, weight=weight, offset=offset)
    return replace(reading, encoding=encoding)


def _by_workers(
    what: Any,
    format: str | None,
    dtype: str,
    like: Any,
    given: Mapping[str, Any],
    kept: Mapping[str, Any],
) -> ClusterSource:
    """Rows that workers of a cluster read and hold."""
    remedies = {
        "block_rows": "parts end where files and row groups do",
        "cache": "workers hold decoded rows in memory",
        "validation": "hold out files or partitions, and read those with like=model for their "
        "score",
        "format": "its columns have types already",
    }
    of_frame = is_dask(what)
    kept = {**kept, "format": format} if of_frame else kept
    what_for = "a Dask frame" if of_frame else "engine='dask'"
    for name, value in kept.items():
        if value is not None:
            raise ValueError(
                f"{name}={value!r} is not for {what_for}: leave it out; {remedies[name]}."
            )
    from .cluster.dask_input import dask_files, dask_frame
    from .cluster.file_parts import file_parts, file_source

    rows: SharedParts
    if of_frame:
        import_arrow("to read a Dask frame")
        placed, rows = dask_frame(what)
    else:
        rows, parts = file_parts(what, format)
        placed = dask_files(parts)
    options, reading = None, None
    if like is None:
        options = _options(rows, given, dtype)
    else:
        reading = _with_roles(reading_of(like), given)
    known = options if reading is None else reading.encoding
    if known is not None and isinstance(known.target, tuple):
        raise ValueError(
            f"several targets are not for {what_for}: name one, or read the files without engine="
        )
    if known is not None and known.target is None:
        raise ValueError(
            f"{what_for} is for rows with labels: say which column they are, target='...'; "
            f"predict takes {'the frame itself' if of_frame else 'the paths of files'}."
        )
    return file_source(placed, rows, options, dtype, reading)


def _options(reader: Reader, given: Mapping[str, Any], dtype: Any) -> Any:
    """Encoding options of a table; None for rows without named columns."""
    if not isinstance(reader, TableReader):
        _refuse_columns(reader, given)
        return None
    from .files.encoding.options import EncodingOptions

    return EncodingOptions(**given, dtype=dtype)


def _refuse_columns(reader: Reader, given: Mapping[str, Any]) -> None:
    """Raise if column options are given for rows without named columns."""
    for name, value in given.items():
        if value != DEFAULTS.get(name) and name not in reader.takes:
            raise ValueError(
                f"{name}={value!r} is about the columns of a table, and these rows are numbers "
                f"without names: leave out {name}."
            )


def _again(reader: Reader, cache: str | os.PathLike[str] | None) -> Reader:
    """A reader that can be read repeatedly."""
    if not reader.once:
        return reader
    if cache is None:
        raise ValueError(
            "this can be read only once, and a fit reads its rows again and again: say where they "
            'may be kept, cache="auto" or cache="some/folder".'
        )
    return reader.spooled(cache_folder(cache))

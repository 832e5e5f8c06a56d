"""Inputs of commands: rows with the requested columns, and models."""

from __future__ import annotations

import glob
import shlex
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import separatrix

from .arguments import joined_names
from .output import say
from .paths import check_exists, choice
from .thresholds import MEMORY_BYTES

MISSING = ("indicator", "mean", "zero", "error")
TEST = 0.2  # share of the rows that are held out, unless --test is given


@dataclass
class Options:
    """Options about the columns of a table."""

    target: str | None = None
    weight: str | None = None
    drop: list[str] = field(default_factory=list)
    as_category: list[str] = field(default_factory=list)
    missing: str | None = None
    format: str | None = None
    cache: str | None = None
    test: float = 0.0
    features: list[str] | None = None
    dates: list[str] = field(default_factory=list)  # as given, ``column:part,part``
    keep: list[str] = field(default_factory=list)
    offset: str | None = None

    def read(self, paths: list[str], several: bool = False) -> Any:
        """Read the rows as a source; missing labels are an error.

        ``several``: the target may be several columns.
        """
        from ...data.files.encoding.suspects import ColumnWarning
        from .labels import columns_of

        target = columns_of(self.target, paths, self.format)
        if isinstance(target, list) and not several:
            raise ValueError(
                f"--target {self.target}: expected one column of labels; fit, predict, evaluate "
                "and certify take several"
            )
        if self.missing is not None:
            choice("--missing", self.missing, MISSING)
        given: dict[str, Any] = {
            "target": target, "weight": self.weight, "format": self.format,
            "cache": self.cache, "validation": self.test or None, "offset": self.offset,
        }  # fmt: skip
        if self.has_columns(paths):
            categories = dict.fromkeys(self.as_category, "onehot")
            given |= {"drop": self.drop, "missing": self.missing or "indicator"}
            given |= {"keep": self.keep} if self.keep else {}
            given |= {} if self.features is None else {"features": self.features}
            given |= {"categorical": categories} if categories else {}
            given |= {"dates": dict(map(date_parts, self.dates))} if self.dates else {}
        elif (
            self.keep or self.drop or self.as_category or self.dates
            or self.missing not in (None, "error")
        ):  # fmt: skip
            raise ValueError(
                f"{paths[0]} has numbers without names: --keep, --drop, --as-category, --date and "
                "--missing are about columns"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnWarning)  # see doubts
            source = _named(paths, lambda: separatrix.read(paths, **given))
        if not len(source.classes):
            names = source.reading.encoding.feature_names.tolist()
            raise ValueError(
                f"{paths[0]}: which column contains the labels? Use --target NAME; the columns are "
                f"{', '.join(names)}"
            )
        if len(source.classes) < 2 and source.labels is None:
            raise ValueError(
                f"{paths[0]}: every row has the label {source.classes.tolist()[0]!r}; expected two "
                "classes or more"
            )
        return source

    def has_columns(self, paths: list[str]) -> bool:
        """Whether the files are tables."""
        from ...data.files.readers.formats import TABLES, known_format

        return (self.format or known_format(paths[0])) in (*TABLES, None)

    def doubts(self, source: Any) -> list[dict[str, str]]:
        """Columns that are probably dates or names of rows, and doubtful labels, as findings."""
        from ...data.files.encoding.suspects import suspects

        encoding = getattr(source.reading, "encoding", None)
        found = []
        for each in suspects(encoding, source.n_rows, self.as_category):
            name = shlex.quote(joined_names([each.column]))
            advice = f"leave it out by --drop {name}"
            if each.is_dates:
                parts = shlex.quote(f"{each.column}:year,month,weekday")
                advice = f"use --date {parts}, or {advice}"
                advice = advice if each.is_iso else f"write them as 2024-12-31 and {advice}"
            cause = "dates as categories" if each.is_dates else "a name as a category"
            sentence = f"{each.what[0].upper()}{each.what[1:]}: {advice}."
            found.append({"cause": cause, "sentence": sentence})
        cause = "a class of one row"
        return found + [{"cause": cause, "sentence": each} for each in lone_labels(source)]

    def say_doubts(self, source: Any) -> None:
        """Print them on standard error."""
        for finding in self.doubts(source):
            say(f"warning: {finding['sentence']}")


def lone_labels(source: Any) -> list[str]:
    """Sentences about labels that a single row has, with its place: they may be mistyped."""
    from ...data.files.encoding.suspects import doubtful_labels

    encoding, rows = getattr(source.reading, "encoding", None), getattr(source, "rows", None)
    if encoding is None or rows is None or not hasattr(rows, "lone_labels"):
        return []
    found = doubtful_labels(rows, encoding.target, source.n_rows)
    return [f"{each[0].upper()}{each[1:]}." for each in found]


def date_parts(given: str) -> tuple[str, list[str]]:
    """A column and the parts of its dates that are used."""
    from ...data.files.encoding.encoders import DATE_PARTS

    column, colon, parts = given.rpartition(":")
    if not colon or not column:
        raise ValueError(
            f"--date {given}: expected a column and parts, such as signup:year,month,weekday"
        )
    for part in parts.split(","):
        choice(f"--date {column}:", part, tuple(DATE_PARTS))
    return column, parts.split(",")


def check_share(test: float) -> None:
    """Raise an error unless this is a value of ``--test``."""
    if not 0.0 <= test < 1.0:
        raise ValueError(f"--test {test:g}: expected a share of the rows, 0 or more and below 1")


def read_like(model: Any, paths: list[str], **options: Any) -> Any:
    """Read labelled rows in the way that a model reads them."""
    try:
        return _named(paths, lambda: separatrix.read(paths, like=model, **options))
    except TypeError as error:  # rows of another type than at the fit
        raise ValueError(f"{paths[0]}: {error}") from error


class Judged(NamedTuple):
    """Rows on which a model is evaluated."""

    rows: Any
    """Training rows of the fit, or all rows of another file or of a fit without held-out rows."""
    held_out: Any
    is_of_fit: bool | None  # whether the file is that of the fit; None if the model cannot say

    def facts(self, data: list[str], by: Any = None) -> dict[str, Any]:
        """For ``--json``: ``rows``, and ``by`` if the model is judged by these."""
        held_out = 0 if self.held_out is None else self.held_out.n_rows
        n_rows = (self.rows if by is None else by).n_rows
        facts = {"file": " ".join(data), "rows": n_rows, "held_out_rows": held_out}
        return facts | {"is_of_fit": self.is_of_fit}


def judged(model: Any, paths: list[str], target: str | None, format: str | None) -> Judged:
    """Labelled rows, in memory if they fit, split as in a fit that held some out.

    A fingerprint shows whether the file is that of the fit; another file is not split.
    """
    from .labels import columns_of

    given = {"target": columns_of(target, paths, format), "format": format}
    split = getattr(model, "split_", None)
    if split is not None:
        try:
            source = read_like(model, paths, validation=split.held_out or None, **given)
        except ValueError:  # other rows may be too few to hold out these
            source = None
        rows = None if source is None else in_memory(source)
        if rows is not None and rows.fingerprint() == split.trained_on:
            return Judged(rows, source.validation, True)
    rows = in_memory(read_like(model, paths, **given))
    return Judged(rows, None, None if split is None else False)


def column_of(name: str, of: Judged, model: Any, paths: list[str], format: str | None) -> Any:
    """The values of a column in the rows on which a model is evaluated, as numbers."""
    import numpy as np

    from ...data.files.encoding.suspects import ColumnWarning

    encoding = getattr(read_like(model, paths, format=format).reading, "encoding", None)
    if encoding is None:
        raise ValueError(f"{paths[0]} has numbers without names, and so no column {name!r}")
    other = next((c for c in encoding.column_names() if c not in (name, encoding.weight)), name)
    split = model.split_.held_out if of.is_of_fit else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        given: dict[str, Any] = {
            "target": name,
            "weight": encoding.weight,
            "validation": split or None,
        }
        given |= {"features": [other], "missing": "zero", "format": format}
        source = _named(paths, lambda: separatrix.read(paths, **given))
    values = [block.y for block in in_memory(source).blocks()]
    return np.concatenate(values)


def _named(paths: list[str], read: Any) -> Any:
    """Add the name of the file to errors."""
    try:
        return read()
    except ValueError as error:
        known = any(path in str(error) for path in paths) or glob.has_magic(paths[0])
        raise ValueError(str(error) if known else f"{paths[0]}: {error}") from error


def in_memory(source: Any) -> Any:
    """All rows in memory if they fit, else the source itself."""
    if hasattr(source, "block") or source.n_rows * source.row_bytes > MEMORY_BYTES:
        return source
    return source.sample(source.n_rows)


def rows_in_memory(source: Any, what: str) -> Any:
    """All rows in memory, for commands that need it."""
    rows = in_memory(source)
    if not hasattr(rows, "block"):
        size = source.n_rows * source.row_bytes / 1e9
        raise ValueError(
            f"{what} works in memory, and these rows take {size:.1f} GB: use fewer rows"
        )
    return rows


def loaded(path: str) -> Any:
    """Load a model file."""
    check_exists(path)
    return separatrix.load(path)


def any_model(path: str) -> Any:
    """Load a separatrix model, or a scikit-learn model in a skops file; never a pickle."""
    if path.endswith((".pkl", ".pickle", ".joblib")):
        raise ValueError(
            f"{path} is a pickle, which may run any code when it is opened: write the model with "
            "skops.io.dump(model, 'model.skops') and certify that"
        )
    check_exists(path)
    if not path.endswith(".skops"):
        return separatrix.load(path)
    from . import skops_files

    return skops_files.loaded(path)

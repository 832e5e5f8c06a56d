"""LIBSVM and SVMlight text to rows, compiled, beside the plain-Python twin of each function."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from ..numeric.rows import CsrArrays
from ..numeric.types import AnyArray, Array
from ._compiled import _loops

LABEL, FEATURE, INDEX_RANGE, INDEX_ORDER, VALUE = (
    _loops.svmlight_flaws[name]
    for name in ("label", "feature", "index range", "index order", "value")
)
LAST_INDEX = _loops.svmlight_last_index
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WORD = re.compile(rb"[^ \t\r\n#]+")  # blanks are these alone, as in cpp/text/svmlight.cpp
QUERY = re.compile(rb"qid:-?[0-9]+")


class SvmlightRows(NamedTuple):
    """The rows of a text, up to its first flaw."""

    X: CsrArrays
    labels: Array
    left_out: int
    """Entries of features beyond the last one."""
    flaw: int
    """0 if there is none, else one of the numbers above."""
    at: int
    """Where the word with the flaw begins in the text."""


def parse_svmlight(text: AnyArray, first_index: int, features: int) -> SvmlightRows:
    """The rows of a text, an array of bytes that ends with the end of a line.

    The first of so many features is called ``first_index`` in the text. Numbers are the nearest
    doubles, as of ``float``. Strict: a label, then ``index:value`` in increasing order, where a
    ``qid:n`` after the label is passed over and a ``#`` begins a comment.
    """
    lines, entries = _loops.svmlight_counts(text)
    labels, values = np.empty(lines), np.empty(entries)
    indices, indptr = np.empty(entries, dtype=np.int32), np.empty(lines + 1, dtype=np.int32)
    n, count, left_out, flaw, at = _loops.svmlight_rows(
        text, first_index, features, labels, values, indices, indptr
    )
    X = CsrArrays(values[:count], indices[:count], indptr[: n + 1], features)
    return SvmlightRows(X, labels[:n], left_out, flaw, at)


def parse_svmlight_twin(text: AnyArray, first_index: int, features: int) -> SvmlightRows:
    """``parse_svmlight`` in Python."""
    labels: list[float] = []
    values: list[float] = []
    indices: list[int] = []
    indptr, left_out, flaw, at, begin = [0], 0, 0, 0, 0
    for line in text.tobytes().split(b"\n"):
        words = list(WORD.finditer(line.partition(b"#")[0]))
        row, flaw, where = _parse_words([word.group() for word in words], first_index)
        if flaw:
            at = begin + words[where].start()
            break
        if words:
            kept = [(index, value) for index, value in row[1:] if index < features]
            left_out += len(row) - 1 - len(kept)
            labels.append(row[0][1])
            indices.extend(index for index, _ in kept)
            values.extend(value for _, value in kept)
            indptr.append(len(values))
        begin += len(line) + 1
    parts = np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32)
    X = CsrArrays(np.array(values, dtype=np.float64), *parts, features)
    return SvmlightRows(X, np.array(labels, dtype=np.float64), left_out, flaw, at)


def _parse_words(words: list[bytes], first_index: int) -> tuple[list[tuple[int, float]], int, int]:
    """The label (of index -1) and the entries of a line; its flaw, and the word that has it."""
    row: list[tuple[int, float]] = []
    for where, word in enumerate(words):
        if where == 0:
            if not NUMBER.fullmatch(word) or math.isinf(float(word)):
                return row, LABEL, where
            row.append((-1, float(word)))
            continue
        if where == 1 and QUERY.fullmatch(word):
            continue
        name, colon, number = word.partition(b":")
        if not re.fullmatch(rb"[0-9]+", name) or not colon:
            return row, FEATURE, where
        if not NUMBER.fullmatch(number) or math.isinf(float(number)):
            return row, VALUE, where
        index = int(name) - first_index
        if not 0 <= index <= LAST_INDEX:
            return row, INDEX_RANGE, where
        if index <= row[-1][0]:
            return row, INDEX_ORDER, where
        row.append((index, float(number)))
    return row, 0, 0


def index_range(text: AnyArray) -> tuple[int, int]:
    """The smallest and the largest index of a text as above, read at its lines' ends alone.

    The smallest is above the largest if there is none. Of a text with flaws nothing is promised.
    """
    return _loops.svmlight_range(text)


def index_range_twin(text: AnyArray) -> tuple[int, int]:
    """``index_range`` in Python."""
    rows = parse_svmlight_twin(text, 0, LAST_INDEX + 1)
    if not len(rows.X.indices):
        return np.iinfo(np.int64).max, -1
    return int(rows.X.indices.min()), int(rows.X.indices.max())

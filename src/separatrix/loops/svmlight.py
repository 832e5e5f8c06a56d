"""Compiled parser of LIBSVM and SVMlight text."""

from __future__ import annotations

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
WORD = re.compile(rb"[^ \t\r\n#]+")  # only these are blanks, as in cpp/text/svmlight.cpp


class SvmlightRows(NamedTuple):
    """The rows of a text, up to its first flaw."""

    X: CsrArrays
    labels: Array
    left_out: int  # entries of features beyond the last one
    flaw: int  # 0 if there is none, else one of the numbers above
    at: int  # where the word with the flaw begins in the text


def parse_svmlight(text: AnyArray, first_index: int, features: int) -> SvmlightRows:
    """Parse a text, an array of bytes that ends with a line end.

    ``features`` is their number; the first has the index ``first_index`` in the text. Numbers are
    rounded to the nearest double, as by ``float``. Strict: a label, then ``index:value`` in
    increasing order; a ``qid:n`` after the label is ignored and a ``#`` begins a comment.
    """
    lines, entries = _loops.svmlight_counts(text)
    labels, values = np.empty(lines), np.empty(entries)
    indices, indptr = np.empty(entries, dtype=np.int32), np.empty(lines + 1, dtype=np.int32)
    n, count, left_out, flaw, at = _loops.svmlight_rows(
        text, first_index, features, labels, values, indices, indptr
    )
    X = CsrArrays(values[:count], indices[:count], indptr[: n + 1], features)
    return SvmlightRows(X, labels[:n], left_out, flaw, at)


def index_range(text: AnyArray) -> tuple[int, int]:
    """The smallest and the largest index of such a text, from the two ends of each line.

    The smallest is above the largest if there is none. Undefined for a text with flaws.
    """
    return _loops.svmlight_range(text)

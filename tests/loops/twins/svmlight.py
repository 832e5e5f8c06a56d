"""LIBSVM and SVMlight text to rows in Python."""

from __future__ import annotations

import math
import re

import numpy as np

from separatrix.loops.svmlight import (
    FEATURE,
    INDEX_ORDER,
    INDEX_RANGE,
    LABEL,
    LAST_INDEX,
    VALUE,
    WORD,
    SvmlightRows,
)
from separatrix.numeric.rows import CsrArrays
from separatrix.numeric.types import AnyArray

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


QUERY = re.compile(rb"qid:-?[0-9]+")


def parse_svmlight(text: AnyArray, first_index: int, features: int) -> SvmlightRows:
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
    rows = parse_svmlight(text, 0, LAST_INDEX + 1)
    if not len(rows.X.indices):
        return np.iinfo(np.int64).max, -1
    return int(rows.X.indices.min()), int(rows.X.indices.max())

"""Compiled parser of CSV text that every parser reads in the same way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numeric.types import AnyArray, Array
from ._compiled import _loops

SKIP, NUMBER, WORD = 0, 1, 2  # what becomes of a column


class Words(NamedTuple):
    """A column of words by their codes."""

    codes: AnyArray  # int32, a number for each row; -1 where a word is missing
    offsets: bytes  # int32, where each distinct word begins in the text, and the end of the last
    text: bytes  # the distinct words, in order of their first occurrence


class CsvRows(NamedTuple):
    """Rows of a CSV text."""

    numbers: Array
    """The columns of numbers, in the order of the file; NaN where a number is missing."""
    words: list[Words]  # the columns of words, in the order of the file


def parse_csv(
    text: AnyArray, delimiter: str, has_names: bool, kinds: AnyArray, slots: AnyArray
) -> CsvRows | None:
    """Parse whole rows, an array of bytes that ends with a line's end; None if they are refused.

    ``kinds`` (uint8) says what becomes of each column, ``slots`` (int32) where it goes, counted
    among the columns of its kind. With ``has_names`` the first row is left out. Missing are the
    words that pyarrow takes for null. Refused are rows with too few or too many values, words
    among numbers, numbers near the limits of a double, quotes within values without quotes, and
    lines that end with CR: a slower parser knows what they are, or what is wrong.
    """
    n_rows = int(np.count_nonzero(text == ord("\n")))
    numbers = np.empty((n_rows, int(np.count_nonzero(kinds == NUMBER))))
    codes = np.empty((int(np.count_nonzero(kinds == WORD)), n_rows), dtype=np.int32)
    found = _loops.csv_rows(text, ord(delimiter), has_names, kinds, slots, numbers, codes)
    if found is None:
        return None
    n, words = found
    columns = zip(codes[:, :n], words, strict=True)
    return CsvRows(numbers[:n], [Words(column, *word) for column, word in columns])


def end_of_rows(text: AnyArray, delimiter: str) -> int | None:
    """Where the last row ends that is whole, of text that begins with a row; 0 if none does.

    Between quotes lines end no row. None if a quote is neither the first nor the last character of
    a value, nor one of two: a slower parser knows what it means.
    """
    end = _loops.csv_end(text, ord(delimiter))
    return None if end < 0 else end

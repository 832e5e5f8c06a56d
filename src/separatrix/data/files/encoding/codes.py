"""Labels as they come, piece by piece, as numbers: classes are known only after the last row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....numeric.types import AnyArray, Ints
from ...containers import missing
from ...labels import LONGEST_LABEL, ends_with_nul, small_integer_classes, too_long
from ..readers.reader import Place
from .coded_labels import CodedLabels, Labels

MOST_LABELS = 1 << 16  # distinct ones: more are no classes, and would fill the memory
FEW_LABELS = 8  # up to which comparing with each is faster than a sort
KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "words"}


class LabelCodes:
    """A number for every distinct label, in order of first occurrence.

    Rows can so be stored before the last label is known; ``values`` has the label of each code.
    """

    def __init__(self, values: Sequence[Any] = (), frozen: bool = False) -> None:
        self.values: list[Any] = list(values)
        self._codes = {value: code for code, value in enumerate(self.values)}
        self._kind = None if not self.values else KINDS[np.asarray(self.values[:1]).dtype.kind]
        self.frozen = frozen
        """No new labels are allowed: the first pass has seen all of them."""

    @classmethod
    def from_list(cls, values: Any) -> LabelCodes:
        """Codes of stored labels; ValueError if they are not labels."""
        kinds = {type(value) for value in values}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            raise ValueError("labels are not of one kind")
        if len(values) > MOST_LABELS or len(set(values)) < len(values):
            raise ValueError("too many labels, or twice the same")
        found = cls(values)
        found._checked(np.array(values, dtype=object if str in kinds else None), Place())
        return found

    def of(self, y: Labels, where: Place) -> Ints:
        """The code of every label; ``where`` they were read is for errors."""
        if isinstance(y, CodedLabels):
            here = np.flatnonzero(np.bincount(y.codes, minlength=len(y.words)))
            of_words = np.full(len(y.words), -1, dtype=np.int64)
            of_words[here] = self.of(y.words[here], where)
            rows: Ints = of_words[y.codes]
            return rows
        y = self._checked(np.asarray(y), where)
        if not len(y):
            return np.empty(0, dtype=np.int64)
        distinct = small_integer_classes(y)
        if distinct is not None:  # whole numbers close together: by a table
            table = np.zeros(int(distinct[-1]) - int(distinct[0]) + 1, dtype=np.int64)
            table[distinct.astype(np.int64) - int(distinct[0])] = self._coded(distinct, where)
            found: Ints = table[y.astype(np.int64) - int(distinct[0])]
            return found
        codes = self._known(y)
        new = codes < 0
        if new.any():
            distinct, number = np.unique(y[new], return_inverse=True)
            codes[new] = self._coded(distinct, where)[number]
        return codes

    def _known(self, y: AnyArray) -> Ints:
        """Codes of labels found before, else -1; to compare with a few is faster than a sort."""
        codes = np.full(len(y), -1, dtype=np.int64)
        if len(self.values) <= FEW_LABELS:
            for code, value in enumerate(self.values):
                codes[y == value] = code
        return codes

    def _coded(self, distinct: AnyArray, where: Place) -> Ints:
        values = distinct.tolist()
        fresh = [value for value in values if value not in self._codes]
        if fresh and self.frozen:
            raise ValueError(
                f"{where}: the label {fresh[0]!r} was not there in the first pass; expected the "
                "same rows at each pass: the data has changed meanwhile, so read it again."
            )
        if len(self.values) + len(fresh) > MOST_LABELS:
            raise ValueError(
                f"{where}: the target has more than {MOST_LABELS} distinct values; expected "
                "classes: is it the right column?"
            )
        for value in fresh:
            self._codes[value] = len(self.values)
            self.values.append(value)
        return np.array([self._codes[value] for value in values], dtype=np.int64)

    def _checked(self, y: AnyArray, where: Place) -> AnyArray:
        """Labels of one kind, none of them missing, all of them classes."""
        if y.ndim != 1:
            raise ValueError(
                f"{where}: labels have the shape {y.shape}; expected (n,), a label for every row."
            )
        rows = np.flatnonzero(missing(y))
        if len(rows):
            raise ValueError(
                f"{where.row(int(rows[0]))}: the label is missing; expected one for every row: "
                "leave out the rows without one, or give them a label of their own."
            )
        if y.dtype.kind == "O" and all(isinstance(value, str) for value in y.tolist()):
            lengths = [len(value) for value in y.tolist()]
            if max(lengths, default=0) > LONGEST_LABEL:
                row = int(np.argmax(lengths))
                raise ValueError(f"{where.row(row)}: there {too_long(lengths[row])}")
            for row, label in enumerate(y.tolist()):
                if label.endswith("\0"):
                    raise ValueError(f"{where.row(row)}: there {ends_with_nul(label)}")
            y = y.astype(np.str_)
        kind = KINDS.get(y.dtype.kind)
        if kind is None:
            raise ValueError(
                f"{where}: labels are of type {y.dtype}; expected numbers or words, and of one kind"
            )
        if len(y) and self._kind not in (None, kind):
            raise ValueError(
                f"{where}: labels are {kind}, but {self._kind} before; expected one kind of labels"
            )
        if y.dtype.kind == "f" and not np.array_equal(y, np.rint(y)):
            row = int(np.argmax(y != np.rint(y)))
            raise ValueError(
                f"{where.row(row)}: the label is {y[row]:g}; expected classes, whole "
                "numbers or words: this target is continuous. Turn it into a few classes."
            )
        if len(y):
            self._kind = kind
        return y

"""Several targets, columns of 0 and 1: the labels of a row as one word, a digit for each column.

So rows with several labels are coded, counted, cached and held out like rows with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....numeric.types import AnyArray
from ..readers.reader import Place
from .coded_labels import Labels, plain_labels

Target = str | tuple[str, ...] | None  # the column of labels, or several columns of 0 and 1


def as_target(given: Any) -> Any:
    """The target as it was given, a list of names as a tuple; a list of one is a name."""
    if not isinstance(given, (list, tuple)):
        return given
    names = tuple(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"target must be a column, or a list of columns, got {given!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"target names a column twice: {list(names)!r}")
    return names[0] if len(names) == 1 else names


def target_names(target: Target) -> list[str]:
    """The columns of labels."""
    if target is None:
        return []
    return [target] if isinstance(target, str) else list(target)


def labels_of(batch: Any, target: str | tuple[str, ...], place: Place) -> Labels:
    """The label of every row, or its labels as a word of 0 and 1."""
    from .columns import labels, whole_column

    if isinstance(target, str):
        return labels(whole_column(batch, target, coded=True), target, place)
    digits = np.empty((batch.num_rows, len(target)), dtype=np.uint8)
    for j, name in enumerate(target):
        values = plain_labels(labels(whole_column(batch, name), name, place))
        known = values.dtype.kind in "biuf"
        wrong = np.flatnonzero(~((values == 0) | (values == 1))) if known else np.arange(1)
        if len(values) and len(wrong):
            raise ValueError(
                f"{place.row(int(wrong[0]))}: the target {name!r} is {values[wrong[0]].item()!r}; "
                "expected 0 or 1 in each of several targets: 1 where a row has the label"
            )
        digits[:, j] = values.astype(np.uint8) + ord("0")
    words: AnyArray = digits.view(f"S{len(target)}").ravel().astype(np.str_)
    return words


def signs_of_words(words: Sequence[str], q: int) -> AnyArray:
    """-1 and +1 for the digits of words of q labels, (m, q) int8."""
    if any(len(word) != q or set(word) - {"0", "1"} for word in set(words)):
        raise ValueError(f"the labels of a row are not {q} digits of 0 and 1")
    digits = np.array(list(words), dtype=f"S{q}").view(np.uint8).reshape(len(words), q)
    signs: AnyArray = np.where(digits == ord("1"), np.int8(1), np.int8(-1))
    return signs

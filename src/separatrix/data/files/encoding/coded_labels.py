"""Labels of words as numbers, which need not be looked up row by row."""

from __future__ import annotations

from typing import NamedTuple

from ....numeric.types import AnyArray, Ints


class CodedLabels(NamedTuple):
    """Labels of rows as numbers among a few words, some of which may be in none of the rows."""

    words: AnyArray
    codes: Ints


Labels = AnyArray | CodedLabels


def plain_labels(labels: Labels) -> AnyArray:
    """The label of every row."""
    return labels.words[labels.codes] if isinstance(labels, CodedLabels) else labels

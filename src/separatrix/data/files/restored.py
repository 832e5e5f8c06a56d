"""What a cache knows of all rows: facts that a first pass found, checked before they are used."""

from __future__ import annotations

from typing import NamedTuple

from ..class_moments import RunningMoments
from .cache.file import DecodedCache
from .encoding.codes import LabelCodes
from .encoding.encoding import Encoding
from .facts import Facts
from .readers.formats import FORMATS


class Restored(NamedTuple):
    """The results of a first pass."""

    codes: LabelCodes
    facts: Facts
    encoding: Encoding | None
    moments: RunningMoments | None
    format: str | None


def restored(
    cache: DecodedCache, validation: float, encoding: Encoding | None, of_table: bool
) -> Restored:
    """The facts that were written with the blocks; an error if they are not of these blocks.

    Data from a file is not trusted. ``encoding`` is one that is given, of a fit.
    """
    about = cache.about
    codes, facts = LabelCodes.from_list(about["labels"]), Facts.from_dict(about["facts"])
    first = cache.blocks[0]
    facts.check_layout(
        [stored.n_rows for stored in cache.blocks],
        "dense" if first.features is None else "csr",
        first.dtype.name, cache.features, validation,
    )  # fmt: skip
    k, moments = len(codes.values), None
    facts.check_codes(k, cache.codes)
    if encoding is None and about["encoding"] is not None:
        encoding = Encoding.from_dict(about["encoding"])
    if about["moments"] is not None:
        moments = RunningMoments.from_dict(about["moments"], k, facts.n_features)
    if (encoding is not None) != of_table:
        raise ValueError("an encoding is for tables, and tables need one")
    if encoding is not None and encoding.n_features != facts.n_features:
        raise ValueError("other features than rows have")
    if about["format"] is not None and about["format"] not in FORMATS:
        raise ValueError("no format")
    return Restored(codes, facts, encoding, moments, about["format"])

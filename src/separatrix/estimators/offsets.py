"""Offsets in predictions: whether the fit had one, and so whether one is needed."""

from __future__ import annotations

from typing import Any

from ..data import Source
from ..data.offset import check_offset
from ..numeric.types import Array


class OffsetModel:
    """Remembers whether a fit had an offset; its scores are ``w.x + b`` plus the offset."""

    _with_offset: bool

    @property
    def uses_offset_(self) -> bool:
        """Whether the fit had an offset: then predictions need one, too."""
        return bool(self.__dict__.get("_with_offset", False))

    def _note_offset(self, source: Source) -> None:
        self.__dict__.pop("_with_offset", None)
        if source.has_offset:
            self._with_offset = True

    def _offset_of(self, offset: Any, n: int, columns: int | None) -> Array | None:
        """The checked offset of n rows, (n, columns); None if the model needs none.

        A model without an offset in its fit takes one all the same: it is added to the scores.
        """
        if offset is None:
            self._check_offset(False)
            return None
        return check_offset(offset, n, columns or 1)

    def _check_offset(self, given: bool) -> None:
        """Refuse rows without an offset if the fit had one."""
        if self.uses_offset_ and not given:
            raise ValueError(
                f"{type(self).__name__} was fitted with an offset, and its scores are wrong "
                "without one: pass offset=, one number per row (zeros for a model of rows whose "
                "offset is 0)"
            )


def refuse_offset_beside(offset: Any) -> None:
    """Refuse an offset with a source or a table, which has its own."""
    if offset is not None:
        raise TypeError(
            "a source has the offset of its rows, but offset was also given: pass the source "
            "alone, or arrays with an offset"
        )

"""Columns that are kept or dropped, given by name or by a pattern such as ``id_*``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase


def selected(
    names: Sequence[str],
    keep: Iterable[str] | None,
    drop: Iterable[str],
    roles: Collection[str],
) -> list[str]:
    """The columns that are features, in the order of the table: the kept ones that are not dropped.

    ``roles`` are the target and the weight. Naming one of them is an error; patterns skip them.
    """
    kept = set(names) if keep is None else matching("keep", keep, names, roles)
    dropped = matching("drop", drop, names, roles)
    if both := [name for name in keep or () if name in dropped and name in drop]:
        raise ValueError(f"keep and drop both name {both[0]!r}: name it once")
    return [name for name in names if name in kept and name not in dropped and name not in roles]


def matching(
    what: str, wanted: Iterable[str], names: Sequence[str], roles: Collection[str]
) -> set[str]:
    """The columns that names and patterns stand for; one that stands for none is an error.

    A column of exactly this name is meant before any pattern: ``size [m]`` is a name.
    """
    known, found = set(names), set()
    for one in wanted:
        if one in roles:
            raise ValueError(f"{what} names {one!r}, which is the target or the weight")
        if one in known:
            found.add(one)
        elif is_pattern(one):
            some = {name for name in known if fnmatchcase(name, one)}.difference(roles)
            if not some:
                raise ValueError(
                    f"{what} has the pattern {one!r}, and no feature matches it: the columns are "
                    f"{list(names)!r}"
                )
            found |= some
        else:
            raise ValueError(
                f"{what} names the column {one!r}, and there is none: {meant(one, names)}"
            )
    return found


def is_pattern(name: str) -> bool:
    """Whether this may stand for several columns."""
    return any(sign in name for sign in "*?[")


def meant(name: str, names: Sequence[str]) -> str:
    """The name that is most like one that there is none of, as a question; or all there are."""
    lower = {other.lower(): other for other in names}
    if near := get_close_matches(name.lower(), lower, n=1):
        return f"is it {lower[near[0]]!r}?"
    return f"the columns are {list(names)!r}"

"""From plain data back to a model; nothing in it is trusted. See plain.py for the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import scipy.sparse as sp

from .. import losses
from ..kernels.votes import Update, Votes
from ..numeric.container import Damaged
from ..numeric.expected import number_type, scalar
from ..numeric.registry import KINDS, Registered, from_dict
from ..numeric.types import AnyArray
from ..penalties import L2
from ..training.trace import Trace
from .plain import LABELS, RECORDS, has_fitting_width
from .schema import conforms

TEXT_TYPE = re.compile(r"[<>]U(0|[1-9][0-9]{0,8})")
SIMPLE: dict[Any, Any] = {
    "bool": bool, "int": int, "float": float, "str": str, "int | None": int | None,
    "float | None": float | None,
}  # fmt: skip
"""Type hints of losses, solvers and others that fully describe a parameter."""


def label_type(text: Any) -> np.dtype[Any]:
    """The type of labels that a file names: strings of a width, objects, or numbers."""
    if isinstance(text, str) and (text == "|O" or TEXT_TYPE.fullmatch(text)):
        return np.dtype(text)
    return number_type(text)


@dataclass
class ModelReader:
    """Converts plain data back to values; each array is returned once."""

    arrays: dict[str, AnyArray]

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(entry) for entry in plain]
        if not isinstance(plain, dict):
            return plain
        tag = next(iter(plain), "")
        if not tag.startswith("$"):
            return {key: self.value(entry) for key, entry in plain.items()}
        if len(plain) != 1:
            raise Damaged(f"a value has keys besides {tag!r}")
        read = getattr(self, f"_{tag[1:]}", None) if tag in TAGS else None
        if read is not None:
            return read(plain[tag])
        if tag[1:] in KINDS:
            return self._registered(KINDS[tag[1:]], plain[tag])
        raise Damaged(f"it contains {tag!r}, unknown to this version of separatrix")

    def _float(self, word: Any) -> float:
        if word not in ("nan", "inf", "-inf"):
            raise Damaged(f"{word!r} is not a number")
        return float(word)

    def _array(self, name: Any) -> AnyArray:
        if not isinstance(name, str) or name not in self.arrays:
            raise Damaged(f"the array {name!r} is missing or used twice")
        return self.arrays.pop(name)

    def _number(self, plain: Any) -> Any:
        dtype, number = self._pair(plain)
        number = self.value(number)
        if type(number) not in (bool, int, float):
            raise Damaged(f"{number!r} is not a number")
        return scalar(dtype, number)

    def _tuple(self, plain: Any) -> tuple[Any, ...]:
        return tuple(self._list(plain))

    def _list(self, plain: Any) -> list[Any]:
        found = self.value(plain)
        if type(found) is not list:
            raise Damaged("a list is missing")
        return found

    def _pair(self, plain: Any) -> list[Any]:
        if not isinstance(plain, list) or len(plain) != 2:
            raise Damaged("a pair is missing")
        return plain

    def _dict(self, plain: Any) -> dict[Any, Any]:
        found = {}
        for pair in plain if isinstance(plain, list) else [plain]:
            key, entry = map(self.value, self._pair(pair))
            if not isinstance(key, (str, int, float, bool, np.generic, type(None))):
                raise Damaged(f"{key!r} is not a valid key")
            if key in found:
                raise Damaged(f"it contains the key {key!r} twice")
            found[key] = entry
        return found

    def _values(self, plain: Any) -> AnyArray:
        dtype, values = self._pair(plain)
        entries = self._list(values)
        type = label_type(dtype)
        if not all(isinstance(one, LABELS[type.kind]) for one in entries):
            raise Damaged("labels do not have the type stated")
        if not has_fitting_width(type, entries):
            raise Damaged(f"{dtype!r} is wider than these labels need")
        array = np.empty(len(entries), type)
        with np.errstate(over="raise"):
            array[:] = entries
        return array

    def _registered(self, root: type[Registered], plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise Damaged(f"a {root._kind} is missing")
        _refuse_own(plain)
        data = {name: entry for name, entry in plain.items() if name != "reason"}
        found: Any = losses.from_dict(data) if root is losses.Loss else from_dict(root, data)
        reason = plain.get("reason", "")
        if not isinstance(reason, str):
            raise Damaged("a reason is not a string")
        if reason:
            object.__setattr__(found, "reason", reason)
        _check_parameters(found)
        return found

    def _record(self, plain: Any) -> Any:
        name, entries = self._pair(plain)
        if not isinstance(name, str) or name not in RECORDS or not isinstance(entries, dict):
            raise Damaged(f"it contains {name!r}, unknown to this version of separatrix")
        data = {key: self.value(entry) for key, entry in entries.items()}
        cls = RECORDS[name]
        return checked(READ[cls](data) if cls in READ else _made(cls, data))

    def _records(self, plain: Any) -> list[Any]:
        """Records of one class, stored field by field."""
        name, entries = self._pair(plain)
        cls = RECORDS.get(name) if isinstance(name, str) else None
        if cls is None or cls in READ or not isinstance(entries, dict):
            raise Damaged(f"it contains {name!r}, unknown to this version of separatrix")
        columns = [self._list(column) for column in entries.values()]
        if len({len(column) for column in columns}) != 1:
            raise Damaged(f"the fields of {name} differ in length")
        rows = zip(*columns, strict=True)
        return [checked(_made(cls, dict(zip(entries, row, strict=True)))) for row in rows]

    def _csr(self, plain: Any) -> Any:
        if not isinstance(plain, list) or len(plain) != 3:
            raise Damaged("a sparse matrix is incomplete")
        is_matrix, shape, parts = plain[0], plain[1], self.value(plain[2])
        if not conforms(shape, list[int]) or len(shape) != 2 or type(is_matrix) is not bool:
            raise Damaged("a sparse matrix has no shape")
        if not all(0 <= n < 2**62 for n in shape):
            raise Damaged("a sparse matrix has no shape")
        if not conforms(parts, dict[str, AnyArray]) or set(parts) != {"data", "indices", "indptr"}:
            raise Damaged("a sparse matrix is incomplete")
        made = sp.csr_matrix if is_matrix else sp.csr_array
        found = made((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(shape))
        found.check_format(full_check=True)
        return found


TAGS = ("$float", "$array", "$number", "$tuple", "$dict", "$values", "$record", "$records", "$csr")


def _refuse_own(plain: Any) -> None:
    """Refuse losses, solvers, penalties and schedules from outside of separatrix, also nested."""
    for root in KINDS.values() if isinstance(plain, dict) else ():
        known = root._registry.get(str(plain.get(root._kind)))
        if known is not None and known.__module__.partition(".")[0] != "separatrix":
            raise Damaged(f"a {root._kind} defined outside of separatrix is not read from files")
    for entry in plain.values() if isinstance(plain, dict) else plain:
        if isinstance(entry, (dict, list)):
            _refuse_own(entry)


def _check_parameters(found: Any) -> None:
    """Check the types of parameters with simple type hints; others are checked when used."""
    for one in getattr(type(found), "__dataclass_fields__", {}).values():
        value = getattr(found, one.name)
        if one.type in SIMPLE and not conforms(value, SIMPLE[one.type]):
            raise Damaged(f"{one.name} of a {type(found).__name__} has the wrong type")
        if isinstance(value, Registered):
            _check_parameters(value)


def _made(cls: type, data: dict[str, Any]) -> Any:
    needed, known = _entries(cls)
    if not needed <= data.keys() <= known:
        raise Damaged(f"a {cls.__name__} has missing or unexpected entries")
    return cls(**data)


# Both are cached: a model may hold a record for every column.
@cache
def _entries(cls: type) -> tuple[set[str], set[str]]:
    """The names of the entries that a record needs, and of all that it may have."""
    known = {
        one.name: one.default is one.default_factory is MISSING for one in fields(cls) if one.init
    }
    return {name for name, is_needed in known.items() if is_needed}, set(known)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def checked(value: Any) -> Any:
    """Return a record after checking the types of all fields."""
    kind: Any = type(value)
    hints = _hints(kind)
    for one in fields(value):
        if not conforms(getattr(value, one.name), hints[one.name]):
            raise Damaged(f"{one.name} of a {type(value).__name__} has the wrong type")
    return value


def _read_trace(data: dict[str, Any]) -> Trace:
    recorded = data.pop("recorded", None)
    if not isinstance(recorded, dict):
        raise Damaged("a Trace is empty")
    if "l2" in data:  # as in files from before other penalties
        data["penalty"] = L2(data.pop("l2"))
    trace: Trace = checked(_made(Trace, data))
    trace.expected_state()("trace_", recorded)
    trace.restore(recorded)
    return trace


def _read_votes(data: dict[str, Any]) -> Votes:
    names = ("visits", "rows", "sizes", "changes", "survived")
    if set(data) != {*names, "columns"} or not all(isinstance(data[n], np.ndarray) for n in names):
        raise Damaged("votes are incomplete")
    changes, n = data["changes"], len(data["visits"])
    for name in names:
        ndim, kind = (3, "i") if name == "changes" and n else (1, "f" if name == "sizes" else "i")
        shaped = data[name].ndim == ndim and len(data[name]) == n
        if not shaped or (n and data[name].dtype.kind != kind):
            raise Damaged(f"{name} of votes has the wrong type or shape")
    if n and changes.shape[2] != 2:
        raise Damaged("votes differ in length")
    columns = [data[name].tolist() for name in names]
    updates = tuple(
        Update(visit, row, size, tuple(map(tuple, change)))
        for visit, row, size, change in zip(*columns[:4], strict=True)
    )
    return Votes(data["columns"], updates, tuple(columns[4]))


READ: dict[type[Any], Callable[[dict[str, Any]], Any]] = {Trace: _read_trace, Votes: _read_votes}

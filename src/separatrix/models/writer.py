"""From a model to plain data: JSON, and arrays by name. See plain.py for the format."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators.stream import StreamState
from ..kernels.votes import Votes
from ..numeric.container import is_storable
from ..numeric.registry import Registered
from ..numeric.types import AnyArray
from ..training.stopping import Stop
from ..training.trace import Trace
from .plain import LABELS, NUMBERS, RECORDS, has_fitting_width

KEPT = {cls: [one.name for one in fields(cls) if one.init] for cls in RECORDS.values()}
"""The fields of a record that a file contains."""
AS_THEY_ARE = frozenset({type(None), bool, int, str})


def is_json(value: Any) -> bool:
    """Whether JSON has the value itself: a string, a finite number, true, false or null."""
    return type(value) in AS_THEY_ARE or (type(value) is float and math.isfinite(value))


def is_ours(value: Any) -> bool:
    """Whether the class of the value is available wherever the file is loaded."""
    return type(value).__module__.partition(".")[0] == "separatrix"


@dataclass
class Writer:
    """Converts values to JSON, and collects the arrays among them by name."""

    arrays: dict[str, AnyArray] = field(default_factory=dict)

    def plain(self, where: str, value: Any) -> Any:
        """Convert one value; ``where`` names arrays, and the value in errors."""
        if is_json(value):
            return value
        if type(value) is float:
            return {"$float": str(value)}
        if RECORDS.get(type(value).__name__) is type(value):
            return {"$record": [type(value).__name__, self._fields(where, value)]}
        if isinstance(value, np.ndarray):
            return self._array(where, value)
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return {"$number": [value.dtype.str, self.plain(where, value.item())]}
        if type(value) is list:
            kind = type(value[0]) if len(value) > 1 else None
            if kind in KEPT and kind not in ENTRIES and all(type(entry) is kind for entry in value):
                return {"$records": [kind.__name__, self._columns(where, kind, value)]}
            if AS_THEY_ARE.issuperset(map(type, value)):  # faster than one by one
                return value
            return [
                entry if is_json(entry) else self.plain(f"{where}.{i}", entry)
                for i, entry in enumerate(value)
            ]
        if type(value) is tuple:
            return {"$tuple": self.plain(where, list(value))}
        if type(value) is dict:
            return self._dict(where, value)
        if isinstance(value, Registered):
            return self._registered(where, value)
        if sp.issparse(value) and value.format == "csr":
            return self._csr(where, value)
        raise self._refusal(where, value)

    def _refusal(self, where: str, value: Any) -> TypeError:
        name, parameter = (
            getattr(value, "__qualname__", type(value).__qualname__),
            where.split(".")[0],
        )
        remedy = "fit with losses, solvers and schedules of separatrix"
        if not parameter.startswith("_") and not parameter.endswith("_"):
            other = "()" if parameter == "callbacks" else "..."
            remedy = f"set_params({parameter}={other}), which does not change the fit"
        return TypeError(
            f"{where} is {name!r}, and a model file contains no code: only numbers, strings, "
            "arrays, lists and dictionaries of them, and losses, solvers and schedules of "
            f"separatrix. Before saving {remedy}; or save the model with joblib or pickle"
        )

    def _array(self, where: str, value: AnyArray) -> Any:
        kind = value.dtype.kind
        if kind in "UO" or (kind in NUMBERS and where.endswith(("classes_", ".classes"))):
            entries = value.tolist()
            if value.ndim != 1 or not all(isinstance(one, LABELS[kind]) for one in entries):
                raise self._refusal(where, value)
            if not has_fitting_width(value.dtype, entries):
                raise ValueError(
                    f"{where} has strings of very different lengths, and an array gives all of "
                    "them the width of the longest: use shorter labels, or an array of type object"
                )
            return {"$values": [value.dtype.str, self.plain(where, entries)]}
        if not is_storable(value):
            raise self._refusal(where, value)
        name = where
        while name in self.arrays:
            name += "'"
        self.arrays[name] = value
        return {"$array": name}

    def _dict(self, where: str, value: dict[Any, Any]) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.plain(f"{where}.{key}", entry) for key, entry in value.items()}
        pairs = [[key, entry] for key, entry in value.items()]
        return {"$dict": self.plain(where, pairs)}

    def _registered(self, where: str, value: Registered) -> Any:
        own = getattr(value, "binary", value)  # the two-class form of a multiclass loss
        if not is_ours(own):
            raise self._refusal(where, own)
        try:
            data = value.to_dict()
        except TypeError as error:
            raise TypeError(f"{where} cannot be written to a model file: {error}") from None
        reason = getattr(value, "reason", "")
        return {f"${value._kind}": data | ({"reason": reason} if reason else {})}

    def _fields(self, where: str, value: Any) -> dict[str, Any]:
        data = ENTRIES[type(value)](value) if type(value) in ENTRIES else _entries(value)
        for name, entry in data.items():
            if not is_json(entry):
                data[name] = self.plain(f"{where}.{name}", entry)
        return data

    def _columns(self, where: str, kind: type[Any], records: list[Any]) -> dict[str, Any]:
        """Values field by field: a model may contain a record for every column of a wide table."""
        return {
            name: self.plain(f"{where}.{name}", [getattr(one, name) for one in records])
            for name in KEPT[kind]
        }

    def _csr(self, where: str, value: Any) -> Any:
        parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        is_matrix = isinstance(value, sp.spmatrix)
        return {"$csr": self.plain(where, [is_matrix, list(map(int, value.shape)), parts])}


def _entries(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in KEPT[type(value)]}


def _trace_entries(trace: Trace) -> dict[str, Any]:
    """The recipe and the records, with the rows of all passes in one array."""
    recorded = ("n_iter", "rows", "updates_per_pass", "_counts", "_bytes")
    recipe = {name: value for name, value in _entries(trace).items() if name not in recorded}
    return recipe | {"recorded": trace.to_state()}


def _stream_entries(stream: StreamState) -> dict[str, Any]:
    return {name: value for name, value in _entries(stream).items() if name != "room"}


def _votes_entries(votes: Votes) -> dict[str, Any]:
    """One array for each field of the updates."""
    updates = votes.updates
    return {
        "columns": votes.columns, "survived": np.array(votes.survived, np.int64),
        "visits": np.array([update.visit for update in updates], np.int64),
        "rows": np.array([update.row for update in updates], np.int64),
        "sizes": np.array([update.size for update in updates], np.float64),
        "changes": np.array([update.changes for update in updates], np.int64),
    }  # fmt: skip


def _stop_entries(stop: Stop) -> dict[str, Any]:
    if not (stop.validation is None or stop.validation is True):
        raise TypeError(
            "stop=Stop(validation=...) holds rows, and a model file keeps none: before saving "
            "set_params(stop=None), which does not change the fit"
        )
    if stop.certify is not None:
        raise TypeError(
            "stop=Stop(certify=...) holds rows, and a model file keeps none: before saving "
            "set_params(stop=None), which does not change the fit"
        )
    return _entries(stop)


ENTRIES: dict[type[Any], Callable[[Any], dict[str, Any]]] = {
    Trace: _trace_entries, Stop: _stop_entries, StreamState: _stream_entries, Votes: _votes_entries,
}  # fmt: skip

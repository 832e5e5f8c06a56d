"""A run as a whole: its settings and its state, which can be read or replaced.

A callback that defines ``begin(run)`` is called with it before the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..data import Source
from ..numeric.expected import Check, anything, array, entries, optional, whole
from ..numeric.lazy import cached_property
from ..numeric.types import Array
from ..objective import Objective
from ..solvers import Solver, State
from .checkpoint_file import packed
from .loop import Loop
from .stopping import Stop

MOST_SEED = 2**128  # NumPy's generators take 128 bits


@runtime_checkable
class Resumable(Protocol):
    """An object with state that can be saved and restored.

    A callback with these methods is saved and restored with the run.
    """

    def to_state(self) -> State:
        """The complete state: arrays, numbers, strings, and lists and dictionaries of them."""

    def restore(self, state: State) -> None:
        """Restore this state, which must not be modified."""


@runtime_checkable
class Expecting(Protocol):
    """A part of a run that defines checks for its state."""

    def expected_state(self) -> Check:
        """Checks for the argument of ``restore``, made before anything is restored."""


class Run:
    """A run before its first step, or between two steps.

    ``seed`` and ``start`` are its initial values; ``drawn`` names which of the two were chosen at
    random, so that others may replace them.
    """

    def __init__(
        self,
        loop: Loop,
        parts: Mapping[str, Resumable | None],
        settings: Callable[[], dict[str, Any]],
        seed: int,
        start: Array,
        drawn: Collection[str] = (),
    ) -> None:
        self.loop, self.seed, self.start, self.drawn = loop, seed, start, drawn
        self._settings = settings
        self.parts: dict[str, Resumable] = {
            name: part for name, part in parts.items() if part is not None
        }
        self.parts["loop"] = loop
        each: tuple[Any, ...] = tuple(loop.callbacks)
        for number, callback in enumerate(each):
            if isinstance(callback, Resumable):
                self.parts[f"callback {number}, {type(callback).__name__}"] = callback
        self.closing = ExitStack()
        """Called when the passes have ended, for any reason."""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The settings that determine the run, as plain data; digests take a read of the data.

        Two runs with the same settings take the same steps. ``max_iter`` and the number of threads
        are not included.
        """
        settings = {"separatrix": version("separatrix"), **self._settings()}
        settings["remembered"] = sorted(self.parts)
        settings["seed"] = None if "seed" in self.drawn else self.seed
        settings["start"] = None if "start" in self.drawn else digest(self.start)
        return settings

    @property
    def passes(self) -> int:
        """Number of passes that have ended."""
        return len(self.loop.infos)

    @property
    def is_whole(self) -> bool:
        """Whether ``to_state`` describes the end of a pass."""
        return self.loop.is_whole

    def terminate(self) -> None:
        """End the run soon."""
        self.loop.terminate()

    def to_state(self) -> State:
        """The complete state: arrays, numbers, strings, and lists and dictionaries of them."""
        start = self.start if "start" in self.drawn else None
        parts = {name: part.to_state() for name, part in self.parts.items()}
        return {"seed": self.seed, "start": start, "parts": parts}

    def restore(self, state: State) -> None:
        """Restore the state of another run with the same settings; raise if it is invalid."""
        parts = {
            name: part.expected_state() if isinstance(part, Expecting) else anything
            for name, part in self.parts.items()
        }
        start = optional(array(*self.start.shape))
        seed = whole(0, MOST_SEED)
        entries({"seed": seed, "start": start, "parts": entries(parts)})("its state", state)
        # The loop first, because it rejects a state from which it cannot continue.
        for name in sorted(self.parts, key=lambda name: name != "loop"):
            self.parts[name].restore(state["parts"][name])
        self.seed = state["seed"]
        self.start = self.start if state["start"] is None else state["start"]

    def begin(self) -> State | None:
        """Call ``begin`` of the callbacks; return the solver's state if one of them restored it.

        The caller enters ``closing`` before.
        """
        for callback in self.loop.callbacks:
            begin = getattr(callback, "begin", None)
            if begin is not None:
                begin(self)
        return None if self.loop.step is None else self.loop.step.saved


def settings_of(
    objective: Objective, solver: Solver, stop: Stop, keep: str, state: State | None
) -> dict[str, Any]:
    """Settings that determine a minimisation, apart from its seed and start."""
    source = objective.source
    held_out = source.validation
    early = stop.validation if isinstance(stop.validation, Source) else None
    certified = stop.certify if isinstance(stop.certify, Source) else None
    return {
        "solver": solver.to_dict(),
        "loss": objective.loss.to_dict(),
        "penalty": objective.penalty.to_dict(),
        "fit_intercept": objective.intercept,
        "stop": stop.settings(),
        "early stopping": None if early is None else early.fingerprint(),
        **({} if certified is None else {"certify": certified.fingerprint()}),
        "keep": keep,
        "state": None if state is None else digest(state),
        "rows": source.layout(shuffled=solver.by_row),
        "data": source.fingerprint(),
        "validation": None if held_out is None else held_out.fingerprint(),
    }


def digest(value: Any) -> str:
    """A digest of arrays and numbers."""
    whole = sha256()
    for chunk in packed(value):
        whole.update(chunk)
    return whole.hexdigest()


def difference(before: Any, now: Any, where: str = "") -> str:
    """Message with the first setting in which two runs differ; empty if there is none."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*now, *(key for key in before if key not in now)]:
            name = f"{where}.{key}" if where else str(key)
            found = difference(before.get(key), now.get(key), name)
            if found:
                return found
        return ""
    try:
        same = before == now or (before != before and now != now)
    except ValueError:  # arrays, which settings never contain
        same = False
    if same:
        return ""
    if where in HIDDEN:
        return HIDDEN[where]
    return f"{where} was {_short(before)} and is {_short(now)}"


HIDDEN = {
    "data": "the data (rows, labels or weights) is not the same",
    "validation": "the rows held out (read(validation=...)) are not the same",
    "early stopping": "the rows for early stopping (Stop(validation=...)) are not the same",
    "certify": "the rows to certify (Stop(certify=...)) are not the same",
    "start": "the weights that the run starts from are not the same",
    "state": "the state that the run goes on from is not the same",
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain(value: Any) -> Any:
    """A setting as JSON returns it: NumPy numbers as Python numbers, tuples as lists."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value

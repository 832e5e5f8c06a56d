"""Finished fits of a cross-validation, which need not be repeated after a crash.

A fit is identified by everything it depends on except the data, whatever was fitted before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import Any

from ... import loops
from ...data import Source
from ...numeric.expected import Check, anything, entries, optional, whole
from ...numeric.lazy import cached_property
from ...objective import Objective
from ...solvers import State, Step
from ...training.checkpoint import Checkpoint
from ...training.loop import Info
from ...training.run import Run, difference, digest, plain
from .candidates import Candidates, described
from .scores import name_of


class FinishedFits:
    """State of a search in a checkpoint: its finished fits, and the state of the last one."""

    def __init__(
        self, checkpoints: Sequence[Checkpoint], settings: Callable[[], dict[str, Any]]
    ) -> None:
        self.checkpoints, self._settings = checkpoints, settings
        self.closing = ExitStack()
        self.fits: State = {}
        self._read: set[str] = set()
        """Finished fits from a file that have not been used yet."""
        self._resumed = False
        """Whether no fit has been made since a file was read."""
        self.last: State | None = None
        self.run: Run | None = None
        self.terminated = False
        self._named: tuple[Source, str] | None = None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that all fits depend on."""
        return {"separatrix": version("separatrix"), **self._settings()}

    @property
    def passes(self) -> int:
        """Progress: the number of fits, and of passes of the last one."""
        if self.run is None:
            return len(self.fits) + (0 if self.last is None else int(self.last["passes"]))
        return len(self.fits) + self.run.passes

    @property
    def is_whole(self) -> bool:
        """Whether the last fit is at the end of a pass, if it has begun."""
        return self.run is None or self.run.is_whole

    def to_state(self) -> State:
        last = self.last
        if self.run is not None:
            last = {
                "settings": plain(self.run.settings), "state": self.run.to_state(),
                "passes": self.run.passes,
            }  # fmt: skip
        return {"fits": self.fits, "last": last}

    def restore(self, state: State) -> None:
        """Restore the state of another search of these settings; each fit is checked when used."""
        fits = state.get("fits") if isinstance(state, dict) else None
        of_fits = entries(dict.fromkeys(fits, anything) if isinstance(fits, dict) else {})
        last = entries({"settings": anything, "state": anything, "passes": whole()})
        entries({"fits": of_fits, "last": optional(last)})("its state", state)
        self.fits, self.last = dict(state["fits"]), state["last"]
        self._read = set(self.fits)
        self._resumed = True

    def terminate(self) -> None:
        """Request a termination soon."""
        self.terminated = True
        if self.run is not None:
            self.run.terminate()
        else:
            loops.request_stop()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Start the checkpoints, and write the state at the end."""
        with self.closing:
            for checkpoint in self.checkpoints:
                checkpoint.begin(self)
            try:
                yield
            finally:
                if self.terminated:
                    loops.clear_stop()

    def once(
        self,
        depends_on: Callable[[], Any],
        fit: Callable[[], State],
        expected: Check,
        max_iter: float = math.inf,
    ) -> State:
        """The result of a fit, computed now or by a process before this one.

        A result from a file must pass the check ``expected``. The fit depends on ``max_iter`` too
        if it used that many "passes", which its state then contains.
        """
        if not self.checkpoints:
            return fit()
        key = digest(depends_on())
        cut = digest([key, max_iter])
        for known in (key, cut):
            found: State | None = self.fits.get(known)
            if found is None:
                continue
            if known in self._read:
                self._check(found, expected)
                self._read.remove(known)
            if known == cut or found.get("passes", 0) < max_iter:
                return found
        found = self._made(fit)
        self.fits[key if found.get("passes", 0) < max_iter else cut] = found
        for checkpoint in self.checkpoints:
            checkpoint()
        if self.terminated:
            raise loops.Interrupted("the process was asked to terminate")
        return found

    def _made(self, fit: Callable[[], State]) -> State:
        """The result of a fit; it starts from results of the file if none was made since."""
        try:
            found = fit()
        except ValueError as error:
            raise (self.refusal(str(error)) if self._resumed else error) from error
        self._resumed = False
        return found

    def _check(self, found: State, expected: Check) -> None:
        try:
            expected("a finished fit", found)
        except ValueError as error:
            raise self.refusal(str(error)) from None

    @property
    def paths(self) -> str:
        """The names of the files."""
        return ", ".join(str(checkpoint.path) for checkpoint in self.checkpoints)

    def refusal(self, error: str) -> ValueError:
        """An error that names the files."""
        return ValueError(
            f"cannot go on from {self.paths}, in a fit of a cross-validation: {error}; "
            "to start again, give another path, or set Checkpoint(..., resume='never')"
        )

    def fingerprint(self, source: Source) -> str:
        """The fingerprint of a source, read once for consecutive fits to it."""
        if self._named is None or self._named[0] is not source:
            self._named = (source, source.fingerprint())
        return self._named[1]


def settings_of_search(
    clf: Any,
    scoring: Any,
    objective: Objective,
    paths: list[Candidates],
    held_out: Source | None,
) -> dict[str, Any]:
    """Everything that all fits of a search depend on, as plain data."""
    return {
        "loss": objective.loss.to_dict(), "fit_intercept": objective.intercept, **described(paths),
        "penalty": objective.penalty.to_dict(), "scoring": name_of(scoring), "rule": clf.rule,
        "tol": clf.tol, "standardize": clf.standardize, "data": objective.source.fingerprint(),
        "early stopping": None if held_out is None else held_out.fingerprint(),
    }  # fmt: skip


class LastFit:
    """The callback of the fit to all rows, which replaces the checkpoints of the search."""

    def __init__(self, search: FinishedFits) -> None:
        self.search = search

    def begin(self, run: Run) -> None:
        last = self.search.last
        if last is not None:
            found = difference(last["settings"], plain(run.settings))
            if found:
                raise ValueError(
                    f"{self.search.paths} is the checkpoint of another cross-validation: in its "
                    f"last fit {found}; give another path, or set Checkpoint(..., resume='never')"
                )
            try:
                run.restore(last["state"])
            except ValueError as error:
                raise self.search.refusal(str(error)) from None
        self.search.run = run

    def __call__(self, step: Step, info: Info) -> None:
        """Save the state after a pass if it is time."""
        for checkpoint in self.search.checkpoints:
            checkpoint(step, info)

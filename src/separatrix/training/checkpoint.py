"""Checkpoints: the state of a run is saved to a file and restored after a crash.

Input: a run, after every pass. Output: a file from which another process continues the same run
with the same bits as if it had not been interrupted.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from ..numeric import checks
from ..numeric.container import Damaged
from ..numeric.replaced import check_file_path, followed
from ..numeric.warn import warn
from ..solvers import State, Step
from .checkpoint_file import CheckpointFile
from .interrupt import gentle_termination
from .loop import Info
from .run import difference, plain

MOST_TIME = 0.02  # share of the run time spent on writing, if ``every`` is a time
TERMINATED = 143  # exit status of a process ended by SIGTERM


class CheckpointedRun(Protocol):
    """A run that can be saved: see :class:`separatrix.training.run.Run`."""

    closing: Any

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that determine the run."""

    @property
    def passes(self) -> int:
        """Number of passes made."""

    @property
    def is_whole(self) -> bool:
        """Whether the state can be saved now."""

    def to_state(self) -> State:
        """The current state."""

    def restore(self, state: State) -> None:
        """Restore a state."""

    def terminate(self) -> None:
        """End the run soon."""


@dataclass
class Checkpoint:
    """A callback that saves a run to a file, from which it resumes after a crash.

    Run the same program again: the fit continues after the last saved pass, with the same
    weights, history, ``stop_`` and ``n_iter_``, bit for bit, as if it had not been interrupted. A
    finished run returns at once; a run ended by a callback, Ctrl-C or ``max_iter`` continues if
    ``max_iter`` allows.

    Parameters
    ----------
    path : str or path
        The file. The previous one is kept as ``path + ".previous"`` and used if this one is
        damaged. Only one run at a time can use it.
    every : timedelta or int
        How often to write: a time, of which writing takes at most 2 % (else it writes less
        often), or a number of passes. A run is also written when it ends, which takes more than
        2 % if the run is shorter than about half a second.
    resume : {"auto", "never"}
        "auto": resume from the file if it exists. "never": start anew and replace it.

    See Also
    --------
    save : stores a fitted model.

    Notes
    -----
    The file holds plain data and arrays, no code. Resuming raises an error that names the
    difference if the data, a setting or the version of separatrix has changed; ``max_iter``,
    ``n_jobs`` and callbacks may change. Comparing the data takes one read of it. (For
    ``random_state=None`` the saved seed is used.) Settings must have a name to be compared: a
    function as ``learning_rate``, or a custom loss without a ``name``, is an error.

    If the file cannot be written, for example on a full disk, a warning is issued, the fit
    continues and the last file is kept. SIGTERM, by which systems end processes, ends the pass,
    writes, and ends the process with status 143, unless the program has its own handler.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from separatrix import Checkpoint, Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = Checkpoint(Path(folder) / "run.ckpt", every=1)
    ...     cut = Perceptron(3, shuffle=False, callbacks=[run]).fit(X, y)
    ...     clf = Perceptron(1000, shuffle=False, callbacks=[run]).fit(X, y)
    >>> cut.stop_, clf.stop_, clf.n_iter_
    ('max_iter', 'no mistakes', 9)
    """

    path: str | os.PathLike[str]
    every: timedelta | int = timedelta(minutes=5)
    resume: str = "auto"
    _keeper: Keeper | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        often = isinstance(self.every, timedelta) and self.every > timedelta(0)
        if not often and not (checks.is_integer(self.every) and self.every >= 1):  # type: ignore[operator]
            raise ValueError(
                f"every must be a number of passes, 1 or more, or a timedelta such as "
                f"timedelta(minutes=5), got {self.every!r}"
            )
        checks.choice("resume", self.resume, ("auto", "never"))

    def begin(self, run: CheckpointedRun) -> None:
        """Restore the run from the file if there is one, and save it there from now on."""
        file = CheckpointFile(followed(self.path))
        for path in (file.path, file.previous):
            check_file_path(path, "a checkpoint", regular=True)
        run.closing.enter_context(file.alone())
        keeper = Keeper(file, run, self.every)
        if self.resume == "auto":
            keeper.take_up()
        self._keeper = keeper
        run.closing.callback(self._forget)
        run.closing.enter_context(keeper)

    def __call__(self, step: Step | None = None, info: Info | None = None) -> None:
        """Write after a pass, if it is time."""
        if self._keeper is None:
            raise RuntimeError("a Checkpoint is called by a run that began with it")
        self._keeper.look()

    def _forget(self) -> None:
        self._keeper = None


def _is_run(found: Any) -> bool:
    known = isinstance(found, dict) and set(found) == {"settings", "state"}
    return known and isinstance(found["settings"], dict)


class Keeper:
    """Saves one run to its file, and knows when it was last written."""

    def __init__(self, file: CheckpointFile, run: CheckpointedRun, every: timedelta | int) -> None:
        self.file, self.run, self.every = file, run, every
        self.settings = plain(run.settings)
        self.written, self.cost, self.passes = time.monotonic(), 0.0, run.passes
        self.resumed: tuple[Path, int] | None = None
        """The file that the run was resumed from, and its number of passes."""
        self.termination = gentle_termination(run.terminate)

    def take_up(self) -> None:
        """Resume from the file or, if it is damaged, from the previous one."""
        damages: list[str] = []
        for path, found in self.file.versions():
            if not isinstance(found, Damaged) and not _is_run(found):
                found = Damaged("it holds no run")
            if isinstance(found, Damaged):
                damages.append(f"{path} is damaged ({found})")
                continue
            if path == self.file.previous and not damages:
                damages.append(f"{self.file.path} is missing")
            self._refuse_other(path, found["settings"])
            try:
                self.run.restore(found["state"])
            except ValueError as error:
                raise ValueError(f"cannot go on from {path}: {error}; {self._remedy()}") from None
            self.passes = self.run.passes
            self.resumed = path, self.passes
            if damages:
                text = f"{damages[0]}: the run goes on from the one before, {path}"
                warn(text)
            return
        if damages:
            raise ValueError(f"cannot resume: {', and '.join(damages)}; {self._remedy()}")

    def _refuse_other(self, path: Path, settings: dict[str, Any]) -> None:
        found = difference(settings, self.settings)
        if found:
            raise ValueError(f"{path} is the checkpoint of another run: {found}; {self._remedy()}")

    def _remedy(self) -> str:
        return (
            "to begin anew, give another path, remove the file, or set "
            "Checkpoint(..., resume='never')"
        )

    def look(self) -> None:
        """Write if it is time."""
        if isinstance(self.every, timedelta):
            pause = max(self.every.total_seconds(), self.cost / MOST_TIME)
            due = time.monotonic() - self.written >= pause
        else:
            due = self.run.passes - self.passes >= self.every
        if due:
            self.write()

    def write(self) -> None:
        """Write now; on failure warn and continue."""
        began = time.monotonic()
        try:
            self.file.write({"settings": self.settings, "state": self.run.to_state()})
        except OSError as error:
            warn(
                f"the checkpoint {self.file.path} could not be written ({error.strerror or error});"
                " the run goes on, and the last one that was written stays"
            )
        self.written, self.passes = time.monotonic(), self.run.passes
        self.cost = self.written - began

    def __enter__(self) -> Keeper:
        self.termination.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, *_: object
    ) -> None:
        """Write what has not been written when the passes have ended."""
        self.termination.__exit__()
        if isinstance(error, ValueError) and self.resumed is not None:
            path, passes = self.resumed
            if self.run.passes == passes:  # the next pass failed on the restored state
                raise ValueError(f"cannot go on from {path}: {error}; {self._remedy()}") from error
        ended = kind is None or self.termination.asked
        if ended and self.run.is_whole and self.run.passes > self.passes:
            self.write()
        if self.termination.asked:
            raise SystemExit(TERMINATED)

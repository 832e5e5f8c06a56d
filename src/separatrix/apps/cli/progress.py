"""Live progress of a fit on stderr if it is a terminal; otherwise nothing is shown."""

from __future__ import annotations

import math
from typing import Any, Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .output import console, printable

NARROW = 60  # minimum number of columns of a terminal for a progress bar


class Watch:
    """A callback that draws the progress of fits, with the remaining time.

    For a search the progress is the share of its fits. For a fit it is the share of the digits from
    the first proven or expected distance from the minimum to the requested one.
    """

    def __init__(self, tol: float = 1e-6) -> None:
        screen = console(stderr=True)
        wide = [BarColumn(bar_width=20)] if screen.width >= NARROW else []
        self._progress = Progress(
            TextColumn("{task.description}"), *wide, TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(compact=True),
            console=screen, transient=True, disable=not screen.is_terminal,
        )  # fmt: skip
        self._task: Any = None
        self._tol, self._first = tol, math.nan

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def stage(self, text: str, total: int | None = None) -> None:
        """Start another part of the work, with its number of steps if known."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(printable(text), total=total)
        self._first = math.nan

    def searched(self, l2: float) -> None:
        """Count one more fit of the search for l2."""
        self._progress.update(self._task, advance=1)

    def __call__(self, step: Any, info: Any) -> None:
        """Show one more pass of the final fit."""
        if info.iteration == 1:
            self.stage("Fitting")
        objective = "" if info.objective is None else f", objective {info.objective:.4g}"
        share = self._share(step, info.objective)
        self._progress.update(
            self._task, description=f"Fitting: pass {info.iteration:,}{objective}",
            total=None if share is None else 1.0, completed=share or 0.0,
        )  # fmt: skip

    def _share(self, step: Any, objective: float | None) -> float | None:
        """The share of the way from the first known distance to the requested one."""
        if objective is None or objective <= 0.0:
            return None
        left = step.predicted_decrease
        if step.lower_bound is not None:
            left = objective - step.lower_bound
        if left is None or not left > 0.0:
            return None
        now = math.log(max(left / objective, self._tol))
        if math.isnan(self._first):
            self._first = now
        whole = self._first - math.log(self._tol)
        return None if whole <= 0.0 else max(0.0, min((self._first - now) / whole, 1.0))

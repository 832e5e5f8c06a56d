"""Fitting in chunks: one pass over some rows, continuing from the previous call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import ArraySource, Source
from ..data.labels import check_classes, check_labels
from ..data.offset import offset_arrays
from ..numeric import checks
from ..numeric.types import AnyArray, Array
from ..objective import Objective
from ..solvers import Solver
from ..training.checkpoint import Checkpoint
from ..training.interrupt import gentle_interrupt
from ..training.minimize import Result
from ..training.stopping import Stop
from .base import FitSettings, LinearModel
from .label_columns import labels_of_stream
from .offsets import refuse_offset_beside
from .stream import StreamState, continued, counted

ONE_PASS = Stop(max_iter=1, cycle=False, prove=False)


class StreamModel(LinearModel):
    """A linear classifier that can continue with some rows."""

    def _partial_fit(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, offset: Any = None
    ) -> tuple[Objective, Result]:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once, but partial_fit sees only a few "
                "at a time: compute the weights with "
                "sklearn.utils.class_weight.compute_class_weight and pass them as a dict, "
                "class_weight={label: weight, ...}"
            )
        if self.prior_correction:
            raise ValueError(
                "prior_correction=True shifts the intercept after a complete fit, and partial_fit "
                "never knows which call is the last: set prior_correction=False"
            )
        if self.standardize:
            raise ValueError(
                "standardize=True needs the deviations of all rows before the first step, and "
                "partial_fit sees only a few at a time: scale the rows before each call (e.g. with "
                "sklearn's StandardScaler, fitted to some of them) and set standardize=False"
            )
        if isinstance(X, Source):
            raise TypeError(
                "partial_fit takes arrays, a few rows at a time, but a source is all rows: call "
                "fit(source)"
            )
        if self.callbacks and any(isinstance(each, Checkpoint) for each in self.callbacks):
            raise ValueError(
                "a Checkpoint saves the passes of fit, and every partial_fit is a single pass: "
                "between two calls, save the estimator itself (pickle.dump)"
            )
        settings = self._checked_settings()
        first = not hasattr(self, "classes_")
        labels = labels_of_stream(self, y, classes, first)
        known = self._known_classes(y, classes, first) if labels is None else None
        source = self._source(
            X, y, sample_weight, classes=known, reset=first, encode=False, labels=labels
        )
        if offset is not None or source.has_offset or "_with_offset" in self.__dict__:
            source = self._rows_with_offset(source, offset)
        objective = self._objective(settings, source)
        solver = self._solver(objective, partial=True)
        if not solver.by_row:
            raise ValueError(
                f"{solver!r} needs all rows at once and cannot continue with a few; use "
                "solver=GradientDescent(batch_size=1), or 'auto', which selects it here"
            )
        here, W, seed = self._stream_state(objective, solver)
        state, seen = counted(here.state, source)
        # A chunk without mistakes proves nothing, and chunks differ: no cycles, no best weights.
        keep = {"auto": "average", "best": "last"}.get(settings.keep, settings.keep)
        settings = FitSettings(settings.loss, settings.penalty, ONE_PASS, keep)
        with gentle_interrupt() as ctrl_c:
            result = self._minimize(settings, objective, here.used, seed, W, state)
        if ctrl_c.pressed:
            self.stop_ = result.stop = "interrupted"
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.n_updates_ = getattr(self, "n_updates_", 0) + self.trace_.n_updates
        before, room = getattr(self, "history_", None), here.room
        if before is None:
            self.history_ = result.history
        else:
            self.history_, room = continued(before, result.infos[-1], room)
        self._stream = StreamState(here.asked, here.used, result.state | seen, True, room)
        return objective, result

    def _rows_with_offset(self, source: ArraySource, offset: Any) -> ArraySource:
        """The rows with an offset that is given, or a column of the frame; needed if once given."""
        if source.has_offset:
            refuse_offset_beside(offset)
        elif offset is not None:
            source = offset_arrays(source, offset)
        self._check_offset(source.has_offset)
        self._note_offset(source)
        return source

    def _pass_on_interrupt(self) -> None:
        """After ``partial_fit`` its pass is kept, and the loop of calls around it must end."""
        if self.stop_ == "interrupted":
            raise KeyboardInterrupt(
                "interrupted: the pass of this partial_fit was complete, and is kept"
            )

    def _known_classes(self, y: Any, classes: Any, first: bool) -> AnyArray:
        """The classes known before this call, or given by it."""
        if not first:
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(
                    f"classes={np.unique(classes).tolist()!r} differ from those of the first call, "
                    f"{self.classes_.tolist()!r}; start a new model for other classes"
                )
            return self.classes_
        if classes is not None:
            return check_classes(np.unique(classes))
        found: AnyArray = np.unique(check_labels(y))
        if len(found) < 2:
            raise ValueError(
                f"the first call of partial_fit has rows of only one class, {found.tolist()!r}: "
                "pass classes=[...] with all labels of all later calls"
            )
        return check_classes(found)

    def _stream_state(self, objective: Objective, asked: Solver) -> tuple[StreamState, Array, int]:
        """The state from which a stream continues: solver and its state, weights, and seed."""
        if not hasattr(self, "_stream"):
            seed = checks.seed(self.random_state)
            fresh = StreamState(asked, asked.for_partial_fit(objective), None)
            return fresh, self._start(objective, seed), seed
        before, W, seed = self._stream, self._minimum(), self.trace_.seed
        if before.asked != asked:
            return StreamState(asked, asked.for_partial_fit(objective), None), W, seed
        if before.streams:
            return before, W, seed
        return StreamState(asked, asked.for_partial_fit(objective), before.state), W, seed

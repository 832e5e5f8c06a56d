"""Early stopping of a kernel perceptron: the loss of held-out rows after every pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data import InMemory, Source
from ..data.labels import check_labels, encoded
from ..data.validation import array_source, check_rows
from ..kernels import Kernel, Matrix, Precomputed
from ..kernels.perceptron import KernelPerceptronRun
from ..losses import PerceptronLoss
from ..numeric.types import AnyArray, Array
from ..solvers import Step
from ..training.early_stopping import EarlyStopping
from .kernel_expansion import KernelExpansion, rows_labels_weights
from .stop_parameter import check_known


class HeldOutRows(NamedTuple):
    """Rows for early stopping."""

    X: Any
    labels: AnyArray
    weight: Array | None

    @classmethod
    def of(cls, given: Any, training: Any) -> HeldOutRows:
        """From ``Stop(validation=...)``; ``training`` is what ``fit`` was called with."""
        if given is True:
            given = training.validation if isinstance(training, Source) else None
            if given is None:
                raise ValueError(
                    "Stop(validation=True): these rows hold out no others; pass them, "
                    "Stop(validation=(X_val, y_val), patience=5)"
                )
        if isinstance(given, Source):
            source = given if isinstance(given, InMemory) else given.sample(given.n_rows)
            return cls(*rows_labels_weights(source))
        X, y = given
        return cls(X, check_labels(y), None)

    def checked(self, X: Matrix, training: Matrix, kernel: Kernel) -> HeldOutRows:
        """With X as the rows for the kernel, which must be like those of the training."""
        if X.shape[0] != len(self.labels):
            raise ValueError(
                f"Stop(validation=(X, y)): X has {X.shape[0]} rows and y has {len(self.labels)} "
                "labels; expected as many"
            )
        if X.shape[1] != training.shape[1]:
            what = (
                "columns, one for each" if isinstance(kernel, Precomputed) else "features, as the"
            )
            raise ValueError(
                f"Stop(validation=(X, y)): X has {X.shape[1]} columns; expected "
                f"{training.shape[1]} {what} training row{'s' * (what[0] == 'f')}"
            )
        return self._replace(X=X)

    def fingerprint(self) -> str:
        return array_source(
            check_rows(self.X), self.labels, sample_weight=self.weight
        ).fingerprint()

    def stopping(
        self, patience: int, run: KernelPerceptronRun, kernel: Kernel, rows: Matrix,
        classes: AnyArray,
    ) -> EarlyStopping:  # fmt: skip
        """The rule, for the average of the run if there is one, else for its last weights."""
        check_known(self.labels, classes)
        y, loss = encoded(self.labels, classes), PerceptronLoss().for_classes(len(classes))
        keep = measured(run)

        def mean(step: Step) -> float:
            scores = KernelExpansion.of(run, kernel, rows, keep, "").scores(self.X)
            return float(np.average(loss.value(y, scores), weights=self.weight))

        return EarlyStopping(patience, mean, lambda step: run.to_state(), run.expected_state())


def measured(run: KernelPerceptronRun) -> str:
    """Which weights of a run the loss of held-out rows is measured with."""
    return "average" if run.averages else "last"

"""Checks of the parameters of the kernel perceptron, and the run that they define."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from ..data.containers import explain_words
from ..data.validation import array_source, check_rows
from ..kernels import NAMES, Kernel, KernelCache, Matrix, Precomputed, get_kernel
from ..kernels.gaussian import goes_by_blocks
from ..kernels.perceptron import KernelPerceptronRun
from ..kernels.update_rules import update_rule
from ..numeric import checks
from ..numeric.registry import as_plain
from ..numeric.tolerances import LARGEST_FLOAT
from ..numeric.types import AnyArray, Array, Ints
from ..schedules import LearningRate, as_schedule
from ..training.loop import Callback
from ..training.stopping import Stop
from .kernel_stopping import HeldOutRows
from .stop_parameter import with_rules
from .thresholds import KERNEL_CACHE_MB


class KernelParameters(BaseEstimator):
    """The parameters of a kernel perceptron."""

    kernel: str | Callable[[Any, Any], Any]
    gamma: str | float
    degree: int
    coef0: float
    max_iter: int
    learning_rate: LearningRate
    shuffle: bool
    keep: str
    budget: int | None
    cache_mb: float | None
    patience: int | None
    max_norm: float | None
    tol: float | None
    stop: Stop | None
    fit_intercept: bool
    class_weight: Any
    random_state: Any
    callbacks: Sequence[Callback]
    verbose: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _checked_rows(self, X: Any, dtype: Any) -> Matrix:
        """Convert X to CSR or a C-contiguous array."""
        with explain_words(X):
            return check_array(
                X, accept_sparse="csr", dtype=dtype, order="C", estimator=self, input_name="X"
            )

    def _checked_stop(self) -> Stop:
        checks.switch("verbose", self.verbose)
        checks.flags(shuffle=self.shuffle, fit_intercept=self.fit_intercept)
        checks.callables("callbacks", self.callbacks)
        checks.choice("keep", self.keep, ("auto", "last", "average", "voted"))
        if self.cache_mb is not None:
            checks.number("cache_mb", self.cache_mb)
        bound = checks.optional_whole("budget", self.budget)
        if bound and self.keep in ("average", "voted"):
            raise ValueError(
                f"budget={self.budget!r} cannot be used with keep={self.keep!r}: past weights "
                "need every former support; use keep='auto' or 'last', or budget=None"
            )
        rules = Stop(
            max_iter=checks.whole("max_iter", self.max_iter),
            no_mistakes=True,
            tol=checks.optional_number("tol", self.tol),
            max_norm=checks.optional_number("max_norm", self.max_norm),
            patience=checks.optional_whole("patience", self.patience),
        )
        return rules if self.stop is None else with_rules(rules, self.stop)

    def _checked_kernel(self, rows: Matrix, sample_weight: Array | None = None) -> Kernel:
        if not callable(self.kernel):
            checks.choice("kernel", self.kernel, NAMES)
        degree = checks.whole("degree", self.degree)
        coef0 = checks.number("coef0", self.coef0, least=-LARGEST_FLOAT)
        kernel = get_kernel(
            self.kernel, rows, gamma=self.gamma, degree=degree, coef0=coef0, weight=sample_weight
        )
        if isinstance(kernel, Precomputed) and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the square kernel matrix of the training rows, one "
                f"row and one column for each, but X has shape {rows.shape}"
            )
        return kernel

    def _run(
        self, kernel: Kernel, rows: Matrix, classes: AnyArray, numbers: Ints, weight: Array | None
    ) -> KernelPerceptronRun:
        cache = self.cache_mb
        if cache is None:
            cache = 0.0 if goes_by_blocks(kernel, rows, self.budget) else KERNEL_CACHE_MB
        rng = np.random.default_rng(checks.seed(self.random_state))
        return KernelPerceptronRun(
            update_rule(numbers, len(classes)),
            KernelCache(kernel, rows, float(self.fit_intercept), cache * 2**20),
            np.ones(len(numbers)) if weight is None else weight,
            as_schedule(self.learning_rate),
            self.shuffle,
            int(rng.integers(2**62)),  # as in Perceptron: one seed, one order of rows
            self.budget,
            logs=self.keep == "voted",
            averages=self.keep in ("auto", "average") and self.budget is None,
        )

    def _run_settings(
        self,
        rows: Matrix,
        labels: AnyArray,
        sample_weight: Array | None,
        stop: Stop,
        kernel: Kernel,
        held_out: HeldOutRows | None,
    ) -> dict[str, Any]:
        """Everything that a run depends on, except its seed."""
        schedule = as_schedule(self.learning_rate)
        source = array_source(
            check_rows(rows), labels, sample_weight=sample_weight, class_weight=self.class_weight
        )
        return {
            "kernel": kernel.to_dict(rows), "fit_intercept": self.fit_intercept,
            "learning_rate": as_plain("KernelPerceptron.learning_rate", schedule),
            "shuffle": self.shuffle, "keep": self.keep, "budget": self.budget,
            "stop": stop.settings(), "data": source.fingerprint(),
            "early stopping": None if held_out is None else held_out.fingerprint(),
        }  # fmt: skip

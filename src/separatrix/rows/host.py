"""Rows in main memory: they are passed to the compiled loops here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from .. import loops
from ..losses import Loss, MarginLoss
from ..numeric.threads import run_on_threads
from ..numeric.types import AnyArray, Array, Ints
from .base import Rows
from .visits import Visits

H = TypeVar("H", bound="HostRows")


class HostRows(Rows, Visits):
    """Rows in arrays in memory. ``X`` is passed to the loops."""

    __slots__ = ()
    compiled = True
    visitable = True

    @property
    def stored(self: H) -> H:
        return self

    @property
    def visits(self) -> Visits:
        return self

    # ---- storage -----------------------------------------------------------------------------

    @abstractmethod
    def part(self: H, start: int, stop: int) -> H:
        """Rows start, ..., stop - 1 without a copy."""

    @abstractmethod
    def take(self: H, at: Ints) -> H:
        """Some rows, in the order given."""

    @property
    @abstractmethod
    def values(self) -> AnyArray:
        """The array of stored values; it may contain values of other rows too."""

    @abstractmethod
    def with_values(self: H, values: AnyArray) -> H:
        """The same rows with other values in the same places."""

    @abstractmethod
    def per_feature(self: H, function: Any, numbers: AnyArray) -> H:
        """Apply a function of the stored values in float64 and their feature's number."""

    @abstractmethod
    def places(self, entries: Ints) -> tuple[Ints, Ints]:
        """Rows and features of some stored values, given by their positions in ``values``."""

    def place_of(self, entry: int) -> tuple[int, int]:
        """Row and feature of one stored value."""
        (row,), (feature,) = self.places(np.array([entry]))
        return int(row), int(feature)

    @abstractmethod
    def named_arrays(self) -> tuple[dict[str, AnyArray], int | None]:
        """The arrays of these rows only, by name; and for sparse rows the number of features."""

    @property
    @abstractmethod
    def stored_by_feature(self) -> Ints:
        """Number of stored values of every feature: (d,)."""

    @abstractmethod
    def dense_features(self, start: int, stop: int) -> Array:
        """Features start, ..., stop - 1 of all rows as a new float64 array."""

    @abstractmethod
    def as_scipy(self) -> csr_array:
        """The same rows as a SciPy matrix."""

    @abstractmethod
    def as_matrix(self) -> Any:
        """The rows for other libraries: an array, or SciPy's CSR."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @abstractmethod
    def squares(self, shift: Array | None) -> HostRows:
        """Squares of values minus a shift, in float64; sparse rows have no shift."""

    @property
    def sound(self) -> bool:
        """Whether all indices are in range: the loops do not check them."""
        return True

    @property
    def finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        return loops.all_finite(self.values)

    @property
    def index_bytes(self) -> int:
        return 0

    def widened(self: H, n_features: int) -> H:
        """Sparse rows with more features, all zero."""
        return self

    @abstractmethod
    def columns(self: H, features: Ints, means: Array) -> H:
        """Some features, each stored as a row."""

    @abstractmethod
    def merged(self: H, at: Ints, held: AnyArray, new: H) -> H:
        """These rows ``at`` where they are ``held``, and new ones in the other places."""

    @property
    @abstractmethod
    def row_sizes(self) -> Ints:
        """Number of stored values of every row: (n,)."""

    def absolute(self: H) -> H:
        return self.with_values(np.abs(self.values))

    # ---- sums --------------------------------------------------------------------------------

    def value_gradient(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None = None,
        gradient: Array | None = None,
        curvature: Array | None = None,
        float32_sums: bool = False,
    ) -> tuple[float, float]:
        return loops.batch_pass(
            self.X, y, loss, W, weight=weight, gradient=gradient, curvature=curvature,
            float32_sums=float32_sums,
        )  # fmt: skip

    def value_gradient_on_threads(
        self,
        y: AnyArray,
        loss: Loss,
        W: Array,
        weight: Array | None,
        edges: Ints,
        threads: int,
        float32_sums: bool,
    ) -> tuple[float, float, Array]:
        k = len(W)
        in_lines = k if k > 1 and self.storage == "csr" else 0
        given = loops.to_lines(W) if in_lines else W
        total = np.empty(2 + given.size)
        blocks = loops.BlockSum(edges, total)

        def work() -> None:
            loops.batch_blocks(
                self.X, y, loss, given, blocks, weight=weight, float32_sums=float32_sums,
                in_lines=in_lines,
            )  # fmt: skip

        run_on_threads(work, threads if loops.has_threads else 1, blocks.give_up)
        gradient = total[2:].reshape(given.shape)
        if in_lines:
            gradient = loops.from_lines(gradient, k)
        return float(total[0]), float(total[1]), gradient

    def scores(self, W: Array, out: Array | None = None) -> Array:
        return loops.scores(self.X, W, out)

    def transpose_product(self, coefficients: Array, out: Array) -> None:
        loops.transpose_product(self.X, coefficients, out)

    def hessian_product(self, curvature: Array, V: Array, out: Array) -> None:
        loops.hessian_product(self.X, curvature, V, out)

    def squared_norms(self, out: Array | None = None) -> Array:
        return loops.squared_norms(self.X, out)

    def moments(
        self,
        weight: Array | None,
        group: Ints | None,
        shift: Array | None,
        sum: Array,
        squares: Array,
    ) -> None:
        loops.moments(self.X, weight, group, shift, sum, squares)

    def compensated_scores(self, W: Array) -> tuple[Array, Array]:
        return loops.compensated_scores(self.X, W)

    def compensated_transpose_product(self, coefficients: Array) -> tuple[Array, Array]:
        return loops.compensated_transpose_product(self.X, coefficients)

    def weighted_correct(self, y: AnyArray, weight: Array | None, W: Array, right: Array) -> None:
        """See :meth:`Rows.weighted_correct`; scores are not stored."""
        loops.weighted_correct(self.X, y, weight, W, right)

    def max_standardised_norm2(self, weight: Array | None, mean: Array, factor: Array) -> float:
        return loops.max_standardised_norm2(self.X, weight, mean, factor)

    # ---- visits ------------------------------------------------------------------------------

    def screening_state(self, k: int) -> loops.ScreeningState | None:
        return loops.screening_state(self.X, k)

    @property
    def online_pass(self) -> Callable[..., loops.PassResult]:
        return partial(loops.online_pass, self.X)

    @property
    def online_rule(self) -> Callable[..., loops.PassResult]:
        return partial(loops.online_rule, self.X)

    def column_model(
        self, curvature: Array, ridge: Array, thresholds: Array, bias: bool
    ) -> loops.ColumnModel:
        """A model of J for these rows, which are features; see ``loops.column_model``."""
        return loops.column_model(self.X, curvature, ridge, thresholds, bias)

    def column_descent(
        self, model: loops.ColumnModel, *state: Any, **limits: Any
    ) -> loops.ColumnDescentResult:
        """Coordinate descent on a model of these rows; see ``loops.column_descent``."""
        return loops.column_descent(model, *state, **limits)

    def ascent_round(
        self, y: Array, loss: MarginLoss, alpha: Array, w: Array, active: Ints, **numbers: Any
    ) -> loops.RoundResult:
        return loops.ascent_round(self.X, y, loss, alpha, w, active, **numbers)

    def multiclass_epoch(
        self, y: Ints, alpha: Array, lines: Array, order: Ints, **numbers: Any
    ) -> loops.MulticlassEpochResult:
        return loops.multiclass_epoch(self.X, y, alpha, lines, order, **numbers)

    def interior_points(self, y: Array, share: Array, at: loops.HingePairs, **numbers: Any) -> int:
        return loops.interior_points(self.X, y, share, at, **numbers)

"""Group lasso: lengths of groups of weights, which become 0 together, and squares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numeric.lazy import cached_property
from ..numeric.tolerances import EPS
from ..numeric.types import Array, Ints
from .sparsity_inducing import SparsityInducing

CLASSES = "classes"


@dataclass(frozen=True)
class GroupLasso(SparsityInducing):
    """``l1 * p_g * sqrt(size) * |w_g|``, summed over groups g and classes, plus squares.

    The squares are ``l2 * p_j * w_j^2``, and ``|w_g|`` is the length of the weights of a group of
    features for one class (Yuan and Lin, Model selection and estimation in regression with grouped
    variables, 2006). With ``groups="classes"`` the weights of a feature for all classes form a
    group of length ``|w_{:,j}|``, without the root (Friedman, Hastie and Tibshirani,
    Regularization paths for generalized linear models via coordinate descent, 2010). Weights are
    (k, d + 1), the bias last.

    See Also
    --------
    ElasticNet : penalises every weight separately.
    ProximalNewton : minimises objectives with it.
    LinearClassifier : ``l1=..., groups=...``.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import GroupLasso
    >>> GroupLasso(1.0, groups=(0, 0, 1)).value(np.array([[3.0, 4.0, -2.0, 100.0]]))
    9.071067811865476
    """

    name = "group_lasso"

    groups: tuple[int, ...] | str = CLASSES
    """The group of every feature, numbered from 0, or "classes"."""
    sizes: tuple[int, ...] | None = None
    """Size of each group, including features that are left out; None: counted in ``groups``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.groups, str):
            if self.groups != CLASSES or self.sizes is not None:
                raise ValueError(
                    f"groups must be 'classes' or a number for each feature, got {self.groups!r}"
                )
            return
        numbers = np.asarray(self.groups)
        if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
            raise ValueError(
                "groups must be None, 'classes' or a whole number for each feature, got "
                f"{self.groups!r}"
            )
        object.__setattr__(self, "groups", tuple(numbers.tolist()))
        if self.sizes is None:
            _refuse_gaps(numbers)
        elif numbers.min() < 0 or numbers.max() >= len(self.sizes):
            raise ValueError(f"groups must be numbers below {len(self.sizes)}, that of the sizes")
        else:
            object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))
        if self.weights is not None and len(self.weights) == len(numbers):
            self._refuse_unequal_weights(numbers)

    def _refuse_unequal_weights(self, numbers: Ints) -> None:
        p = self.feature_weights
        first = p[self._first[numbers]]
        if len(unequal := np.flatnonzero(p != first)):
            j = int(unequal[0])
            raise ValueError(
                f"penalty_weights must be equal within a group, but those of group {numbers[j]} "
                f"are {first[j]:g} and, for feature {j}, {p[j]:g}: a group has one factor"
            )

    @cached_property
    def numbers(self) -> Ints | None:
        """The group of every feature, (d,); None if groups are over the classes."""
        return None if isinstance(self.groups, str) else np.array(self.groups, dtype=np.int64)

    @cached_property
    def _sizes(self) -> Array:
        """How many features each group has."""
        here = np.bincount(np.array(self.groups)) if self.sizes is None else np.array(self.sizes)
        return here.astype(np.float64)

    @cached_property
    def _first(self) -> Ints:
        """Index of the first feature of each group, 0 for an empty group."""
        first = np.zeros(len(self._sizes), dtype=np.int64)
        numbers = np.array(self.groups)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        return first

    @property
    def rounding_of_lengths(self) -> float:
        """Relative rounding error of a sum of squares over the largest group."""
        return EPS * (8.0 + (0.0 if self.numbers is None else float(self._sizes.max())))

    def lengths(self, V: Array) -> Array:
        """Lengths of the groups: (k, groups), or (1, d) over the classes."""
        size = np.abs(V)
        if self.numbers is None:
            largest = size.max(axis=0, keepdims=True)
            squares = np.sum((size / _divisor(largest)) ** 2, axis=0, keepdims=True)
        else:
            shape = len(V), len(self._sizes)
            largest, squares = np.zeros(shape), np.zeros(shape)
            for row, of_class in enumerate(size):
                np.maximum.at(largest[row], self.numbers, of_class)
                shares = of_class / _divisor(largest[row])[self.numbers]
                squares[row] = np.bincount(self.numbers, shares**2, shape[1])
        lengths: Array = largest * np.sqrt(squares)
        return lengths

    @cached_property
    def block_weights(self) -> Array:
        """Weights p of the groups."""
        p = self.feature_weights
        return p if self.weights is None or self.numbers is None else p[self._first]

    @cached_property
    def length_factors(self) -> Array:
        """``p_g * sqrt(size)``, or ``p_j`` over the classes."""
        return self.block_weights * (1.0 if self.numbers is None else np.sqrt(self._sizes))

    def by_feature(self, of_blocks: Array) -> Array:
        """Value of each feature's group."""
        return of_blocks if self.numbers is None else of_blocks[..., self.numbers]

    def common_squares(self, squares: Array) -> Array:
        """Mean over each group; unpenalised features keep their value."""
        if self.numbers is None:
            return squares
        count = np.maximum(np.bincount(self.numbers, minlength=len(self._sizes)), 1)
        means = np.bincount(self.numbers, squares, len(self._sizes)) / count
        free = np.broadcast_to(self.by_feature(self.thresholds) == 0.0, squares.shape)
        common: Array = np.where(free, squares, means[self.numbers])
        return common

    def rest(self, W: Array) -> Array:
        """``l1 * p_g * sqrt(size) * |w_g|``, group by group."""
        return self.thresholds * self.lengths(W[:, :-1])

    def prox(self, W: Array, step: float | Array) -> Array:
        """Shorten each group by ``step`` times its threshold, but not past 0."""
        V, lengths = W.copy(), self.lengths(W[:, :-1])
        steps = np.broadcast_to(step, W.shape[1:])[:-1]
        if self.numbers is not None:
            steps = steps[self._first]
        left = np.maximum(lengths - steps * self.thresholds, 0.0) / _divisor(lengths)
        V[:, :-1] *= self.by_feature(left)
        V[:, :-1] += 0.0  # avoid -0
        return V

    def violation(self, W: Array, gradient: Array) -> Array:
        """``|g + t w / |w_g||`` if the group is not 0, else what exceeds its threshold t in g.

        There is a value for every weight; the norm over a group is the violation of the group.
        """
        violation = gradient.copy()
        w, g = W[:, :-1], gradient[:, :-1]
        lengths, pulls = self.lengths(w), self.lengths(g)
        beyond = np.maximum(pulls - self.thresholds, 0.0) / _divisor(pulls)
        away = g + w * self.by_feature(self.thresholds / _divisor(lengths))
        at_zero = g * self.by_feature(beyond)
        violation[:, :-1] = np.where(self.by_feature(lengths) == 0.0, at_zero, away)
        return np.abs(violation)

    def on_features(self, features: Ints) -> GroupLasso:
        """The penalty on these features; the groups keep their original sizes."""
        p = self.weights and tuple(self.feature_weights[features].tolist())
        if self.numbers is None:
            return replace(self, weights=p)
        sizes = tuple(self._sizes.astype(np.int64).tolist())
        return replace(self, weights=p, groups=tuple(self.numbers[features].tolist()), sizes=sizes)


def _divisor(lengths: Array) -> Array:
    """The lengths with 0 replaced by 1, so that 0 / 0 gives 0."""
    divisor: Array = np.where(lengths > 0.0, lengths, 1.0)
    return divisor


def _refuse_gaps(numbers: Ints) -> None:
    found = np.unique(numbers)
    if found[0] < 0:
        raise ValueError(f"groups must be numbers from 0 on, got {found[0]}")
    if len(missing := np.setdiff1d(np.arange(min(found[-1], len(numbers)) + 1), found)):
        raise ValueError(
            f"groups must be numbers 0, 1, ... without a gap, but no feature is in group "
            f"{missing[0]} and there is a group {found[-1]}; np.unique(groups, "
            "return_inverse=True)[1] numbers them anew"
        )

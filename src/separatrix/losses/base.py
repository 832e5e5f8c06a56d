"""What every loss offers, and the registry of their names."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..numeric.types import AnyArray, Array

REGISTRY: dict[str, type[Loss]] = {}


class Loss:
    """What a wrong answer costs, given the true labels and the scores, row by row."""

    name: ClassVar[str] = ""
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    """Whether the gradient is continuous."""
    attained: ClassVar[bool] = True
    """Whether the least loss of a row is taken at some score, and not only approached."""
    max_curvature: ClassVar[float | None] = None
    """Largest second derivative, for the default step of gradient descent, where known."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not isinstance(vars(cls).get("name"), str):
            return
        known = REGISTRY.get(cls.name)
        # The same class again (a notebook cell, @dataclass(slots=True)) replaces itself.
        same = known is not None and known.__qualname__ == cls.__qualname__
        if known is not None and not (same and known.__module__ == cls.__module__):
            raise ValueError(
                f"a loss named {cls.name!r} exists already ({known.__module__}."
                f"{known.__qualname__}); give {cls.__qualname__} another name"
            )
        REGISTRY[cls.name] = cls

    def value(self, y: AnyArray, scores: Array) -> Array:
        """Loss of each row, (n,), for scores (n, k)."""
        raise NotImplementedError

    def gradient(self, y: AnyArray, scores: Array) -> Array:
        """Derivative by the scores, (n, k)."""
        raise NotImplementedError

    def mistakes(self, y: AnyArray, scores: Array) -> AnyArray:
        """Rows whose true class is not strictly ahead, (n,) booleans."""
        wrong: AnyArray
        if scores.shape[1] == 1:
            wrong = np.logical_not(y * scores[:, 0] > 0)
        else:
            rows = np.arange(len(scores))
            others = scores.copy()
            others[rows, y] = -np.inf
            wrong = np.logical_not(scores[rows, y] > others.max(axis=1))
        return wrong

    @property
    def has_curvature(self) -> bool:
        """Whether the loss defines its second derivative."""
        return False

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss defines what lower bounds on J are made of."""
        return False

    def multiclass(self) -> Loss:
        """The loss for more than two classes; y is then the number of the class."""
        raise NotImplementedError

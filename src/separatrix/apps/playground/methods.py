"""The methods of the page: which estimator runs with which settings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

import separatrix
from separatrix.features import RadialBasis

from .limits import MOST_SECONDS, MOST_STEPS

Name = Literal[
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
]  # fmt: skip
Form = Literal["batch", "sequential", "stochastic", "mini-batch"]
Schedule = Literal["constant", "inverse_scaling", "step_decay"]
Keep = Literal["last", "best", "average", "voted"]
Start = Literal["zeros", "random", "sum"]
Kernel = Literal["rbf", "poly", "linear"]
LIMITS: dict[str, tuple[float, float]] = {
    "batch_size": (1, 1000), "learning_rate": (1e-6, 1e6), "l2": (0.0, 1e3), "max_iter": (1, 2000),
    "gamma": (1e-3, 1e3), "degree": (1, 10), "centers": (1, 20), "seed": (0, 2**31),
    "max_norm": (0.0, 1e9),
}  # fmt: skip


class BadRequest(ValueError):
    """The request cannot be answered; the page shows the message."""


@dataclass(frozen=True)
class Method:
    """A method with its settings, all of which have a default."""

    name: Name = "perceptron"
    loss: str = "logistic"
    form: Form = "stochastic"
    batch_size: int = 8
    learning_rate: float = 1.0
    schedule: Schedule = "constant"
    l2: float = 0.0
    start: Start = "zeros"
    shuffle: bool = False
    keep: Keep = "last"
    fit_intercept: bool = True
    max_iter: int = 50
    max_norm: float = 0.0  # none
    kernel: Kernel = "rbf"
    gamma: float = 1.0
    degree: int = 2
    centers: int = 2
    seed: int = 0

    @classmethod
    def of(cls, settings: Any) -> Method:
        """Create from a request; invalid settings are refused."""
        if not isinstance(settings, Mapping):
            raise BadRequest("method: expected an object of settings")
        known = {one.name: one for one in fields(cls)}
        if unknown := sorted(set(settings) - set(known)):
            raise BadRequest(f"method.{str(unknown[0])[:40]}: there is no such setting")
        return cls(**{name: _checked(name, value) for name, value in settings.items()})

    def estimator(self) -> Any:
        """The estimator, not yet fitted."""
        common: dict[str, Any] = {
            "max_iter": self.max_iter, "fit_intercept": self.fit_intercept,
            "random_state": self.seed,
        }  # fmt: skip
        rate = self._rate()
        if self.name == "kernel_perceptron":
            return separatrix.KernelPerceptron(
                self.kernel, gamma=self.gamma, degree=self.degree, learning_rate=rate,
                shuffle=self.shuffle, keep="average" if self.keep == "average" else "last",
                patience=None, max_norm=self.max_norm or None, **common,
            )  # fmt: skip
        if self.name in ("perceptron", "batch_perceptron", "radial_basis"):
            batch = self.name == "batch_perceptron"
            return separatrix.Perceptron(
                update="batch" if batch else "online", learning_rate=rate,
                l2=0.0 if batch else self.l2, start=self.start, shuffle=self.shuffle,
                keep="last" if self.keep == "voted" else self.keep, patience=None,
                max_norm=self.max_norm or None, **common,
            )  # fmt: skip
        return separatrix.LinearClassifier(
            "squared" if self.name == "least_squares" else self.loss, l2=self.l2,
            start=self.start, solver=self._solver(rate), **common,
        )  # fmt: skip

    def features(self) -> Any | None:
        """The feature map before the estimator, or None."""
        if self.name != "radial_basis":
            return None
        return RadialBasis(gamma=self.gamma, n_centers=self.centers, random_state=self.seed)

    def _solver(self, rate: Any) -> Any:
        if self.name == "newton":
            return separatrix.Newton()
        if self.name == "least_squares":
            return separatrix.LeastSquares()
        size = {"batch": None, "mini-batch": self.batch_size}.get(self.form, 1)
        return separatrix.GradientDescent(
            size, shuffle=self.form != "sequential", learning_rate=rate,
            average=self.keep == "average",
        )  # fmt: skip

    def _rate(self) -> Any:
        if self.schedule == "inverse_scaling":
            return separatrix.InverseScaling(self.learning_rate)
        if self.schedule == "step_decay":
            return separatrix.StepDecay(self.learning_rate, every=50)
        return self.learning_rate

    @property
    def draws_a_line(self) -> bool:
        """Whether weights of the two coordinates define the boundary."""
        return self.name not in ("kernel_perceptron", "radial_basis")


def _checked(name: str, value: Any) -> Any:
    choices = {
        "name": Name, "form": Form, "schedule": Schedule, "keep": Keep, "start": Start,
        "kernel": Kernel,
    }.get(name)  # fmt: skip
    allowed = get_args(choices) if choices is not None else None
    if name == "loss":
        allowed = tuple(separatrix.losses.names())
    if allowed is not None:
        if not isinstance(value, str) or value not in allowed:
            raise BadRequest(f"method.{name}: expected one of {', '.join(allowed)}")
        return value
    if name in ("shuffle", "fit_intercept"):
        if not isinstance(value, bool):
            raise BadRequest(f"method.{name}: expected true or false")
        return value
    low, high = LIMITS[name]
    whole = isinstance(getattr(Method, name), int)
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise BadRequest(f"method.{name}: expected a {'whole ' if whole else ''}number")
    if not low <= value <= high:
        raise BadRequest(f"method.{name}: expected {low:g} to {high:g}, got {value:g}")
    return value


class TooLong:
    """A callback that stops a fit which takes more seconds or steps than a request may."""

    def __init__(self, rows: int) -> None:
        self.until = time.monotonic() + MOST_SECONDS
        self.passes = max(1, MOST_STEPS // max(1, rows))

    def __call__(self, step: Any, info: Any) -> bool:
        """Whether to stop."""
        return time.monotonic() > self.until or info.iteration >= self.passes


def labelled(points: Any, most: int, classes: int) -> tuple[Any, Any]:
    """X (n, 2) and the class numbers, from [[x, y, class], ...]."""
    if not isinstance(points, list) or not 2 <= len(points) <= most:
        raise BadRequest(f"points: expected 2 to {most:,} points")
    for number, point in enumerate(points):
        if not (
            isinstance(point, list)
            and len(point) == 3
            and all(type(one) in (int, float) and abs(one) <= 1e6 for one in point)
            and point[2] in range(classes)
        ):
            raise BadRequest(
                f"points[{number}]: expected [x, y, class], with numbers up to a million and a "
                f"class from 0 to {classes - 1}"
            )
    X, y = np.array([point[:2] for point in points], float), np.array([int(p[2]) for p in points])
    if len(np.unique(y)) < 2:
        raise BadRequest("points: place points of at least two classes")
    return X, y

"""Peers that process rows one by one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from ..contest import Contestant
from ..problem import Plane
from .roster import passer


@passer("river", "river.linear_model")
def river(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    """It does not shuffle: rows are processed in order."""
    models = import_module("river.linear_model")
    rows, labels = [dict(enumerate(row)) for row in X.tolist()], (y > 0).tolist()

    def run(_: Any) -> Any:
        model = models.Perceptron()
        for _pass in range(passes):
            for row, label in zip(rows, labels, strict=True):
                model.learn_one(row, label)
        return model

    def read(model: Any) -> Plane:
        coef = np.array([[model.weights.get(j, 0.0) for j in range(X.shape[1])]])
        return Plane(coef, np.array([model.intercept]))

    yield Contestant("river", run, read=read)


@passer("mlxtend", "mlxtend.classifier")
def mlxtend(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    models, labels = import_module("mlxtend.classifier"), (y > 0).astype(int)

    def run(_: Any) -> Any:
        return models.Perceptron(eta=1.0, epochs=passes, random_seed=0).fit(X, labels)

    yield Contestant("mlxtend", run, read=lambda model: Plane(model.w_.T, np.ravel(model.b_)))


@passer("vowpalwabbit", "vowpalwabbit")
def vowpalwabbit(X: Any, y: Any, passes: int) -> Iterator[Contestant]:
    """It has no perceptron: the hinge loss, from a file and its cache, is the closest."""
    tool, folder = import_module("vowpalwabbit"), tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "rows")
    with open(path, "w") as file:
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            words = " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row))
            file.write(f"{label} |f {words}\n")

    def run(_: Any) -> Any:
        options = f"-d {folder.name}/rows -c --passes {passes} --holdout_off"
        return tool.Workspace(f"{options} --loss_function hinge --quiet")

    def read(model: Any) -> Plane:
        coef = [model.get_weight_from_name(str(j), "f") for j in range(X.shape[1])]
        bias = model.get_weight_from_name("Constant", "")
        return Plane(np.array([coef]), np.array([bias]))

    yield Contestant("vowpalwabbit", run, read=read)

"""Checkpoints that were changed and signed again: refused by name, or a run that goes on safely.

A run may go on from any numbers for some passes and then overflow: that error is one of the fit.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile_files import checkpoint_of, checkpoint_parts, signed_checkpoint

import separatrix as sx
from separatrix.training.checkpoint_file import read

from .expected import expect, result_or_refusal
from .mutations import mutated_array, mutated_tree

X = np.random.default_rng(0).normal(size=(40, 3))
TWO = (X[:, 0] + np.random.default_rng(1).normal(size=40) > 0).astype(int)
THREE = np.arange(40) % 3


def runs() -> dict[str, tuple[Any, np.ndarray]]:
    """Estimators that take several passes, and labels for each."""
    Linear, Descent = sx.LinearClassifier, sx.GradientDescent
    return {
        "perceptron": (sx.Perceptron(random_state=0, keep="average"), TWO),
        "perceptron, best": (sx.Perceptron(random_state=0, keep="best"), THREE),
        "L-BFGS": (Linear(solver=sx.LBFGS(), tol=1e-12), THREE),
        "Newton": (Linear(solver=sx.Newton(), tol=1e-12), TWO),
        "row by row": (Linear(solver=Descent(batch_size=1), l1=0.01, random_state=0), TWO),
        "coordinate ascent": (Linear("hinge", solver=sx.CoordinateAscent(), tol=1e-12), TWO),
        "many classes": (Linear("hinge", solver=sx.CoordinateAscent(), tol=1e-12), THREE),
        "proximal Newton": (Linear(l1=0.01, solver=sx.ProximalNewton(), tol=1e-12), TWO),
        "coordinate descent": (Linear(l1=0.01, solver=sx.CoordinateDescent(), tol=1e-12), TWO),
        "interior point": (Linear("hinge", solver=sx.InteriorPoint(), tol=1e-12), TWO),
        "proximal point": (Linear("hinge", solver=sx.ProximalPoint(), tol=1e-12), TWO),
        "cross-validation": (sx.LinearClassifierCV(cv=3, l2s=3, scoring=None), TWO),
        "kernel": (sx.KernelPerceptron(random_state=0), TWO),
    }


def _fit(name: str, path: Path, passes: int, went_on: list[Any] | None = None) -> Any:
    """Fit with a checkpoint; every pass that is made is noted in ``went_on``."""
    model, y = runs()[name]
    made = [] if went_on is None else went_on
    model.set_params(callbacks=[sx.Checkpoint(path, every=1), lambda step, _: made.append(step)])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=passes)
    return model.fit(X, y)


@cache
def files() -> dict[str, bytes]:
    """The checkpoint of every run after two passes."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(runs()):
            path = Path(folder) / f"{number}.ckpt"
            if result_or_refusal(_fit, name, path, 2)[1] == "" and path.exists():
                found[name] = path.read_bytes()
    return found


def one(seed: int) -> str:
    """One changed checkpoint, from which the same fit goes on."""
    draw = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = draw.choice(sorted(files()))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hostile.ckpt"
            path.write_bytes(_changed(files()[name], draw))
            went_on: list[Any] = []
            model, refusal = result_or_refusal(_fit, name, path, 6, went_on)
            if model is None and not went_on:
                expect(path.name in refusal, f"a refusal that does not name the file: {refusal}")
    if model is None:
        return f"{name}: refused"
    weights = getattr(model, "coef_", np.zeros(1))
    expect(isinstance(weights, np.ndarray), "weights are no array")
    return f"{name}: fitted"


def _changed(raw: bytes, draw: random.Random) -> bytes:
    head, data = checkpoint_parts(raw)
    if draw.random() < 0.2:
        arrays = mutated_tree(head["arrays"], draw)
        return signed_checkpoint(head | {"arrays": arrays}, data) if type(arrays) is dict else raw
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        path.write_bytes(raw)
        tree = read(path)
    arrays = [
        (holder, key) for holder, key in _entries(tree) if isinstance(holder[key], np.ndarray)
    ]
    if arrays and draw.random() < 0.6:
        holder, key = draw.choice(arrays)
        holder[key] = mutated_array(holder[key], draw)
        return checkpoint_of(tree)
    changed = mutated_tree(head["tree"], draw)
    return signed_checkpoint(head | {"tree": changed}, data)


def _entries(tree: Any) -> list[tuple[Any, Any]]:
    """Every place of a tree: a dictionary or list, and a key of it."""
    keys = (
        list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    )
    found = []
    for key in keys:
        found += [(tree, key), *_entries(tree[key])]
    return found

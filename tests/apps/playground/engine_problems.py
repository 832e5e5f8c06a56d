"""Random problems for the engine of the page, and what the library says about each step."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from separatrix import page
from separatrix.apps.playground.runs import PlaygroundRun
from separatrix.page.document import joined

NEAR = 1e-9  # of a tie or a kink: rounding may decide there
EXACT = 1e-12
STEPS = 60  # of a run that are compared one by one
NAMES = (
    "perceptron", "batch_perceptron", "gradient_descent", "newton", "least_squares",
    "kernel_perceptron", "radial_basis",
)  # fmt: skip
LOSSES = ("perceptron", "logistic", "squared", "tanh_squared", "hinge", "squared_hinge")
KINKS = {"perceptron": 0.0, "hinge": 1.0}
STARTS = [
    np.random.default_rng((seed, 2**32)).standard_normal(12).tolist() for seed in range(8)
]  # as Perceptron(start="random") draws them


def script():
    """The engine, and what the tests ask of it, as one script that sets ``oracle``."""
    texts = {name: path.read_text() for name, path in page.files().items()}
    texts["engine_oracle.js"] = (Path(__file__).parent / "engine_oracle.js").read_text()
    return joined(texts, "engine_oracle.js") + 'globalThis.oracle = modules["engine_oracle.js"];\n'


def points_of(rng, whole=False):
    """Points of two to four classes: on a grid of small integers, or anywhere."""
    n, classes = int(rng.integers(2, 30)), int(rng.choice([2, 2, 2, 3, 4]))
    kind = "whole" if whole else rng.choice(["normal", "whole", "far", "line", "uneven"])
    X = rng.normal(size=(n, 2))
    if kind == "whole":
        X = rng.integers(-4, 5, size=(n, 2)).astype(float)
    elif kind == "far":
        X += 30.0
    elif kind == "line":
        X[:, 1] = 2.0 * X[:, 0]
    elif kind == "uneven":
        X *= [1.0, 20.0]
    y = rng.integers(0, classes, size=n)
    if rng.random() < 0.5:  # often separable
        order = X @ rng.normal(size=2)
        y = np.searchsorted(np.quantile(order, np.linspace(0, 1, classes + 1)[1:-1]), order)
    y[:2] = [0, classes - 1]
    return [[*row, int(c)] for row, c in zip(np.round(X, 3).tolist(), y, strict=True)]


def method_of(rng, name, whole=False):
    """A method with random settings; with ``whole`` all numbers stay whole."""
    method = {
        "name": name, "fit_intercept": bool(rng.random() < 0.8), "seed": int(rng.integers(8)),
        "max_iter": int(rng.integers(1, 12)), "shuffle": bool(rng.random() < 0.5),
    }  # fmt: skip
    if whole:
        return method | {"learning_rate": 1.0, "kernel": "poly", "degree": 2}
    method |= {
        "loss": str(rng.choice(LOSSES)), "form": str(rng.choice(
            ["batch", "sequential", "stochastic", "mini-batch"])),
        "batch_size": int(rng.integers(1, 9)), "start": str(rng.choice(["zeros", "random", "sum"])),
        "learning_rate": float(rng.choice([1.0, 0.1, 0.03, 2.5])),
        "schedule": str(rng.choice(["constant", "constant", "inverse_scaling", "step_decay"])),
        "l2": float(rng.choice([0.0, 0.0, 0.01, 0.3])), "keep": str(rng.choice(
            ["last", "best", "average"])), "max_norm": float(rng.choice([0.0, 0.0, 5.0])),
        "kernel": str(rng.choice(["rbf", "poly", "linear"])),
        "gamma": float(rng.choice([1.0, 0.3])), "degree": int(rng.integers(1, 4)),
        "centers": int(rng.integers(1, 5)),
    }  # fmt: skip
    if name == "newton":
        method |= {"loss": str(rng.choice(["logistic", "squared", "squared_hinge"])),
                   "l2": float(rng.choice([0.01, 0.3, 2.0]))}  # fmt: skip
    if name == "radial_basis":
        method |= {"start": "zeros"}
    return method


def problem(seed, whole=False, name=None):
    """What the engine is given, with the library's run; None if the library refuses it."""
    rng = np.random.default_rng(seed)
    name = name or NAMES[seed % len(NAMES)]
    if whole:
        name = ("perceptron", "batch_perceptron", "kernel_perceptron")[seed % 3]
    asked = {"points": points_of(rng, whole), "method": method_of(rng, name, whole)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = PlaygroundRun.of(asked)
        except ValueError as error:
            return asked, None, str(error)
    return asked | {"given": given(run), "starts": STARTS}, run, ""


def given(run):
    """The states of the library's run, from which the engine makes each step."""
    columns = run.recording.columns
    count = min(len(columns), STEPS)
    if columns.weights is None:
        rate = run.method.learning_rate if run.method.schedule == "constant" else 1.0
        return {"kernel": {
            "visited": [int(rows[0]) for rows in columns.visited[:count]], "unit": rate,
            "coefficients": columns.coefficients[:count],
        }}  # fmt: skip
    rates = [1.0 if size is None else float(size) for size in columns.sizes[:count]]
    if run.method.name == "batch_perceptron":
        schedule = run.method._rate()
        rates = [schedule if isinstance(schedule, float) else float(schedule(t + 1))
                 for t in range(count)]  # fmt: skip
    elif run.method.name in ("perceptron", "radial_basis") and not run.method.l2:
        if run.method.schedule == "constant":  # the library's runs from zero have step 1
            rates = [run.method.learning_rate] * count
    weights = columns.weights[: count + 1]
    if not np.isfinite(weights).all():
        count = int(np.argmin(np.isfinite(weights).all(axis=(1, 2)))) - 1
    return {"weights": weights[: max(count, 0)].tolist(), "steps": [
        {"rows": None if rows is None else rows.tolist(), "size": rate}
        for rows, rate in zip(columns.visited[: max(count, 0)], rates, strict=False)
    ]}  # fmt: skip


def ties(run):
    """For each step, how near a decision is to a tie or a kink: the smallest distance."""
    columns, loss = run.recording.columns, run.recording.method["loss"]
    near = np.full(len(columns), np.inf)
    if columns.weights is None:
        return np.abs([margins[0] for margins in columns.margins])
    newton = run.method.name == "newton" and loss == "squared_hinge"  # its second derivative jumps
    if loss not in KINKS and not newton:
        return near
    W, y = columns.weights, run.recording.y
    x = np.column_stack([run.recording.x, np.ones(len(y))])
    with np.errstate(all="ignore"):  # runs that diverge
        scores = np.einsum("nd,skd->snk", x, W[:-1])
        gaps = _gaps(scores, y, loss) / (1.0 + np.abs(scores).max(axis=2))
    for step, rows in enumerate(columns.visited):
        near[step] = (gaps[step] if rows is None else gaps[step, rows]).min()
    return near


def _gaps(scores, y, loss):
    """Distances (steps, rows) of margins from the kink of the loss."""
    k = scores.shape[2]
    if k == 1:
        return np.abs(np.where(y == 1, 1.0, -1.0) * scores[:, :, 0] - KINKS.get(loss, 1.0))
    if loss == "squared_hinge":  # one class against the rest
        signs = np.where(np.arange(k) == y[:, None], 1.0, -1.0)
        return np.abs(signs * scores - 1.0).min(axis=2)
    own = np.take_along_axis(scores, y[None, :, None], axis=2)
    others = scores.copy()
    np.put_along_axis(others, np.broadcast_to(y[None, :, None], own.shape), -np.inf, axis=2)
    best = np.sort(others, axis=2)  # the best rivals must not be near each other
    return np.minimum(np.abs(own[..., 0] - best[..., -1] - KINKS[loss]),
                      best[..., -1] - best[..., -2])  # fmt: skip


def tolerance(run):
    """Relative to the weights. Equations lose as many digits as their matrix has condition."""
    if run.method.name not in ("newton", "least_squares"):
        return EXACT
    x = run.X / np.where(run.X.std(axis=0) > 0, run.X.std(axis=0), 1.0)
    return EXACT * max(1.0, float(np.linalg.cond(np.column_stack([x, np.ones(len(x))]))))

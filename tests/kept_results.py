"""Fitted estimators whose files hold more than weights, and what their predictions are given.

With kept_models these are all kinds of results, parameters and records that a model file contains.
"""

from __future__ import annotations

import datetime
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from kept_models import THREE, TWO, WORDS, X, table

import separatrix
from separatrix import (
    CoordinateAscent,
    ElasticNet,
    GradientDescent,
    InteriorPoint,
    LinearClassifier,
    LinearClassifierCV,
    LinearProgram,
    Perceptron,
    ProximalPoint,
    Stop,
    leave_one_out,
)
from separatrix.schedules import Constant, Pegasos, StepDecay

OFFSET = np.linspace(-1.0, 1.0, 60)
OFFSETS = np.column_stack([OFFSET, np.zeros(60), OFFSET[::-1]])
LABELS = np.column_stack([TWO, THREE == 1, np.ones(60)]).astype(int)  # all rows have the last
SEPARATED = (X[:, 0] > 0).astype(int)
FAR_LESS = {(0, 1): 5.0, (1, 0): 1.0}


def days() -> pa.Table:
    """Dates, of which one is missing."""
    first = datetime.date(2024, 2, 28)
    found = [first + datetime.timedelta(days=17 * i) for i in range(60)]
    return pa.table({"day": pa.array([None, *found[1:]]), "size": X[:, 0], "y": WORDS[TWO]})


def unknown() -> pa.Table:
    """Rows of which some have a colour that the fit did not."""
    found = table()
    colours = [
        "mauve" if i % 5 == 0 else word for i, word in enumerate(found["colour"].to_pylist())
    ]
    return found.set_column(2, "colour", pa.array(colours))


@cache
def results() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    """By a name for the case: a fitted estimator, rows, and arguments of its predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some have no minimum
        return {case: (*found, {}) if len(found) == 2 else found for case, found in _all().items()}


def _all() -> dict[str, Any]:
    return _results() | _penalties() | _decisions() | _solvers()


def _results() -> dict[str, Any]:
    parts = separatrix.read(
        days(), target="y", missing="indicator", dates={"day": ["year", "month"]}
    )
    words = separatrix.read(table(), target="y", missing="indicator")
    counted = LinearClassifier(l2=0.01).fit(words)
    counted.predict(unknown())
    weight = np.where(TWO > 0, 1.0, 3.0)
    share = np.clip(0.5 + 0.2 * X[:, 0], 0.0, 1.0)
    return {
        "offset": (LinearClassifier(l2=0.01).fit(X, TWO, offset=OFFSET), X, {"offset": OFFSET}),
        "offset three": (LinearClassifier(l2=0.01).fit(X, THREE, offset=OFFSETS), X,
                         {"offset": OFFSETS}),
        "offset stream": (Perceptron(random_state=0).partial_fit(X, TWO, offset=OFFSET,
                          classes=[0, 1]), X, {"offset": OFFSET}),
        "certified": (LinearClassifier(l2=0.01, certify_predictions=True).fit(X, TWO), X),
        "certified hinge": (LinearClassifier("one_vs_rest_hinge", l2=0.1, certify_predictions=True)
                            .fit(X, THREE), X),
        "firth": (LinearClassifier(bias_reduction="firth").fit(X, TWO), X),
        "firth three": (LinearClassifier(bias_reduction="firth").fit(X, THREE), X),
        "mdypl": (LinearClassifier(bias_reduction="mdypl").fit(X, WORDS[TWO]), X),
        "no minimum": (LinearClassifier(l2=0.0).fit(X, SEPARATED), X),
        "prior correction": (LinearClassifier(class_weight="balanced", prior_correction=True)
                             .fit(X, TWO, sample_weight=weight), X),
        "soft labels": (LinearClassifier(soft_labels=True).fit(X, share), X),
        "several labels": (LinearClassifier(l2=0.01).fit(X, LABELS), X),
        "weighted labels": (LinearClassifier(l2=0.01, class_weight={0: 1.0, 1: 2.0})
                            .fit(X, LABELS), X),
        "stop": (LinearClassifier(l2=0.01, stop=Stop(seconds=60.0))
                 .fit(X, TWO), X),
        "dates": (LinearClassifier(l2=0.01).fit(parts), days()),
        "unknown categories": (counted, unknown()),
        "held out": (_held_out(), table().select(["size"])),
    }  # fmt: skip


def _held_out() -> LinearClassifier:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        pyarrow.csv.write_csv(table().select(["size", "y"]), path)
        rows = separatrix.read(path, target="y", validation=0.25)
        return LinearClassifier(l2=0.01).fit(rows)


def _penalties() -> dict[str, Any]:
    half = ElasticNet(l1=0.01, l2=0.01, weights=(1.0, 0.5, 0.0))
    return {
        "bounds": (LinearClassifier(l2=0.01, bounds=(-0.5, [0.5, np.inf, 1.0])).fit(X, TWO), X),
        "monotone": (LinearClassifier(l2=0.01, monotone=[([0, 2], "increasing")], standardize=True)
                     .fit(X, TWO), X),
        "penalty weights": (LinearClassifier(l1=0.02, l2=0.01, penalty_weights=[0.0, 1.0, 2.0])
                            .fit(X, THREE), X),
        "groups": (LinearClassifier(l1=0.02, l2=0.01, groups=[0, 0, 1]).fit(X, TWO), X),
        "penalty": (LinearClassifier(penalty=half).fit(X, TWO), X),
        "sparse groups": (LinearClassifierCV(cv=3, l1_ratio=1.0, strengths=[0.1, 0.01],
                          groups="classes", scoring=None).fit(X, THREE), X),
    }  # fmt: skip


def _decisions() -> dict[str, Any]:
    two, three = (LinearClassifier(l2=0.01).fit(X, y) for y in (TWO, THREE))
    searched = LinearClassifierCV(cv=3, l2s=[0.1, 0.01], scoring=None).fit(X, TWO)
    return {
        "held-out threshold": (two.tune_threshold(leave_one_out(two, X, TWO), costs=FAR_LESS), X),
        "held-out costs": (three.tune_threshold(leave_one_out(three, X, THREE),
                           costs={(1, 2): 4.0}), X),
        "threshold": (LinearClassifier(l2=0.01).fit(X, TWO).set_decision(threshold=0.7), X),
        "searched threshold": (searched.tune_threshold(X, TWO, costs=FAR_LESS), X),
        "sigmoid": (LinearClassifier("hinge", l2=0.1, probability="loo").fit(X, TWO), X),
        "sigmoids": (LinearClassifier("one_vs_rest_hinge", l2=0.1, probability="loo")
                     .fit(X, THREE), X),
    }  # fmt: skip


def _solvers() -> dict[str, Any]:
    """What no other case has."""
    by_rows = GradientDescent(batch_size=1, learning_rate=Pegasos(), average=True)
    decay = StepDecay(0.5, every=40)
    return {
        "coordinate ascent": (LinearClassifier("hinge", l2=0.1, solver=CoordinateAscent(),
                              random_state=0).fit(X, TWO), X),
        "interior point": (LinearClassifier("hinge", l2=0.1, solver=InteriorPoint())
                           .fit(X, TWO), X),
        "proximal point": (LinearClassifier("hinge", l2=1e-3, solver=ProximalPoint())
                           .fit(X, TWO), X),
        "linear program": (LinearClassifier("hinge", l2=0.0, solver=LinearProgram())
                           .fit(X, TWO), X),
        "average": (LinearClassifier("hinge", l2=0.01, solver=by_rows, max_iter=5, tol=None,
                    random_state=0).fit(X, TWO), X),
        "steps": (Perceptron(3, learning_rate=decay, random_state=0).fit(X, TWO), X),
        "step": (Perceptron(3, learning_rate=Constant(2.0), random_state=0).fit(X, THREE), X),
    }  # fmt: skip

"""How far scikit-learn's linear classifiers are above their minimum with default settings: one
table.

    SEPARATRIX_DATA=folder python -m benchmarks.certify_report              ten sets, eight models
    SEPARATRIX_DATA=folder python -m benchmarks.certify_report iris pima    these sets

``workloads.real`` describes the folder. Models have their defaults except ``random_state=0``, and
are fitted to the rows as they are, then to standardised features. A cell is a proven upper bound on
the distance of the model from its minimum, and the number of rows whose prediction would change
there; the table is followed by the remedies.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix import Certificate, certify

SETS = (
    "breast_cancer_wdbc", "pima", "german_credit", "heart_scale", "spambase", "splice", "wine",
    "digits8x8", "satellite", "a1a",
)  # fmt: skip
MODELS: dict[str, Any] = {
    "LogisticRegression": LogisticRegression(random_state=0),
    "LogisticRegression (liblinear)": LogisticRegression(solver="liblinear", random_state=0),
    "LinearSVC": LinearSVC(random_state=0),
    "LinearSVC (hinge)": LinearSVC(loss="hinge", random_state=0),
    "SGDClassifier": SGDClassifier(random_state=0),
    "SGDClassifier (log_loss)": SGDClassifier(loss="log_loss", random_state=0),
    "RidgeClassifier": RidgeClassifier(random_state=0),
    "Perceptron": Perceptron(random_state=0),
}
"""liblinear's logistic regression supports only two classes."""


def cell(found: Certificate) -> str:
    """The gap and the flips, or the mistakes if the infimum is 0."""
    if found.relative_gap is None:
        return f"{found.verdict}, {found.mistakes} wrong"
    loose = "" if found.tight else " (not tight)"
    return f"{100 * found.relative_gap:.2g} % ({found.flips}){loose}"


def certificates(X: Any, y: Any) -> Iterator[tuple[str, Certificate | None, float]]:
    """Certificates of every model that supports these classes, and the seconds to certify."""
    for name, model in MODELS.items():
        if "liblinear" in name and len(np.unique(y)) > 2:
            yield name, None, 0.0
            continue
        fitted = clone(model).fit(X, y)
        start = time.process_time()
        yield name, certify(fitted, X, y), time.process_time() - start


def main() -> None:
    """Print the table, line by line as it is found."""
    from .workloads.real import VARIABLE, loader_of  # here: they know all peers, and so take long

    parser = argparse.ArgumentParser("python -m benchmarks.certify_report")
    parser.add_argument("sets", nargs="*", default=SETS)
    names = parser.parse_args().sets
    if VARIABLE not in os.environ:
        raise SystemExit(f"set {VARIABLE} to the folder of the sets")
    loader = loader_of(Path(os.environ[VARIABLE]))
    print(f"| set | rows | {' | '.join(MODELS)} | seconds |")
    print("|---" * (len(MODELS) + 3) + "|")
    remedies: dict[str, list[str]] = {}
    warnings.simplefilter("ignore")  # missing convergence is what is measured
    for name in names:
        X, y = loader.load(name)[:2]
        scaler = make_pipeline(StandardScaler(with_mean=not hasattr(X, "tocsr")))
        for rows, label in ((X, name), (scaler.fit_transform(X), f"{name}, scaled")):
            cells, seconds = [], 0.0
            for model, found, took in certificates(rows, y):
                cells.append("" if found is None else cell(found))
                seconds += took
                if found is not None and found.remedy is not None:
                    remedies.setdefault(f"{model}: {found.remedy}", []).append(label)
            print(f"| {label} | {len(y)} | {' | '.join(cells)} | {seconds:.1f} |", flush=True)
    for remedy, where in sorted(remedies.items()):
        print(f"- `{remedy}` ({', '.join(where)})")


if __name__ == "__main__":
    main()

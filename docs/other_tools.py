"""``python docs/other_tools.py``: try other tools with our estimators, and write their table.

Each function below is one row of the table in other_tools.md: its docstring says what is tried, and
it raises if the result is not as expected. All of the tools must be installed:

    pip install skops mlflow shap optuna optuna-integration dask-ml
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from separatrix import LinearClassifier, Perceptron

PAGE = Path(__file__).with_name("other_tools.md")
TABLE = re.compile(r"(?<=<!-- table -->\n).*(?=<!-- end -->)", re.S)
X, Y = load_breast_cancer(return_X_y=True)


def fitted() -> LinearClassifier:
    """The classifier that most tools get."""
    return LinearClassifier(l2=1e-3, standardize=True).fit(X, Y)


def expect(is_so: bool, what: str) -> None:
    """Raise if something is not so."""
    if not is_so:
        raise AssertionError(f"expected {what}")


def scikit_learn() -> None:
    """the HTML for notebooks lists all parameters, and links to the pages in `$SEPARATRIX_DOCS`"""
    with patch.dict(os.environ, {"SEPARATRIX_DOCS": "https://pages.example"}):
        html = fitted()._repr_html_()
    expect(all(name in html for name in fitted().get_params()), "every parameter")
    page = "https://pages.example/generated/separatrix.LinearClassifier.html"
    expect(page in html, "a link to the page of the class")


def skops() -> None:
    """`skops.io.dumps` and `loads`; every type to trust is of this package; same predictions"""
    import skops.io

    clf = fitted()
    data = skops.io.dumps(clf)
    trusted = skops.io.get_untrusted_types(data=data)
    expect(all(name.startswith("separatrix.") for name in trusted), "only our types")
    loaded = skops.io.loads(data, trusted=trusted)
    same = np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    expect(same, "the same scores")


def mlflow() -> None:
    """`mlflow.sklearn.save_model` with `skops_trusted_types`, and `load_model`; same predictions"""
    import mlflow.sklearn
    import skops.io

    clf = fitted()
    trusted = skops.io.get_untrusted_types(data=skops.io.dumps(clf))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model"
        mlflow.sklearn.save_model(clf, path, skops_trusted_types=trusted)
        loaded = mlflow.sklearn.load_model(path)
    expect(np.array_equal(loaded.predict_proba(X), clf.predict_proba(X)), "the same probabilities")


def shap() -> None:
    """`LinearExplainer`: values and base value add up to `decision_function`"""
    import shap

    clf = fitted()
    found = shap.LinearExplainer(clf, X)(X[:50])
    sums = found.values.sum(axis=1) + found.base_values
    expect(np.allclose(sums, clf.decision_function(X[:50])), "sums equal to the scores")


def optuna() -> None:
    """a study over `l2` with `cross_val_score` finds a better value than the worst it tried"""
    import optuna

    def objective(trial: Any) -> float:
        l2 = trial.suggest_float("l2", 1e-6, 10.0, log=True)
        clf = LinearClassifier(l2=l2, standardize=True)
        return float(cross_val_score(clf, X, Y, cv=3, scoring="neg_log_loss").mean())

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=8)
    values = [trial.value for trial in study.trials]
    expect(len(values) == 8 and study.best_value > min(values), "8 trials of different values")


def optuna_integration() -> None:
    """`OptunaSearchCV` over `l2`; `best_estimator_` predicts"""
    import optuna
    from optuna.distributions import FloatDistribution
    from optuna_integration import OptunaSearchCV

    space = {"l2": FloatDistribution(1e-6, 10.0, log=True)}
    clf = LinearClassifier(standardize=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = OptunaSearchCV(clf, space, n_trials=5, cv=3, random_state=0).fit(X, Y)
    expect(search.score(X, Y) > 0.9, "an accuracy above 0.9")


def dask_ml() -> None:
    """`ParallelPostFit` predicts Dask arrays block by block; `Incremental` calls `partial_fit`"""
    import dask.array as da
    from dask_ml.wrappers import Incremental, ParallelPostFit

    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    lazy_rows, lazy_labels = da.from_array(rows, chunks=(100, -1)), da.from_array(Y, chunks=100)
    clf = LinearClassifier(l2=1e-3).fit(rows, Y)
    found = ParallelPostFit(clf).predict_proba(lazy_rows).compute()
    expect(np.allclose(found, clf.predict_proba(rows), rtol=1e-12), "the same probabilities")
    stream = Incremental(Perceptron(random_state=0), shuffle_blocks=False)
    stream.fit(lazy_rows, lazy_labels, classes=[0, 1])
    accuracy = np.mean(stream.predict(lazy_rows).compute() == Y)
    expect(bool(accuracy > 0.9), "an accuracy above 0.9")


TRIED: dict[str, Callable[[], None]] = {
    "scikit-learn": scikit_learn, "skops": skops, "mlflow": mlflow, "shap": shap,
    "optuna": optuna, "optuna-integration": optuna_integration, "dask-ml": dask_ml,
}  # fmt: skip
"""What is tried, by the name of the distribution."""


def table() -> str:
    """The table, after everything in it was tried."""
    lines = ["| tool | version | what works |", "|---|---|---|"]
    for name, check in TRIED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of the tools about themselves
            check()
        lines.append(f"| {name} | {version(name)} | {check.__doc__} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    new = table()
    PAGE.write_text(TABLE.sub(lambda _: new, PAGE.read_text()))
    print(new, end="")

"""
Resume after a crash
====================

A killed run continues from its checkpoint and ends with the same bits as an uninterrupted run.
"""

# %%
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from separatrix import Checkpoint, GradientDescent, HistoryDisplay, LinearClassifier

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
way = GradientDescent(batch_size=1)


def fitted(passes: int, *callbacks: Checkpoint) -> LinearClassifier:
    """Stop after this many passes; they do not reach the minimum, which does not matter here."""
    clf = LinearClassifier(
        "logistic", solver=way, max_iter=passes, tol=None, random_state=0, callbacks=callbacks
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clf.fit(X, y)


whole = fitted(40)

# %%
# This run is stopped after 15 passes to simulate a crash. The other one continues from its file.
path = Path(tempfile.mkdtemp()) / "run.ckpt"
fitted(15, Checkpoint(path, every=1))
resumed = fitted(40, Checkpoint(path, every=1))
same = np.array_equal(whole.coef_, resumed.coef_)
print(f"{resumed.n_iter_} passes; the same weights to the last bit: {same}")
HistoryDisplay.from_estimator(resumed)

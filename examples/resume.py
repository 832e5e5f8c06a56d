"""
Resume after a crash
====================

A run that was killed goes on from its checkpoint and ends with the bits of one that was not.
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
    """After so many passes; that they are too few for a minimum is not the point here."""
    clf = LinearClassifier(
        "logistic", solver=way, max_iter=passes, tol=None, random_state=0, callbacks=callbacks
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clf.fit(X, y)


whole = fitted(40)

# %%
# This one is cut after 15 passes, which stands for the crash. The other finds its file and goes on.
path = Path(tempfile.mkdtemp()) / "run.ckpt"
fitted(15, Checkpoint(path, every=1))
resumed = fitted(40, Checkpoint(path, every=1))
same = np.array_equal(whole.coef_, resumed.coef_)
print(f"{resumed.n_iter_} passes; the same weights to the last bit: {same}")
HistoryDisplay.from_estimator(resumed)

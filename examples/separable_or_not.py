"""
Separable or not, and the proof
===============================

``separability`` decides whether a plane separates the classes, and returns the proof: the plane and
its margin, or the few rows whose hulls meet.
"""

# %%
import numpy as np

from separatrix import CertificateDisplay, HistoryDisplay, Perceptron, separability
from separatrix.datasets import separable

X, y, *_ = separable(60, random_state=0)
found = separability(X, y)
print(found)
print("checked from the data alone:", found.verify())
CertificateDisplay.from_separability(found, X, y)

# %%
# With one wrong label deep in its class no plane separates the rows: the witness rows are few, and
# their sum is easy to check.
separator = np.ravel(np.asarray(found.coef))
deep = np.argmax(X @ separator)  # far on the side of the larger class
flipped = y.copy()
flipped[deep] = y.min()
broken = separability(X, flipped)
print(broken.verdict, broken.witness)
CertificateDisplay.from_separability(broken, X, flipped)

# %%
# If the rows are separable, the margin bounds the mistakes of the online perceptron, whatever their
# order: here compared with the actual mistakes.
clf = Perceptron(random_state=0, monitor=found).fit(X, y)
HistoryDisplay.from_estimator(clf)

"""
Choosing the penalty
====================

A path of penalties, where each fit starts from the previous one and is proven, with held-out
scores.
"""

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from separatrix import LinearClassifierCV, PathDisplay

X, y = load_breast_cancer(return_X_y=True)
cv = LinearClassifierCV("logistic", l2s=20, scoring="loss", standardize=True).fit(X, y)
print(f"l2 = {cv.l2_:.3g}; {cv.stop_}")
PathDisplay.from_estimator(cv, X, y)

# %%
# One standard error below the best score: the strongest penalty that is not clearly worse.
simple = LinearClassifierCV(
    "logistic", l2s=20, scoring="loss", standardize=True, rule="one_standard_error"
).fit(X, y)
print(f"l2 = {simple.l2_:.3g}")

# %%
# With the squared loss leaving out one row at a time costs no fit: the scores are exact.
exact = LinearClassifierCV("squared", l2s=20, cv="loo", scoring="loss")
exact.fit(StandardScaler().fit_transform(X), y)
print(f"l2 = {exact.l2_:.3g}")

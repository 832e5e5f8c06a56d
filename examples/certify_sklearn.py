"""
Is my scikit-learn model optimal?
=================================

``certify`` derives what a fitted model claims to minimise, proves how far above that minimum it is,
and says how its predictions would change at the optimum.
"""

# %%
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from separatrix import certify

X, y = load_breast_cancer(return_X_y=True)
models = {
    "LogisticRegression": LogisticRegression(),
    "... on scaled features": make_pipeline(StandardScaler(), LogisticRegression()),
    "LinearSVC": make_pipeline(StandardScaler(), LinearSVC()),
    "SGDClassifier": make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
    "RidgeClassifier": RidgeClassifier(),
}
found, above = {}, {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, model in models.items():
        found[name] = certify(model.fit(X, y), X, y)
        above[name] = 100 * (found[name].relative_gap or 0.0)  # None: the infimum is 0
for name, certificate in found.items():
    print(f"{name:24} at most {above[name]:.2g} % above, {certificate.flips} rows flip")

# %%
# The full text for one of them, with its remedy.
print(found["LogisticRegression"])

# %%
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(list(above), list(above.values()))
ax.set(xscale="log", xlabel="upper bound: per cent above the minimum")
ax.invert_yaxis()

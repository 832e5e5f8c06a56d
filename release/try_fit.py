"""One fit with an installed wheel, which needs nothing but the required packages."""

from __future__ import annotations

from sklearn.datasets import load_iris

import separatrix

separatrix.show_config()
X, y = load_iris(return_X_y=True)
clf = separatrix.Perceptron(random_state=0).fit(X, y == 0)
if clf.stop_ != "no mistakes":
    raise SystemExit(f"expected a fit without mistakes, got {clf.stop_}")

"""
A linear probe, on a GPU if there is one
========================================

Features of a trained network are classified by a linear model. If they are on a GPU, the fit runs
there; the code is the same.
"""

# %%
# Features of 64 numbers for ten classes stand for the output of a network. With torch they would be
# ``torch.cat([backbone(batch.cuda()) for batch, _ in loader])``.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from separatrix import LinearClassifier

X, y = load_digits(return_X_y=True)
features, held_out, labels, held_out_labels = train_test_split(X / 16.0, y, random_state=0)


def on_gpu(array: Any) -> Any:
    """The array on a GPU, or as it is where there is none."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception:  # no CuPy, no driver, or no GPU
        return array
    return cupy.asarray(array)


# %%
# The sweep over ``l2`` starts each fit where the one before ended. Every fit proves how far it is
# from its minimum.
probe = LinearClassifier(tol=1e-4, warm_start=True)
strengths, scores = np.logspace(-1, -5, 5), []
for l2 in strengths:
    probe.set_params(l2=l2).fit(on_gpu(features), labels)
    scores.append(probe.score(on_gpu(held_out), held_out_labels))
    print(f"l2 = {l2:.0e}: {probe.stop_}, gap {probe.gap_:.0e}, {scores[-1]:.3f} right")

# %%
# The strength to choose is where held-out samples are classified best.
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.semilogx(strengths, scores, marker="o")
ax.set(xlabel="l2", ylabel="share of held-out samples classified correctly")

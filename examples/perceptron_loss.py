"""
Why the perceptron's loss needs care
====================================

``max(0, -m)`` is convex, but its minimum is useless: at ``(w, b) = 0``, where nothing has been
learned. A loss that requires a margin does not have this problem.
"""

# %%
# On rows that no line separates every direction has a cost, and shrinking the weights lowers the
# loss. Along one good direction, from long weights to none:
import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearClassifier
from separatrix.datasets import overlapping
from separatrix.losses import Hinge, Logistic, PerceptronLoss

X, y = overlapping(200, random_state=0)
sign = np.where(y == y.max(), 1.0, -1.0)
clf = LinearClassifier("hinge", l2=1e-3).fit(X, y)
margins = sign * clf.decision_function(X)
lengths = np.linspace(0.0, 2.0, 100)
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for loss, dash in ((PerceptronLoss(), "-"), (Hinge(), "--"), (Logistic(), ":")):
    ax.plot(lengths, [loss.phi(t * margins).mean() for t in lengths], dash, label=loss.name)
ax.set(
    xlabel="length of the weights", ylabel="mean loss", title="The same direction, other lengths"
)
ax.legend(frameon=False)

# %%
# So a penalised fit of it would end at zero. ``LinearClassifier("perceptron")`` keeps the best
# weights of its run, and never says "optimal"; the hinge and the logistic loss do, with a proof.
for name in ("hinge", "logistic"):
    fit = LinearClassifier(name, l2=1e-3).fit(X, y)
    print(f"{name:10} {fit.stop_}, within {fit.gap_:.1e}, {fit.score(X, y):.3f} right")

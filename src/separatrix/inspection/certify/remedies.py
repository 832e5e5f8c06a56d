"""The line that brings a model to its minimum, chosen by how it was trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import losses
from .. import remedy_lines
from .problems import Claimed

ENOUGH = 1e-4  # of the minimum: a model within this distance needs no remedy
WILD = 100.0  # times the smallest deviation of a feature: scales that slow a solver down
FEW_UNKNOWNS = 2000  # whose second derivatives are affordable in memory and time
MORE, FINER = 100, 1e-4  # factors for passes and tolerances


class Remedies:
    """Remedies for a model, for the names ``clf``, ``X`` and ``y``."""

    def __init__(self, model: Any, clf: Any, posed: Claimed) -> None:
        self.model, self.clf, self.posed = model, clf, posed
        self.name = type(clf).__name__

    def towards_minimum(self) -> str:
        """If there is a minimum and the model is not close to it."""
        if self.name == "WeightsAsModel":
            return self._ours()
        if type(self.clf).__module__.startswith("separatrix"):
            return self._setting(tol=1e-6, max_iter=MORE * self.clf.max_iter)
        if self.name == "SGDClassifier":
            return self._ours()
        if self.name.startswith("Ridge"):
            return self._ridge()
        if self.name == "LinearSVC" and self._has_newton:
            return self._setting(dual=False, tol=1e-8, max_iter=MORE * self.clf.max_iter)
        W = self.posed.weights
        if (
            self.name.startswith("LogisticRegression")
            and self.clf.solver not in ("newton-cholesky", "liblinear")
            and W.size <= FEW_UNKNOWNS
            and not self.posed.claim.absolute
            and (self._stopped or self._wild)
        ):
            return self._setting(
                solver="newton-cholesky", tol=1e-8, max_iter=max(100, self.clf.max_iter)
            )
        if self._stopped and self._wild:
            return self._scaling()
        if self._stopped:
            return self._setting(max_iter=MORE * self.clf.max_iter)
        return self._setting(tol=FINER * self.clf.tol, max_iter=MORE * self.clf.max_iter)

    def without_penalty(self) -> str:
        """If there is no minimum."""
        if self.name == "WeightsAsModel":
            return self._ours(l2=0.0001)
        if self.name == "LogisticRegression":
            old = {"penalty": "l2"} if getattr(self.clf, "penalty", "") is None else {}
            return self._setting(**old, C=1.0)
        if self.name == "LogisticRegressionCV":
            return self._setting(Cs=10)
        if self.name == "SGDClassifier":
            return self._ours(l2=0.0001)
        return self._setting(l2=0.0001)

    def of_mistakes(self, verdict: str | None, mistakes: int) -> str | None:
        """If the infimum is 0, so that models differ only in their mistakes."""
        if verdict != "separable":
            return self._replacing("separatrix.LinearClassifier('hinge')")
        if not mistakes:
            return None
        if self.name == "WeightsAsModel":
            return self._replacing("separatrix.Perceptron(max_iter=100000, patience=None)")
        own = type(self.clf).__module__.startswith("separatrix")
        rule = {"patience": None} if own and hasattr(self.clf, "patience") else {"tol": None}
        return self._setting(max_iter=MORE * self.clf.max_iter, **rule)

    # ---- how a model was trained -----------------------------------------------------------

    @property
    def _loss(self) -> str:
        return self.posed.claim.loss.name

    @property
    def _has_newton(self) -> bool:
        """Whether LinearSVC could have used second derivatives, but did not."""
        smooth = self.clf.loss == "squared_hinge" and self.clf.multi_class == "ovr"
        smooth = smooth and self.clf.penalty == "l2"  # with L1 it has only one solver
        return smooth and self.clf.dual is not False

    @property
    def _stopped(self) -> bool:
        """Whether it reached the maximum number of passes."""
        return bool(np.max(self.clf.n_iter_) >= self.clf.max_iter)

    @property
    def _wild(self) -> bool:
        """Whether features have very different scales."""
        deviation = self.posed.problems[0].objective.moments.deviation
        varies = deviation[deviation > 0.0]
        return bool(len(varies) and varies.max() > WILD * varies.min())

    # ---- lines -----------------------------------------------------------------------------

    def _setting(self, **parameters: Any) -> str:
        return remedy_lines.setting(self.model, **parameters)

    def _replacing(self, classifier: str) -> str:
        return remedy_lines.replacing(self.model, classifier)

    def _scaling(self) -> str:
        return remedy_lines.scaling(self.model, self.posed.source.storage == "csr")

    def _ridge(self) -> str:
        if not hasattr(self.clf, "solver"):
            return self._scaling()
        if self.posed.source.storage == "csr":
            return self._setting(solver="sparse_cg", tol=1e-10, max_iter=100_000)
        return self._setting(solver="svd")

    def _ours(self, l2: float | None = None) -> str:
        """The same objective here, if this package has it, or the one with another penalty."""
        claim, several = self.posed.claim, len(self.posed.problems) > 1
        if several and claim.class_weight is not None:
            return self._setting(average=True, tol=None)
        l2 = self.posed.problems[0].objective.penalty.l2 if l2 is None else l2
        name, known = self._loss, True
        if several and claim.loss.column_loss is not None:
            form = losses.one_vs_rest_name(claim.loss)
            known, name = form is not None, form or name
        parts = [repr(name), f"l2={l2:.6g}"]
        l1 = getattr(self.posed.problems[0].objective.penalty, "l1", 0.0)
        parts += [f"l1={l1:.6g}"] * (l1 > 0.0)
        parts += ["groups=..."] * (claim.groups is not None)
        parts += ["fit_intercept=False"] * (not claim.fit_intercept)
        if claim.class_weight is not None:
            parts.append(f"class_weight={claim.class_weight!r}")
        text = f"separatrix.LinearClassifier({', '.join(parts)})"
        return self._replacing(text if known else f"OneVsRestClassifier({text})")

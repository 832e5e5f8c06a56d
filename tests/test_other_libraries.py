"""What others call the strength of their penalty: the page on their letters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "from_sklearn.md"
OTHERS = {  # from the sum of the losses and |w|_1, |w|^2, as each library states what it minimises
    "`LogisticRegression(C=C)`": lambda s, one, two, n: C * s + two / 2,
    "`LogisticRegression(C=C, l1_ratio=r)`": lambda s, one, two, n: (
        C * s + R * one + (1 - R) / 2 * two
    ),
    "`LinearSVC(C=C)`": lambda s, one, two, n: C * s + two / 2,
    '`LinearSVC(loss="hinge", C=C)`': lambda s, one, two, n: C * s + two / 2,
    "`RidgeClassifier(alpha)`": lambda s, one, two, n: s + A * two,
    "`SGDClassifier(loss, alpha=alpha)`": lambda s, one, two, n: s / n + A / 2 * two,
    '`SGDClassifier(loss, penalty="elasticnet", alpha=alpha, l1_ratio=r)`': (
        lambda s, one, two, n: s / n + A * (R * one + (1 - R) / 2 * two)
    ),
    "`LIBLINEAR -s 0, 7 / 1, 2 / 3 -c C`": lambda s, one, two, n: two / 2 + C * s,
    "`LIBLINEAR -s 4 -c C`": lambda s, one, two, n: two / 2 + C * s,
    "`LIBLINEAR -s 5 / 6 -c C`": lambda s, one, two, n: one + C * s,
    "glmnet `alpha = 0, lambda`": lambda s, one, two, n: s / n + L / 2 * two,
    "glmnet `alpha, lambda`": lambda s, one, two, n: s / n + L * ((1 - A) / 2 * two + A * one),
    "Vowpal Wabbit `--l1 a --l2 b`": lambda s, one, two, n: s + n * (A * one + B / 2 * two),
    "xgboost `gblinear`, `alpha`, `lambda`": lambda s, one, two, n: s + n * (A * one + L / 2 * two),
    "mlxtend `LogisticRegression(l2_lambda)`": lambda s, one, two, n: s + L / 2 * two,
}
C, R, A, B, L = 0.7, 0.3, 0.2, 0.05, 0.11


@pytest.mark.parametrize("theirs", OTHERS)
def test_the_letters_of_other_libraries_mean_the_same_objective(theirs):
    page = PAGE.read_text().replace("lambda", "lam")
    name = theirs.replace("lambda", "lam")
    (ours,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", page, re.M)
    n = 50
    given = {"C": C, "r": R, "alpha": A, "a": A, "b": B, "lam": L, "l2_lam": L, "n": n}
    strengths = {"l1": 0.0, "l2": 0.0}
    for key, text in re.findall(r"\b(l1|l2)=((?:\([^()]*\)|[^(),`])+)", ours):
        strengths[key] = eval(text, {}, given)
    assert any(strengths.values())
    ratios = []
    for losses, one, two in ((3.0, 1.5, 0.7), (8.0, 0.1, 2.0), (1.0, 4.0, 5.0), (2.0, 3.0, 0.1)):
        here = losses / n + strengths["l1"] * one + strengths["l2"] * two
        ratios.append(OTHERS[theirs](losses, one, two, n) / here)
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-12)

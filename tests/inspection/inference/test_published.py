"""Firth's penalty on the two tables that its papers and packages report.

Endometrial cancer: the rows of G. Heinze and M. Schemper, Statistics in Medicine 21, 2002, which A.
Agresti's Foundations of Linear and Generalized Linear Models, 2015, has too, with the estimates.
First urinary infections: B. Foxman and others, Epidemiology 8, 1997, which R's package logistf has
as ``sex2``; the estimates are those of that package.
"""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LinearClassifier, inference, separability

# PI EH of the women with NV = 0, HG = 0; with NV = 0, HG = 1; with NV = 1, who all have HG = 1.
ENDOMETRIAL = (
    "3 2.9, 5 2.31, 7 1.89, 8 2.01, 8 3.14, 10 1.23, 10 1.68, 10 1.82, 10 2.17, 10 3.13, 11 1.33, "
    "11 2.01, 12 2.25, 12 2.33, 12 3.61, 13 1.64, 13 2.04, 13 2.16, 14 1.92, 14 2.57, 15 1.72, "
    "15 1.75, 15 2.29, 16 1.76, 16 2.11, 16 2.26, 17 1.8, 17 1.88, 17 2.31, 18 1.27, 18 1.31, "
    "18 2, 19 1.29, 19 1.37, 19 2.37, 20 1.28, 20 1.7, 20 3.15, 21 1.64, 22 1.54, 23 1.41, "
    "24 1.92, 25 1.93, 26 1.56, 28 1.5, 29 2.02, 33 0.75, 34 2.68, 42 1.97",
    "2 1.18, 5 0.35, 5 1.3, 6 1.84, 7 0.97, 8 2.64, 12 1.11, 12 1.27, 12 1.69, 15 1.06, 17 0.96, "
    "19 1.61, 20 1.37, 21 1.19, 29 0.88, 33 0.85, 48 1.84",
    "0 1.17, 5 0.93, 7 0.88, 11 1.01, 15 0.58, 19 1.02, 21 0.98, 22 1.14, 22 1.44, 25 0.91, "
    "38 0.97, 40 1.18, 49 0.27",
)
# age, oc, vic, vicl, vis, dia; cases; controls.
INFECTIONS = (
    "000010 1 1, 001000 14 2, 001010 3 1, 001100 10 8, 001110 12 18, 001111 1 0, 010000 44 42, "
    "010001 3 0, 010010 0 1, 011000 15 1, 011001 1 0, 011010 2 0, 011100 7 5, 011110 3 6, "
    "101000 2 0, 101010 1 0, 101011 1 0, 101100 1 2, 101110 0 4, 101111 1 0, 110000 5 14, "
    "110010 0 1, 111000 3 1, 111110 0 2"
)


def endometrial():
    rows = [
        (nv, *map(float, woman.split()), hg)
        for (nv, hg), women in zip([(0, 0), (0, 1), (1, 1)], ENDOMETRIAL, strict=True)
        for woman in women.split(", ")
    ]
    table = np.array(rows)
    return table[:, :3], table[:, 3].astype(int)


def infections():
    """Each pattern twice, as case and as control, and how many women have it."""
    patterns = [pattern.split() for pattern in INFECTIONS.split(", ")]
    X = np.array([[float(bit) for bit in bits] for bits, _, _ in patterns for _ in range(2)])
    weight = np.array([float(count) for _, *counts in patterns for count in counts])
    return X, np.tile([1, 0], len(patterns)), weight


def firth(X, y, weight=None):
    clf = LinearClassifier(bias_reduction="firth", tol=1e-10)
    return clf.fit(X, y, sample_weight=weight)


def test_endometrial_cancer():
    X, y = endometrial()
    assert X.shape == (79, 3)
    assert separability(X, y).verdict == "quasi-separable"
    found = inference(firth(X, y), X, y)
    coef = dict(zip(["NV", "PI", "EH", "1"], found.coef, strict=True))
    errors = dict(zip(["NV", "PI", "EH", "1"], found.standard_errors, strict=True))
    published = {"1": (3.77456, 1.48869), "NV": (2.92927, 1.55076),
                 "PI": (-0.03475, 0.03958), "EH": (-2.60416, 0.77602)}  # fmt: skip
    for name, (value, error) in published.items():
        assert coef[name] == pytest.approx(value, abs=6e-6)
        assert errors[name] == pytest.approx(error, abs=6e-6)


def test_first_urinary_infections():
    X, y, weight = infections()
    assert weight.sum() == 239
    clf = firth(X, y, weight)
    found = inference(clf, X, y, sample_weight=weight, intervals="profile", features=[5])
    assert found.coef[0] == pytest.approx(3.09601, abs=6e-6)
    np.testing.assert_allclose(found.intervals[0], (0.774568, 8.03028), rtol=2e-6)
    assert found.test(5).p_value == pytest.approx(4.951873e-3, rel=2e-6)
    assert found.log_likelihood == pytest.approx(-132.5394, abs=6e-5)

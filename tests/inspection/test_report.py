"""The report: frozen, short, and safe to show."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import overlapping
from inspection.cases import (
    constant_features,
    healthy,
    mended,
)

import separatrix
from separatrix import (
    Diagnosis,
    LinearClassifier,
    diagnose,
)


def test_the_report_is_frozen_and_shows_itself():
    clf, X, y = constant_features()
    X[:, 2] = X[:, 0]
    diagnosis = diagnose(clf.fit(X, y), X, y)
    assert isinstance(diagnosis, Diagnosis)
    assert [f.cause for f in diagnosis.findings] == ["constant features", "duplicate features"]
    for thing, name in ((diagnosis, "findings"), (diagnosis.findings[0], "remedy")):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    lines = str(diagnosis).splitlines()
    assert lines[0].startswith("1. ")
    assert lines[2].startswith("2. ")
    html = diagnosis._repr_html_()
    assert html.count("<li>") == 2
    assert "<script>" not in html
    assert diagnose(*healthy())._repr_html_().startswith("<p>Nothing wrong found")


def test_a_long_line_is_cut_where_it_is_shown():
    X, y = overlapping(60, 3)
    X = np.column_stack([X, np.zeros((60, 200))])
    clf = LinearClassifier(l2=1e-2).fit(X, y)
    diagnosis = diagnose(clf, X, y)
    assert len(diagnosis.findings[0].remedy) > 900
    assert " ... " in str(diagnosis)
    assert len(str(diagnosis)) < 600
    assert diagnose(*mended(diagnosis.findings[0].remedy, clf, X, y))


def test_html_is_escaped():
    finding = separatrix.Finding("<b>", "a < b", {"<i>": "<u>"}, "X[X < 0]")
    html = Diagnosis((finding,), {})._repr_html_()
    assert "a &lt; b" in html
    assert "<b>" not in html
    assert "<u>" not in html

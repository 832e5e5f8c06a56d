"""Lines of code for users to paste: a name from a file stays a name in them."""

from __future__ import annotations

import ast

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.inspection.remedy_lines import replacing, setting

NAMES = ("log-reg", "class", "a b", "", "x=1); print(1); f(y", "'\"\n\\")


def pipeline(name):
    return Pipeline([("scale", StandardScaler()), (name, LogisticRegression())])


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_step_is_never_code(name):
    clf = pipeline(name)
    for line in (setting(clf, C=2.0), replacing(clf, "LogisticRegression(C=2.0)")):
        (statement,) = ast.parse(line).body
        calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
        names = {getattr(call, "attr", getattr(call, "id", None)) for call in calls}
        assert names <= {"set_params", "fit", "LogisticRegression"}
        names = {"clf": clf, "LogisticRegression": LogisticRegression}
        eval(line.removesuffix(".fit(X, y)"), names)
        assert clf[-1].C == 2.0


def test_ordinary_names_are_keyword_arguments():
    assert setting(pipeline("model"), C=1.0) == "clf.set_params(model__C=1.0).fit(X, y)"
    assert setting(LogisticRegression(), C=1.0) == "clf.set_params(C=1.0).fit(X, y)"

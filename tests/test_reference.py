"""Every public name says what it takes, what it has, what is near it, and shows itself at work.

That the examples hold is seen by the doctests of ``src``.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from itertools import pairwise

import pytest
from sklearn.externals._numpydoc.docscrape import NumpyDocString  # by which tooltips are made
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

import separatrix
from separatrix import config, datasets, features, losses

MODULES = (losses, datasets, features)
ESTIMATORS = (
    separatrix.Perceptron,
    separatrix.LinearClassifier,
    separatrix.LinearClassifierCV,
    separatrix.KernelPerceptron,
    features.RadialBasis,
)


def public():
    """Classes and functions by name; of a module without ``__all__``, those that it defines."""
    found = {name: getattr(separatrix, name) for name in separatrix.__all__}
    for module in MODULES:
        names = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
        own = {name: vars(module)[name] for name in names}
        found |= {
            f"{module.__name__.split('.')[1]}.{name}": each
            for name, each in own.items()
            if hasattr(module, "__all__") or getattr(each, "__module__", "") == module.__name__
        }
    return {name: each for name, each in found.items() if callable(each)}


NAMES = public()
METHODS = (types.FunctionType, classmethod, staticmethod, property)


def fields(cls):
    """What a string follows in the bodies of a class and its bases: pages tell these, too."""
    found = set()
    for each in cls.__mro__:
        if each.__module__.startswith("separatrix"):
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0].body
            found |= {
                a.target.id
                for a, b in pairwise(body)
                if isinstance(a, ast.AnnAssign)
                and isinstance(b, ast.Expr)
                and isinstance(b.value, ast.Constant)
            }
    return found


def section(doc, name):
    return {each.strip() for entry in doc[name] for each in entry.name.split(",")}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_explained(name):
    found = NAMES[name]
    doc = NumpyDocString(inspect.getdoc(found))
    reported = section(doc, "Parameters") | (fields(found) if inspect.isclass(found) else set())
    takes = [each for each in inspect.signature(found).parameters if each[0] != "_"]
    assert [each for each in takes if each not in reported] == []


@pytest.mark.parametrize("name", [name for name, found in NAMES.items() if inspect.isclass(found)])
def test_every_public_method_has_a_docstring(name):
    """ruff asks only modules for docstrings: other classes need them only where they help."""
    found = vars(NAMES[name])
    fields = inspect.get_annotations(NAMES[name])
    own = [each for each in found if each[0] != "_" and each not in fields]
    methods = [each for each in own if isinstance(found[each], METHODS)]
    assert [each for each in methods if not inspect.getdoc(getattr(NAMES[name], each))] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example(name):
    assert ">>> " in "\n".join(NumpyDocString(inspect.getdoc(NAMES[name]))["Examples"])


@pytest.mark.parametrize(
    "name", [each for each in NAMES if not each.startswith("datasets.") and each != "show_config"]
)
def test_what_is_near_exists(name):
    near = NumpyDocString(inspect.getdoc(NAMES[name]))["See Also"]
    listed = [each for names, _ in near for each, _ in names]
    assert listed
    here = name.rpartition(".")[0]
    for each in listed:
        other = each.removeprefix("separatrix.")
        assert other in NAMES or f"{here}.{other}" in NAMES, each
        assert other != name


def fitted(cls):
    X, y = datasets.overlapping(60, random_state=0)
    searches = cls is separatrix.LinearClassifierCV
    return cls(**({"scoring": "loss"} if searches else {})).fit(X, y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_every_attribute_of_a_fit_is_explained_by_itself(cls):
    reported = {each.name for each in NumpyDocString(inspect.getdoc(cls))["Attributes"]}
    model = fitted(cls)
    has = {name for name, _ in inspect.getmembers(model) if name[0] != "_" and name[-1] == "_"}
    assert has <= reported


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_the_html_of_a_fit_leads_to_its_page(cls, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DOCS", "https://pages.invalid/here/")
    model = fitted(cls)
    page = "features" if cls is features.RadialBasis else cls.__name__
    reported = estimator_html_repr(model)
    assert f'href="https://pages.invalid/here/generated/separatrix.{page}.html"' in reported
    tips = set(re.findall(r'class="param-doc-description"[^>]*>\s*(\w+): ', reported))
    shown = {name for name, _ in inspect.getmembers(model) if name[0] != "_" and name[-1] == "_"}
    assert shown | set(model.get_params(deep=False)) <= tips
    inside = estimator_html_repr(make_pipeline(features.RadialBasis(), separatrix.Perceptron()))
    assert "here/generated/separatrix.Perceptron.html" in inside


def test_no_address_is_made_up(monkeypatch, tmp_path):
    monkeypatch.delenv("SEPARATRIX_DOCS", raising=False)
    source = tmp_path / "src" / "separatrix" / "config.py"
    monkeypatch.setattr(config, "__file__", str(source))
    assert config.documentation() == ""
    assert "href" not in estimator_html_repr(separatrix.Perceptron())
    built = tmp_path / "build" / "docs"
    built.mkdir(parents=True)
    (built / "index.html").write_text("")
    assert config.documentation() == built.as_uri()

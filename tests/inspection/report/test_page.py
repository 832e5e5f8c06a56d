"""The report as a page: one file, valid, readable without seeing it, safe with hostile names."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from separatrix import LinearClassifier, LinearClassifierCV, Report

EVIL = ["</title><script>alert(1)</script>", '" onload="x', "$\\frac{", "a\x00b\u202ec", "&amp;"]
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Tags with their attributes, text, and whether all are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def rows(k=2, n=150, seed=0, labels=("no", "yes", "maybe")):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    scores = X @ rng.normal(size=(5, k)) + rng.normal(size=(n, k))
    return X, np.array(labels)[scores.argmax(axis=1)]


def images(page):
    """The drawings of a page as XML."""
    found = []
    for image in page.all("img"):
        kind, data = image["src"].split(",", 1)
        assert kind == "data:image/svg+xml;base64"
        found.append(ElementTree.fromstring(base64.b64decode(data)))
    return found


@pytest.fixture(scope="module")
def searched():
    X, y = rows()
    clf = LinearClassifierCV(l2s=5, scoring="loss", standardize=True).fit(X, y)
    clf.tune_threshold(X, y, costs={("yes", "no"): 3.0})
    report = Report(clf, X, y, title="Who leaves?")
    return clf, report, report.to_html()


def test_the_page_has_every_section_in_order(searched):
    *_, text = searched
    heads = re.findall(r"<h2>(.*?)</h2>", text)
    assert heads == [
        "Model", "Decision", "Performance", "Ranking", "Calibration", "Coefficients",
        "Search for the penalty", "Proof of optimality",
    ]  # fmt: skip
    page = Page(text)
    assert [tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)] == ["h1"] + ["h2"] * 8
    assert len(page.all("img")) == 6
    assert page.all("html") == [{"lang": "en"}]


def test_the_number_of_features_is_that_of_the_weights():
    pandas = pytest.importorskip("pandas")
    x, y = np.arange(30.0), np.arange(30) % 2
    frame = pandas.DataFrame({"x": x, "word": np.array(["a", "b", "c"])[np.arange(30) % 3]})
    text = Report(LinearClassifier(l2=0.1).fit(frame, y), frame, y).to_html()
    assert re.search(r"Features</t[hd]>\s*<td[^>]*>4<", text)


def test_nothing_is_loaded_and_no_script_runs(searched):
    page = Page(searched[-1])
    policy = next(a["content"] for a in page.all("meta") if "content" in a and "http-equiv" in a)
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "a", "form", "base"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("src", "data:").startswith("data:")
    for image in images(page):
        assert not [each for each in image.iter() if each.tag.endswith("script")]


def test_it_can_be_read_without_seeing_it(searched):
    clf, report, text = searched
    page = Page(text)
    alts = [image["alt"] for image in page.all("img")]
    assert all(len(alt) > 30 for alt in alts)
    assert f"area under the curve {report.figures['auc']:.4g}" in alts[0]
    assert "the decision is at false positive rate" in alts[0]
    assert f"{clf.objective_:.6g}" in alts[-1]
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(each.get("scope") in ("row", "col") for each in page.all("th"))


def test_the_numbers_are_those_of_the_model(searched):
    clf, report, text = searched
    page = Page(text)
    assert f"yes is predicted where its probability is at least {clf.decision_.threshold:.4g}" in (
        page.text
    )
    assert f"{clf.objective_ - clf.gap_:.10g}" in page.text
    assert "The fit is optimal: its objective is at most" in page.text
    assert f"l2 = {clf.l2_:.4g} was chosen" in page.text
    for name in ("accuracy", "auc", "brier", "log_loss", "mean_cost"):
        assert f"{report.figures[name]:.4g}" in page.text


@pytest.mark.slow
def test_the_same_report_is_the_same_file_and_the_settings_of_matplotlib_stay(searched, tmp_path):
    _, report, text = searched
    before = dict(matplotlib.rcParams)
    report.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == text
    assert dict(matplotlib.rcParams) == before


@pytest.mark.sampled(1)
@pytest.mark.parametrize("k", [2, 3])
def test_hostile_names_are_text(k):
    pandas = pytest.importorskip("pandas")
    X, y = rows(k, labels=EVIL[:3])
    frame = pandas.DataFrame(X, columns=EVIL)
    clf = LinearClassifier(l2=0.01).fit(frame, y)
    text = Report(clf, frame, y, title=EVIL[0]).to_html()
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "section", "p",
        "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "img", "figcaption",
        "ul", "li",
    }  # fmt: skip
    assert EVIL[0] in page.text
    assert "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c" in page.text
    assert "\x00" not in text
    drawn = "".join("".join(image.itertext()) for image in images(page))
    assert "$\\frac{" in drawn or k == 2  # not as a formula
    for _, attributes in page.tags:
        assert "onload" not in attributes


@pytest.mark.slow
def test_long_names_are_shortened():
    X, y = rows(labels=["n" * 900, "y" * 900])
    clf = LinearClassifier(l2=0.01).fit(X, y)
    text = Report(clf, X, y).to_html()
    assert "y" * 199 + "…" in text
    assert "y" * 201 not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_names_in_other_scripts_stay_text():
    X, y = rows(labels=["否", "是"])
    clf = LinearClassifier(l2=0.01).fit(X, y)
    page = Page(Report(clf, X, y).to_html())
    assert "是" in "".join("".join(image.itertext()) for image in images(page))


@pytest.mark.slow
def test_costs_of_more_classes_are_a_table():
    X, y = rows(3)
    clf = LinearClassifier(l2=0.01).fit(X, y).set_decision(costs={("no", "yes"): 7.5})
    page = Page(Report(clf, X, y).to_html())
    assert "The class with the least expected cost is predicted" in page.text
    assert "7.5" in page.text
    assert "predicted maybe" in page.text


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"loss": "squared", "tol": None, "l2": 0.01}, "stopped with “closed form”"),
        ({"l2": 0.01, "tol": None, "max_iter": 20}, "is not proven"),
        ({"l2": 0.0, "max_iter": 2}, "stopped with “max_iter”"),
        ({"l2": 0.01, "max_iter": 1}, "above the minimum, by a proven lower bound"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_not_proven_is_not_claimed(given, words):
    X, y = rows()
    clf = LinearClassifier(**given).fit(X, y)
    text = Report(clf, X, y).to_html()
    assert words in text
    assert ("The fit is optimal" in text) == (clf.stop_ == "optimal")


@pytest.mark.slow
def test_a_sparse_search_has_a_table_of_strengths():
    X, y = rows()
    clf = LinearClassifierCV(l1_ratio=0.5, strengths=[0.1, 0.01], scoring="loss").fit(X, y)
    text = Report(clf, X, y).to_html()
    assert "Search for the penalty" in text
    assert ">strength</th>" in text
    alts = [image["alt"] for image in Page(text).all("img")]
    assert any(f"by strength. {clf.strength_:.3g} was chosen" in alt for alt in alts)


def test_without_matplotlib_the_measures_remain(monkeypatch):
    import sys

    X, y = rows()
    clf = LinearClassifier(l2=0.01).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    report = Report(clf, X, y)
    assert report.figures["auc"] > 0.5
    with pytest.raises(ImportError, match=r"pip install 'separatrix\[plot\]'"):
        report.to_html()


def test_nothing_is_half_written(tmp_path):
    X, y = rows()
    report = Report(LinearClassifier(l2=0.01).fit(X, y), X, y)
    with pytest.raises(ValueError, match="nowhere"):
        report.save(tmp_path / "nowhere" / "a.html")
    with pytest.raises(ValueError, match="a report"):
        report.save(tmp_path)
    assert list(tmp_path.iterdir()) == []

"""The scripts that make parts of the pages, and the parts that they made."""

from __future__ import annotations

import importlib
import re
from fnmatch import fnmatch

import pytest
from doc_scripts import ROOT, script

from benchmarks import ablation, variants

PACKAGE = ROOT / "src" / "separatrix"


def test_the_page_on_tuning_has_every_threshold_and_its_value():
    tuning = script("tuning")
    page = tuning.PAGE.read_text()
    assert page.split(tuning.BELOW)[1] == tuning.tables(), "run: python docs/tuning.py"
    for path in PACKAGE.rglob("thresholds.py"):
        module = importlib.import_module(
            ".".join(("separatrix", *path.relative_to(PACKAGE).with_suffix("").parts))
        )
        names = [name for name in vars(module) if name.isupper()]
        assert names
        for name in names:
            (row,) = re.findall(rf"^\| .*`{name}`.*$", page, re.M)
            output, values = (re.findall("`([^`]+)`", cell) for cell in row.split(" | ")[:2])
            assert eval(values[output.index(name)]) == getattr(module, name)
    each = [threshold for found in tuning.by_file().values() for threshold in found]
    assert all(threshold.chooses for threshold in each)
    silent = [t.names for t in each if not (t.measured or t.chooses == "as the one before")]
    assert not silent, "say what was measured, or why nothing"


@pytest.mark.parametrize(
    ("text", "chooses", "measured"),
    [
        ('SIZE = 3\n"""What.\n\nMeasured: here, 2."""\n', "What.", "here, 2"),
        ("# ---- part\n\n# What;\n# measured: here.\nSIZE: int = 3\n", "What", "here"),
        ("SIZE = 3  # what\n", "what", ""),
    ],
)
def test_thresholds_are_read_in_every_form(tmp_path, text, chooses, measured):
    (tmp_path / "thresholds.py").write_text(text)
    (found,) = script("tuning").thresholds(tmp_path / "thresholds.py")
    assert found == (["SIZE"], ["3"], chooses, measured)


def gains():
    """The table "With and without": name, cells with figures, and processor of each mechanism."""
    page = (ROOT / "docs" / "tuning.md").read_text()
    (rows,) = re.findall(r"\| mechanism \|.*\n\|---.*\n((?:\|.*\n)+)", page)
    for row in rows.splitlines():
        name, most, least, processor = (cell.strip() for cell in row.strip("|").split("|"))
        yield name, f"{most} {least}", processor


def test_gains_are_of_mechanisms_and_workloads_that_can_be_run_and_name_their_processor():
    works = {each.name: each.works for each in (*ablation.MECHANISMS, *variants.VARIANTS)}
    listed = list(gains())
    assert len({name for name, _, _ in listed}) == len(listed) > 40
    for name, figures, processor in listed:
        assert processor in ("N1", "Xeon", "not recorded"), name
        for work in re.findall(r"[\d.]+ `([^`]+)`", figures):
            assert work in ablation.WORKS, name
            assert any(fnmatch(work, mask) for mask in works[name]), (name, work)


def test_a_mechanism_has_one_figure_for_a_workload():
    """In the table and in the thresholds that disable the mechanism."""
    figures, compared = {name: found for name, found, _ in gains()}, 0
    said = {}
    for path in ROOT.glob("src/separatrix/**/thresholds.py"):
        for each in script("tuning").thresholds(path):
            said |= dict.fromkeys(each.names, each.measured)
    for each in ablation.MECHANISMS:
        pairs = re.findall(r"([\d.]+) `([^`]+)`", figures.get(each.name, ""))
        here = {work: figure for figure, work in pairs}
        for place, _ in each.without:
            there = said.get(place.split(":")[1], "")
            for work, figure in re.findall(r"([a-z_]+-[\w-]+), ([\d.]*\d)", there):
                if work in here:
                    assert float(figure) == float(here[work]), (each.name, work)
                    compared += 1
    assert compared > 20


@pytest.mark.parametrize("name", ["Perceptron", "L-BFGS", "the hinge on text"])
def test_the_walk_of_a_fit_is_that_of_the_stack(name):
    shown = re.findall(r"```\n(.*?)```", (ROOT / "docs" / "design.md").read_text(), re.S)
    walk = "".join(f"{frame}\n" for frame in script("calls").walks()[name])
    assert walk in shown


def test_the_hinge_on_text_enters_the_solver_files_on_the_page_and_no_other():
    calls = script("calls")
    entered = [f for f in calls.entered(*calls.hinge_on_text()) if f.startswith("solvers/")]
    page = (ROOT / "docs" / "design.md").read_text()
    (rows,) = re.findall(r"\| solver file \|.*\n\|---.*\n((?:\|.*\n)+)", page)
    assert re.findall(r"^\| `([^`]+)`", rows, re.M) == entered
    assert len(entered) <= 8


def test_links_that_lead_nowhere_are_reported(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "theme.html").write_text('<a href="not-a-page">')
    (tmp_path / "other.html").write_text('<h2 id="here">')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here"><a href="other.html#there"><a href="#gone"><a href="none.html">'
        '<a href="https://elsewhere.invalid/"><img src="https://elsewhere.invalid/a.png">'
    )
    assert script("links").broken(tmp_path) == [
        "index.html loads https://elsewhere.invalid/a.png",
        "index.html: no file none.html",
        "index.html: no place #gone",
        "index.html: no place other.html#there",
    ]


def test_the_gallery_has_eighteen_examples_in_an_order_to_read_them_each_with_a_picture():
    reading = script("reading")
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert len(names) == len(reading.ORDER) == 18
    assert names == set(reading.ORDER)
    key = reading.ReadingOrder("examples")
    assert sorted({"new.py", "spam.py", "and_or_xor.py"}, key=key)[::2] == [
        "and_or_xor.py",
        "new.py",
    ]
    for name in names:
        text = (ROOT / "examples" / f"{name}.py").read_text()
        assert re.search(r"Display\.from_\w+\(|plt\.subplots\(", text), name


def test_what_a_block_prints_stands_below_it_in_the_pages():
    page = "A\n\n```python\na = 2\n```\n\nB\n\n```python\nprint(a + 1)\nprint('b')\n```\n\nC\n"
    output = script("reading").with_outputs(page)
    printed = "\n```{code-block} text\n:class: printed\n\n3\nb\n```\n"
    before, after = page.split("\n\nC\n")[0] + "\n", "\nC\n"
    assert output == before + printed + after


def test_the_table_of_other_tools_has_a_row_for_each_that_was_tried():
    tools = script("other_tools")
    (table,) = tools.TABLE.findall(tools.PAGE.read_text())
    rows = [
        [cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()[2:]
    ]
    assert [row[0] for row in rows] == [*tools.TRIED], "run: python docs/other_tools.py"
    assert [row[2] for row in rows] == [check.__doc__ for check in tools.TRIED.values()]
    assert all(re.fullmatch(r"\d+(\.\d+)+", row[1]) for row in rows)


@pytest.mark.parametrize("name", ["scikit-learn", "skops"])  # the tests have no others
def test_other_tools_work_as_the_table_says(name):
    script("other_tools").TRIED[name]()


def test_a_tool_with_another_result_is_an_error(monkeypatch):
    tools = script("other_tools")
    monkeypatch.setattr(tools.LinearClassifier, "_repr_html_", lambda clf: "<p>none</p>")
    with pytest.raises(AssertionError, match="expected every parameter"):
        tools.TRIED["scikit-learn"]()

"""Every class, file, name and test that the documents name exists."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest
from inspection.cases import FIRST

import separatrix
from separatrix.inspection.diagnose import CAUSES
from separatrix.training.ending import CONVERGED

HERE = Path(__file__).parent
ROWS = [
    line
    for line in (HERE.parent / "docs" / "course" / "formulas.md").read_text().splitlines()
    if line.startswith("| ") and "`" in line
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[2].strip())
def test_the_page_of_formulas(row):
    *_, classes, tests, _ = row.split(" | ") if row.endswith("| ") else (row + " ").split("|")
    for name in re.findall(r"`([\w.]+)`", classes):
        found = separatrix
        for part in name.split("."):
            found = getattr(found, part)
    for module, test in re.findall(r"`([\w/]*test_\w+)\.(test_\w+)`", tests):
        assert f"def {test}(" in (HERE / f"{module}.py").read_text()
    assert "test_" in tests


def test_every_loss_of_the_registry_is_on_the_page():
    page = "\n".join(ROWS)
    for name in separatrix.losses.names():
        assert f"| `{name}` |" in page


def test_every_guarantee_of_the_security_page_has_its_tests():
    page = (HERE.parent / "SECURITY.md").read_text()
    _, table = page.split("| guarantee | tested by |\n|---|---|\n")
    for row in table.split("\n\n")[0].splitlines():
        tests = re.findall(r"`(tests/[\w/]+\.py)`", row.split("|")[2])
        assert tests
        assert [test for test in tests if not (HERE.parent / test).is_file()] == []


def test_the_lines_of_the_readme_work_when_pasted(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (HERE.parent / "README.md").read_text(), re.S)
    assert len([line for line in code.splitlines() if line]) == 10
    exec(code, {})
    out = capsys.readouterr().out
    for output in ("0.0953326", "optimal Newton()", "are separable", "StandardScaler()",
                 "[[3. 2.]] [-4.] 9 no mistakes"):  # fmt: skip
        assert output in out


def test_the_page_on_separability(capsys):
    page = (HERE.parent / "docs" / "separability.md").read_text()
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(code, names)
    assert "at most 51 mistakes" in capsys.readouterr().out


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("page", "output"),
    [
        ("files", ("optimal True", "[False  True] {'carrier': 1}")),
        ("checkpoints", ("is the checkpoint of another run: penalty.l2 was 0.001 and is 0.01",)),
        ("text", ("1.0 optimal", "DualAscent")),
        ("sparse_models", ("optimal 11 19 0",)),
        pytest.param(
            "certify",
            ("above its minimum", "LinearClassifier(l2=0.01", "converted optimal"),
            marks=pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
        ),
        ("cluster", ("optimal True", "(3, 2) True")),
        ("offsets", ("optimal", "(intercept)", "True\nTrue ['load' 'age']")),
        ("inference", ("mean texture     -0.3806", "class 1 against 0")),
        ("bias_reduction", ("no minimum\n", "optimal True\n", "stationary 3.8918")),
        ("models", ("optimal True\nTrue\nTrue\n",)),
        ("course/perceptron", ("[[3. 2.]] [-4.] 9 no mistakes", "cycle", "are overlapping")),
        ("course/descent", ("1.0 oscillating", "-1.5 -1.057", "None 0.0815 35 optimal")),
        ("course/smooth", ("optimal True", "[ 3.2 12.9 24.2]", "cycle no mistakes\n1.0")),
        ("course/penalty", ("no progress", "optimal")),
        (
            "course/proof",
            ("hinge         0.96  optimal", "no mistakes", "18.0 51.0", "\n2 100 2\n"),
        ),
        ("course/coefficients", ("2.457      0.4701   5.23", "31.66465", "no minimum")),
        ("start", ("optimal 8 within", "separable True", "StandardScaler", "0 of 569 rows flip")),
        ("from_sklearn", ("True\nLinearClassifier(l2=0.00175",)),
        ("pictures", ("LinearClassifier: 569 rows, 11 mistakes",)),
        pytest.param(
            "howto",
            ("worst texture", "optimal 0.98", "{'linearclassifier__loss': 'logistic'}"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "leave_one_out",
            ("[297 213  40]\n0.9\n", "0.903 [0.96  0.803]\n0.894 [0.882 0.915]"),
            marks=pytest.mark.slow,
        ),
        ("losses", ("hinge          0.972 optimal in", "tol None")),
        ("solvers", ("0.120882 optimal after 6\nLBFGS", "Newton cannot minimise 'hinge'")),
        ("penalties", ("0.01 0.57 0.981",)),
        ("kernels", ("0.995 optimal\n1.0 no mistakes",)),
        ("proofs", ("AND separable True\nXOR overlapping True\n['0', '0', '0']",)),
        ("reproducibility", ()),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_pages_run_as_they_stand(page, output, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(
        r"```python\n(.*?)```", (HERE.parent / "docs" / f"{page}.md").read_text(), re.S
    )
    assert blocks
    for code in blocks:
        exec(code, names)
    out = capsys.readouterr().out
    for words in output:
        assert words in out


def test_no_page_has_code_that_is_not_run():
    run = {
        "README", "separability", "diagnose", "maths", "files", "checkpoints", "text", "certify",
        "cluster", "models", "perceptron", "descent", "smooth", "penalty", "proof", "pictures",
        "start", "from_sklearn", "howto", "losses", "solvers", "penalties", "kernels", "proofs",
        "reproducibility", "sparse_models", "decision", "inference", "bias_reduction", "offsets",
        "coefficients", "leave_one_out",
    }  # fmt: skip
    on_a_gpu = {"gpu"}  # its fits are those of tests/gpu
    pages = [HERE.parent / "README.md", *(HERE.parent / "docs").rglob("*.md")]
    assert {page.stem for page in pages if "```python" in page.read_text()} == run | on_a_gpu


DIAGNOSE = (HERE.parent / "docs" / "diagnose.md").read_text()


def test_the_page_on_diagnose_runs():
    names = {}
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", DIAGNOSE, re.S)):
        test = doctest.DocTestParser().get_doctest(code, names, f"block {number}", None, None)
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False)
        names = test.globs
        assert result.attempted
        assert not result.failed


def test_the_page_on_diagnose_has_every_cause_and_no_other():
    listed = re.findall(r"^\| `([\w/ ]+)` \|", DIAGNOSE, re.M)
    leak = "one feature separates"  # a fit with it has not gone wrong: see inspection/test_leaks.py
    assert set(listed) == {leak} | {cause for cause, _ in FIRST}
    assert len(listed) == len(CAUSES)


WORDS = (HERE.parent / "docs" / "words.md").read_text()


def test_every_word_of_a_fit_is_on_the_page_with_a_test_that_exists():
    listed = set(re.findall(r"`([a-z _]+)`", " ".join(re.findall(r"^\| (`.*?) \|", WORDS, re.M))))
    room = HERE.parent / "src" / "separatrix" / "training"
    text = "".join((room / name).read_text() for name in ("loop.py", "stopping.py", "ending.py"))
    said = set(re.findall(r'return "([a-z_ ]+)"|why = "([a-z_ ]+)"|stop = "([a-z_ ]+)"', text))
    words = {word for found in said for word in found if word} - {"no pass ended"}
    assert words <= listed
    tests = re.findall(r"`([\w/]*test_\w+)\.(test_\w+)`", WORDS)
    assert len(tests) >= 15
    for module, test in tests:
        assert f"def {test}(" in (HERE / f"{module}.py").read_text()
    assert set(CONVERGED) == set(
        re.findall(r"^\| `([a-z ]+)` \|[^|]*\|[^|]*\| yes \|", WORDS, re.M)
    )


# ---- the pages for those who read the code

ROOT = HERE.parent
PACKAGE = ROOT / "src" / "separatrix"
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")),
]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page):
    text = (ROOT / page).read_text()
    below = (ROOT, PACKAGE, ROOT / "docs")
    named = set(re.findall(r"`([\w./-]+/[\w./-]*|[\w/]+\.(?:py|hpp|cpp|md|toml))`", text))
    for name in named:
        if name.split(".")[-1].startswith("test_"):  # a test in a file
            continue
        known = any((place / name).exists() for place in below)
        assert known or ("/" not in name and any(PACKAGE.rglob(name))), name
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        made = link.startswith("gallery/")  # from examples/, when the pages are built
        assert made or ((ROOT / page).parent / link).exists(), link


def table(page, heading):
    """The rows of the first table below a heading, cell by cell."""
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1]
    lines = re.search(r"((?:^\|.*\n)+)", section, re.M).group(1).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def defined(path, name):
    """Whether a name stands for something in a file, part by part."""
    text = path.read_text()
    if path.suffix != ".py":
        return re.search(rf"\b{name}\b", text) is not None
    node = ast.parse(text)
    for part in name.split("."):
        node = next(filter(None, (named_so(each, part) for each in ast.walk(node))), None)
        if node is None:
            return False
    return True


def named_so(node, name):
    keys = ("name", "id", "arg", "attr")
    return node if any(getattr(node, key, None) == name for key in keys) else None


@pytest.mark.parametrize("row", table("docs/design.md", "Where is ..."), ids=lambda row: row[0])
def test_where_things_are(row):
    _, file, name = row
    path = ROOT / file.strip("`") if file.startswith("`cpp/") else PACKAGE / file.strip("`")
    assert path.exists()
    assert not name or defined(path, name.strip("`"))


@pytest.mark.parametrize("row", table("docs/maths.md", "Symbols"), ids=lambda row: row[0])
def test_symbols_have_their_names_in_the_code(row):
    *_, names, file = row
    found = re.findall("`([^`]+)`", names)
    assert found
    for name in found:
        assert defined(PACKAGE / file.strip("`"), name), name


def test_the_formulas_hold():
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "maths.md").read_text(), re.S)
    assert len(blocks) >= 3
    for code in blocks:
        exec(code, names)


def test_headers_include_only_from_layers_below():
    layers = {
        folder: int(row[0])
        for row in table("docs/design.md", "Packages and layers")
        for folder in re.findall(r"`cpp/(\w+)/`", row[1])
    }
    assert set(layers) == {path.name for path in (ROOT / "cpp").iterdir()}
    for path in (ROOT / "cpp").rglob("*.?pp"):
        own = path.parent.name
        for folder in re.findall(r'^#include "(\w+)/', path.read_text(), re.M):
            assert folder == own or layers[folder] < layers[own], path


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "reference.md").read_text()
    listed = set(re.findall(r"^   separatrix\.([\w.]+)$", page, re.M))
    modules = {"losses", "schedules", "datasets", "features"}
    public = set(separatrix.__all__) | {f"losses.{n}" for n in separatrix.losses.__all__}
    elsewhere = {"losses.REGISTRY", "losses.Loss", "losses.MarginLoss", "losses.get_loss"}
    assert listed == public - {"losses"} - elsewhere
    assert modules <= set(separatrix.__all__)


def test_every_page_is_in_some_contents():
    docs = ROOT / "docs"
    output = {"index"}
    for page in docs.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.S):
            below = page.parent.relative_to(docs)
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            output |= {str(below / entry.split("<")[-1].strip(">")) for entry in entries}
    assert output - {"gallery/index"} == {
        str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")
    }


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"version: {separatrix.__version__}\n" in text


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


def test_every_picture_has_a_file_of_its_own():
    # Blocks of one page are documents of their own to the directive, which then takes the first
    # picture for all of them.
    pages = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]
    named = re.findall(r"\.\. plot::\n   :filename-prefix: ([\w-]+)\n", "".join(pages))
    assert len(named) == len(set(named)) == "".join(pages).count(".. plot::") > 10

"""A quick run keeps every pair of values of different parameters, and at least one test of each."""

from __future__ import annotations

import ast
import itertools
import re
from functools import cache
from pathlib import Path

import pytest
import tiers

import separatrix

pytest_plugins = ["pytester"]

HERE = Path(__file__).parent
PACKAGE = Path(separatrix.__file__).parent
SHAPES = [(2, 2, 2), (4, 3, 2), (11, 2, 2, 8), (2, 2, 2, 2, 2, 2), (1, 5, 1, 4, 3), (30, 2, 2)]

GRIDS = """
    from functools import partial

    import pytest

    @pytest.mark.parametrize("a", [1, 1.0, True])
    @pytest.mark.parametrize(("b", "c"), [(0, 1), (1, 0), (1, 1)])
    @pytest.mark.parametrize(argnames="d", argvalues=[object(), object(), object()])
    def test_grid(a, b, c, d): pass

    @pytest.fixture(params=range(5))
    def e(request): return request.param

    @pytest.mark.parametrize("a", range(5))
    @pytest.mark.parametrize("b", range(5))
    def test_fixture(a, b, e): pass

    @pytest.mark.parametrize("a", range(20))
    def test_list(a): pass

    @pytest.mark.parametrize("a", range(5))
    @pytest.mark.parametrize("b", range(5))
    def test_table(a, b): pass

    @pytest.mark.parametrize("a", [0, pytest.param(1, marks=pytest.mark.cluster)])
    def test_partly_expensive(a): pass

    @pytest.mark.parametrize("seed", range(30))
    @pytest.mark.parametrize("a", range(3))
    def test_seeds(a, seed): pass

    class First:
        def __init__(self, a): pass

    class Second(First): pass

    def check_size(name, estimator): pass

    def check_sign(name, estimator, strict=False): pass

    @pytest.mark.parametrize(("estimator", "check"), [
        (estimator, partial(check, "First", **given))
        for estimator in (First(1), First(2), First(3), Second(1), Second(2))
        for check, given in ((check_size, {}), (check_sign, {}), (check_sign, {"strict": True}))
    ])
    def test_checks(estimator, check): pass

    @pytest.mark.sampled
    @pytest.mark.parametrize("a", range(4))
    @pytest.mark.parametrize("b", range(2))
    @pytest.mark.parametrize("c", range(2))
    def test_values(a, b, c): pass

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize("a", range(2))
    @pytest.mark.parametrize("b", range(6))
    def test_some(a, b): pass

    @pytest.mark.sampled
    def test_sampled_alone(): pass

    @pytest.mark.slow
    def test_slow(): pass

    @pytest.mark.processes
    class TestOfProcesses:
        def test_one(self): pass
"""


def grid(*lengths):
    return list(itertools.product(*map(range, lengths)))


def pairs(rows):
    return {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}


@pytest.mark.parametrize("seed", ["", "1", tiers.NO_COMMIT])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_pair_occurs_and_few_rows_do(shape, seed):
    rows = grid(*shape)
    chosen = tiers.pairwise(rows, seed)
    assert chosen == sorted(set(chosen))
    assert pairs(rows[at] for at in chosen) == pairs(rows)
    two_longest = sorted(shape)[-2:]
    assert len(chosen) <= 2 * two_longest[0] * two_longest[1]


def test_of_some_combinations_the_pairs_that_occur_do():
    rows = [row for row in grid(4, 4, 4, 2) if len(set(row[:3])) > 1]
    chosen = tiers.pairwise(rows, "seed")
    assert pairs(rows[at] for at in chosen) == pairs(rows)
    assert len(chosen) < len(rows) / 2


def test_the_seed_alone_decides():
    rows = grid(5, 4, 3, 2)
    values = [tuple(map(str, row)) for row in rows]  # strings hash differently in every process
    choices = [tiers.pairwise(rows, str(seed)) for seed in range(5)]
    assert choices == [tiers.pairwise(values, str(seed)) for seed in range(5)]
    assert len(set(map(tuple, choices))) > 1


@pytest.mark.parametrize("rows", [[()], [(1,), (2,)], grid(3, 4), grid(1, 7, 1, 2)], ids=len)
def test_two_columns_are_kept_in_full(rows):
    assert tiers.pairwise(rows, "seed") == list(range(len(rows)))


def test_the_seed_is_the_commit(request, tmp_path):
    assert len(tiers.commit(request.config.rootpath)) == 40
    assert tiers.commit(tmp_path) == tiers.NO_COMMIT
    assert tiers.commit(tmp_path / "missing") == tiers.NO_COMMIT


def collected(pytester, *options):
    result = pytester.runpytest("-p", "tiers", "--collect-only", "-q", "--strict-markers", *options)
    assert result.ret == 0
    names = [line.rpartition("::")[2] for line in result.outlines if "::" in line]
    found = {}
    for name in names:
        found.setdefault(name.split("[")[0], []).append(name)
    return found


def test_a_quick_run(pytester):
    pytester.makepyfile(GRIDS)
    everything, quick = collected(pytester), collected(pytester, "--tier=quick", "--tier-seed=1")
    assert set(everything) - set(quick) == {"test_slow", "test_one"}
    counts = {name: (len(everything[name]), len(quick[name])) for name in quick}
    assert counts.pop("test_grid")[1] in range(9, 14)
    assert counts.pop("test_fixture")[1] in range(25, 40)
    assert counts == {
        "test_list": (20, 20),
        "test_table": (25, 25),
        "test_partly_expensive": (2, 1),
        "test_values": (16, 4),
        "test_some": (12, 3),
        "test_sampled_alone": (1, 1),
        "test_seeds": (90, 15),
        "test_checks": (15, 6),
    }
    assert quick == collected(pytester, "--tier=quick", "--tier-seed=1")
    assert quick != collected(pytester, "--tier=quick", "--tier-seed=2")


def arguments(name, items):
    """The parameters of the kept tests of a function, as numbers in their identifiers."""
    rows = [item.removeprefix(f"{name}[").removesuffix("]").split("-") for item in items]
    return [tuple(int(re.sub(r"\D", "", word)) for word in row) for row in rows]


def test_all_tests_begin_with_the_expensive_ones(pytester):
    pytester.makepyfile(GRIDS)
    found = list(collected(pytester))
    assert found[:3] == ["test_partly_expensive", "test_slow", "test_one"]
    assert found[3:] == ["test_grid", "test_fixture", "test_list", "test_table", "test_seeds",
                         "test_checks", "test_values", "test_some",
                         "test_sampled_alone"]  # fmt: skip


@pytest.mark.parametrize("commit", ["1", "2", tiers.NO_COMMIT])
def test_every_value_of_a_sampled_function_occurs_or_as_many_as_may_run(pytester, commit):
    pytester.makepyfile(GRIDS)
    quick = collected(pytester, "--tier=quick", f"--tier-seed={commit}")
    c, b, a = map(set, zip(*arguments("test_values", quick["test_values"]), strict=True))
    assert (a, b, c) == ({0, 1, 2, 3}, {0, 1}, {0, 1})
    b, a = map(set, zip(*arguments("test_some", quick["test_some"]), strict=True))
    assert (a, len(b)) == ({0, 1}, 3)


@pytest.mark.parametrize("commit", ["1", "2", tiers.NO_COMMIT])
def test_seeds_are_consecutive_and_every_check_of_every_class_stays(pytester, commit):
    pytester.makepyfile(GRIDS)
    quick = collected(pytester, "--tier=quick", f"--tier-seed={commit}")
    rows = arguments("test_seeds", quick["test_seeds"])
    seeds = {seed for _, seed in rows}
    assert set(rows) == set(itertools.product(range(3), seeds))
    assert any(seeds == {(first + i) % 30 for i in range(tiers.SEEDS)} for first in range(30))
    checks = [number for number, _ in arguments("test_checks", quick["test_checks"])]
    assert len(checks) == 6
    assert {(number // 9, number % 3) for number in checks} == set(grid(2, 3))  # class and check


def test_the_header_says_which(pytester):
    pytester.makepyfile("def test(): pass")
    pytester.runpytest("-p", "tiers").stdout.fnmatch_lines("tier: all")
    quick = pytester.runpytest("-p", "tiers", "--tier=quick", "--tier-seed=abc")
    quick.stdout.fnmatch_lines("tier: quick, --tier-seed=abc")
    unseeded = pytester.runpytest("-p", "tiers", "--tier=quick")
    unseeded.stdout.fnmatch_lines(f"tier: quick, --tier-seed={tiers.NO_COMMIT}")


def test_the_time_of_every_cost_is_printed(pytester):
    pytester.makepyfile(GRIDS)
    result = pytester.runpytest("-p", "tiers")
    result.stdout.fnmatch_lines("seconds of tests: slow 0, cluster 0, processes 0, others ?")


# ---- what a quick run covers ------------------------------------------------------------------

ELSEWHERE = {"config": "test_package.py"}  # a module whose tests are not named after it
CONTRACTS = {
    "Loss": ("test_capabilities.py", "losses/test_margin.py", "losses/test_multiclass.py"),
    "Penalty": ("penalties/test_elastic_net.py", "penalties/test_group_lasso.py",
                "penalties/test_l2.py", "estimators/test_penalty_objects.py"),
    "Sum": ("objective/test_sums.py", "data/test_source_contract.py"),
    "Source and InMemory": ("data/test_source_contract.py", "solvers/test_every_source.py"),
    "Rows": ("rows/test_rows.py", "rows/test_row_products.py", "rows/test_toy_storage.py",
             "rows/test_device.py", "rows/test_vectors.py"),
    "Engine": ("data/test_source_contract.py", "data/cluster/test_dask.py"),
    "Objective": ("objective/test_sums.py", "proofs/test_gap.py"),
    "Solver and Step": ("solvers/test_solvers.py", "solvers/test_every_source.py"),
    "Stop and the training loop": ("training/test_ending.py", "training/test_minimize.py"),
    "Trace": ("training/test_trace.py",),
    "Registries": ("numeric/test_registry.py",),
}  # fmt: skip
ONLY_EXPENSIVE = {  # files without a quick test, and the files that cover the same
    "rows/test_kernels_compile.py": "rows/test_device.py",
    "data/cluster/test_lost_workers.py": "data/cluster/test_dask.py",
    "data/files/test_memory.py": "data/files/test_read.py",
    "estimators/test_checkpoint_killed.py": "estimators/test_checkpoint_files.py",
    "estimators/test_no_memory.py": "numeric/test_pool.py",
    "apps/cli/test_page.py": "apps/cli/test_fitting.py",
    "apps/cli/test_terminal.py": "apps/cli/test_app.py",
    "inspection/inference/test_coverage.py": "inspection/inference/test_profile.py",
}


@cache
def quick_tests(path):
    """The functions of a file of tests that no mark leaves out of a quick run."""
    body = ast.parse(path.read_text()).body
    assigned = {ast.unparse(node.targets[0]): node for node in body if isinstance(node, ast.Assign)}
    if "pytestmark" in assigned and is_expensive(assigned["pytestmark"]):
        return []
    return [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any(map(is_expensive, node.decorator_list))
    ]


def is_expensive(mark):
    """Whether a mark, or one of a list, is of a cost; those of single values do not count."""
    words = {node.attr for node in ast.walk(mark) if isinstance(node, ast.Attribute)}
    return "parametrize" not in words and bool(words & set(tiers.EXPENSIVE))


def test_the_marks_of_a_file_are_read(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(GRIDS.replace("\n    ", "\n").strip())
    assert quick_tests(path) == [
        "test_grid", "test_fixture", "test_list", "test_table", "test_partly_expensive",
        "test_seeds", "test_checks", "test_values", "test_some", "test_sampled_alone",
    ]  # fmt: skip
    whole = tmp_path / "test_whole.py"
    whole.write_text("import pytest\npytestmark = [pytest.mark.slow]\ndef test_it(): pass\n")
    assert quick_tests(whole) == []


def test_every_package_has_quick_tests():
    for path in PACKAGE.iterdir():
        if path.stem[0] != "_" and (path.is_dir() or path.suffix == ".py"):
            files = [*HERE.glob(f"{path.stem}/**/test_*.py"), HERE / f"test_{path.stem}.py"]
            files.append(HERE / ELSEWHERE.get(path.stem, ""))
            assert any(file.is_file() and quick_tests(file) for file in files), path.stem


def test_every_contract_has_quick_tests():
    page = (HERE.parent / "docs" / "design.md").read_text()
    section = page.split("\n## Contracts\n")[1].split("\n## ")[0]
    assert re.findall(r"^### ([\w ]+?)(?: \(.*)?$", section, re.M) == list(CONTRACTS)
    for file in itertools.chain.from_iterable(CONTRACTS.values()):
        assert quick_tests(HERE / file), file


def test_files_without_a_quick_test_are_few_and_others_cover_the_same():
    files = [path for path in HERE.rglob("test_*.py") if "gpu" not in path.parts]
    none = {str(path.relative_to(HERE)) for path in files if not quick_tests(path)}
    assert none == set(ONLY_EXPENSIVE)
    assert all(quick_tests(HERE / file) for file in ONLY_EXPENSIVE.values())


def test_the_example_of_every_public_name_runs_in_a_quick_run(pytester):
    """``tests/test_reference.py`` says that each has one."""
    pytester.makepyfile('def name():\n    """Says.\n\n    >>> 1\n    1\n    """\n')
    found = collected(pytester, "--doctest-modules", "--tier=quick")
    assert [name.rpartition(".")[2] for name in found] == ["name"]

"""A quick run keeps every pair of values of different parameters, and at least one test of each."""

from __future__ import annotations

import itertools

import pytest
import tiers

pytest_plugins = ["pytester"]

SHAPES = [(2, 2, 2), (4, 3, 2), (11, 2, 2, 8), (2, 2, 2, 2, 2, 2), (1, 5, 1, 4, 3), (30, 2, 2)]

GRIDS = """
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
    return {key: list(group) for key, group in itertools.groupby(names, lambda n: n.split("[")[0])}


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
    }
    assert quick == collected(pytester, "--tier=quick", "--tier-seed=1")
    assert quick != collected(pytester, "--tier=quick", "--tier-seed=2")


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

"""Fits with and without a mechanism, and variants of compiled loops. No timings."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from benchmarks import ablation, variants

# ---- with and without ------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ablation.MECHANISMS, ids=lambda each: each.name)
def test_what_a_mechanism_is_without_exists_and_comes_back(mechanism):
    places = [ablation.owner(place) for place, _ in mechanism.without]
    before = [vars(where)[name] for where, name in places]
    with ablation.without(mechanism):
        for (where, name), (_, value) in zip(places, mechanism.without, strict=True):
            assert vars(where)[name] is value
    assert [vars(where)[name] for where, name in places] == before
    for mask in mechanism.works:
        assert any(fnmatch(work, mask) for work in ablation.WORKS), mask


def test_a_ratio_is_of_the_time_without_to_the_time_with(monkeypatch, capsys):
    calls = iter([2.0, 6.0, 2.0, 4.0])  # with, without, in turn
    monkeypatch.setattr(ablation, "seconds", lambda run: next(calls))
    used, ratio = ablation.compare(ablation.MECHANISMS[0], lambda: None, 2)
    assert (used, ratio.median, ratio.low, ratio.high) == (2.0, 2.5, 2.0, 3.0)


def test_the_ablation_prints_a_line_for_each_pair(capsys):
    assert ablation.main(["--share", "0.001", "--rounds", "1", "passes ahead", "hinge-wide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("  ")[0] for line in lines} >= {
        "passes ahead",
        "interior point for few rows",
    }
    assert all(" x [" in line for line in lines)


@pytest.mark.parametrize("variant", variants.VARIANTS, ids=lambda each: each.name)
def test_a_variant_changes_one_place_of_its_file(variant, tmp_path):
    place = tmp_path / "cpp" / variant.file
    place.parent.mkdir(parents=True)
    place.write_text((variants.ROOT / "cpp" / variant.file).read_text())
    variant.edit(tmp_path)
    assert variant.after in place.read_text()
    assert set(variant.works) <= set(ablation.WORKS)
    if variant.before not in variant.after:
        with pytest.raises(ValueError, match="has 0 times"):
            variant.edit(tmp_path)


def test_unknown_variants_are_refused(capsys):
    with pytest.raises(SystemExit):
        variants.main(["no such shortcut"])
    assert "there are: filter of two classes" in capsys.readouterr().err

"""The benchmark of fits that stop once test labels are certified."""

from __future__ import annotations

from benchmarks import certified


def test_both_fits_are_timed_and_their_labels_compared(capsys):
    assert certified.main(["iris", "wine", "--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("labels that differ: 0") == 2
    assert "all labels equal on 2" in said
    assert certified.main(["no-such-table"]) == 2
    assert "no table 'no-such-table'" in capsys.readouterr().err

"""A label of a single row is probably mistyped: a warning says where it stands."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import separatrix
from separatrix.data.files.encoding.suspects import ColumnWarning


def labels(n=40, at=(33,), typo="yse"):
    return [typo if row in at else ("no", "yes")[row % 2] for row in range(n)]


def csv_of(path, found, gap=""):
    lines = [f"{row % 7},{label}" for row, label in enumerate(found)]
    path.write_text("x,y\n" + gap + "\n".join(lines) + "\n")
    return path


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return separatrix.read(*args, **options)


def test_its_file_and_line_are_named(tmp_path):
    csv_of(tmp_path / "a.csv", labels(at=()))
    csv_of(tmp_path / "b.csv", labels(), gap="\n\n")
    match = r"the target 'y' is 'yse' in a single row, .*b\.csv, line 37: is the label mistyped\?"
    with pytest.warns(ColumnWarning, match=match):
        source = separatrix.read([tmp_path / "a.csv", tmp_path / "b.csv"], target="y")
    assert source.classes.tolist() == ["no", "yes", "yse"]


@pytest.mark.parametrize("cache", [None, "blocks"])
def test_the_row_of_other_tables_too_and_from_a_cache(tmp_path, cache):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": np.arange(40.0), "y": labels()}), path)
    options = {"target": "y", "cache": cache and tmp_path / cache}
    for _ in range(2):
        with pytest.warns(ColumnWarning, match=r"t\.parquet, row group 0, row 33 \(counted from"):
            separatrix.read(path, **options)


@pytest.mark.parametrize("typo", [7, 2**40])
def test_numbers_are_labels_too(tmp_path, typo):
    found = [typo if label == "yse" else int(label == "yes") for label in labels()]
    with pytest.warns(ColumnWarning, match=rf"the target 'y' is {typo} in a single row, .*line 35"):
        separatrix.read(csv_of(tmp_path / "t.csv", found), target="y")


def test_what_is_no_slip_is_not_warned_of(tmp_path):
    """Two rows, few rows, many such labels, a weight of 0."""
    path = tmp_path / "t.csv"
    quiet(csv_of(path, labels(at=(3, 33))), target="y")
    quiet(csv_of(path, labels(19, at=(13,))), target="y")
    quiet(csv_of(path, [*labels(at=()), *"abcd"]), target="y")
    rows = [f"{row},{int(row != 33)},{label}" for row, label in enumerate(labels())]
    path.write_text("x,w,y\n" + "\n".join(rows) + "\n")
    quiet(path, target="y", weight="w")


def test_a_class_that_is_held_out_as_a_whole_is_found(tmp_path):
    """The error names the line of its first row."""
    for at in range(40):
        path = csv_of(tmp_path / "t.csv", labels(at=(at,)))
        said = ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ColumnWarning)
                separatrix.read(path, target="y", validation=0.2)
        except ValueError as error:
            said = str(error)
        if said:
            break
    assert f"every row of the class 'yse' (the first is in {path}, line {at + 2})" in said

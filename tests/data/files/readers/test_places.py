"""Errors about rows of files: each names the file, and the line or the row in it."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import separatrix
from separatrix import LinearClassifier, Perceptron


def two_files(folder, write, column, value):
    """Of two files with 20 and 7 rows the last row has this value in this column."""
    first = pd.DataFrame({"a": np.arange(20.0), "y": np.arange(20.0) % 2, "w": np.ones(20)})
    second = first[:7].copy()
    second.loc[6, column] = value
    for name, frame in (("0", first), ("1", second)):
        write(frame, folder / name)
    return [folder / "0", folder / "1"]


def write_csv(frame, path):
    frame.to_csv(path, index=False)


def write_parquet(frame, path):
    frame.to_parquet(path, row_group_size=5)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("a", np.nan, "column 'a' has no value in {}, and missing='error': .*missing='mean'"),
        ("a", np.inf, "column 'a' holds infinity in {}; expected finite numbers: leave out"),
        ("y", np.nan, "the target 'y' has no label in {}; .*leave out the rows"),
        ("y", 0.5, "{}: the label is 0.5; expected classes.*Turn it into a few classes"),
        ("w", -1.0, "the weight 'w' is -1 in {}; expected a number of at least 0"),
    ],
)
@pytest.mark.parametrize(
    ("format", "write", "place"),
    [
        ("csv", write_csv, "/1, line 8"),
        ("parquet", write_parquet, r"/1, row group 1, row 6 \(counted from 0\)"),
    ],
)
def test_a_bad_value_is_named_by_its_place_in_its_own_file(
    tmp_path, format, write, place, column, value, message
):
    files = two_files(tmp_path, write, column, value)
    with pytest.raises(ValueError, match=message.format(f"{re.escape(str(tmp_path))}{place}")):
        separatrix.read(files, format=format, target="y", weight="w")


def test_a_target_with_one_value_is_named_with_its_file(tmp_path):
    pd.DataFrame({"a": [1.0, 2.0], "y": "yes"}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.svm").write_text("1 1:1\n1 2:1\n")
    table = separatrix.read(tmp_path / "t.csv", target="y")
    with pytest.raises(ValueError, match=r"target 'y' of \S+t\.csv has only one class: \['yes'\]"):
        LinearClassifier().fit(table)
    with pytest.raises(ValueError, match=r"the target of \S+t\.svm has only one .*Add rows of"):
        Perceptron().fit(separatrix.read(tmp_path / "t.svm"))


def test_a_file_to_predict_that_lacks_a_column_is_named(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 0.0], "y": ["no", "yes"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.drop(columns="b").to_csv(tmp_path / "new.csv", index=False)
    clf = LinearClassifier().fit(separatrix.read(tmp_path / "t.csv", target="y"))
    message = r"there is no column 'b' in \S+new\.csv; .* fit: the columns are \['a', 'y'\]"
    with pytest.raises(ValueError, match=message):
        clf.predict(tmp_path / "new.csv")
    with pytest.raises(ValueError, match="no column 'b' in the pandas DataFrame"):
        clf.predict(frame[["a"]])

"""``--keep`` and ``--drop``: lists, repeated options and patterns."""

from __future__ import annotations

import pytest
from apps.cli.tables import flowers, output

import separatrix
from separatrix.apps.cli.app import run
from separatrix.apps.cli.arguments import complete_column, joined_names, separate_names

FIT = ["fit", "flowers.csv", "-t", "kind", "--l2", "0.1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = flowers(100)
    data["id_a"], data["id_b"], data["a, b"] = range(100), range(100, 0, -1), 1.0
    data.loc[0, "a, b"] = 2.0
    data.to_csv("flowers.csv", index=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--keep", "height,size"], ["size", "height"]),
        (["--keep", "height, size"], ["size", "height"]),
        (["--keep", "height", "--keep", "size"], ["size", "height"]),
        (["--keep", "*i*", "--drop", "id_?"], ["size", "height"]),
        (["--drop", "id_*,colour", "--drop", '"a, b"'], ["size", "height"]),
        (["--drop", '"a, b",id_*'], ["size", "height", "colour"]),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_model_has_these_columns(capsys, given, expected):
    code, _ = output(capsys, *FIT, *given)
    assert code == 0
    assert separatrix.load("model.sep").feature_names_in_.tolist() == expected
    flowers(100)[expected].to_csv("few.csv", index=False)
    assert run(["predict", "model.sep", "few.csv"]) == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--keep", "siez"], "--keep names the column 'siez', and there is none: is it 'size'?"),
        (["--drop", "ix_*"], "--drop has the pattern 'ix_*', and no feature matches it"),
        (["--drop", "size,kind"], "--drop names 'kind', which is the target or the weight"),
        (["--keep", "size", "--drop", "size"], "--keep and --drop both name 'size'"),
        (["--keep", "size,,height"], "--keep size,,height: a name is empty; expected a,b"),
        (["--keep", ""], "a name is empty"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "check", "path"])
def test_names_that_are_not_there(capsys, command, given, message):
    assert run([command, "flowers.csv", "-t", "kind", *given]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_numbers_without_names_have_nothing_to_keep(capsys):
    with open("rows.svm", "w", encoding="utf-8") as file:
        file.write("1 1:1\n0 2:1\n")
    assert run(["fit", "rows.svm", "--keep", "a"]) == 2
    assert "--keep, --drop, --as-category" in capsys.readouterr().err


def test_names_are_written_as_they_are_read():
    names = ["a, b", 'the "x"', "plain", "x*"]
    option = type("Option", (), {"opts": ["--keep"]})
    assert separate_names(option, [joined_names(names)]) == names
    assert separate_names(option, [joined_names([name]) for name in names]) == names


def test_completion_goes_on_after_a_comma():
    context = type("Context", (), {"params": {"data": ["flowers.csv"]}, "args": []})
    assert complete_column(context, "size,id") == ["size,id_a", "size,id_b"]

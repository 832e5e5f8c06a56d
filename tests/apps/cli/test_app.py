"""How the command ends: codes, errors of a line or two, JSON alone on stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pandas as pd
import pytest
from apps.cli.tables import flowers, output, process

import separatrix
from separatrix.apps import cli
from separatrix.apps.cli import fitting, report
from separatrix.apps.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flowers().to_csv("flowers.csv", index=False)
    return tmp_path


ERRORS = [
    (["fit", "flower.csv"], "flower.csv: there is no such file; is it 'flowers.csv'?"),
    (["fit", "flowers.csv", "-t", "knid"],
     "flowers.csv: --target names the column 'knid', and there is none: is it 'kind'?"),
    (["fit", "flowers.csv"], "which column contains the labels? Use --target NAME"),
    (["fit", "flowers.csv", "-t", "kind", "--drop", "hieght"], "--drop names the column 'hieght'"),
    (["fit", "flowers.csv", "-t", "kind", "--missing", "error"],
     "column 'size' has no value in"),
    (["fit", "flowers.csv", "-t", "kind", "--l2", "much"], "--l2 much: expected a number"),
    (["fit", "flowers.csv", "-t", "kind", "--l1", "-1"], "--l1 -1: expected a number, 0 or more"),
    (["fit", "flowers.csv", "-t", "kind", "--l1", "nan"], "--l1 nan: expected a number, 0 or more"),
    (["fit", "flowers.csv", "-t", "kind", "--l1", "1", "--loss", "hinge"],
     "--l1 is not for --loss hinge, which is not smooth: use --loss squared_hinge"),
    (["fit", "flowers.csv", "-t", "kind", "--l1", "1", "--l2", "auto"],
     "--l2 auto searches without --l1"),
    (["fit", "flowers.csv", "-t", "kind", "--l1", "1", "--trace", "run.json"],
     "--trace run.json: steps are recorded for the l2 penalty only"),
    (["fit", "flowers.csv", "-t", "kind", "--test", "2"], "--test 2: expected a share"),
    (["fit", "flowers.csv", "-t", "kind", "--loss", "logisitc"], "is it 'logistic'?"),
    (["fit", "flowers.csv", "-t", "kind", "--missing", "men"], "is it 'mean'?"),
    (["fit", "flowers.csv", "-t", "kind", "--format", "cvs"], "is it 'csv'?"),
    (["fit", "flowers.csv", "-t", "kind", "--tol", "-1"], "--tol must be"),
    (["fit", "flowers.csv", "--class-weight", "balanced"], "(Possible options: --balanced)"),
    (["fit", "flowers.csv", "--sample-weight=w"], "(Possible options: --weight)"),
    (["predict", "model.sep", "flowers.csv", "--class-weight", "w"],
     "No such option: --class-weight (see --help)"),
    (["fit", "flowers.csv", "-t", "kind", "-o", "model.json"],
     "use a name that ends in .sep, and then `separatrix export MODEL.sep --to json`"),
    (["path", "flowers.csv", "-t", "kind", "--values", "0"], "--values must be"),
    (["fit", ".", "-t", "kind"], ". is a folder; expected a file or a glob"),
    (["fit", "-", "flowers.csv", "-t", "kind"], "- is standard input and cannot be combined"),
    (["fit", "flowers.csv", "-t", "kind", "-o", "/proc/m.sep"], "written to '/proc/m.sep'"),
    (["fit", "empty.csv", "-t", "kind"], "empty.csv is empty"),
    (["fit", "dates.parquet", "-t", "kind"], "column 'when' is timestamp"),
    (["fit", "flowers.csv", "-t", "kind", "-o", "no/where.sep"], "no' does not exist"),
    (["fit", "words.csv", "-t", "kind"], "words.csv, line 3: column 'size' holds 'big'"),
    (["fit", "short.csv", "-t", "kind"], "short.csv, line 3 has 1 value"),
    (["fit", "one.csv", "-t", "kind", "--test", "0"], "one.csv: every row has the label 'a'"),
    (["fit", "one.csv", "-t", "kind"], "one.csv: every row has the label 'a'"),
    (["fit", "few.csv", "-t", "kind", "--test", "0.99"], "holds out every row"),
    (["inspect", "flowers.csv"], "flowers.csv"),
    (["inspect", "none.sep"], "none.sep: there is no such file"),
    (["fit", "flowers.csv", "--tarject", "kind"], "No such option: --tarject"),
    (["fti"], "No such command 'fti'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=lambda value: str(value)[:60])
def test_what_is_wrong_takes_a_line_or_two(folder, arguments, message, capsys):
    (folder / "words.csv").write_text("size,kind\n1,a\nbig,b\n2,a\n")
    (folder / "short.csv").write_text("size,kind\n1,a\n2\n")
    (folder / "one.csv").write_text("size,kind\n1,a\n2,a\n")
    (folder / "few.csv").write_text("size,kind\n1,a\n2,b\n")
    (folder / "empty.csv").write_text("")
    when = pd.to_datetime(["2024-01-01", "2024-01-02"])
    pd.DataFrame({"when": when, "kind": ["a", "b"]}).to_parquet("dates.parquet")
    before = sorted(folder.iterdir())
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") <= 2
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before
    assert run([*arguments, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["error"]["code"], found["command"]) == (2, arguments[0])
    assert message in found["error"]["message"]


def test_an_error_of_the_program_is_short_unless_debug_asks(monkeypatch, capsys):
    def broken(*args):
        raise RuntimeError("a screw\nis loose")

    monkeypatch.setattr(fitting, "fitted", broken)
    assert run(["fit", "flowers.csv", "-t", "kind"]) == 70
    err = capsys.readouterr().err
    assert "fit: RuntimeError: a screw is loose\n" in err
    assert "--debug" in err
    assert "Traceback" not in err
    assert run(["fit", "--debug", "flowers.csv", "-t", "kind"]) == 70
    assert "in broken" in capsys.readouterr().err


def test_interrupted_before_there_is_a_model(monkeypatch, capsys):
    def pressed(self, rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(separatrix.LinearClassifierCV, "fit", pressed)
    assert run(["fit", "flowers.csv", "-t", "kind"]) == 130
    assert "interrupted; the search had not begun" in capsys.readouterr().err
    assert not os.path.exists("model.sep")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("folds", "expected"), [(0, 1.0), (1, 0.1), (2, 0.01)])
def test_a_search_that_was_interrupted_leaves_the_best_so_far(monkeypatch, capsys, folds, expected):
    scores = [[-0.6, -0.3, -0.5], [-0.6, -0.5, -0.2]][:folds]

    def pressed(self, rows):
        for callback in self.callbacks:
            if hasattr(callback, "scored"):
                callback.searching([1.0, 0.1, 0.01])
                for l2 in [1.0, 0.1][: 2 * folds]:
                    callback.searched(l2)
                for each in scores:
                    callback.scored(each)
        raise KeyboardInterrupt

    monkeypatch.setattr(separatrix.LinearClassifierCV, "fit", pressed)
    assert run(["fit", "flowers.csv", "-t", "kind", "--json"]) == 130
    out, err = capsys.readouterr()
    found, model = json.loads(out), separatrix.load("model.sep")
    assert model.l2 == found["model"]["l2"] == expected
    assert (model.stop_, found["interrupted"]) == ("optimal", "search")
    why = f"the best by the {folds} of 5 folds" if folds else "the last that was tried"
    assert why in err
    assert "the search for l2 is not complete; the model so far is in model.sep" in err


def few(*labels):
    table = pd.DataFrame({"x": range(len(labels)), "kind": labels})
    table.to_csv("small.csv", index=False)


@pytest.mark.parametrize("command", [["fit", "--test", "0"], ["path", "--test", "0"]])
def test_too_few_rows_to_search_the_penalty(command, capsys):
    few("a", "a", "b")
    assert run([*command, "small.csv", "-t", "kind"]) == 2
    err = capsys.readouterr().err
    assert "the class 'b' has 1 training row, too few to search l2" in err
    assert "--l2 0.01" in err
    assert err.count("\n") == 1
    assert run(["fit", "--test", "0", "small.csv", "-t", "kind", "--l2", "0.01"]) == 0


def test_a_class_of_one_row_is_named_with_its_line(capsys):
    few(*["a", "b"] * 10, "bb")
    assert run(["fit", "--test", "0", "small.csv", "-t", "kind"]) == 2
    err = capsys.readouterr().err
    assert "The target 'kind' is 'bb' in a single row, small.csv, line 22: is the label mist" in err
    assert err.count("\n") == 1


def test_three_rows_without_l2(capsys):
    few("a", "b", "a")
    assert run(["fit", "small.csv", "-t", "kind"]) == 2
    err = capsys.readouterr().err
    assert "too few to search l2 by cross-validation" in err
    assert "least populated" not in err


@pytest.mark.slow
def test_a_rare_class_gets_fewer_folds_and_no_warning(capsys):
    few(*"aaaaaaaabbb")
    code, found = output(capsys, "path", "small.csv", "-t", "kind", "--values", "2")
    assert (code, found["folds"]) == (0, 3)
    assert run(["fit", "small.csv", "-t", "kind", "--test", "0"]) == 0
    assert "least populated" not in capsys.readouterr().err


@pytest.mark.processes
@pytest.mark.parametrize("line", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_does_not_import_what_takes_long(line):
    code = (
        "import sys\nfrom separatrix.apps.cli import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print({'numpy', 'scipy', 'sklearn', 'pyarrow'} & {*sys.modules}, file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, *line]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "set()"
    assert done.stdout.startswith("separatrix " if line == ["--version"] else "Usage: separatrix")


def test_interrupted_while_it_is_measured(monkeypatch, capsys):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "fit_report", pressed)
    assert run(["fit", "flowers.csv", "-t", "kind", "--l2", "0.1"]) == 130
    assert "interrupted; the model is in model.sep" in capsys.readouterr().err
    assert separatrix.load("model.sep").stop_ == "optimal"


def test_a_model_that_was_interrupted_is_saved_and_named(monkeypatch, capsys):
    fit = separatrix.LinearClassifier.fit

    def pressed(self, rows):
        fit(self, rows)
        self.stop_ = "interrupted"
        return self

    monkeypatch.setattr(separatrix.LinearClassifier, "fit", pressed)
    code, found = output(capsys, "fit", "flowers.csv", "-t", "kind", "--l2", "1", "-o", "part.sep")
    assert code == 130
    assert found["model"]["stop"] == separatrix.load("part.sep").stop_ == "interrupted"
    assert found["interrupted"] == "fit"


@pytest.mark.processes
def test_the_installed_command_prints_one_object_and_nothing_else(folder):
    environment = {**os.environ, "NO_COLOR": "1"}
    table = (folder / "flowers.csv").read_bytes()
    done = process("fit", "-", "-t", "kind", "--max-iter", "1", "--json", input=table,
                   env=environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["version"], found["command"]) == (1, "fit")
    assert found["data"]["file"] == "-"
    assert b"warning: " in done.stderr  # that the fit was cut off
    assert b"--max-iter" in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert separatrix.load("model.sep").stop_ == "max_iter"


def test_names_in_a_file_that_are_meant_to_fool_a_terminal(capsys):
    table = flowers().rename(columns={"height": "\x1b[31mred", "size": "[bold]x[/bold]"})
    table["kind"] = table["kind"].str.replace("rose", "rose\x1b]0;title\x07")
    table.to_csv("odd.csv", index=False)
    assert run(["fit", "odd.csv", "-t", "kind", "--l2", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[bold]x[/bold]" in out


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "pip install 'separatrix[cli]'" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # as before, for who goes on


def test_the_command_alone_shows_what_there_is(capsys):
    assert run([]) == 0
    shown = capsys.readouterr()
    assert shown.out.lstrip().startswith("Usage: separatrix")
    assert "playground" in shown.out
    assert shown.err == ""


def test_version_and_help(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"separatrix {separatrix.__version__}\n"
    assert run(["fit", "--help"]) == 0
    out = capsys.readouterr().out
    for option in (
        "--target",
        "--loss",
        "--l1",
        "--l2",
        "--test",
        "--drop",
        "--as-category",
        "--missing",
    ):
        assert option in out


def test_frames_of_one_column_and_labels_that_are_numbers(capsys):
    pd.DataFrame({"x": range(100), "y": [i > 40 for i in range(100)]}).to_csv("t.csv", index=False)
    code, found = output(capsys, "fit", "t.csv", "-t", "y", "--l2", "1e-3")
    assert code == 0
    assert [each["label"] for each in found["data"]["classes"]] == [False, True]
    assert found["held_out"]["accuracy"] > 0.8

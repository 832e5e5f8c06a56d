"""``fit --l1 auto`` and ``--l1-ratio``: the search is that of LinearClassifierCV."""

from __future__ import annotations

import json

import numpy as np
import pytest
from apps.cli.tables import flowers, output

import separatrix
from separatrix.apps.cli import search
from separatrix.apps.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search, "STRENGTHS", 12)
    table, rng = flowers(), np.random.default_rng(0)
    for j in range(5):
        table[f"noise{j}"] = rng.standard_normal(len(table))
    table.to_csv("noisy.csv", index=False)


FIT = ["fit", "noisy.csv", "-t", "kind"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "l1_ratio"),
    [
        (["--l1", "auto"], 1.0),
        (["--l1-ratio", "0.5"], 0.5),
        (["--l1", "auto", "--l1-ratio", "0.2,1"], [0.2, 1.0]),
    ],
)
def test_the_penalties_are_those_of_the_search(capsys, options, l1_ratio):
    code, found = output(capsys, *FIT, *options)
    assert code == 0
    source = separatrix.read("noisy.csv", target="kind", missing="indicator", validation=0.2)
    alike = separatrix.LinearClassifierCV(
        l1_ratio=l1_ratio, strengths=12, scoring="loss", standardize=True, random_state=0
    ).fit(source.sample(source.n_rows))
    model = separatrix.load("model.sep")
    assert (model.l1_, model.l2_, model.l1_ratio_) == (alike.l1_, alike.l2_, alike.l1_ratio_)
    assert (found["model"]["l1"], found["model"]["l2"]) == (alike.l1_, alike.l2_)
    assert found["model"]["selection"]["selected"] == np.count_nonzero(alike.coef_)
    np.testing.assert_array_equal(model.coef_, alike.coef_)
    # The certificate and the diagnosis are about the penalty that was chosen.
    code, found = output(capsys, "certify", "model.sep", "noisy.csv")
    assert code == 0
    assert found["certificate"]["proven"]
    assert found["certificate"]["objective"] == pytest.approx(model.objective_, rel=1e-9)
    assert found["certificate"]["gap"] <= 2e-6 * model.objective_
    code, found = output(capsys, "diagnose", "model.sep", "noisy.csv")
    assert code == 0
    assert "not_minimal" not in str(found["findings"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--l1", "auto", "--l2", "0.1"], "--l2 0.1: a search for --l1 also chooses l2"),
        (["--l1", "auto", "--l2", "auto"], "--l2 auto: a search for --l1 also chooses l2"),
        (["--l1", "0.1", "--l1-ratio", "1"], "--l1-ratio 1 is for a search: leave out --l1 0.1"),
        (["--l1-ratio", "0"], "--l1-ratio 0: expected a number above 0 and at most 1"),
        (["--l1-ratio", "1.5,1"], "--l1-ratio 1.5,1: expected a number above 0"),
        (["--l1-ratio", "nan"], "--l1-ratio nan: expected a number above 0"),
        (["--l1-ratio", "much"], "--l1-ratio much: expected a number above 0"),
        (["--l1", "much"], "--l1 much: expected a number, 0 or more, or auto"),
        (["--l1", "auto", "--loss", "hinge"], "--l1 is not for --loss hinge"),
        (["--l1-ratio", "1", "--trace", "a.json"], "steps are recorded for the l2 penalty only"),
    ],
)
def test_options_that_exclude_each_other(capsys, options, message):
    assert run([*FIT, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scores", "which", "strength"),
    [
        ([[], []], 0, 0.1),
        ([[[-0.6, -0.3]], []], 0, 0.01),
        ([[[-0.6, -0.5]], [[-0.2, -0.6], [-0.2, -0.6]]], 1, 0.2),
    ],
)
def test_an_interrupted_search_leaves_the_best_so_far(monkeypatch, capsys, scores, which, strength):
    paths, ratios = [[0.1, 0.01], [0.2, 0.02]], [1.0, 0.5]

    def pressed(self, rows):
        for call in self.callbacks:
            if hasattr(call, "scored"):
                for values, folds in zip(paths, scores, strict=True):
                    if values is paths[0] or folds:
                        call.searching(values)
                    for each in folds:
                        call.scored(each)
        raise KeyboardInterrupt

    monkeypatch.setattr(separatrix.LinearClassifierCV, "fit", pressed)
    assert run([*FIT, "--l1-ratio", "1,0.5", "--json"]) == 130
    out, err = capsys.readouterr()
    model = separatrix.load("model.sep")
    ratio = ratios[which]
    assert (model.l1, model.l2) == (ratio * strength, (1 - ratio) * strength / 2)
    assert json.loads(out)["interrupted"] == "search"
    assert f"l1 = {model.l1:.3g}, l2 = {model.l2:.3g}, the" in err

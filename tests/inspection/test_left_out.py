"""``penalty too small`` on small tables: losses with each row left out are those of n fits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix
from separatrix import LinearClassifier, diagnose
from separatrix.apps.cli.app import run
from separatrix.inspection.diagnose import left_out
from separatrix.inspection.diagnose.unwrapping import fitted_model

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 12)) * np.linspace(0.5, 2.0, 12)
Y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, "yes", "no")


def too_small(clf, rows=X, labels=Y, **given):
    return [f for f in diagnose(clf, rows, labels, **given).findings if "small" in f.cause]


def left_out_loss(l2):
    """The mean loss of each row by scikit-learn's fit to the others."""
    losses = []
    for i in range(len(Y)):
        others = np.arange(len(Y)) != i
        C = 1.0 / (2.0 * l2 * others.sum())
        fit = LogisticRegression(C=C, tol=1e-8, max_iter=10_000).fit(X[others], Y[others])
        losses.append(-fit.predict_log_proba(X[[i]])[0, list(fit.classes_).index(Y[i])])
    return float(np.mean(losses))


@pytest.mark.slow
def test_the_losses_are_those_of_sixty_fits():
    (finding,) = too_small(LinearClassifier(l2=1e-4).fit(X, Y))
    found = finding.evidence
    assert found["held_out_loss"] == pytest.approx(left_out_loss(1e-4), rel=1e-3)
    better = finding.changes["l2"]
    assert found["held_out_loss_at_better_l2"] == pytest.approx(left_out_loss(better), rel=1e-2)
    assert found["held_out_loss_at_better_l2"] <= 0.95 * found["held_out_loss"]
    assert "each row left out in turn" in finding.sentence
    assert f"l2={better:.3g}" in finding.sentence
    assert too_small(LinearClassifier(l2=better).fit(X, Y)) == []


@pytest.mark.slow
def test_less_than_five_percent_is_not_reported():
    l2 = too_small(LinearClassifier(l2=1e-4).fit(X, Y))[0].changes["l2"]
    least = left_out_loss(l2)
    while left_out_loss(l2) < 1.03 * least:
        l2 /= 1.5
    assert left_out_loss(l2) < 1.15 * least
    reported = bool(too_small(LinearClassifier(l2=l2).fit(X, Y)))
    assert reported == (left_out_loss(l2) > least / 0.95)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_other_losses(loss):
    (finding,) = too_small(LinearClassifier(loss, l2=1e-5).fit(X, Y))
    assert finding.changes["l2"] > 1e-5
    assert "left out in turn" in finding.sentence


def test_after_scaling():
    wild = X * 10.0 ** np.arange(-6, 6)
    own = too_small(LinearClassifier(l2=1e-4, standardize=True).fit(wild, Y), wild)
    pipe = make_pipeline(StandardScaler(), LinearClassifier(l2=1e-4)).fit(wild, Y)
    (one,), (other,) = own, too_small(pipe, wild)
    assert one.changes["l2"] == other.changes["l2"]


@pytest.mark.parametrize(
    ("clf", "cheap"),
    [
        (LinearClassifier(l2=1e-4), True),
        (LinearClassifier("squared", l2=1e-4), True),
        (LinearClassifier("hinge", l2=1e-2), False),
        (LinearClassifier(l2=1e-4, class_weight={"yes": 2.0}), False),
        (LinearClassifier(l1=1e-3), False),
    ],
)
def test_where_it_is_cheap(clf, cheap):
    assert left_out.is_cheap(fitted_model(clf.fit(X, Y), X, Y).objective) is cheap


def test_large_tables_are_not_left_out():
    rows = rng.normal(size=(1001, 2))
    labels = rows[:, 0] + rng.normal(size=1001) > 0.0
    clf = LinearClassifier().fit(rows, labels)
    assert not left_out.is_cheap(fitted_model(clf, rows, labels).objective)
    assert left_out.is_cheap(fitted_model(clf, rows[:1000], labels[:1000]).objective)


def test_the_command_names_the_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"x{j}" for j in range(12)]
    lines = [",".join([*names, "kind"])]
    lines += [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), Y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert run(["fit", "t.csv", "-t", "kind", "--l2", "1e-4", "--test", "0"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The penalty l2=0.0001 is too small" in out
    rows = separatrix.read("t.csv", target="kind").sample(60)
    (finding,) = too_small(separatrix.load("model.sep"), rows, None)
    assert f"Fit again with --l2 {finding.changes['l2']:g}." in out


def test_weights_are_repetitions():
    times = rng.integers(0, 4, len(Y))
    clf = LinearClassifier("hinge", l2=1e-3, tol=1e-6).fit(X, Y, sample_weight=times)
    repeated = np.repeat(np.arange(len(Y)), times)
    one = diagnose(clf, X, Y, sample_weight=times)
    other = diagnose(clf, X[repeated], Y[repeated])
    for name in ("accuracy", "balanced_accuracy"):
        assert one.facts[name] == pytest.approx(other.facts[name], rel=1e-12)
    assert one.facts["rows"] == np.count_nonzero(times)


def test_weights_decide_which_class_dominates():
    weight = np.where(Y == "yes", 0.01, 1.0)
    noise = rng.normal(size=X.shape)
    clf = LinearClassifier(l2=1.0).fit(noise, Y, sample_weight=weight)
    causes = [f.cause for f in diagnose(clf, noise, Y, sample_weight=weight).findings]
    assert "one dominant class" in causes
    assert "one dominant class" not in [f.cause for f in diagnose(clf, noise, Y).findings]


@pytest.mark.parametrize("weight", [np.ones(3), -np.ones(60), np.full(60, np.nan), np.zeros(60)])
def test_wrong_weights_are_refused(weight):
    clf = LinearClassifier(l2=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        diagnose(clf, X, Y, sample_weight=weight)


def test_a_source_has_its_own_weights():
    source = separatrix.ArraySource(X, np.where(Y == "yes", 1.0, -1.0), np.array(["no", "yes"]))
    clf = LinearClassifier(l2=0.1).fit(source)
    with pytest.raises(TypeError, match="leave out sample_weight"):
        diagnose(clf, source, sample_weight=np.ones(60))

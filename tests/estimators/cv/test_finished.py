"""A cross-validation that is cut and run again makes no fit twice that had ended."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.base import clone
from sklearn.model_selection import KFold

import separatrix
from separatrix import LBFGS, Checkpoint, CoordinateAscent, LinearClassifierCV, ProximalPoint
from separatrix.estimators.cv import FoldPath, search
from separatrix.training.checkpoint_file import read

# Some best scores are those of the smallest l2, which these tests are not about.
pytestmark = pytest.mark.filterwarnings("ignore:the best score is that of")

X, Y = overlapping(60, 3)


class Cut(Exception):
    """As if the process had ended here."""


def counted(monkeypatch, most=10**6):
    """Fits that begin; an error at the one after the most."""
    made, fit = [], search.minimize

    def minimize(*args, **settings):
        if len(made) == most:
            raise Cut
        made.append(1)
        return fit(*args, **settings)

    monkeypatch.setattr(search, "minimize", minimize)
    return made


def same(one, other):
    """To the last bit."""
    for name in ("coef_", "intercept_", "l2_path_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.l2_, one.stop_, one.n_iter_) == (other.l2_, other.stop_, other.n_iter_)
    assert one.cv_results_.keys() == other.cv_results_.keys()
    for name, column in one.cv_results_.items():
        np.testing.assert_array_equal(column, other.cv_results_[name])


@pytest.mark.sampled(1)
@quiet
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "hinge", "cv": 3, "random_state": 0},
        {"loss": "hinge", "solver": CoordinateAscent(), "cv": 3, "random_state": 0},
        {"solver": LBFGS(), "cv": KFold(3, shuffle=True, random_state=1), "scoring": "loss"},
        {"cv": "loo"},
    ],
    ids=["hinge", "single rows", "L-BFGS", "loo"],
)
def test_finished_fits_are_kept(tmp_path, monkeypatch, settings):
    clf = LinearClassifierCV(l2s=[1e-1, 1e-2, 1e-3], **{"scoring": None, **settings})
    made = counted(monkeypatch)
    whole = clone(clf).fit(X, Y)
    in_all = len(made)
    assert in_all >= 3
    for most in (1, 2, in_all - 1):
        monkeypatch.undo()
        path = tmp_path / str(most)
        counted(monkeypatch, most)
        with pytest.raises(Cut):
            clone(clf).set_params(callbacks=[Checkpoint(path, every=1)]).fit(X, Y)
        monkeypatch.undo()
        made = counted(monkeypatch)
        again = clone(clf).set_params(callbacks=[Checkpoint(path)]).fit(X, Y)
        assert len(made) == in_all - most
        same(again, whole)
        finished = clone(clf).set_params(callbacks=[Checkpoint(path)]).fit(X, Y)
        assert len(made) == in_all - most
        np.testing.assert_array_equal(finished.coef_, whole.coef_)


@pytest.mark.sampled(1)
@quiet
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_fits_of_all_folds_together_are_kept(tmp_path, monkeypatch, scoring):
    """Cut at each penalty, the rest of the path is followed, and nothing before."""
    clf = LinearClassifierCV(l2s=[1.0, 1e-1, 1e-2, 1e-3], cv=3, scoring=scoring)
    whole, follow, made = clone(clf).fit(X, Y), FoldPath.fit, []

    def counted_fit(most):
        def fit(self, l2):
            if len(made) == most:
                raise Cut
            made.append(l2)
            return follow(self, l2)

        monkeypatch.setattr(FoldPath, "fit", fit)

    for most in range(4):
        keep = Checkpoint(tmp_path / str(most), every=1)
        made.clear()
        counted_fit(most)
        with pytest.raises(Cut):
            clone(clf).set_params(callbacks=[keep]).fit(X, Y)
        counted_fit(-1)
        again = clone(clf).set_params(callbacks=[keep]).fit(X, Y)
        assert made == [1.0, 1e-1, 1e-2, 1e-3]
        same(again, whole)


@quiet
def test_folds_with_fits_of_their_own_are_kept_as_they_were(tmp_path, monkeypatch):
    """A fold that the path did not settle is fitted alone, from where the path left it."""
    clf = LinearClassifierCV(l2s=[1.0, 1e-1, 1e-2], cv=3, scoring=None)
    follow = FoldPath.fit

    def unsettled(self, l2):
        fit = follow(self, l2)
        return fit._replace(folds=0.5 * fit.folds, is_converged=np.array([True, False, False]))

    monkeypatch.setattr(FoldPath, "fit", unsettled)
    made = counted(monkeypatch)
    whole = clone(clf).fit(X, Y)
    assert len(made) == 6
    counted(monkeypatch, 4)
    keep = Checkpoint(tmp_path / "run", every=1)
    with pytest.raises(Cut):
        clone(clf).set_params(callbacks=[keep]).fit(X, Y)
    monkeypatch.undo()
    monkeypatch.setattr(FoldPath, "fit", unsettled)
    made = counted(monkeypatch)
    same(clone(clf).set_params(callbacks=[keep]).fit(X, Y), whole)
    assert len(made) == 2


@pytest.mark.slow
@quiet
def test_folds_of_a_file_are_kept(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)

    def rows():
        return separatrix.read(tmp_path / "X.npy", target=str(tmp_path / "y.npy"), block_rows=13)

    clf = LinearClassifierCV(l2s=[1e-1, 1e-2], cv=3, standardize=True, scoring=None)
    made = counted(monkeypatch)
    whole = clone(clf).fit(rows())
    assert len(made) == 6
    counted(monkeypatch, 4)
    keep = Checkpoint(tmp_path / "run", every=1)
    with pytest.raises(Cut):
        clone(clf).set_params(callbacks=[keep]).fit(rows())
    monkeypatch.undo()
    made = counted(monkeypatch)
    same(clone(clf).set_params(callbacks=[keep]).fit(rows()), whole)
    assert len(made) == 2


@pytest.mark.sampled(1)
@quiet
@pytest.mark.parametrize(
    "settings", [{"loss": "hinge", "solver": ProximalPoint()}, {"solver": LBFGS()}], ids=str
)
def test_max_iter_may_change(tmp_path, monkeypatch, settings):
    """Fits that ended by themselves are kept; those that it cut are made again."""
    clf = LinearClassifierCV(
        l2s=[10.0, 1e-4], cv=3, random_state=0, **{"scoring": None, **settings}
    )
    made, fit = [], search.minimize

    def minimize(*args, **options):
        result = fit(*args, **options)
        made.append(len(result.infos))
        return result

    monkeypatch.setattr(search, "minimize", minimize)
    clone(clf).fit(X, Y)
    passes = sorted(made)
    few = passes[len(passes) // 2]  # for some fits enough
    assert passes[0] < few < 1000
    cut = sum(count >= few for count in passes)
    keep = Checkpoint(tmp_path / "run", every=1)
    for max_iter, fits in ((few, len(passes)), (1000, cut), (2000, 0), (1000, 0)):
        expected = clone(clf).set_params(max_iter=max_iter).fit(X, Y)
        made.clear()
        same(clone(clf).set_params(max_iter=max_iter, callbacks=[keep]).fit(X, Y), expected)
        assert len(made) == fits


@quiet
def test_fewer_passes_than_the_last_fit_made_are_refused(tmp_path):
    clf = LinearClassifierCV(l2s=[0.1], cv=3, solver=LBFGS(), scoring=None)
    clf.set_params(callbacks=[Checkpoint(tmp_path / "run")]).fit(X, Y)
    with pytest.raises(ValueError, match=rf"cannot go on from {tmp_path}.*run.*max_iter.*never"):
        clone(clf).set_params(max_iter=1).fit(X, Y)


@quiet
def test_another_search_is_refused(tmp_path):
    clf = LinearClassifierCV("hinge", l2s=[0.1, 0.01], cv=3, random_state=0, scoring=None)
    clf.set_params(callbacks=[Checkpoint(tmp_path / "run")]).fit(X, Y)
    for change, named in (({"l2s": [0.1, 0.02]}, "l2s"), ({"tol": 1e-3}, "tol")):
        with pytest.raises(ValueError, match=f"another run: {named} was"):
            clone(clf).set_params(**change).fit(X, Y)
    with pytest.raises(ValueError, match="the data"):
        clone(clf).fit(X + 1.0, Y)


@quiet
def test_sigterm_keeps_what_has_ended(tmp_path, monkeypatch):
    clf = LinearClassifierCV("hinge", l2s=[0.1, 0.01], cv=3, random_state=0, scoring=None)
    whole, keep, fit = clone(clf).fit(X, Y), Checkpoint(tmp_path / "run"), search.minimize
    made = []

    def terminated(*args, **settings):
        made.append(1)
        if len(made) == 4:
            signal.raise_signal(signal.SIGTERM)
        return fit(*args, **settings)

    monkeypatch.setattr(search, "minimize", terminated)
    with pytest.raises(SystemExit) as end:
        clone(clf).set_params(callbacks=[keep]).fit(X, Y)
    assert end.value.code == 143
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert 3 <= len(read(tmp_path / "run")["state"]["fits"]) <= 4
    again = clone(clf).set_params(callbacks=[keep]).fit(X, Y)
    assert len(made) <= 7
    np.testing.assert_array_equal(again.coef_, whole.coef_)


@quiet
def test_sigterm_keeps_the_folds_that_were_fitted_together(tmp_path, monkeypatch):
    clf = LinearClassifierCV(l2s=[1.0, 1e-1, 1e-2, 1e-3], cv=3, scoring=None)
    whole, keep, follow, made = clone(clf).fit(X, Y), Checkpoint(tmp_path / "run"), FoldPath.fit, []

    def terminated(self, l2):
        made.append(l2)
        if len(made) == 3:
            signal.raise_signal(signal.SIGTERM)
        return follow(self, l2)

    monkeypatch.setattr(FoldPath, "fit", terminated)
    with pytest.raises(SystemExit) as end:
        clone(clf).set_params(callbacks=[keep]).fit(X, Y)
    assert end.value.code == 143
    assert 2 <= len(read(tmp_path / "run")["state"]["fits"]) <= 3
    same(clone(clf).set_params(callbacks=[keep]).fit(X, Y), whole)
    assert len(made) <= 5

"""A cross-validation that is cut and run again makes no fit twice that had ended."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from conftest import overlapping, quiet
from sklearn.base import clone
from sklearn.model_selection import KFold

from separatrix import LBFGS, Checkpoint, LinearClassifierCV
from separatrix.estimators.cv import search
from separatrix.training.checkpoint_file import read

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


@quiet
@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "hinge", "cv": 3, "random_state": 0},
        {"solver": LBFGS(), "cv": KFold(3, shuffle=True, random_state=1), "scoring": "loss"},
        {"cv": "loo"},
    ],
    ids=["hinge", "L-BFGS", "loo"],
)
def test_finished_fits_are_kept(tmp_path, monkeypatch, settings):
    clf = LinearClassifierCV(l2s=[1e-1, 1e-2, 1e-3], **settings)
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
        for name in ("coef_", "intercept_", "l2_path_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        assert (again.l2_, again.stop_, again.n_iter_) == (whole.l2_, whole.stop_, whole.n_iter_)
        for name, column in whole.cv_results_.items():
            np.testing.assert_array_equal(column, again.cv_results_[name])
        finished = clone(clf).set_params(callbacks=[Checkpoint(path)]).fit(X, Y)
        assert len(made) == in_all - most
        np.testing.assert_array_equal(finished.coef_, whole.coef_)


@quiet
def test_another_search_is_refused(tmp_path):
    clf = LinearClassifierCV("hinge", l2s=[0.1, 0.01], cv=3, random_state=0)
    clf.set_params(callbacks=[Checkpoint(tmp_path / "run")]).fit(X, Y)
    for change, named in (({"l2s": [0.1, 0.02]}, "l2s"), ({"tol": 1e-3}, "tol")):
        with pytest.raises(ValueError, match=f"another run: {named} was"):
            clone(clf).set_params(**change).fit(X, Y)
    with pytest.raises(ValueError, match="the data"):
        clone(clf).fit(X + 1.0, Y)


@quiet
def test_sigterm_keeps_what_has_ended(tmp_path, monkeypatch):
    clf = LinearClassifierCV("hinge", l2s=[0.1, 0.01], cv=3, random_state=0)
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

"""Fixtures of the dual."""

from __future__ import annotations

import pytest

from separatrix.solvers import thresholds


@pytest.fixture
def small_systems(monkeypatch):
    monkeypatch.setattr(thresholds, "FACTORED_UNKNOWNS", 4)

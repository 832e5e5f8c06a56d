"""Nothing is shown, and no figure stays open."""

from __future__ import annotations

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")

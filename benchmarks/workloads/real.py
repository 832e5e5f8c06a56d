"""Real text and one-hot rows, if the environment variable SEPARATRIX_DATA names their folder.

The folder has a ``load.py`` with ``names()`` and ``load(name)``, which returns first the rows and
labels to train on. Counts of words become tf-idf; rows without a word are left out.
"""

from __future__ import annotations

import os
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

from .. import data
from ..contest import Contest
from ..registry import workload
from .text import TWO, fit

VARIABLE = "SEPARATRIX_DATA"
TEXT = (
    "basehock", "imdb", "movie_polarity2", "news20", "pcmac", "rcv1_small", "relathe",
    "sentence_polarity", "sms_spam", "sst2", "trec_questions",
)  # fmt: skip
ONE_HOT = ("a9a", "connect4", "w8a")


def register() -> None:
    """Add a workload for each known set in the folder and each loss, if there is a folder."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    loader = loader_of(Path(folder))
    for name in loader.names():
        if name in TEXT + ONE_HOT:
            for loss in TWO:
                workload(
                    f"real-{name.replace('_', '-')}-{loss.replace('_', '-')}",
                    tiny=(200, loss), small=(2_000, loss), full=(None, loss),
                )(partial(real, loader, name))  # fmt: skip


def real(loader: Any, name: str, most: int | None, loss: str) -> Contest:
    """Some rows from all over the set, or all."""
    X, y = loader.load(name)[:2]
    kept = np.flatnonzero(np.diff(X.indptr))
    if most is not None:
        kept = kept[np.linspace(0, len(kept) - 1, min(most, len(kept))).astype(int)]
    X, y = X[kept], y[kept]
    counts = name in TEXT and np.array_equal(X.data, np.rint(X.data))
    return fit((data.tf_idf(X) if counts else X, y), loss)


def loader_of(folder: Path) -> Any:
    """The module ``load`` of a folder, checked."""
    path = folder / "load.py"
    wanted = f"{VARIABLE} must name a folder with a load.py that has names() and load(name)"
    if not path.is_file():
        raise ValueError(f"{wanted}; there is no file {path}")
    spec = spec_from_file_location("separatrix_data_load", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # external code may raise anything
        raise ValueError(f"{wanted}; {path} cannot be imported ({error!r})") from error
    for function in ("names", "load"):
        if not callable(getattr(module, function, None)):
            raise ValueError(f"{wanted}; {path} has no function {function}")
    return module

"""Model files of fits of several kinds."""

from __future__ import annotations

import pytest
from kept_models import CORPUS, fits

import separatrix


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path, found = tmp_path_factory.mktemp("corpus") / "model.sep", {}
    for name in CORPUS:
        separatrix.save(fits()[name][0], path)
        found[name] = path.read_bytes()
    return found

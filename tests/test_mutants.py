"""The changes of ``make mutants`` still apply. Not run on a mutant, which has lost its text."""

from __future__ import annotations

import pytest
from mutants import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_of_every_mutant_stands_once(mutant):
    assert mutant.file(ROOT).is_file()
    assert mutant.old != mutant.new


def test_names_differ():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) == 20

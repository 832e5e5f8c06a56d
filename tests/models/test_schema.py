"""Type hints of the code, against which the contents of files are checked."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from separatrix.models.schema import conforms

T = TypeVar("T")
# NumPy 2.5, for Python 3.12 and later, makes NDArray in this way.
ALIAS = TypeAliasType("ALIAS", np.ndarray[tuple[Any, ...], np.dtype[T]], type_params=(T,))


@pytest.mark.parametrize(
    ("value", "hint", "is_so"),
    [
        (np.ones(2), ALIAS[np.float64], True),
        (np.ones(2, np.int8), ALIAS[np.float64], False),
        (np.ones(2, np.int32), ALIAS[np.int64], True),
        (np.ones(2, np.int8), ALIAS[Any], True),
        ([1.0], ALIAS[Any], False),
        ({"a": np.ones(2)}, dict[str, ALIAS[np.float64]], True),
        ({"a": None}, dict[str, ALIAS[np.float64] | None], True),
    ],
)
def test_an_alias_with_a_parameter_means_its_value(value, hint, is_so):
    assert conforms(value, hint) == is_so

"""Checks of numbers: what passes, and the words for what does not."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.numeric import checks


@pytest.mark.parametrize("value", [0, 2, 2.5, np.float32(0.5), np.int8(3), -0.0])
def test_numbers_pass(value):
    found = checks.number("x", value)
    assert type(found) is float
    assert found == value
    assert not np.signbit(found)


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (-1, {}, ValueError, "x must be a finite number of at least 0, got -1"),
        (np.nan, {}, ValueError, "finite number of at least 0, got nan"),
        (np.inf, {}, ValueError, "finite number of at least 0, got inf"),
        (10**400, {}, ValueError, "finite number of at least 0"),
        (True, {}, TypeError, "finite number of at least 0, got True"),
        ("1", {}, TypeError, "got '1'"),
        (None, {}, TypeError, "of at least 0, got None"),
        (0, {"strict": True}, ValueError, "a finite number above 0, got 0"),
        (3, {"most": 2.5}, ValueError, "of at least 0 and at most 2.5, got 3"),
    ],
)
def test_what_is_no_number_is_said(value, options, error, message):
    with pytest.raises(error, match=message):
        checks.number("x", value, **options)


def test_none_switches_off():
    assert checks.optional_number("x", None) is None
    assert checks.optional_whole("x", None) is None
    with pytest.raises(ValueError, match="at least 1, or None to switch it off, got 0"):
        checks.optional_whole("x", 0)
    with pytest.raises(ValueError, match="of at least 0, or None to switch it off, got -1"):
        checks.optional_number("x", -1)


def test_a_whole_number_may_be_a_float_and_an_integer_may_not():
    assert checks.whole("n", 3.0) == checks.integer("n", np.int64(3)) == 3
    with pytest.raises(ValueError, match=r"n must be a whole number of at least 1, got 2\.5"):
        checks.whole("n", 2.5)
    with pytest.raises(TypeError, match=r"n must be a whole number of at least 1, got 3\.0"):
        checks.integer("n", 3.0)
    with pytest.raises(ValueError, match=r"of at least 4 \(two pairs\), got 3"):
        checks.integer("n", 3, least=4, why="two pairs")


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "1", None])
def test_what_is_no_integer_by_its_type(value):
    assert not checks.is_integer(value)


def test_seeds():
    assert checks.seed(7) == checks.seed(np.int32(7)) == 7
    state = np.random.RandomState(3)
    assert checks.seed(np.random.RandomState(3)) == state.randint(2**31 - 1)
    rng = np.random.default_rng(3)
    assert checks.seed(np.random.default_rng(3)) == rng.integers(2**62)
    np.random.seed(5)  # noqa: NPY002 (what None is drawn from)
    drawn = checks.seed(None)
    assert drawn == np.random.RandomState(5).randint(2**31 - 1)
    for wrong, message in ((-1, "must not be negative"), ("a", "an int, a numpy Generator")):
        with pytest.raises(ValueError, match=message):
            checks.seed(wrong)

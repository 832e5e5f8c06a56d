"""What a fuzzer raises when a claim does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Claim(Exception):
    """A claim that does not hold."""


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise Claim(text)


def result_or_refusal(call: Callable[..., Any], *args: Any, names: str = "") -> tuple[Any, str]:
    """The result of a call, or the message of the ValueError, TypeError or OSError it raised.

    Any other exception is a finding, and so is a message that does not contain ``names``.
    """
    try:
        return call(*args), ""
    except (ValueError, TypeError, OSError) as error:
        expect(len(str(error)) > 10, f"a bare error: {error!r}")
        expect(names in str(error), f"an error that does not name {names}: {error!r}")
        return None, str(error)

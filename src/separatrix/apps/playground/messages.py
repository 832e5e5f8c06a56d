"""JSON in and out: requests, links and files are parsed strictly; answers have finite numbers."""

from __future__ import annotations

import json
import math
from typing import Any

from ...page.document import finite
from .methods import BadRequest

MOST_DIGITS = 40
"""Maximum length of an integer. No setting needs more, and Python's integers have no limit."""


def parsed(raw: bytes) -> dict[str, Any]:
    """Parse a JSON object, or raise :class:`BadRequest`, which says what is wrong with it."""
    try:
        text = raw.decode("utf-8")
        found = json.loads(
            text, parse_int=_integer, parse_float=_float, parse_constant=_no_constant,
            object_pairs_hook=_object,
        )  # fmt: skip
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except BadRequest:
        raise
    except RecursionError:
        raise BadRequest("the JSON is nested too deeply: expected lists of points") from None
    except UnicodeDecodeError:
        raise BadRequest("this is not UTF-8: expected JSON in UTF-8") from None
    except UnicodeEncodeError:
        raise BadRequest("a string has half of a surrogate pair: expected valid Unicode") from None
    except ValueError as error:
        raise BadRequest(f"this is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadRequest("expected a JSON object")
    return found


def written(value: Any) -> bytes:
    """Write as JSON in ASCII; numbers that are not finite become null."""
    return json.dumps(finite(value), allow_nan=False, separators=(",", ":")).encode()


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise BadRequest(f"a number has {len(text)} digits: expected at most {MOST_DIGITS}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRequest(f"{text[:MOST_DIGITS]} is too large: expected numbers below 1e308")
    return value


def _no_constant(name: str) -> Any:
    raise BadRequest(f"{name} is not a JSON number: expected finite numbers")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadRequest("an object has the same name twice: expected each once")
    return found

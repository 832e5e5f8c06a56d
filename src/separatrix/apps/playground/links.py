"""The state of the page as the fragment of a link, and back: compressed JSON, URL-safe.

The page writes and reads the same format (``link.js``).
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from separatrix.numeric.regular_file import open_regular

from .limits import MOST_BODY_BYTES
from .messages import parsed

EXPECTED = "expected the part of a copied link from # onwards, or a file that the page saved"


def to_fragment(state: dict[str, Any]) -> str:
    """``#...``, which the page opens."""
    squeeze = zlib.compressobj(9, wbits=-15)
    raw = squeeze.compress(json.dumps(state, separators=(",", ":")).encode()) + squeeze.flush()
    return "#" + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def from_fragment(link: str) -> dict[str, Any]:
    """The state that a link contains: ``points``, ``method`` and more."""
    text = link.partition("#")[2]
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacked = zlib.decompressobj(-15)
        content = unpacked.decompress(raw, MOST_BODY_BYTES + 1)
        if len(content) > MOST_BODY_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BODY_BYTES:,} bytes")
        if not unpacked.eof or unpacked.unused_data:
            raise ValueError("it is incomplete or damaged")
        return _state(content)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise _refused(link, error) from error


def opened(link: str) -> dict[str, Any]:
    """The state in a link, or in a file that the page saved."""
    if "#" in link:
        return from_fragment(link)
    try:
        with open_regular(link) as file:
            content = file.read(MOST_BODY_BYTES + 1)
        if len(content) > MOST_BODY_BYTES:
            raise ValueError(f"it has more than {MOST_BODY_BYTES:,} bytes")
        return _state(content)
    except (OSError, ValueError) as error:
        raise _refused(link, error) from error


def _refused(link: str, error: Exception) -> ValueError:
    return ValueError(f"{link[:40]!r}: {error}; {EXPECTED}")


def _state(content: bytes) -> dict[str, Any]:
    found = parsed(content)
    if not {"points", "method"} <= set(found):
        raise ValueError("it has no points and method")
    return found

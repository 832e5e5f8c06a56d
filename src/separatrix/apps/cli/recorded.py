"""A recording as a file, by its suffix: JSON, or the page that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...numeric.replaced import replaced


def write_recording(path: str, to_json: Callable[[], str], to_html: Callable[[], str]) -> None:
    """One of the two, by the suffix of the file; it is there whole or not at all."""
    page = Path(path).suffix.lower() in (".html", ".htm")
    text = to_html() if page else to_json()
    with replaced(Path(path)) as file:
        file.write(text.encode())

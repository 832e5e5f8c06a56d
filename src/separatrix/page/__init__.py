"""The page that shows how a classifier learns: static files for a browser."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "static"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


def files() -> dict[str, Path]:
    """The files of the page, by name; those of the engine are named ``engine/...``."""
    found = sorted(path for path in FOLDER.rglob("*") if path.suffix in TYPES)
    return {path.relative_to(FOLDER).as_posix(): path for path in found}

"""``python docs/links.py FOLDER``: every link of built pages leads to a file, and to a place in it.

Nothing is fetched, and nothing that a page needs to be shown may have to be: scripts, styles and
pictures come with the pages.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, what it loads, and the places that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        found = {name: value or "" for name, value in attributes}
        self.places |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "href" in found and found.get("rel") != "canonical":
            self.loaded.append(found["href"])
        elif "src" in found:
            self.loaded.append(found["src"])


def broken(folder: Path) -> list[str]:
    """A line for each link that leads nowhere, and for whatever would have to be fetched."""
    found = (path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts)
    pages = {path: Page(path.read_text()) for path in found}
    if not pages:
        raise SystemExit(f"{folder} has no pages: make docs builds them")
    told = []
    for path, page in pages.items():
        here = path.relative_to(folder)
        told += [f"{here} loads {each}" for each in page.loaded if urlsplit(each).netloc]
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                told.append(f"{here}: no file {link}")
                continue
            places = pages[target].places if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in places:
                told.append(f"{here}: no place {link}")
    return sorted(set(told))


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))

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


def local(path: Path, link: str) -> tuple[Path, str] | None:
    """The file and the place in it that a link of a page leads to, unless it leads elsewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return target, unquote(parts.fragment)


def reached(folder: Path) -> dict[Path, Page]:
    """The first page, and all that links lead to from there."""
    pages: dict[Path, Page] = {}
    waiting = [folder / "index.html"]
    while waiting:
        path = waiting.pop()
        if path not in pages and path.suffix == ".html" and path.is_file():
            pages[path] = Page(path.read_text())
            found = (local(path, link) for link in pages[path].links)
            waiting += [each[0] for each in found if each]
    return pages


def broken(folder: Path) -> list[str]:
    """A line for each link that leads nowhere, and for whatever would have to be fetched."""
    pages = reached(folder)
    if not pages:
        raise SystemExit(f"{folder} has no pages: make docs builds them")
    found = set()
    for path, page in pages.items():
        here = path.relative_to(folder)
        found |= {f"{here} loads {each}" for each in page.loaded if urlsplit(each).netloc}
        for link in page.links + page.loaded:
            target, place = local(path, link) or (path, "")
            if not target.is_file():
                found.add(f"{here}: no file {link}")
            elif link in page.loaded:
                pass  # what follows the # is the state of the page in a frame
            elif place and target in pages and place not in pages[target].places:
                found.add(f"{here}: no place {link}")
    return sorted(found)


if __name__ == "__main__":
    found = broken(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))

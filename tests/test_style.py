"""Pages, docstrings, messages and comments avoid the words that docs/style.md names."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
STYLE = ROOT / "docs" / "style.md"


@cache
def avoided():
    table = STYLE.read_text().split("\n## Words\n")[1]
    words = re.findall(r"^\| `([^`]+)` \|", table, re.M)
    phrases = "|".join(word.replace(" ", r"\s+") for word in words)
    return re.compile(rf"\b({phrases})\b", re.IGNORECASE)


def written():
    """Pages and sources, but not the page that names the words."""
    for folder, kinds in (
        ("docs", ("md",)),
        ("src", ("py", "js", "html", "cu")),
        ("cpp", ("hpp", "cpp")),
        ("examples", ("py",)),
        ("benchmarks", ("py",)),
    ):
        for kind in kinds:
            yield from sorted((ROOT / folder).rglob(f"*.{kind}"))
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))


def test_words_to_avoid_are_found_across_lines_and_only_as_words():
    assert avoided().findall("It is told, or SO\nmany; an untold story.") == ["told", "SO\nmany"]


def test_no_page_or_source_uses_a_word_to_avoid():
    found = [
        f"{path.relative_to(ROOT)}:{text[: hit.start()].count(chr(10)) + 1}: {hit[0]}"
        for path in written()
        if path != STYLE
        for text in [path.read_text()]
        for hit in avoided().finditer(text)
    ]
    assert found == []

"""The tables of docs/tuning.md, made from every ``thresholds.py`` of the package.

    python docs/tuning.py    writes them anew below the line that says so

A threshold is an assignment in capitals. What is said of it is the string that follows it, or the
comment before it; from the word "measured" on it is what was measured.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "separatrix"
PAGE = HERE / "tuning.md"
BELOW = "<!-- below: written by docs/tuning.py -->\n"


class Threshold(NamedTuple):
    """Names that are set together, their values as written, and what is said of them."""

    names: list[str]
    values: list[str]
    chooses: str
    measured: str


def thresholds(path: Path) -> list[Threshold]:
    """Those of a file, in order."""
    text = path.read_text()
    lines, body = text.splitlines(), ast.parse(text).body
    found: list[Threshold] = []
    for node, following in zip(body, [*body[1:], None], strict=True):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.AnnAssign):
            target = node.target
        names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)] if target else []
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not node.value or not names:
            continue
        if not all(name.isupper() for name in names):
            continue
        several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        each = node.value.elts if several and isinstance(node.value, ast.Tuple) else [node.value]
        said = _string(following) or _comment(lines, node)
        if not said and found:  # the one before speaks for both
            said = "as the one before"
        chooses, measured = _split(" ".join(said.split()))
        found.append(
            Threshold(
                names, [ast.get_source_segment(text, v) or "" for v in each], chooses, measured
            )
        )
    return found


def _string(node: ast.stmt | None) -> str:
    """A string that stands by itself."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return str(node.value.value)
    return ""


def _comment(lines: list[str], node: ast.stmt) -> str:
    """The comment in the lines of a statement, after the one before it."""
    above = node.lineno - 1
    while above > 0 and lines[above - 1].startswith("#"):
        above -= 1
    said = [line.lstrip("# ") for line in lines[above : node.lineno - 1] if "----" not in line]
    for line in lines[node.lineno - 1 : node.end_lineno]:
        said += line.split("  # ", 1)[1:]
    return " ".join(said)


def _split(text: str) -> tuple[str, str]:
    """What is chosen, and what was measured."""
    word = re.search(r"\b[Mm]easured\b:?", text)
    if word is None:
        return text, ""
    return text[: word.start()].rstrip(" ;,("), text[word.end() :].strip(" ,.)")


def by_file() -> dict[str, list[Threshold]]:
    """The thresholds of every package, by the path of their file."""
    paths = sorted(PACKAGE.rglob("thresholds.py"))
    return {str(path.relative_to(PACKAGE)): thresholds(path) for path in paths}


def tables() -> str:
    """One section per file of thresholds."""
    out = []
    for path, each in by_file().items():
        out += [
            f"\n## `{path}`\n",
            "| name | value | what it chooses | measured |",
            "|---|---|---|---|",
        ]
        for names, values, chooses, measured in each:
            cells = [", ".join(f"`{name}`" for name in part) for part in (names, values)]
            cells += [text.replace("``", "`").replace("|", r"\|") for text in (chooses, measured)]
            out.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().split(BELOW)[0] + BELOW + tables())

"""The page as one self-contained HTML file: its modules joined, its data inside.

A page opened from a file may not import modules, so each module becomes a function that returns
its exports. No other script runs: the content security policy names the hash of this one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import posixpath
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from . import files

IMPORT = re.compile(
    r"^import (?:\{(?P<names>[^}]*)\}|\* as (?P<whole>\w+)) "
    r'from "(?P<path>\.{1,2}/[\w./-]+\.js)";$',
    re.MULTILINE,
)
EXPORT = re.compile(r"^export (?=(?:async function|function\*?|const|class) (\w+))", re.MULTILINE)
STYLE = re.compile(r'<link rel="stylesheet" href="static/([\w-]+\.css)">')
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
SCRIPT = '<script type="module" src="static/main.js"></script>'
UNUSED = re.compile(r"^ +(?://.*$)?|^//.*$", re.MULTILINE)
"""Indentation, and lines that are only comments: lines stay, so that errors have their numbers."""
LEFT_OVER = re.compile(
    r"^\s*(?:import|export)\b|\bimport\s*\(|\bimport\.meta\b|<!--|</script", re.M
)


def document(data: dict[str, Any]) -> str:
    """A recording as a page: its data replaces the answers of a server."""
    return _page("saved", data)


def standalone(data: dict[str, Any]) -> str:
    """The whole page, which computes by itself; ``data`` is what the library computes for it."""
    return _page("shipped", data)


def _page(kind: str, data: dict[str, Any]) -> str:
    """The page with a piece of data, which its script finds by this id."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in files().items()}
    script = joined(texts)
    page = UNUSED.sub("", texts["index.html"])
    if SCRIPT not in page or "</body>" not in page:
        raise ValueError(f"index.html: expected {SCRIPT} and the end of the body")
    styles = [texts[name] for name in STYLE.findall(page)]
    page = STYLE.sub(lambda found: f"<style>{texts[found[1]]}</style>", page.replace(SCRIPT, ""))
    end = f'<script type="application/json" id="{kind}">{embedded(data)}</script>\n'
    end += f"<script>{script}</script>\n"
    rules = policy(script, styles)
    if kind == "shipped":
        rules += "; connect-src 'self'"  # for the server, if there is one
    meta = f'<meta http-equiv="Content-Security-Policy" content="{rules}">'
    page = page.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{meta}')
    return page.replace("</body>", f"{end}</body>")


def embedded(data: Any) -> str:
    """JSON that cannot end the script element around it."""
    content = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return content.replace("<", "\\u003c")


def framed(page: str, height: int) -> str:
    """The page in a sandboxed frame, which cannot access the surrounding page."""
    return (
        f'<iframe sandbox="allow-scripts" title="A recording, step by step" width="100%" '
        f'height="{height}" style="border: 0" srcdoc="{escape(page)}"></iframe>'
    )


def joined(texts: Mapping[str, str], first: str = "main.js") -> str:
    """A module and all its imports as one script."""
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"modules import each other: {' -> '.join((*above, name))}")
        if name not in order:
            for found in IMPORT.finditer(texts[name]):
                visit(_needed(name, found), (*above, name))
            order.append(name)

    visit(first, ())
    parts = [_wrapped(name, texts[name]) for name in order]
    return "\n".join(['"use strict";', "const modules = {};", *parts, ""])


def _wrapped(name: str, text: str) -> str:
    exported = EXPORT.findall(text)
    text = UNUSED.sub("", text)
    body = EXPORT.sub("", IMPORT.sub(lambda found: _taken(name, found), text))
    if found := LEFT_OVER.search(body):
        line = body.count("\n", 0, found.start() + 1) + 1
        raise ValueError(f"{name}, line {line}: {found[0].strip()!r} cannot be joined")
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _needed(name: str, found: re.Match[str]) -> str:
    """The module that an import of another one names, by its path from that one."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), found["path"]))


def _taken(name: str, found: re.Match[str]) -> str:
    module = f'modules["{_needed(name, found)}"]'
    if found["whole"]:
        return f"const {found['whole']} = {module};"
    names = re.sub(r"\s+as\s+", ": ", found["names"]).strip().rstrip(",")
    return f"const {{ {names} }} = {module};"


def finite(value: Any) -> Any:
    """Convert to JSON values: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def policy(script: str, styles: list[str]) -> str:
    """The content security policy of a page with this script and these styles."""
    kinds = {
        "default-src": "'none'", "script-src": _hash(script),
        "style-src": " ".join(map(_hash, styles)), "img-src": "data:", "base-uri": "'none'",
        "form-action": "'none'",
    }  # fmt: skip
    return "; ".join(f"{kind} {allowed}" for kind, allowed in kinds.items())


def policy_of(page: str) -> str:
    """The content security policy that a page of this module has."""
    found = POLICY.search(page)
    if found is None:
        raise ValueError("the page has no content security policy")
    return found[1]


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

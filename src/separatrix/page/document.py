"""The page as one HTML file that needs nothing else: its modules joined, its data inside.

A page that was opened from a file may not import modules, so each becomes a function that returns
what it exports. No script runs but this one: the content security policy names its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from . import files

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
STYLE = re.compile(r'<link rel="stylesheet" href="static/([\w-]+\.css)">')
ELSEWHERE = re.compile(r'<nav class="server">.*?</nav>', re.DOTALL)
"""Links to pages that only a server has."""
SCRIPT = '<script type="module" src="static/main.js"></script>'
LEFT_OVER = re.compile(
    r"^\s*(?:import|export)\b|\bimport\s*\(|\bimport\.meta\b|<!--|</script", re.M
)


def document(data: dict[str, Any]) -> str:
    """The page with its data, which it shows in place of a server's answers."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in files().items()}
    script = joined(texts)
    page = ELSEWHERE.sub("", texts["index.html"])
    if SCRIPT not in page or "</body>" not in page:
        raise ValueError(f"index.html: expected {SCRIPT} and the end of the body")
    styles = [texts[name] for name in STYLE.findall(page)]
    page = STYLE.sub(lambda found: f"<style>{texts[found[1]]}</style>", page.replace(SCRIPT, ""))
    told = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    end = f'<script type="application/json" id="saved">{told}</script>\n<script>{script}</script>\n'
    page = page.replace(
        '<meta charset="utf-8">', f'<meta charset="utf-8">\n{_policy(script, styles)}'
    )
    return page.replace("</body>", f"{end}</body>")


def framed(page: str, height: int) -> str:
    """A page inside another, of which it can see and change nothing."""
    return (
        f'<iframe sandbox="allow-scripts" title="A recording, step by step" width="100%" '
        f'height="{height}" style="border: 0" srcdoc="{escape(page)}"></iframe>'
    )


def joined(texts: Mapping[str, str], first: str = "main.js") -> str:
    """The modules that one imports, and it, as one script."""
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"modules import each other: {' -> '.join((*above, name))}")
        if name not in order:
            for _, needed in IMPORT.findall(texts[name]):
                visit(needed, (*above, name))
            order.append(name)

    visit(first, ())
    parts = [_wrapped(name, texts[name]) for name in order]
    return "\n".join(['"use strict";', "const modules = {};", *parts, ""])


def _wrapped(name: str, text: str) -> str:
    exported = EXPORT.findall(text)
    body = EXPORT.sub("", IMPORT.sub(_taken, text))
    if found := LEFT_OVER.search(body):
        line = body.count("\n", 0, found.start() + 1) + 1
        raise ValueError(f"{name}, line {line}: {found[0].strip()!r} cannot be joined")
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def _taken(found: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", found[1]).strip().rstrip(",")
    return f'const {{ {names} }} = modules["{found[2]}"];'


def finite(value: Any) -> Any:
    """As JSON has it: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {name: finite(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _policy(script: str, styles: list[str]) -> str:
    kinds = {
        "default-src": "'none'", "script-src": _hash(script),
        "style-src": " ".join(map(_hash, styles)), "img-src": "data:", "base-uri": "'none'",
        "form-action": "'none'",
    }  # fmt: skip
    told = "; ".join(f"{kind} {allowed}" for kind, allowed in kinds.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{told}">'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

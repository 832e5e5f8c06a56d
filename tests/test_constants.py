"""Numbers of the package say what they are for."""

from __future__ import annotations

import ast
from pathlib import Path

import separatrix

PACKAGE = Path(separatrix.__file__).parent
DOCUMENTED_AS_A_WHOLE = ("thresholds.py", "tolerances.py")


def unexplained(text: str) -> list[str]:
    """Constants at the top of a module that are numbers, without a comment or a string."""
    lines, body = text.splitlines(), ast.parse(text).body
    found = []
    for node, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not is_number(node.value):
            continue
        first = node.lineno - 1
        while first > 0 and lines[first - 1] and not lines[first - 1].startswith(("#", " ")):
            first -= 1  # a comment may speak for all lines that follow it
        said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        said |= lines[first - 1].startswith("#") and first > 0
        said |= any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if not said and lines[node.lineno - 1].split()[0].rstrip(",:").isupper():
            found.append(lines[node.lineno - 1])
    return found


def is_number(value: ast.expr | None) -> bool:
    """Whether a value is written with numbers alone, or is a tuple of such."""
    if isinstance(value, ast.Constant):
        return type(value.value) in (int, float)
    if isinstance(value, ast.Tuple):
        return all(map(is_number, value.elts))
    if isinstance(value, ast.UnaryOp):
        return is_number(value.operand)
    return isinstance(value, ast.BinOp) and is_number(value.left) and is_number(value.right)


def test_every_constant_has_a_comment_or_a_docstring():
    """A threshold that chooses a method stands in ``thresholds.py``, any other says its reason."""
    bare = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name not in DOCUMENTED_AS_A_WHOLE and (names := unexplained(path.read_text()))
    }
    assert bare == {}


def test_a_constant_without_a_reason_is_found():
    bare = ["MOST = 1 << 20", "A, B = -1, 2.0**3"]
    said = ["MOST = 3  # rows", 'C = 4\n"""Rows."""', "# Rows and steps.\nD = 5\nE = 6"]
    other = ['NAME = "text"', "size = 7", "F = function(8)", "G = [9]"]
    text = "import math\n\n" + "\n\n".join([*said, *bare, *other])
    assert unexplained(text) == bare

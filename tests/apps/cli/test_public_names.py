"""The command uses public names of the package, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import separatrix
from separatrix.apps import cli

FILES_OF_USERS = (
    "numeric.regular_file", "numeric.replaced", "data.files.readers.compression",
    "data.files.readers.formats", "data.files.readers.semicolons", "data.files.encoding.encoders",
    "data.files.encoding.suspects", "inspection.diagnose.leaks",
)  # fmt: skip
"""How files are opened, written, encoded and searched for leaks: the same for the command."""
CHECKS_OF_SKLEARN = ("_validate_params", "_validate_steps")
"""scikit-learn checks parameters by these; it has no public names for them."""
FILES = sorted(Path(cli.__file__).parent.glob("*.py"))


def foreign(tree):
    """What is taken from the package that is not public, and private names of others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            # Level 2 is another app, which a command may start.
            own = node.module is None and names == {"__version__"}
            if node.level > 2 and not own and node.module not in FILES_OF_USERS:
                yield f"from {'.' * node.level}{node.module or ''} import {', '.join(names)}"
            if node.level == 0 and str(node.module).startswith("separatrix"):
                yield f"from {node.module}"
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("separatrix."))
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner == "separatrix" and node.attr not in separatrix.__all__:
                yield f"separatrix.{node.attr}"
            private = node.attr.startswith("_") and not node.attr.endswith("__")
            if private and owner != "self" and node.attr not in CHECKS_OF_SKLEARN:
                yield f"{owner}.{node.attr}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_public_names(path):
    assert list(foreign(ast.parse(path.read_text()))) == []


def test_the_test_sees_what_is_private():
    text = "from ...estimators import base\nseparatrix.loops\nmodel._reading\nself._mine"
    assert len(list(foreign(ast.parse(text)))) == 3

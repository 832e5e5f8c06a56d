"""The files of a package, read: which imports which, in which layers, and what their lines are.

A package is a folder or a module directly below ``separatrix``. Its layer is one above the highest
of those that it imports. Imports are read from the syntax tree, including those inside functions
and those for type checkers only.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOSSES = {"perceptron", "logistic", "squared", "tanhsquared", "hinge", "squaredhinge"}


@dataclass
class Structure:
    """The files of a package by module, and which imports which."""

    root: Path
    files: dict[str, Path] = field(default_factory=dict)
    trees: dict[str, ast.Module] = field(default_factory=dict)
    imports: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in sorted(self.root.rglob("*.py")):
            parts = path.relative_to(self.root.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.files[module] = path
            self.trees[module] = ast.parse(path.read_text())
        for module in self.files:
            self.imports[module] = set(self._imported(module)) - {module}

    def _imported(self, module: str) -> Iterator[str]:
        initial = self.files[module].name == "__init__.py"
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.files)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = module.split(".")[: None if initial else -1]
                    above = above[: len(above) - node.level + 1]
                    base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    if inner in self.files:
                        yield inner
                    elif base in self.files and not self._compiled(base, alias.name):
                        yield base

    def _compiled(self, module: str, name: str) -> bool:
        """Whether a name is that of a compiled module, of which there is a stub."""
        return (self.files[module].parent / f"{name}.pyi").exists()

    def package(self, module: str) -> str | None:
        """The package of a module; None for ``separatrix/__init__.py``."""
        return module.split(".")[1] if "." in module else None

    @property
    def packages(self) -> dict[str, str]:
        """Every package with the first line of its docstring."""
        found = {}
        for module, tree in self.trees.items():
            if module.count(".") == 1:
                found[module.split(".")[1]] = (ast.get_docstring(tree) or "").split("\n")[0]
        return found

    @property
    def arrows(self) -> dict[tuple[str, str], int]:
        """How many files of one package import something of another."""
        count: Counter[tuple[str, str]] = Counter()
        for module, imported in self.imports.items():
            package = self.package(module)
            if self.root.name in imported:  # and with it all that it names
                imported = imported | self.imports[self.root.name]
            others = {self.package(other) for other in imported} - {package, None}
            count.update((package, other) for other in others if package and other)
        return dict(count)

    def layers(self) -> dict[str, int]:
        """The layer of every package, from 1; packages that import each other share one."""
        below = {package: {b for a, b in self.arrows if a == package} for package in self.packages}
        group = {package: each for each in components(below) for package in each}
        known: dict[frozenset[str], int] = {}

        def layer(packages: frozenset[str]) -> int:
            if packages not in known:
                others = {group[b] for a in packages for b in below[a]} - {packages}
                known[packages] = 1 + max(map(layer, others), default=0)
            return known[packages]

        return {package: layer(group[package]) for package in below}

    def cycles(self) -> list[list[str]]:
        """Files that import each other, directly or by way of others."""
        return sorted(sorted(each) for each in components(self.imports) if len(each) > 1)

    def functions(self) -> list[tuple[int, str]]:
        """Lines of the body without the docstring, and the name, of every function."""
        found = []
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                    found.append((lines, f"{module}.{node.name}"))
        return sorted(found, reverse=True)

    def constants(self) -> Counter[str]:
        """Number of names in capitals that modules assign numbers to, by where they are explained.

        "docstring": below the assignment; "comment": on its lines or just above; or "nowhere".
        """
        found: Counter[str] = Counter()
        for module, tree in self.trees.items():
            lines = self.files[module].read_text().splitlines()
            for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
                if names := numeric_names(node):
                    above = lines[max(node.lineno - 2, 0)].lstrip().startswith("#")
                    own = lines[node.lineno - 1 : node.end_lineno]
                    comment = above or any("#" in line for line in own)
                    place = "docstring" if is_text(after) else "comment" if comment else "nowhere"
                    found[place] += len(names)
        return found

    def length(self, module: str) -> int:
        """Lines of a file without its docstrings."""
        length = len(self.files[module].read_text().splitlines())
        for node in ast.walk(self.trees[module]):
            if is_text(node) and isinstance(node, ast.Expr):
                length -= (node.end_lineno or node.lineno) - node.lineno + 1
        return length

    def lines(self) -> dict[str, Counter[str]]:
        """Number of lines of every package by kind: code, docstring, comment or blank."""
        found: dict[str, Counter[str]] = {}
        for module, path in self.files.items():
            kinds = line_kinds(path.read_text(), self.trees[module])
            found.setdefault(self.package(module) or "__init__", Counter()).update(kinds)
        return found

    def listing_losses(self) -> list[str]:
        """Files whose code names every loss of two classes: those to touch for another."""
        words = {
            path.relative_to(self.root.parent.parent): {named(node) for node in ast.walk(tree)}
            for path, tree in zip(self.files.values(), self.trees.values(), strict=True)
        }
        cpp = self.root.parent.parent / "cpp"
        for path in sorted(cpp.rglob("*.?pp")):
            words[path.relative_to(cpp.parent)] = set(re.findall(r"\w+", path.read_text()))
        return [str(path) for path, each in words.items() if {plain(w) for w in each} >= LOSSES]


def is_text(node: ast.AST | None) -> bool:
    """Whether a statement is a string, such as a docstring."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def numeric_names(node: ast.stmt) -> list[str]:
    """The names in capitals that a statement assigns numbers to."""
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets, value = [node.target], node.value
    else:
        return []
    parts = [each for each in ast.walk(value) if isinstance(each, ast.Constant)]
    if not parts or not all(isinstance(each.value, int | float) for each in parts):
        return []
    names = [each.id for t in targets for each in ast.walk(t) if isinstance(each, ast.Name)]
    return [name for name in names if re.fullmatch("_?[A-Z][A-Z0-9_]*", name)]


def line_kinds(text: str, tree: ast.Module) -> list[str]:
    """The kind of every line: code, docstring, comment or blank."""
    kinds = ["comment" if line.strip() else "blank" for line in text.splitlines()]
    noise = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in noise | {tokenize.ENDMARKER}:
            kinds[token.start[0] - 1 : token.end[0]] = ["code"] * (
                token.end[0] - token.start[0] + 1
            )
    for node in ast.walk(tree):
        if is_text(node) and isinstance(node, ast.Expr):
            last = node.end_lineno or node.lineno
            kinds[node.lineno - 1 : last] = ["docstring"] * (last - node.lineno + 1)
    return kinds


def plain(word: str) -> str:
    """The name of a loss in whatever spelling of a language."""
    return re.sub("_|^k(?=[A-Z])|Loss$", "", word).lower()


def named(node: ast.AST) -> str:
    """The name that a node of a syntax tree stands for, or its text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    for attribute in ("id", "attr", "name"):
        if isinstance(getattr(node, attribute, None), str):
            return str(getattr(node, attribute))
    return ""


def components(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of a graph: nodes that can be reached from each other."""
    reached: dict[str, set[str]] = {}
    for node in graph:
        seen, waiting = {node}, [node]
        while waiting:
            new = graph.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        reached[node] = seen
    return {frozenset(b for b in reached[a] if a in reached.get(b, ())) for a in graph}

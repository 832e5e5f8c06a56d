"""Packages and layers of separatrix, drawn and counted from its imports.

    python docs/layers.py                writes docs/images/layers.svg and prints the counts
    python docs/layers.py --count PATH   prints the counts for the source in that folder

A package is a folder or a module directly below ``separatrix``. Its layer is one above the highest
of those that it imports. Imports are read from the syntax tree, including those inside functions
and those for type checkers only.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from textwrap import wrap
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "separatrix"
PICTURE = HERE / "images" / "layers.svg"
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
        """Lines without the docstring, and the name, of every function."""
        found = []
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    first = node.body[0]
                    text = first if ast.get_docstring(node) else None
                    said = (text.end_lineno or 0) - text.lineno + 1 if text else 0
                    lines = (node.end_lineno or 0) - node.lineno + 1 - said
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


# ---- what only a run can tell ---------------------------------------------------------------


def frames(estimator: Any, X: Any, y: Any, loop: str) -> list[str]:
    """The functions from ``fit`` down to the one that enters a compiled loop, both included.

    ``loop``: how the loop's name begins. Of several ways there, the one gone most often.
    """
    (module,) = [m for name, m in sys.modules.items() if name.endswith("._loops")]
    ways: Counter[tuple[str, ...]] = Counter()

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        def enter(*args: Any, **kwargs: Any) -> Any:
            ways[tuple(_stack(sys._getframe(1)))] += 1
            return plain(*args, **kwargs)

        return enter

    loops = {name: plain for name, plain in vars(module).items() if name.startswith(loop)}
    try:
        for name, plain in loops.items():
            setattr(module, name, watched(plain))
        estimator.fit(X, y)
    finally:
        for name, plain in loops.items():
            setattr(module, name, plain)
    return list(ways.most_common(1)[0][0])


def _stack(frame: FrameType | None) -> list[str]:
    """The functions from ``fit`` to this frame; none if ``fit`` is not above it."""
    found: list[str] = []
    while frame is not None:
        path = frame.f_code.co_filename.rsplit("/separatrix/", 1)[-1]
        found.insert(0, f"{path} {frame.f_code.co_qualname}")
        if frame.f_code.co_name == "fit":
            return found
        frame = frame.f_back
    return []


def profiled(work: Callable[[], Any]) -> tuple[list[str], int]:
    """The files whose functions some work enters, in order, and its greatest depth of calls.

    Only functions of the package count, those that a call of another library enters included.
    """
    found: dict[str, None] = {}
    depth = most = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, most
        code = frame.f_code
        if event not in ("call", "return") or "/separatrix/" not in code.co_filename:
            return
        if event == "call":
            depth += 1
            most = max(most, depth)
            if code.co_name != "<module>":
                found[code.co_filename.rsplit("/separatrix/", 1)[-1]] = None
        elif depth:
            depth -= 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(found), most


def entered(estimator: Any, X: Any, y: Any) -> list[str]:
    """The files of the package whose functions ``fit`` calls, in the order of their first call."""
    return profiled(lambda: estimator.fit(X, y))[0]


def four_fits() -> dict[str, tuple[list[str], int]]:
    """Files entered and depth of calls of four fits; needs the package and PyArrow installed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) + np.repeat(np.eye(3, 4), 50, axis=0)
    y = np.repeat([0, 1, 2], 50)
    text, rows, words = hinge_on_text()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        columns = {f"x{j}": X[:, j] for j in range(4)} | {"label": y}
        pa.parquet.write_table(pa.table(columns), path)

        def fit_file() -> None:
            separatrix.LinearClassifier().fit(separatrix.read(path, target="label"))

        return {
            "Perceptron": profiled(lambda: separatrix.Perceptron(random_state=0).fit(X, y)),
            "logistic": profiled(lambda: separatrix.LinearClassifier("logistic").fit(X, y)),
            "hinge on text": profiled(lambda: text.fit(rows, words)),
            "Parquet": profiled(fit_file),
        }


def hinge_on_text() -> tuple[Any, Any, Any]:
    """A classifier, sparse rows and labels; needs the package installed."""
    import numpy as np
    import scipy.sparse

    import separatrix

    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1000, 20_000, density=0.003, random_state=rng, format="csr")
    y = X @ rng.normal(size=20_000) > 0.0
    return separatrix.LinearClassifier("hinge", random_state=0), X, y


def walks() -> dict[str, list[str]]:
    """The frames of three fits, the outermost first; needs the package installed."""
    import numpy as np

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=200) > 0.0
    lbfgs = separatrix.LinearClassifier("logistic", solver=separatrix.LBFGS())
    return {
        "Perceptron": frames(separatrix.Perceptron(max_iter=3), X, y, "online"),
        "L-BFGS": frames(lbfgs, X, y, "batch"),
        "the hinge on text": frames(*hinge_on_text(), "ascent_round"),
    }


# ---- counts and the picture -----------------------------------------------------------------


def counts(structure: Structure, run: bool) -> dict[str, Any]:
    """Numbers that describe the package."""
    lines = {m: len(path.read_text().splitlines()) for m, path in structure.files.items()}
    longest = max(lines, key=lambda module: lines[module])
    length, function = structure.functions()[0]
    cycles = structure.cycles()
    by_package = structure.lines()
    listing = structure.listing_losses()
    numbers = {
        "packages": len(structure.packages),
        "layers": max(structure.layers().values()),
        "arrows between packages": len(structure.arrows),
        **{f"lines, {name}": _in_words(kinds) for name, kinds in sorted(by_package.items())},
        "lines": _in_words(sum(by_package.values(), Counter())),
        "cycles of files": f"{len(cycles)} {cycles or ''}",
        "files": len(structure.files),
        "longest file": f"{lines[longest]} lines, {longest}",
        "longest function": f"{length} lines without docstring, {function}",
        "numeric constants, by where they are explained": dict(structure.constants()),
        "files to touch for a loss": f"{len(listing)} {listing}",
    }
    if run:
        for name, found in walks().items():
            numbers[f"frames from fit to the loop, {name}"] = len(found)
        for name, (files, depth) in four_fits().items():
            solvers = sum(file.startswith("solvers/") for file in files)
            numbers[f"files entered by the fit, {name}"] = (
                f"{len(files)}, of solvers {solvers}; calls at most {depth} deep"
            )
    return numbers


def _in_words(kinds: Counter[str]) -> str:
    return ", ".join([str(kinds.total()), *(f"{kind} {n}" for kind, n in kinds.most_common())])


def data(structure: Structure) -> dict[str, Any]:
    """What the picture shows."""
    layers = structure.layers()
    return {
        "packages": {r: [layers[r], purpose] for r, purpose in sorted(structure.packages.items())},
        "arrows": {f"{a} {b}": n for (a, b), n in sorted(structure.arrows.items())},
    }


COLOURS = ("#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a65", "#a93282",
           "#34495e", "#d35400", "#2874a6", "#7d6608", "#943126", "#5b2c6f")  # fmt: skip
LEFT, WIDE, HIGH, GAP, TRACK, TOP = 90, 420, 54, 12, 38, 70


def draw(structure: Structure) -> str:
    """The picture: layers from top to bottom, boxes on the left, imports as lines on the right."""
    layers, arrows = structure.layers(), structure.arrows
    packages = sorted(layers, key=lambda package: (-layers[package], package))
    top, y = {}, TOP
    for before, package in zip([None, *packages], packages, strict=False):
        y += 2 * GAP if before is not None and layers[before] != layers[package] else 0
        top[package] = y
        y += HIGH + GAP
    used = [package for package in packages if any(b == package for _, b in arrows)]
    track = {package: LEFT + WIDE + 50 + TRACK * i for i, package in enumerate(used)}
    colour = {package: COLOURS[i % len(COLOURS)] for i, package in enumerate(used)}
    wide, high = LEFT + WIDE + 50 + TRACK * len(used) + 20, y + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f"<metadata>{escape(json.dumps(data(structure)))}</metadata>",
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        _text(LEFT, 24, "Packages and layers of separatrix", 'font-size="17" font-weight="bold"'),
        _text(LEFT, 44, "A number: how many files of the package on that line import from the "
              "package at the lower end of the coloured line.", 'fill="#555555"'),
    ]  # fmt: skip
    for layer in range(1, max(layers.values()) + 1):
        ours = [package for package in packages if layers[package] == layer]
        first, last = top[ours[0]] - GAP, top[ours[-1]] + HIGH + GAP
        out.append(
            f'<rect x="10" y="{first}" width="{wide - 20}" height="{last - first}" rx="6" '
            f'fill="{"#f4f6f8" if layer % 2 else "#eaeff3"}"/>'
        )
        out.append(_text(22, (first + last) / 2 + 4, f"layer {layer}", 'fill="#555555"'))
    for package in packages:
        ends = [track[b] for a, b in arrows if a == package]
        if ends:
            out.append(
                _line(LEFT + WIDE, top[package] + 16, max(ends), top[package] + 16, "#9aa5ad", 1)
            )
    for package in used:
        out += _gathered(package, arrows, top, track[package], colour[package])
    for (a, b), n in sorted(arrows.items()):
        x, y = track[b], top[a] + 16
        out.append(f'<circle cx="{x}" cy="{y}" r="9" fill="#ffffff" stroke="{colour[b]}"/>')
        out.append(_text(x, y + 4, str(n), f'text-anchor="middle" fill="{colour[b]}"'))
    for package in packages:
        out += _box(
            package, structure.packages[package], top[package], colour.get(package, "#777777")
        )
    return "\n".join([*out, "</svg>", ""])


def _gathered(
    package: str, arrows: dict[tuple[str, str], int], top: dict[str, int], x: int, colour: str
) -> list[str]:
    """The line down to a package, wider with every file that joins it."""
    joins = sorted((top[a] + 16, n) for (a, b), n in arrows.items() if b == package)
    end, files, out = top[package] + HIGH - 14, 0, []
    for (y, n), (below, _) in zip(joins, [*joins[1:], (end, 0)], strict=True):
        files += n
        out.append(_line(x, y, x, below, colour, 1.0 + 0.06 * files))
    edge = LEFT + WIDE
    out.append(_line(x, end, edge + 9, end, colour, 1.0 + 0.06 * files))
    out.append(f'<path d="M{edge} {end}l13 -6v12z" fill="{colour}"/>')
    return out


def _box(package: str, purpose: str, y: int, colour: str) -> list[str]:
    lines = wrap(purpose.replace("``", ""), 60)[:2]
    box = f'<rect x="{LEFT}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="#ffffff" '
    out = [box + f'stroke="{colour}" stroke-width="1.6"/>']
    out.append(
        _text(LEFT + 10, y + 18, package, f'font-weight="bold" font-size="14" fill="{colour}"')
    )
    return out + [_text(LEFT + 10, y + 33 + 14 * i, line, "") for i, line in enumerate(lines)]


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(text)}</text>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, wide: float) -> str:
    return (
        f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}" '
        f'stroke-width="{wide:.2f}"/>'
    )


def main() -> None:
    """Write the picture, unless only counts are asked for, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", metavar="PATH", type=Path, help="count this package, no picture")
    asked = parser.parse_args().count
    structure = Structure(asked.resolve() if asked else PACKAGE)
    if asked is None:
        PICTURE.write_text(draw(structure))
    for name, value in counts(structure, run=True).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()

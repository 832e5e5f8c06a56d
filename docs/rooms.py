"""Rooms and floors of the package, drawn and counted from the imports themselves.

    python docs/rooms.py                writes docs/images/rooms.svg and prints the counts
    python docs/rooms.py --count PATH   prints the counts of the package in that folder

A room is a folder or a module right under the package. A room stands one floor above the highest
of those that it imports. Imports are read from the syntax tree: those inside functions and those
for type checkers alone count too.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
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
PICTURE = HERE / "images" / "rooms.svg"
LOSSES = {"perceptron", "logistic", "squared", "tanhsquared", "hinge", "squaredhinge"}


@dataclass
class House:
    """The files of a package by module, and which imports which."""

    package: Path
    files: dict[str, Path] = field(default_factory=dict)
    trees: dict[str, ast.Module] = field(default_factory=dict)
    imports: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in sorted(self.package.rglob("*.py")):
            parts = path.relative_to(self.package.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.files[module] = path
            self.trees[module] = ast.parse(path.read_text())
        for module in self.files:
            self.imports[module] = set(self._imported(module)) - {module}

    def _imported(self, module: str) -> Iterator[str]:
        package = self.files[module].name == "__init__.py"
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.files)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = module.split(".")[: None if package else -1]
                    above = above[: len(above) - node.level + 1]
                    base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    if inner in self.files:
                        yield inner
                    elif base in self.files and not self._compiled(base, alias.name):
                        yield base

    def _compiled(self, package: str, name: str) -> bool:
        """Whether a name is that of a compiled module, of which there is a stub."""
        return (self.files[package].parent / f"{name}.pyi").exists()

    def room(self, module: str) -> str | None:
        """The room of a module; None for the package's own file, which is the door."""
        return module.split(".")[1] if "." in module else None

    @property
    def rooms(self) -> dict[str, str]:
        """Every room with the first line of its docstring."""
        found = {}
        for module, tree in self.trees.items():
            if module.count(".") == 1:
                found[module.split(".")[1]] = (ast.get_docstring(tree) or "").split("\n")[0]
        return found

    @property
    def arrows(self) -> dict[tuple[str, str], int]:
        """How many files of one room import something of another."""
        count: Counter[tuple[str, str]] = Counter()
        for module, imported in self.imports.items():
            room = self.room(module)
            if self.package.name in imported:  # the front door leads to all that it names
                imported = imported | self.imports[self.package.name]
            others = {self.room(other) for other in imported} - {room, None}
            count.update((room, other) for other in others if room and other)
        return dict(count)

    def floors(self) -> dict[str, int]:
        """The floor of every room, from 1; rooms that import each other share one."""
        below = {room: {b for a, b in self.arrows if a == room} for room in self.rooms}
        circle = {room: each for each in components(below) for room in each}
        known: dict[frozenset[str], int] = {}

        def floor(rooms: frozenset[str]) -> int:
            if rooms not in known:
                others = {circle[b] for a in rooms for b in below[a]} - {rooms}
                known[rooms] = 1 + max(map(floor, others), default=0)
            return known[rooms]

        return {room: floor(circle[room]) for room in below}

    def circles(self) -> list[list[str]]:
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

    def constants(self) -> int:
        """Names in capitals that are assigned in a module."""
        number = 0
        for tree in self.trees.values():
            for node in tree.body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                if isinstance(node, ast.AnnAssign):
                    targets = [node.target]
                names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                number += sum(bool(re.fullmatch("_?[A-Z][A-Z0-9_]*", name)) for name in names)
        return number

    def listing_losses(self) -> list[str]:
        """Files whose code names every loss of two classes: those to touch for another."""
        words = {
            path.relative_to(self.package.parent.parent): {named(node) for node in ast.walk(tree)}
            for path, tree in zip(self.files.values(), self.trees.values(), strict=True)
        }
        cpp = self.package.parent.parent / "cpp"
        for path in sorted(cpp.rglob("*.?pp")):
            words[path.relative_to(cpp.parent)] = set(re.findall(r"\w+", path.read_text()))
        return [str(path) for path, each in words.items() if {plain(w) for w in each} >= LOSSES]


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


def entered(estimator: Any, X: Any, y: Any) -> list[str]:
    """The files of the package whose functions ``fit`` calls, in the order of their first call."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and "/separatrix/" in code.co_filename and code.co_name != "<module>":
            found[code.co_filename.rsplit("/separatrix/", 1)[-1]] = None

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        estimator.fit(X, y)
    finally:
        sys.setprofile(before)
    return list(found)


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


def counts(house: House, run: bool) -> dict[str, Any]:
    """What the house comes to, in numbers."""
    lines = {m: len(path.read_text().splitlines()) for m, path in house.files.items()}
    longest = max(lines, key=lambda module: lines[module])
    length, function = house.functions()[0]
    circles = house.circles()
    told = {
        "rooms": len(house.rooms),
        "floors": max(house.floors().values()),
        "arrows between rooms": len(house.arrows),
        "circles of files": f"{len(circles)} {circles or ''}",
        "files": len(house.files),
        "longest file": f"{lines[longest]} lines, {longest}",
        "longest function": f"{length} lines without docstring, {function}",
        "constants of modules": house.constants(),
        "files to touch for a loss": f"{len(house.listing_losses())} {house.listing_losses()}",
    }
    if run:
        for name, found in walks().items():
            told[f"frames from fit to the loop, {name}"] = len(found)
        files = entered(*hinge_on_text())
        solvers = sum(file.startswith("solvers/") for file in files)
        told["files entered by the hinge on text"] = f"{len(files)}, of solvers {solvers}"
    return told


def data(house: House) -> dict[str, Any]:
    """What the picture shows."""
    floors = house.floors()
    return {
        "rooms": {r: [floors[r], purpose] for r, purpose in sorted(house.rooms.items())},
        "arrows": {f"{a} {b}": n for (a, b), n in sorted(house.arrows.items())},
    }


COLOURS = ("#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a65", "#a93282",
           "#34495e", "#d35400", "#2874a6", "#7d6608", "#943126", "#5b2c6f")  # fmt: skip
LEFT, WIDE, HIGH, GAP, TRACK, TOP = 90, 420, 54, 12, 38, 70


def draw(house: House) -> str:
    """The picture: floors from top to bottom, boxes on the left, imports as lines on the right."""
    floors, arrows = house.floors(), house.arrows
    rooms = sorted(floors, key=lambda room: (-floors[room], room))
    top, y = {}, TOP
    for before, room in zip([None, *rooms], rooms, strict=False):
        y += 2 * GAP if before is not None and floors[before] != floors[room] else 0
        top[room] = y
        y += HIGH + GAP
    used = [room for room in rooms if any(b == room for _, b in arrows)]
    track = {room: LEFT + WIDE + 50 + TRACK * i for i, room in enumerate(used)}
    colour = {room: COLOURS[i % len(COLOURS)] for i, room in enumerate(used)}
    wide, high = LEFT + WIDE + 50 + TRACK * len(used) + 20, y + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f"<metadata>{escape(json.dumps(data(house)))}</metadata>",
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        _text(LEFT, 24, "Rooms and floors of separatrix", 'font-size="17" font-weight="bold"'),
        _text(LEFT, 44, "A number: how many files of the room in that line import from the room "
              "that the coloured line leads down to.", 'fill="#555555"'),
    ]  # fmt: skip
    for floor in range(1, max(floors.values()) + 1):
        ours = [room for room in rooms if floors[room] == floor]
        first, last = top[ours[0]] - GAP, top[ours[-1]] + HIGH + GAP
        out.append(
            f'<rect x="10" y="{first}" width="{wide - 20}" height="{last - first}" rx="6" '
            f'fill="{"#f4f6f8" if floor % 2 else "#eaeff3"}"/>'
        )
        out.append(_text(22, (first + last) / 2 + 4, f"floor {floor}", 'fill="#555555"'))
    for room in rooms:
        ends = [track[b] for a, b in arrows if a == room]
        if ends:
            out.append(_line(LEFT + WIDE, top[room] + 16, max(ends), top[room] + 16, "#9aa5ad", 1))
    for room in used:
        out += _gathered(room, arrows, top, track[room], colour[room])
    for (a, b), n in sorted(arrows.items()):
        x, y = track[b], top[a] + 16
        out.append(f'<circle cx="{x}" cy="{y}" r="9" fill="#ffffff" stroke="{colour[b]}"/>')
        out.append(_text(x, y + 4, str(n), f'text-anchor="middle" fill="{colour[b]}"'))
    for room in rooms:
        out += _box(room, house.rooms[room], top[room], colour.get(room, "#777777"))
    return "\n".join([*out, "</svg>", ""])


def _gathered(
    room: str, arrows: dict[tuple[str, str], int], top: dict[str, int], x: int, colour: str
) -> list[str]:
    """The line down to a room, wider with every file that joins it."""
    joins = sorted((top[a] + 16, n) for (a, b), n in arrows.items() if b == room)
    end, files, out = top[room] + HIGH - 14, 0, []
    for (y, n), (below, _) in zip(joins, [*joins[1:], (end, 0)], strict=True):
        files += n
        out.append(_line(x, y, x, below, colour, 1.0 + 0.06 * files))
    edge = LEFT + WIDE
    out.append(_line(x, end, edge + 9, end, colour, 1.0 + 0.06 * files))
    out.append(f'<path d="M{edge} {end}l13 -6v12z" fill="{colour}"/>')
    return out


def _box(room: str, purpose: str, y: int, colour: str) -> list[str]:
    lines = wrap(purpose.replace("``", ""), 60)[:2]
    box = f'<rect x="{LEFT}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="#ffffff" '
    out = [box + f'stroke="{colour}" stroke-width="1.6"/>']
    out.append(_text(LEFT + 10, y + 18, room, f'font-weight="bold" font-size="14" fill="{colour}"'))
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
    house = House(asked.resolve() if asked else PACKAGE)
    if asked is None:
        PICTURE.write_text(draw(house))
    for name, value in counts(house, run=True).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()

"""Packages and layers of separatrix, drawn and counted from its imports.

python docs/layers.py                writes docs/images/layers.svg and prints the counts
python docs/layers.py --count PATH   prints the counts for the source in that folder
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

from calls import four_fits, walks
from structure import Structure

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "separatrix"
PICTURE = HERE / "images" / "layers.svg"


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
        "longest function": f"{length} lines in its body, {function}",
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

"""The chart of speed ratios, wins and losses: docs/images/speed.svg, for the README.

python -m benchmarks.chart      writes it from docs/benchmarks.json
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape

from .page import DOCS, KEPT
from .report import Record

CHART = DOCS / "images" / "speed.svg"
LEAST, MOST = 1 / 16, 64.0  # ends of the axis; a longer bar ends there and its number says more
ROW, TOP, NAMES, WIDE, GAP = 15, 40, 190, 200, 40  # pixels
FASTER, SLOWER, TEXT, LINE = "#2f74b5", "#bd1f01", "#24292f", "#8c959f"


def contests(runs: Sequence[Record]) -> list[tuple[str, float]]:
    """Every work that compares with another library, and the ratio, fastest first."""
    found = {
        work["name"]: float(work["ratio"]["median"])
        for run in runs
        for work in run["workloads"]
        if work.get("ratio") and not work["best_peer"].startswith("our own")
    }
    return sorted(found.items(), key=lambda each: -each[1])


def chart(works: Sequence[tuple[str, float]]) -> str:
    """Bars from 1, on a logarithmic axis, in two columns."""
    rows = math.ceil(len(works) / 2)
    column = NAMES + WIDE + GAP
    width, height = 2 * column, TOP + ROW * rows + 12
    faster = sum(ratio >= 1.0 for _, ratio in works)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="11" role="img">',
        f"<title>Separatrix is faster in {faster} of {len(works)} works</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for half in range(2):
        left = half * column + NAMES
        out += _axis(left, TOP + ROW * rows)
        for row, (name, ratio) in enumerate(works[half * rows : (half + 1) * rows]):
            out += _bar(left, TOP + ROW * row, name, ratio)
    return "\n".join([*out, "</svg>", ""])


def _place(ratio: float) -> float:
    inside = min(max(ratio, LEAST), MOST)
    return WIDE * math.log(inside / LEAST) / math.log(MOST / LEAST)


def _axis(left: float, bottom: float) -> list[str]:
    out = []
    for tick in (0.25, 1.0, 4.0, 16.0, 64.0):
        x, dark = left + _place(tick), tick == 1.0
        out.append(
            f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" '
            f'stroke="{LINE}" stroke-width="{1.2 if dark else 0.4}"/>'
        )
        label = "as fast" if dark else f"{tick:g}x"
        out.append(_text(x, TOP - 12, label, "middle"))
    return out


def _bar(left: float, y: float, name: str, ratio: float) -> list[str]:
    one, end = left + _place(1.0), left + _place(ratio)
    colour = FASTER if ratio >= 1.0 else SLOWER
    start, wide = min(one, end), max(abs(end - one), 1.0)
    # The number stands outside the bar: right of a win, left of a loss.
    at, anchor = (end + 4, "start") if ratio >= 1.0 else (end - 4, "end")
    figure = f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.1f}" if ratio >= 1.0 else f"{ratio:.2f}"
    return [
        _text(left - 6, y + 9, name, "end"),
        f'<rect x="{start:.1f}" y="{y}" width="{wide:.1f}" height="10" fill="{colour}"/>',
        _text(at, y + 9, figure, anchor),
    ]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" fill="{TEXT}">{escape(text)}</text>'


def write(runs: Sequence[Record]) -> None:
    CHART.write_text(chart(contests(runs)))


if __name__ == "__main__":
    write(json.loads(KEPT.read_text()))

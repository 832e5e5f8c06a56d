"""Measurements of a cluster as the tables of docs/cluster.md and as its picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cluster_model import (
    MOST_WORKERS,
    Apart,
    Model,
    Setting,
    best_workers,
    held_out,
    on,
    paying_workers,
    settings_of,
)

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "cluster.md", DOCS / "images" / "cluster.svg"
BEGIN = "<!-- from here to the end of the tables: python -m benchmarks.cluster page -->\n"
END = "<!-- end of the tables -->\n"
IMAGE = "![Passes per second by workers, measured and predicted](images/cluster.svg)"
SMALL, LARGE = 10_000, 1_000_000  # bytes of weights
WORKS = [(seconds, size) for seconds in (1.0, 10.0, 100.0) for size in (SMALL, LARGE)]
BUSY = 1.0  # load average before anything was measured
Data = Mapping[str, Any]


def models(record: Data) -> tuple[dict[str, Any], dict[str, Any]]:
    """Models of passes here, and of client and scheduler in them, with errors."""
    found = record["passes"]["settings"]
    return held_out(found, "wall"), held_out(found, "processor")


def lines(record: Data) -> Iterator[str]:
    """The tables, in Markdown."""
    if "passes" in record:
        yield f"{IMAGE}\n"
        machine = record["passes"]["machine"]
        version = machine["versions"]["distributed"]
        yield (
            f"Measured: passes per second of {machine['cores']} cores ({machine['processor']}, "
            f"distributed {version}), a part for each worker.{busy_note(machine)}\n"
        )
        yield from measured_lines(record["passes"]["settings"])
        whole, middle = models(record)
        yield "\nFitted to these and to passes of other parts and bytes:\n"
        yield from cost_lines(whole, middle)
        yield "\nPredicted from these costs:\n"
        yield from predicted_lines(whole["model"], Apart(whole["model"], middle["model"]))
    if "peer" in record:
        busy = busy_note(record["peer"]["machine"])
        yield f"\nMeasured against dask-ml, which got the same rows on the same workers.{busy}\n"
        yield from peer_lines(record["peer"])


def busy_note(machine: Data) -> str:
    """A warning, if the machine had other work to do."""
    if machine["load"] < BUSY:
        return ""
    return f" Other work was running (load {machine['load']:.0f}), so that all times are too long."


def columns_of(settings: Sequence[Setting]) -> list[tuple[float, int]]:
    """Seconds and bytes of those with as many bytes out as back."""
    return sorted({(each.seconds, each.out) for each in settings if each.out == each.back})


def measured_lines(record: Sequence[Data]) -> Iterator[str]:
    settings = settings_of(record)
    wall = dict(zip(settings, (each["wall"] for each in record), strict=True))
    columns = columns_of(settings)
    heads = (f"{seconds:g} s of rows, {size / 1e3:g} kB" for seconds, size in columns)
    yield f"| workers | {' | '.join(heads)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for workers in sorted({each.workers for each in settings}):
        passes = [wall[Setting(workers, workers, size, size, seconds)] for seconds, size in columns]
        yield f"| {workers} | {' | '.join(f'{1 / each:.3g}' for each in passes)} |"


def cost_lines(whole: Data, middle: Data) -> Iterator[str]:
    units = {
        "latency": (1e3, "ms, once a pass"),
        "rows": (1.0, "x the seconds of a worker's rows"),
        "parts": (1e3, "ms for each part of a worker"),
        "workers": (1e3, "ms for each worker"),
        "out": (1e9, "ms for each MB of weights and worker"),
        "back": (1e9, "ms for each MB of sums that come back"),
        "depth": (1e3, "ms for each level of the tree"),
    }
    yield "| cost | all processes on these cores | of it client and scheduler | |"
    yield "|---|---|---|---|"
    for name, (scale, unit) in units.items():
        cells = [f"{scale * each['model'].costs[name]:.2g}" for each in (whole, middle)]
        yield f"| {name} | {cells[0]} | {cells[1]} | {unit} |"
    for name in whole["errors"]:
        cells = [
            f"{100 * each['errors'][name]['median']:.0f} %, at most "
            f"{100 * each['errors'][name]['most']:.0f} %"
            for each in (whole, middle)
        ]
        yield f"| error, {name} held out | {cells[0]} | {cells[1]} | median, relative |"


def predicted_lines(whole: Model, apart: Apart) -> Iterator[str]:
    yield (
        "| seconds of rows on one worker | weights | faster on 16 | on 128 | more stop paying at | "
        "shortest pass on |"
    )
    yield "|---|---|---|---|---|---|"
    for seconds, size in WORKS:
        work = Setting(1, 1, size, size, seconds)
        cells = []
        for workers in (16, MOST_WORKERS):
            gains = [m.seconds(work) / m.seconds(on(work, workers)) for m in (whole, apart)]
            cells.append(" to ".join(f"{gain:.3g} x" for gain in gains))
        for found in (paying_workers, best_workers):
            cells.append(" to ".join(str(found(model, work)) for model in (whole, apart)))
        yield f"| {seconds:g} | {size / 1e3:g} kB | {' | '.join(cells)} |"


def peer_lines(record: Data) -> Iterator[str]:
    yield f"{record['title']}; goal {record['goal']:g} x.\n"
    yield "| | seconds | times ours | excess objective | |"
    yield "|---|---|---|---|---|"
    for each in record["contestants"]:
        yield (
            f"| {each['name']} | {each['median_seconds']:.3g} | {each['ratio']['median']:.3g} | "
            f"{each['quality']:.1e} | {each['note']} |"
        )


def write(record: Data) -> None:
    """Write the tables to the page, and the picture next to it."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    tables = "\n".join(lines(record))
    PAGE.write_text(f"{before}{BEGIN}\n{tables}\n\n{END}{after}")
    if "passes" in record:
        draw(record)


def draw(record: Data) -> None:
    """Passes per second by workers: dots are measured, lines fitted, dashes predicted."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings = settings_of(record["passes"]["settings"])
    wall = [each["wall"] for each in record["passes"]["settings"]]
    whole, middle = (each["model"] for each in models(record))
    apart, most = Apart(whole, middle), max(each.workers for each in settings)
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "cluster", "font.family": "sans-serif"}
    with mpl.rc_context(style):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes: Any = figure.add_subplot()
        axes.axvspan(most, MOST_WORKERS, color="#f0f0f0", zorder=0)
        colors = iter(("#4878a8", "#c03028", "#4f8f4f", "#8a5fa8", "#b08020", "#606060"))
        for seconds, size in [*columns_of(settings), (10.0, SMALL), (100.0, SMALL)]:
            work, color = Setting(1, 1, size, size, seconds), next(colors)
            dots = [
                (each.workers, 1 / took)
                for each, took in zip(settings, wall, strict=True)
                if each == on(work, each.workers)
            ]
            label = f"{seconds:g} s of rows, {size / 1e3:g} kB of weights"
            if dots:
                axes.plot(*zip(*dots, strict=True), "o", color=color, markersize=5)
            reach = np.unique(np.geomspace(1, MOST_WORKERS, 40).round().astype(int))
            low, high = ([1 / m.seconds(on(work, int(w))) for w in reach] for m in (whole, apart))
            fitted = (reach <= most) if dots else reach < 0
            axes.plot(reach[fitted], np.array(low)[fitted], "-", color=color)
            axes.plot(reach, low, "--", color=color, linewidth=1, label=label)
            axes.fill_between(reach, low, high, color=color, alpha=0.12, linewidth=0)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = [2**power for power in range(MOST_WORKERS.bit_length())]
        axes.set_xticks(ticks, [str(each) for each in ticks])
        axes.set_xlim(0.9, 1.1 * MOST_WORKERS)
        axes.set_xlabel("workers")
        axes.set_ylabel("passes per second")
        axes.set_title(
            f"Dots: measured. Lines: fitted. Dashes: predicted; beyond {most} workers all of it.\n"
            "Shades reach up to workers with machines of their own.",
            fontsize="medium",
        )
        axes.legend(fontsize="small", loc="lower left")
        figure.savefig(PICTURE, metadata={"Date": None})

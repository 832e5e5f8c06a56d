"""Results of the benchmark suite for docs/benchmarks.md.

    python -m benchmarks.page               the tables anew, from docs/benchmarks.json
    python -m benchmarks.page RUN.json ...  the same, after these runs have been put into that file

A work that was measured before is replaced, so single works can be measured again.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .report import Record

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, KEPT = DOCS / "benchmarks.md", DOCS / "benchmarks.json"
BEGIN = "<!-- from here to the end of the tables: python -m benchmarks.page -->\n"
END = "<!-- end of the tables -->\n"
RUN = ("measured", "repeats", "machine", "versions", "skipped")
WORK = (
    "name",
    "title",
    "best_peer",
    "ratio",
    "contestants",
    "agreement",
    "axis",
    "values",
    "growth",
    "wall_seconds",
)
OURSELVES = "our own fit"  # comparisons with it are not contests with a peer
CONTESTANT = ("name", "median_seconds", "ratio", "quality", "good_enough", "note")


# ---- the file --------------------------------------------------------------------------------


def kept(path: Path) -> Record:
    """A full-size run, with the data that the page shows."""
    run = json.loads(path.read_text())
    if run["size"] != "full":
        raise SystemExit(f"{path} is a run of size {run['size']}: the page needs full size")
    day = re.search(r"(\d{4})(\d\d)(\d\d)-\d{6}", path.name)
    run["measured"] = "-".join(day.groups()) if day else "on a day that was not kept"
    works = [{key: each[key] for key in WORK if key in each} for each in run["workloads"]]
    for work in works:
        for number, each in enumerate(work.get("contestants", ())):
            work["contestants"][number] = {key: each[key] for key in CONTESTANT}
    return {**{key: run[key] for key in RUN}, "workloads": works}


def merged(runs: Sequence[Record]) -> list[Record]:
    """Each work from the last run that has it; empty runs are removed."""
    seen: set[str] = set()
    found = []
    for run in reversed(runs):
        works = [work for work in run["workloads"] if work["name"] not in seen]
        seen |= {work["name"] for work in works}
        if works:
            found.append({**run, "workloads": works})
    return joined(found[::-1])


def joined(runs: Sequence[Record]) -> list[Record]:
    """Runs of the same day and conditions as one, its works in the order of the suite."""
    from .workloads import WORKLOADS

    order = {name: number for number, name in enumerate(WORKLOADS)}
    found: dict[str, Record] = {}
    for run in runs:
        machine = [run["machine"][key] for key in ("processor", "cores")]
        key = json.dumps([machine, *(run[key] for key in RUN if key != "machine")], sort_keys=True)
        works = [*found.get(key, {"workloads": []})["workloads"], *run["workloads"]]
        works.sort(key=lambda work: order.get(work["name"], len(order)))
        found[key] = {**run, "workloads": works}
    return list(found.values())


# ---- the page --------------------------------------------------------------------------------


def lines(runs: Sequence[Record]) -> Iterator[str]:
    """The tables in Markdown; slower and faster works are in the same table."""
    for number, run in enumerate(runs, 1):
        yield from _run_lines(run, number if len(runs) > 1 else None)
    yield from _missing(runs)


def _run_lines(run: Record, number: int | None) -> Iterator[str]:
    machine, versions = run["machine"], run["versions"]
    cores = machine["cores"]
    reads, computes = (
        machine[f"{what}_{cores}"] for what in ("read_gb_per_second", "gflop_per_second_float64")
    )
    listed = [work for work in run["workloads"] if "growth" not in work]
    contests = [work for work in listed if not (work["best_peer"] or "").startswith(OURSELVES)]
    decided = [work for work in contests if work["ratio"] is not None]
    won = sum(work["ratio"]["low"] > 1.0 for work in decided)
    lost = sum(work["ratio"]["high"] < 1.0 for work in decided)
    yield f"## {'Results' if number is None else f'Run {number}'}\n"
    yield (
        f"Measured {run['measured']} on {cores} cores ({machine['processor']}), which read "
        f"{reads:.0f} GB/s and compute {computes:.0f} GFLOP/s in float64; {run['repeats']} round"
        + ("s" if run["repeats"] > 1 else "")
        + _minutes(run["workloads"])
        + ". Versions: "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + f".\n\nOf {len(contests)} works separatrix is faster in {won} and slower in {lost}; in "
        f"{len(decided) - won - lost} the spread of the rounds leaves it open"
        + (
            f", and {len(contests) - len(decided)} have no ratio.\n"
            if contests != decided
            else ".\n"
        )
    )
    yield "| work | best peer | its time / ours | spread | ours | checks |"
    yield "|---|---|---|---|---|---|"
    yield from (_row(work) for work in listed)
    yield ""
    yield from _growth([work for work in run["workloads"] if "growth" in work])
    if run["skipped"]:
        absent = ", ".join(sorted(run["skipped"]))
        yield f"Not installed there, and so not in these tables: {absent}.\n"


def _minutes(works: Sequence[Record]) -> str:
    """Total time of these works, including data, trials and judging, if all record it."""
    seconds = [work.get("wall_seconds") for work in works]
    known = [each for each in seconds if each is not None]
    return f", {sum(known) / 60.0:.0f} minutes in all" if len(known) == len(seconds) else ""


def _row(work: Record) -> str:
    """One contest: above 1, separatrix is faster; below 1, slower."""
    ours = next(each for each in work["contestants"] if each["name"].startswith("separatrix"))
    wrong = [check["text"] for check in work["agreement"] if not check["holds"]]
    agreement = "; ".join(wrong) if wrong else "agree"
    seconds = "" if ours["median_seconds"] is None else _seconds(ours["median_seconds"])
    name = f"`{work['name']}`: {work['title']}"
    if work["ratio"] is None:
        return f"| {name} | {work['best_peer'] or 'none'} | no ratio | | {seconds} | {agreement} |"
    ratio = work["ratio"]
    figure = f"{ratio['median']:.2f}" if ratio["median"] >= 1.0 else f"**{ratio['median']:.2f}**"
    spread = f"{ratio['low']:.2f} to {ratio['high']:.2f}"
    return f"| {name} | {work['best_peer']} | {figure} | {spread} | {seconds} | {agreement} |"


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if value * scale >= 1.0:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def _growth(works: Sequence[Record]) -> Iterator[str]:
    if not works:
        return
    yield "How times grow: the power of the size that fits them best.\n"
    yield "| work | sizes | powers |"
    yield "|---|---|---|"
    for work in works:
        powers = ", ".join(
            f"{line['name']} {'unknown' if line['slope'] is None else format(line['slope'], '.2f')}"
            for line in work["growth"]
        )
        values = ", ".join(f"{value:,}" for value in work["values"])
        yield f"| `{work['name']}` | {work['axis']}: {values} | {powers} |"
    yield ""


def _missing(runs: Sequence[Record]) -> Iterator[str]:
    from .workloads import WORKLOADS

    known = {work["name"] for run in runs for work in run["workloads"]}
    missing = [name for name in WORKLOADS if name not in known]
    if missing:
        yield "Works of the suite that these runs did not have: " + ", ".join(
            f"`{name}`" for name in missing
        ) + ".\n"  # fmt: skip


def write(runs: Sequence[Record]) -> None:
    """Into the page, between its marks."""
    before, rest = PAGE.read_text().split(BEGIN)
    tables = "\n".join(lines(runs))
    PAGE.write_text(before + BEGIN + "\n" + tables + "\n" + END + rest.split(END)[1])


def main(paths: Sequence[str]) -> None:
    runs: list[Any] = json.loads(KEPT.read_text()) if KEPT.exists() else []
    if paths:
        runs = merged([*runs, *(kept(Path(each)) for each in paths)])
        KEPT.write_text(json.dumps(runs, indent=1) + "\n")
    write(runs)


if __name__ == "__main__":
    main(sys.argv[1:])

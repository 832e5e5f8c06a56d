"""Output of a run: a table, JSON, and a plot.

``python -m benchmarks.report FILE.json ...`` combines stored runs to one Markdown table.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .contest import Contestant, Entry, Outcome, Ratio
from .registry import Series, Workload

Record = dict[str, Any]


def record(workload: Workload, outcome: Outcome) -> Record:
    """A contest as plain numbers and strings."""
    best, ours = outcome.best_peer, outcome.ours
    ranked = best is not None and ours.enough
    return {
        "name": workload.name,
        "title": outcome.contest.title,
        **outcome.contest.facts,
        "quality": outcome.contest.judge.name,
        "optimum": outcome.contest.judge.best,
        "reads": outcome.contest.reads,
        "contestants": [_entry(outcome, entry) for entry in outcome.entries],
        "best_peer": best.name if best else None,
        "ratio": asdict(outcome.ratio(best)) if best and ranked else None,
        "goal": workload.goal,
        "limits": [
            {"contestant": name, "limit": outcome.contest.limits[name].name, **asdict(ratio)}
            for name, ratio in outcome.limits.items()
        ],
        "share": workload.share,
        "agreement": [asdict(check) for check in outcome.checks],
    }


def _entry(outcome: Outcome, entry: Entry) -> Record:
    return {
        "name": entry.name,
        "setting": entry.setting,
        "seconds": entry.seconds,
        "median_seconds": entry.median,
        "ratio": asdict(outcome.ratio(entry)),
        "quality": outcome.contest.judge.excess(entry.value),
        "good_enough": entry.enough,
        "note": entry.note,
        "extra_bytes": entry.extra_bytes,
    }


def growth(series: Series, values: Sequence[int], outcomes: Sequence[Outcome]) -> Record:
    """Medians along the axis, and the power of the value that fits them best."""
    lines = []
    for entry in outcomes[0].entries:
        seconds = [_median(outcome, entry.contestant) for outcome in outcomes]
        known = [(v, s) for v, s in zip(values, seconds, strict=True) if math.isfinite(s)]
        lines.append({"name": entry.name, "median_seconds": seconds, "slope": slope(known)})
    checks = [asdict(check) for outcome in outcomes for check in outcome.checks]
    return {
        "name": series.name,
        "title": outcomes[-1].contest.title,
        "axis": series.axis,
        "values": list(values),
        "growth": lines,
        "agreement": checks,
    }


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """Slope of the straight line that fits the logarithms best, for two or more points."""
    if len(points) < 2:
        return None
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def _median(outcome: Outcome, contestant: Contestant) -> float:
    """NaN if it did not take part at this size, or was not good enough."""
    found = [entry for entry in outcome.entries if entry.name == contestant.name and entry.enough]
    return found[0].median if found else math.nan


# ---- to read ---------------------------------------------------------------------------------


def lines(record: Record) -> Iterator[str]:
    """A record as a table."""
    yield f"\n{record['name']}: {record['title']}"
    yield from _growth_lines(record) if "growth" in record else _contest_lines(record)
    checks = record["agreement"]
    if "growth" in record and all(check["holds"] for check in checks):
        checks = [{"holds": True, "text": f"in all of {len(checks)} checks"}]
    for check in checks:
        yield f"  {'agrees ' if check['holds'] else 'DIFFERS'} {check['text']}"


def _growth_lines(record: Record) -> Iterator[str]:
    yield f"  {record['axis']:<42}" + "".join(f"{value:>12,}" for value in record["values"])
    for line in record["growth"]:
        seconds = "".join(f"{value:>10.4f} s" for value in line["median_seconds"])
        power = "-" if line["slope"] is None else f"{line['slope']:.2f}"
        yield f"  {line['name']:<42}{seconds}   grows as {record['axis']}^{power}"


def _contest_lines(record: Record) -> Iterator[str]:
    yield f"  {'':<42}{'setting':>8}{'median':>13}{'x ours':>9}  {'spread':<18}{record['quality']}"
    for entry in record["contestants"]:
        if math.isinf(entry["median_seconds"]):
            yield f"  {entry['name']:<42}   {entry['note']}"
            continue
        setting = "" if entry["setting"] is None else f"{entry['setting']:g}"
        yield (
            f"  {entry['name']:<42}{setting:>8}{_seconds(entry['median_seconds']):>13}"
            f"{entry['ratio']['median']:>9.2f}  {_spread(entry['ratio']):<18}"
            f"{entry['quality']:.1e}" + (f"   {entry['note']}" if entry["note"] else "")
        )
    yield _verdict(record)
    for limit in record["limits"]:
        yield "  " + _limit(record, limit)
    for entry in record["contestants"]:
        if entry["extra_bytes"] is not None:
            yield "  " + _memory(record, entry)


def _verdict(record: Record) -> str:
    ours = next(entry for entry in record["contestants"] if entry["name"].startswith("separatrix"))
    if not ours["good_enough"]:
        return "  separatrix is not good enough with any setting: no ratio"
    if record["ratio"] is None:
        return "  no peer is good enough: no ratio"
    ratio = record["ratio"]
    goal = ""
    if record["goal"] is not None:
        reached = "reached" if ratio["median"] >= record["goal"] else "MISSED"
        goal = f"; goal {record['goal']:g} x {reached}"
    best = f"best peer {record['best_peer']}"
    return f"  {best}: {ratio['median']:.2f} x our time ({_spread(ratio)}){goal}"


def _limit(record: Record, limit: Record) -> str:
    """The fraction of the limit, also as a number of reads of the data."""
    goal = ""
    if record["share"] is not None:
        reached = "reached" if limit["median"] >= record["share"] else "MISSED"
        goal = f"; goal {record['share']:g} {reached}"
    reads = record["reads"] / limit["median"]
    share = f"{limit['contestant']}: {limit['median']:.3f} ({_spread(limit)}) of the limit"
    return (
        f"{share}; its time is that of {reads:.1f} reads by {limit['limit']}, where "
        f"{record['reads']:g} must be{goal}"
    )


def _memory(record: Record, entry: Record) -> str:
    """Extra memory, compared with the limit for fits: a tenth of X and 40 bytes a row."""
    extra, rows = entry["extra_bytes"], record["rows"]
    allowed = 0.1 * record["bytes"] + 40 * rows
    return (
        f"extra memory of {entry['name']}: {extra / 1e6:,.1f} MB, {extra / record['bytes']:.3f} of "
        f"X, {extra / rows:,.0f} bytes a row (0.1 X and 40 bytes a row are {allowed / 1e6:,.1f} "
        f"MB; d^2 numbers {8e-6 * record['columns'] ** 2:,.1f} MB)"
    )


def _spread(ratio: Mapping[str, float] | Ratio) -> str:
    found = asdict(ratio) if isinstance(ratio, Ratio) else ratio
    return f"{found['low']:.2f} to {found['high']:.2f}"


def _seconds(value: float) -> str:
    return f"{value:.4f} s" if value >= 1e-3 else f"{1e6 * value:.1f} us"


def markdown(runs: Sequence[Record]) -> Iterator[str]:
    """A table of ratios over some runs, followed by the peers that were not installed."""
    yield "| `make bench ONLY=` | work | best peer | ratio |"
    yield "|---|---|---|---|"
    for work in (each for run in runs for each in run["workloads"] if "growth" not in each):
        ratio = work["ratio"]
        figure = "no ratio" if ratio is None else f"{ratio['median']:.3g}"
        yield f"| `{work['name']}` | {work['title']} | {work['best_peer'] or 'none'} | {figure} |"
    missing = sorted({peer for run in runs for peer in run["skipped"]})
    if missing:
        yield ""
        yield f"Not installed on the machine that measured: {', '.join(missing)}."


# ---- to keep ---------------------------------------------------------------------------------


def write_json(path: Path, run: Record) -> None:
    """Write the whole run after each workload, so that an interrupted run is not lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_plain(run), indent=1) + "\n")


def _plain(value: Any) -> Any:
    """Convert to JSON types: no NumPy numbers, and no infinities."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plot(path: Path, run: Record) -> str:
    """Plot the ratios with their spread, and growth; return where, or why there is no plot."""
    try:
        import matplotlib.figure
    except ImportError as error:
        return f"no plot: {error}"
    contests = [each for each in run["workloads"] if each.get("ratio")]
    grown = [each for each in run["workloads"] if "growth" in each]
    if not contests and not grown:
        return "no plot: nothing to draw"
    heights = [0.3 * len(contests) + 1.2, 3.0 * math.ceil(len(grown) / 3)]
    figure: Any = matplotlib.figure.Figure(figsize=(11, sum(heights)), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[max(each, 0.01) for each in heights])
    if contests:
        _draw_ratios(above.add_subplot(), contests)
    for place, record in enumerate(grown):
        _draw_growth(below.add_subplot(math.ceil(len(grown) / 3), 3, place + 1), record)
    figure.savefig(path, dpi=120)
    return f"plot: {path}"


def _draw_ratios(axes: Any, contests: Sequence[Record]) -> None:
    ratios = [each["ratio"] for each in contests]
    middle = np.array([ratio["median"] for ratio in ratios])
    spread = [middle - [r["low"] for r in ratios], [r["high"] for r in ratios] - middle]
    places = np.arange(len(contests))
    axes.barh(places, middle, xerr=spread, color="#4878a8", ecolor="#303030", capsize=2)
    goals = [(place, each["goal"]) for place, each in enumerate(contests) if each["goal"]]
    if goals:
        axes.plot(*np.array(goals).T[::-1], "|", color="#c03028", markersize=12, label="goal")
        axes.legend()
    axes.set_yticks(places, [f"{each['name']} ({each['best_peer']})" for each in contests])
    axes.invert_yaxis()
    axes.axvline(1.0, color="#303030", linewidth=0.8)
    axes.set_xlabel("time of the best peer / time of separatrix")


def _draw_growth(axes: Any, record: Record) -> None:
    for line in record["growth"]:
        power = "" if line["slope"] is None else f" ^{line['slope']:.2f}"
        axes.loglog(record["values"], line["median_seconds"], "o-", label=line["name"] + power)
    axes.set_xticks(record["values"], [f"{value:,}" for value in record["values"]])
    axes.minorticks_off()
    axes.set_title(record["name"], fontsize="small")
    axes.set_xlabel(record["axis"])
    axes.set_ylabel("seconds")
    axes.legend(fontsize="xx-small")


if __name__ == "__main__":
    print("\n".join(markdown([json.loads(Path(each).read_text()) for each in sys.argv[1:]])))

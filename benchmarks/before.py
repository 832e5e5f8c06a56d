"""Compare the times of two checkouts of this library, on the same works in turn.

    git worktree add ../earlier COMMIT && make -C ../earlier .venv/installed-docs,test
    python -m benchmarks.before ../earlier                       all works that both have
    python -m benchmarks.before ../earlier 'text-*' --rounds 9   some

Each side is a process with the checkout's own interpreter and its own suite (``turns``); works with
the same name are compared if they have the same title. Both must reach the objective that this
checkout's judge requires. They run in turn, and the first side changes from round to round; a
figure is the median over the rounds of the earlier seconds over the current ones: above 1 is faster
than before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .contest import Ratio
from .registry import SIZES, select

ROOT = Path(__file__).resolve().parent.parent
PYTHON = Path(".venv", "bin", "python")
SLOWER = 0.95  # the smallest ratio that does not count as slower


class Side:
    """The process of one checkout: ``ask`` sends a method of ``turns.Side`` and waits."""

    def __init__(self, checkout: Path, python: str | Path) -> None:
        path = os.pathsep.join([str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [python, "-P", ROOT / "benchmarks" / "turns.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip

    def ask(self, method: str, *arguments: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([method, *arguments]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{method} of {arguments} ended the process; it said why above")
        return json.loads(answer)

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()  # it ends with its input


def compare(before: Side, now: Side, name: str, size: str, rounds: int) -> Iterator[dict[str, Any]]:
    """For each separatrix contestant on both sides: seconds of both, and their ratio."""
    for side in (before, now):
        side.ask("take", name, size)
    while title := now.ask("build"):
        if (other := before.ask("build")) != title:
            print(f"{name}: not compared, the work has changed: {other}, now {title}")
            continue
        chosen = now.ask("choose", None)
        earlier = before.ask("choose", chosen["best"])
        if [entry[0] for entry in chosen["entries"]] != [entry[0] for entry in earlier["entries"]]:
            print(f"{name}: not compared, the contestants have changed")
            continue
        for which, (who, _, enough) in enumerate(chosen["entries"]):
            seconds: dict[Side, list[float]] = {before: [], now: []}
            for turn in range(rounds):
                for side in (before, now) if turn % 2 else (now, before):
                    seconds[side].append(side.ask("turn", which))
            ratio = Ratio.of(seconds[before], seconds[now])
            yield {
                "name": name, "title": title, "contestant": who,
                "good_enough": [earlier["entries"][which][2], enough],
                "before": seconds[before], "now": seconds[now],
                "ratio": [ratio.median, ratio.low, ratio.high],
            }  # fmt: skip


def line(record: dict[str, Any]) -> str:
    median, low, high = record["ratio"]
    best = min(record["before"]), min(record["now"])
    missed = [
        when
        for when, good in zip(("before", "now"), record["good_enough"], strict=True)
        if not good
    ]
    return (
        f"{median:6.2f} ({low:.2f} to {high:.2f})  {record['name']}, {record['contestant']}: "
        f"{best[0]:.4g} s, now {best[1]:.4g} s"
        + "".join(f"; not good enough {when}" for when in missed)
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.before", description="Before and now.")
    parser.add_argument("checkout", type=Path, help="an earlier checkout with its .venv built")
    parser.add_argument("names", nargs="*", help="workloads or patterns; all if none is given")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default 5)")
    parser.add_argument("--results", type=Path, help="a file for a line of JSON each")
    return parser.parse_intermixed_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    checkout = options.checkout.resolve()
    if not (checkout / PYTHON).exists():
        build = f"make -C {options.checkout} .venv/installed-docs,test"
        print(f"{checkout / PYTHON} is missing: build it with `{build}`", file=sys.stderr)
        return 2
    from . import workloads  # noqa: F401  registers them

    try:
        names = select(options.names)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with Side(checkout, checkout / PYTHON) as before:
        known = set(before.ask("names"))
    print("seconds before / seconds now: median (least to most) of the rounds; best seconds")
    slower = []
    for name in (name for name in names if name in known):
        with Side(checkout, checkout / PYTHON) as before, Side(ROOT, sys.executable) as now:
            for record in compare(before, now, name, options.size, options.rounds):
                print(line(record), flush=True)
                if options.results:
                    with options.results.open("a") as file:
                        file.write(json.dumps(record) + "\n")
                if record["ratio"][0] < SLOWER:
                    slower.append(f"{record['name']}, {record['contestant']}")
    unknown = [name for name in names if name not in known]
    print(f"not known to the earlier checkout: {', '.join(unknown) or 'none'}")
    print(f"slower by more than 5 %: {'; '.join(slower) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

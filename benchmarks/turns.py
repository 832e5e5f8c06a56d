"""One side of ``benchmarks.before``: a process that holds a work and runs it on request.

It uses the checkout on its path, which may be an older one, so it needs little of the
``benchmarks`` there. It reads a line of JSON and answers with a line.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.contest import Contest, Entry, calls_for, choose, clock, rest
from benchmarks.registry import Series, Workload
from benchmarks.workloads import WORKLOADS

READING = 0.2  # seconds: shorter calls are made several times per reading of the clock


def contests(found: Workload | Series, size: str) -> Iterator[Contest]:
    if isinstance(found, Series):
        yield from (contest for _, contest in found.build(size))
    else:
        yield found.build(size)


class Side:
    """The built work, and the settings that were good enough."""

    def __init__(self) -> None:
        self.contests: Iterator[Contest] = iter(())
        self.contest: Contest | None = None
        self.entries: list[Entry] = []

    def names(self) -> list[str]:
        return list(WORKLOADS)

    def take(self, name: str, size: str) -> None:
        self.contests = contests(WORKLOADS[name], size)

    def build(self) -> str | None:
        """The title of the next contest of the work; None after the last."""
        self.contest = next(self.contests, None)
        return None if self.contest is None else self.contest.title

    def choose(self, best: float | None) -> dict[str, Any]:
        """The separatrix contestants with their settings; ``best`` is the best of the other side.

        Otherwise the best objective is from the strictest separatrix setting: no peer is run.
        """
        contest = self.contest
        assert contest is not None, "build comes first"
        judge = contest.judge
        self.entries = [Entry(each) for each in contest.contestants if each.ours]
        if best is None and judge.relative:
            strict = [each.contestant for each in self.entries]
            best = min(judge.measure(one.read(one.run(one.settings[-1]))) for one in strict)
        if best is not None:
            judge.reference = lambda: best
        choose(self.entries, judge)
        entries = [(each.name, each.setting, each.enough) for each in self.entries]
        return {"best": judge.best, "entries": entries}

    def turn(self, number: int) -> float:
        entry = self.entries[number]
        seconds, _ = clock(entry.contestant, entry.setting, calls_for(entry.trial, READING))
        rest()  # spinning threads would slow down the other side
        return seconds


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    side = Side()
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        print(json.dumps(getattr(side, method)(*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    main()

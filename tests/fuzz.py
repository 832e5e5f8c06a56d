"""Random cases of every kind, each in a process that may crash, hang or run out of memory.

    python tests/fuzz.py --seconds 600
    python tests/fuzz.py --kind claims --seed 78025 --only

Each kind gets an equal share of the time. A finding is a claim that does not hold, an error of the
wrong kind, a crash, or a case that takes longer than ``PATIENCE`` or more memory than ``MEMORY``;
it is printed with the kind and seed that reproduce it.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import multiprocessing
import resource
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

KINDS = (
    "claims", "options", "predictions", "model_files", "checkpoints", "skops_files", "tables",
    "caches", "requests",
)  # fmt: skip
PATIENCE = 120.0  # seconds
MEMORY = 4 << 30  # bytes of address space beyond what the process has when it starts
SHOWN = 20  # findings that are printed in full


def cases(kind: str, seed: int, limited: bool, to: Connection) -> None:
    """Run one case after another, and report each before and after it."""
    one = importlib.import_module(f"fuzzers.{kind}").one
    if limited:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    while True:
        to.send(("began", seed))
        try:
            to.send(("held", one(seed)))
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            what = f"{type(error).__name__} {str(error)[:400]!r} ({where})"
            to.send(("failed", what))
        seed += 1


class Fuzzer:
    """One kind, in a process that is replaced when it dies or does not answer."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed
        self.held: collections.Counter[str] = collections.Counter()
        self.failed: list[tuple[int, str]] = []
        self.process: Any = None

    def run(self, seconds: float) -> None:
        """Cases until the time is over."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            receiver = self._started()
            try:
                while time.monotonic() < until:
                    if not receiver.poll(PATIENCE):
                        self._fail(f"took more than {PATIENCE:g} s")
                        break
                    self._take(*receiver.recv())
            except EOFError:
                self.process.join()
                self._fail(f"the process ended with exit code {self.process.exitcode}")
            finally:
                self.process.kill()
                self.process.join()
                self.seed += 1

    def _started(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        limited = sys.platform == "linux" and self.kind not in ("claims", "options", "predictions")
        given = (self.kind, self.seed, limited, sender)
        self.process = context.Process(target=cases, args=given, daemon=True)
        self.process.start()
        sender.close()
        return receiver

    def _take(self, event: str, what: Any) -> None:
        if event == "held":
            self.held[what] += 1
        elif event == "failed":
            self._fail(what)
        if event == "began":
            self.seed = what

    def _fail(self, what: str) -> None:
        self.failed.append((self.seed, what))
        if len(self.failed) <= SHOWN:
            print(f"{self.kind}, seed {self.seed}: {what}", flush=True)

    def report(self) -> None:
        """Counts of every outcome."""
        for what, count in sorted(self.held.items()):
            print(f"{count:7d}  {self.kind}: {what}")
        print(f"{self.kind}: {sum(self.held.values())} held, {len(self.failed)} failed")


def main() -> int:
    """1 if there was a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all kinds together")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--only", action="store_true", help="that case alone, with its traceback")
    given = parser.parse_args()
    kinds = given.kind or KINDS
    if given.only:
        for kind in kinds:
            print(f"{kind}: {importlib.import_module(f'fuzzers.{kind}').one(given.seed)}")
        return 0
    fuzzers = [Fuzzer(kind, given.seed) for kind in kinds]
    for fuzzer in fuzzers:
        fuzzer.run(given.seconds / len(fuzzers))
    for fuzzer in fuzzers:
        fuzzer.report()
    return int(any(fuzzer.failed for fuzzer in fuzzers))


if __name__ == "__main__":
    sys.exit(main())

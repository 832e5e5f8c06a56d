"""A model of what a pass over a cluster costs, fitted to measured passes by least squares.

A pass takes the sum of the products of its costs with their counts:

    latency     once
    rows        seconds of the rows of the worker with the most parts
    parts       parts of that worker
    workers     calls, one to each worker
    out         bytes of weights, one copy for each worker
    back        bytes of sums, one for each whole subtree that a worker sends
    depth       levels of the tree over the parts

Costs are those of least squared relative errors, and none is negative (Lawson and Hanson, 1974,
chapter 23: scipy.optimize.nnls).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import nnls

from separatrix.numeric.tree_sum import Node, TreeSum

COSTS = ("latency", "rows", "parts", "workers", "out", "back", "depth")
HELD_OUT = 3  # one of this many settings is held out from the fit
MOST_WORKERS = 128
PAYS = 1.15  # smallest speedup that is worth twice the workers


@dataclass(frozen=True)
class Setting:
    """One pass: number of workers and parts, bytes out and back, seconds of all rows."""

    workers: int
    parts: int
    out: int
    back: int
    seconds: float

    def counts(self) -> list[float]:
        """Factors of each of the costs."""
        cuts = [worker * self.parts // self.workers for worker in range(self.workers + 1)]
        runs = [range(*ends) for ends in pairwise(cuts)]
        most = max(len(run) for run in runs)
        subtrees = sum(len(TreeSum(Node(0, leaf, None) for leaf in run).nodes) for run in runs)
        return [
            1.0,
            self.seconds * most / self.parts,
            most,
            self.workers,
            self.workers * self.out,
            subtrees * self.back,
            (self.parts - 1).bit_length(),
        ]


@dataclass(frozen=True)
class Model:
    """The cost of each, in seconds."""

    costs: Mapping[str, float]

    @classmethod
    def fitted(cls, settings: Sequence[Setting], seconds: Any) -> Model:
        """Fit to passes with these times."""
        counts = np.array([each.counts() for each in settings])
        scale = np.where(counts.any(axis=0), np.abs(counts).max(axis=0), 1.0)
        relative = counts / scale / np.asarray(seconds)[:, None]
        found, _ = nnls(relative, np.ones(len(settings)))
        return cls(dict(zip(COSTS, (found / scale).tolist(), strict=True)))

    def seconds(self, setting: Setting) -> float:
        """Predicted seconds of a pass."""
        return float(np.dot(setting.counts(), [self.costs[name] for name in COSTS]))

    def errors(self, settings: Sequence[Setting], seconds: Any) -> Any:
        """Relative errors of every setting."""
        return np.array([self.seconds(each) for each in settings]) / seconds - 1.0


def settings_of(record: Sequence[Mapping[str, Any]]) -> list[Setting]:
    """The settings in a record."""
    return [Setting(**{name: each[name] for name in Setting.__annotations__}) for each in record]


def held_out(record: Sequence[Mapping[str, Any]], of: str) -> dict[str, Any]:
    """The model of all settings; its errors if a third, or the most workers, are held out."""
    settings, seconds = settings_of(record), np.array([each[of] for each in record])
    order = np.random.default_rng(0).permutation(len(settings))
    most = max(each.workers for each in settings)
    masks = {
        "a third": np.isin(np.arange(len(settings)), order[::HELD_OUT]),
        f"all of {most} workers": np.array([each.workers == most for each in settings]),
    }
    errors = {}
    for name, out in masks.items():
        kept = [each for each, is_out in zip(settings, out, strict=True) if not is_out]
        rest = [each for each, is_out in zip(settings, out, strict=True) if is_out]
        found = np.abs(Model.fitted(kept, seconds[~out]).errors(rest, seconds[out]))
        errors[name] = {"median": float(np.median(found)), "most": float(found.max())}
    return {"model": Model.fitted(settings, seconds), "errors": errors}


@dataclass(frozen=True)
class Apart:
    """Passes of workers on separate machines that share one client and scheduler.

    The work of one worker takes as long as a pass with only this worker, minus the share of client
    and scheduler in it; workers run in parallel. The work of client and scheduler for all workers
    is sequential. The network is assumed to cost as much as within one machine.
    """

    whole: Model
    """Model of passes whose processes share one machine."""
    middle: Model
    """Model of the processor time of client and scheduler in them."""

    def seconds(self, setting: Setting) -> float:
        """Predicted seconds of a pass."""
        most = -(-setting.parts // setting.workers)
        share = setting.seconds * most / setting.parts
        alone = Setting(1, most, setting.out, setting.back, share)
        side_by_side = self.whole.seconds(alone) - self.middle.seconds(alone)
        return max(0.0, side_by_side) + self.middle.seconds(setting)


def best_workers(model: Model | Apart, work: Setting) -> int:
    """Number of workers with the shortest pass: more workers make it longer."""
    return min(range(1, MOST_WORKERS + 1), key=lambda workers: model.seconds(on(work, workers)))


def paying_workers(model: Model | Apart, work: Setting) -> int:
    """The last of 1, 2, 4, ... workers whose pass is enough shorter than with half as many."""
    last = 1
    while 2 * last <= MOST_WORKERS:
        if model.seconds(on(work, last)) < PAYS * model.seconds(on(work, 2 * last)):
            break
        last *= 2
    return last


def on(work: Setting, workers: int) -> Setting:
    """The same rows and weights on another number of workers, a part for each."""
    return replace(work, workers=workers, parts=workers)

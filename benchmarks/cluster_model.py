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
HELD_OUT = 3  # of every so many settings one is kept from the fit
MOST_WORKERS = 128
PAYS = 1.15  # times as fast: less is not worth twice the workers


@dataclass(frozen=True)
class Setting:
    """Of a pass: a number of workers and parts, bytes out and back, seconds of all rows."""

    workers: int
    parts: int
    out: int
    back: int
    seconds: float

    def counts(self) -> list[float]:
        """Of each of the costs."""
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
        """To passes that took so long."""
        counts = np.array([each.counts() for each in settings])
        scale = np.where(counts.any(axis=0), np.abs(counts).max(axis=0), 1.0)
        relative = counts / scale / np.asarray(seconds)[:, None]
        found, _ = nnls(relative, np.ones(len(settings)))
        return cls(dict(zip(COSTS, (found / scale).tolist(), strict=True)))

    def seconds(self, setting: Setting) -> float:
        """Of a pass."""
        return float(np.dot(setting.counts(), [self.costs[name] for name in COSTS]))

    def errors(self, settings: Sequence[Setting], seconds: Any) -> Any:
        """Relative, of every setting."""
        return np.array([self.seconds(each) for each in settings]) / seconds - 1.0


def settings_of(told: Sequence[Mapping[str, Any]]) -> list[Setting]:
    """Of what was written down."""
    return [Setting(**{name: each[name] for name in Setting.__annotations__}) for each in told]


def held_out(told: Sequence[Mapping[str, Any]], of: str) -> dict[str, Any]:
    """The model of all settings; its errors if a third, or the most workers, are held out."""
    settings, seconds = settings_of(told), np.array([each[of] for each in told])
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
    """Passes of workers that have machines of their own, but wait for one client and scheduler.

    What one worker does is as long as a pass of it alone, less what client and scheduler do in it;
    all do it side by side. What client and scheduler do for all of them is done one after another.
    The network between them costs what it costs within one machine.
    """

    whole: Model
    """Of passes whose processes share one machine."""
    middle: Model
    """Of the processor of client and scheduler in them."""

    def seconds(self, setting: Setting) -> float:
        """Of a pass."""
        most = -(-setting.parts // setting.workers)
        share = setting.seconds * most / setting.parts
        alone = Setting(1, most, setting.out, setting.back, share)
        side_by_side = self.whole.seconds(alone) - self.middle.seconds(alone)
        return max(0.0, side_by_side) + self.middle.seconds(setting)


def best_workers(model: Model | Apart, work: Setting) -> int:
    """How many make the shortest pass: more make it longer."""
    return min(range(1, MOST_WORKERS + 1), key=lambda workers: model.seconds(on(work, workers)))


def paying_workers(model: Model | Apart, work: Setting) -> int:
    """The last of 1, 2, 4, ... whose pass is so much shorter than that of half as many."""
    last = 1
    while 2 * last <= MOST_WORKERS:
        if model.seconds(on(work, last)) < PAYS * model.seconds(on(work, 2 * last)):
            break
        last *= 2
    return last


def on(work: Setting, workers: int) -> Setting:
    """The same rows and weights on another number of workers, a part for each."""
    return replace(work, workers=workers, parts=workers)

"""Dual coordinate ascent for one-vs-rest losses.

Problem: ``max_alpha D(alpha)``, the dual of ``J(W) = sum_c J_c(w_c)``, where J_c is the two-class
objective of class c against all others on the same rows. Input: as for two classes. Output:
weights, dual variables alpha (n, k), J and the bound D, which are sums over the classes.

Algorithm: rounds of two-class ascent (see ``binary_coordinate_ascent``) for every class whose gap
is still too large. Threads share the classes, which are independent: the bits do not depend on the
number of threads. A row that is settled for all classes but one is visited for that class only.
(Updating all classes of a row in one visit took a third longer on text, and left no work for a
second thread.)

Papers: Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML 2008; R. Rifkin and A. Klautau, In defense of one-vs-all
classification, JMLR 5 (2004).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...numeric.expected import Check, array, entries, whole
from ...numeric.threads import ordered_sum
from ...numeric.types import Array
from ...objective import Objective
from ..base import State
from .binary_coordinate_ascent import PHASE, CoordinateAscentRun, begun, binary_state, resumed
from .solver import DualIterate

# Of J_c, at the end of the first round, as tolerances are: one more decade of epochs costs up to
# a fifth of a fit to text, a proof for all classes a quarter.
FIRST_GAP = 1e-6


def one_vs_rest_iterates(
    objective: Objective,
    W: Array,
    rng: np.random.Generator,
    state: State | None,
    alpha: Array | None = None,
) -> Iterator[tuple[DualIterate, State]]:
    """One iterate per round, without end, with the best J_c and bound of every class."""
    objective.row_norm2  # noqa: B018 (cached for all classes)
    columns = [objective.column(c) for c in range(len(W))]
    source = objective.in_memory
    if state is None:
        runs = [
            begun(own, W[c, None], rng, None if alpha is None else alpha[:, c])
            for c, own in enumerate(columns)
        ]
        best, scores, gaps = np.zeros_like(W), np.zeros((len(source.y), len(W))), np.empty(0)
    else:
        runs = [resumed(own, _of_column(state, c)) for c, own in enumerate(columns)]
        best, scores, gaps = state["W"], state["scores"].copy(), state["gaps"]
    while True:
        lowest = [run.lowest for run in runs]
        _round(runs, _enough(runs, gaps), source.threads)
        gaps = np.append(gaps, sum(run.lowest - run.highest for run in runs))
        best = best.copy()
        for c, run in enumerate(runs):
            if run.lowest < lowest[c]:
                best[c], scores[:, c] = run.weights[0], run.scores
        at = DualIterate(
            best, sum(run.lowest for run in runs),
            float(source.weights @ objective.loss.mistakes(source.y, scores)),
            sum(run.highest for run in runs),
            alpha=lambda: np.column_stack([run.alpha for run in runs]),
        )  # fmt: skip
        own_states = {
            f"{c} {key}": value for c, run in enumerate(runs) for key, value in run.state().items()
        }
        yield at, own_states | {
            "phase": PHASE, "seed": runs[0].seed, "gaps": gaps, "W": best, "scores": scores.copy(),
        }  # fmt: skip


def one_vs_rest_state(objective: Objective, n: int) -> Check:
    """Checks for the state of the runs of all classes over n rows."""
    k = objective.shape[0]
    known = {
        "seed": whole(0, 2**63 - 1), "gaps": array(None), "W": array(*objective.shape),
        "scores": array(n, k),
    }  # fmt: skip
    of_class = binary_state(objective.column(0), n)

    def check(name: str, state: State) -> None:
        entries(known)(name, {key: value for key, value in state.items() if " " not in key})
        own = [_of_column(state, number) for number in range(k)]
        if sum(map(len, own)) + len(known) != len(state):
            raise ValueError(f"{name} has entries of more than {k} classes")
        for number, each in enumerate(own):
            if each.pop("phase", None) != PHASE:
                raise ValueError(f"{name} of class {number} is of another method")
            of_class(f"{name} of class {number}", each)

    return check


def _of_column(state: State, number: int) -> State:
    head = f"{number} "
    return {key[len(head) :]: value for key, value in state.items() if key.startswith(head)}


def _enough(runs: list[CoordinateAscentRun], gaps: Array) -> float:
    """For every class, its part of the next power of ten of J below the last gap."""
    if not len(gaps):
        return FIRST_GAP  # of J_c, which is 1 at 0
    J = sum(run.lowest for run in runs)
    if not gaps[-1] > 0.0:
        return 0.0
    return float(J * 10.0 ** np.floor(np.log10(0.5 * gaps[-1] / J))) / len(runs)


def _round(runs: list[CoordinateAscentRun], enough: float, threads: int) -> None:
    """One round for all classes that are not close enough yet; for the farthest if all are."""
    gaps = [run.gaps[-1] if len(run.gaps) else np.inf for run in runs]
    far = [run for run, gap in zip(runs, gaps, strict=True) if gap > enough]

    def ascend(run: CoordinateAscentRun) -> tuple[int]:
        with np.errstate(all="ignore"):
            run.round(enough / min(1.0, run.lowest))
        return (1,)

    ordered_sum(ascend, far or [runs[int(np.argmax(gaps))]], threads)

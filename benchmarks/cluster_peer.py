"""dask-ml's logistic regression as the peer: the same rows, on the same workers of one cluster.

    pip install dask-ml

Its penalty is ``|w|^2 / (2 C)`` plus the sum of the losses, and its column for the intercept is
penalised too, so both sides fit without an intercept; by default it scales columns, and with them
the penalty, which is switched off. Then both minimise the same objective, computed for all by
``problem.Problem``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix import LinearClassifier

from . import data, report
from .contest import OURS, Contest, Contestant, Judge, hold
from .problem import Plane, Problem
from .registry import Workload
from .workloads.facts import describe, facts

ROWS, QUICK_ROWS, COLUMNS, PARTS, WORKERS = 100_000, 20_000, 50, 8, 2
L2, WITHIN, GOAL = 1e-5, 1e-6, 10.0
TRIALS = 120.0  # seconds: its solvers need about a minute for a fit
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
# Its solvers that support the penalty: maximum iterations, and tolerances. The tolerance of lbfgs
# is the largest slope of the summed loss; the others are relative changes.
PEERS: dict[str, tuple[int, tuple[float, ...]]] = {
    "lbfgs": (1_000, (1e0, 1e-1, 1e-2)),
    "admm": (100, (1e-2, 1e-4)),
    "proximal_grad": (100, (1e-6, 1e-10)),
}


def contest(quick: bool) -> report.Record:
    """Hold the contest and return its record, on a separate cluster."""
    import dask_ml.linear_model  # noqa: F401  before anything starts: it may be missing
    from distributed import Client, LocalCluster

    X, y = data.correlated(QUICK_ROWS if quick else ROWS, COLUMNS)
    problem = Problem(X.astype("float64"), y, "logistic", L2, intercept=False)
    options: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "memory_limit": 0}
    with (
        LocalCluster(n_workers=WORKERS, dashboard_address=":0", **options) as cluster,
        Client(cluster) as client,
    ):
        outcome = hold(work(problem, client), 1 if quick else 3, trials=TRIALS)
    record = report.record(Workload("dask-ml", work, {}, GOAL), outcome)
    print("\n".join(report.lines(record)))
    plain: report.Record = report._plain(record)
    return plain


def work(problem: Problem, client: Any) -> Contest:
    """Rows are on the workers before timing starts."""
    import dask.array as da
    from distributed import wait

    each = -(-problem.n // PARTS)
    labels = (problem.y == problem.classes[1]).astype("float64")
    given = [da.from_array(problem.X, chunks=(each, -1)), da.from_array(labels, chunks=each)]
    X, y = client.persist(given)
    wait([X, y])
    return Contest(
        f"logistic to {WITHIN:g}, l2 = {L2:g}, no intercept, {describe(problem.X)}, {PARTS} parts "
        f"on {WORKERS} workers",
        [ours(problem, X, y), *theirs(problem, X, y)],
        Judge("excess objective", problem.value, lambda: optimum(problem), WITHIN, relative=True),
        facts(problem.X),
    )


def optimum(problem: Problem) -> float:
    """The optimum, computed in memory."""
    model = LinearClassifier(problem.loss, l2=L2, tol=1e-10, fit_intercept=False)
    return problem.value(Plane.of(model.fit(problem.X, problem.y)))


def ours(problem: Problem, X: Any, y: Any) -> Contestant:
    def fit(tol: float) -> Any:
        return LinearClassifier(problem.loss, l2=L2, tol=tol, fit_intercept=False).fit(X, y)

    return Contestant(OURS, fit, TOLERANCES, Plane.of)


def theirs(problem: Problem, X: Any, y: Any) -> Iterator[Contestant]:
    """dask-ml with each of its solvers."""
    from dask_ml.linear_model import LogisticRegression

    for solver, (iterations, settings) in PEERS.items():

        def fit(tol: float, solver: str = solver, iterations: int = iterations) -> Any:
            ends = {"abstol": tol, "reltol": tol} if solver == "admm" else {}
            return LogisticRegression(
                C=problem.C, tol=tol, fit_intercept=False, solver=solver,
                max_iter=iterations, solver_kwargs={"normalize": False, **ends},
            ).fit(X, y)  # fmt: skip

        yield Contestant(f"dask-ml {solver}", fit, settings, Plane.of)

"""Checks for the state of a run over rows that was read from a file."""

from __future__ import annotations

from ..numeric.expected import Check, array, at_least_0, entries, positive, real, whole

MOST_POWER = 1 << 12  # of two, in the unit of weights of rows


def expected_online_state(shape: tuple[int, int], average: bool) -> Check:
    """Checks the state of a run over rows with weights of this shape, or of a stream of them."""
    weights, power = array(*shape), whole(-MOST_POWER, MOST_POWER)
    counts = dict.fromkeys(("passes", "batches", "rows_before"), whole())
    needed = {
        **counts, "seed": whole(0, 2**63 - 1), "unit": positive,
        "weight_before": at_least_0, "weights": weights,
    }  # fmt: skip
    numbers = dict.fromkeys(("cumulative", "step_scale", "least"), real)
    total = {"sum": weights} if average else {}
    return entries(
        needed | total,
        {**numbers, "weight_power": power, "sum": weights, "received": weights},
    )

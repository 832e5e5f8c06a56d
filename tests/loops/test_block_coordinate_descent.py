"""The compiled block coordinate descent on a quadratic, against its twin and its conditions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from loops import twins

from separatrix import loops

STARTS = np.array([0, 1, 4, 5, 12, 14, 22])


def problem(seed, spread=0.0):
    """A quadratic that is diagonal within every block, whose curvatures differ."""
    rng = np.random.default_rng(seed)
    m = int(STARTS[-1])
    A = rng.standard_normal((m + 3, m)) * 10.0 ** rng.uniform(-spread, spread, m)
    H = A.T @ A
    for begin, end in pairwise(STARTS):
        _, Q = np.linalg.eigh(H[begin:end, begin:end])
        H[begin:end] = Q.T @ H[begin:end]
        H[:, begin:end] = H[:, begin:end] @ Q
        inside = np.diag(H.diagonal()[begin:end])
        H[begin:end, begin:end] = inside
    thresholds = rng.uniform(1.0, 25.0, len(STARTS) - 1)
    thresholds[0] = 0.0
    return H, thresholds, rng.standard_normal(m), 3.0 * rng.standard_normal(m)


@pytest.mark.parametrize("level", loops.levels())
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_the_compiled_loop_equals_its_twin(level, spread):
    H, thresholds, u, slope = problem(1, spread)
    H[0, :] = H[:, 0] = 0.0  # no curvature: it stays
    now, ends = loops.level(), []
    loops.use_level(level)
    try:
        for descend in (loops.block_coordinate_descent, twins.block_coordinate_descent):
            at, here = u.copy(), slope.copy()
            reported = descend(H, STARTS, thresholds, at, here, max_epochs=3, enough=1e-3)
            ends.append((at, here, reported))
    finally:
        loops.use_level(now)
    for compiled, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(compiled, twin, rtol=1e-9, atol=1e-9)
    assert ends[0][0][0] == u[0]
    assert ends[0][2].epochs == ends[1][2].epochs


@pytest.mark.parametrize("seed", range(5))
def test_the_end_is_the_minimum_and_the_slope_that_of_it(seed):
    H, thresholds, u, slope = problem(seed)
    start, first = u.copy(), slope.copy()
    reported = loops.block_coordinate_descent(
        H, STARTS, thresholds, u, slope, max_epochs=20_000, enough=1e-25
    )
    assert reported.epochs < 20_000
    np.testing.assert_allclose(slope, first + H @ (u - start), atol=1e-9)
    zeros = 0
    for begin, end, t in zip(STARTS[:-1], STARTS[1:], thresholds, strict=True):
        own, g = u[begin:end], slope[begin:end]
        if own.any():
            np.testing.assert_allclose(g, -t * own / np.linalg.norm(own), atol=1e-9)
        else:
            assert np.linalg.norm(g) <= t
            zeros += 1
    assert zeros < len(thresholds)
    assert seed or zeros


def test_an_epoch_gains_what_it_says_or_more():
    H, thresholds, u, slope = problem(7)
    first, start = slope.copy(), u.copy()

    def value(v):
        lengths = [np.linalg.norm(part) for part in np.split(v, STARTS[1:-1])]
        return first @ (v - start) + 0.5 * (v - start) @ H @ (v - start) + thresholds @ lengths

    before = value(u)
    for _ in range(5):
        reported = loops.block_coordinate_descent(
            H, STARTS, thresholds, u, slope, max_epochs=1, enough=0.0
        )
        after = value(u)
        assert reported.epochs == 1
        assert 0.0 < reported.gain <= (before - after) * (1.0 + 1e-9)
        before = after


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"starts": np.array([0, 2, 2, 3])}, "numbers that rise"),
        ({"starts": np.array([0, 2])}, r"starts: expected shape \(3,\)"),
        ({"thresholds": np.array([0.0, 1.0])}, "threshold and curvatures above 0"),
        ({"hessian": np.diag([0.0, 1.0, 1.0])}, "threshold and curvatures above 0"),
        ({"slope": np.zeros(2)}, r"slope: expected shape \(3,\)"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(change, why):
    given = {
        "hessian": np.eye(3), "starts": np.array([0, 2, 3]), "thresholds": np.ones(2),
        "u": np.zeros(3), "slope": np.zeros(3),
    } | change  # fmt: skip
    if "starts" in change:
        given["thresholds"] = np.ones(3 if len(change["starts"]) == 4 else 2)
    with pytest.raises(ValueError, match=why):
        loops.block_coordinate_descent(**given, max_epochs=1, enough=0.0)

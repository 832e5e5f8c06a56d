"""Products of weights: their sum with the same bits on any number of threads, and exact ones."""

from __future__ import annotations

import numpy as np

from .thresholds import ONE_THREAD_DOT
from .types import Array

SAFE_SQUARE = 1e-250  # a sum of squares: what of it underflowed does not count
SPLITTER = 2.0**27 + 1.0


def dot(a: Array, b: Array) -> float:
    """Sum of a * b, both of one shape.

    Of many not by BLAS: its threads change the last bits, and wait for more so eagerly that those
    of a solver are held up.
    """
    if a.size <= ONE_THREAD_DOT:
        return float(np.vdot(a, b))
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return float(np.einsum("i,i->", a.ravel(), b.ravel()))
    axes = "ijkl"[: a.ndim]
    return float(np.einsum(f"{axes},{axes}->", a, b))  # without a copy


def scaled_square(v: Array, by: float = 1.0, over: float = 1.0) -> float:
    """``by * |v|^2 / over``, also where the square of v alone leaves floating point."""
    square = dot(v, v)
    if SAFE_SQUARE < square < np.inf:
        return by * square / over
    with np.errstate(over="ignore"):
        scaled = v * (np.sqrt(by) / np.sqrt(over))
    return dot(scaled, scaled)


def exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as the nearest doubles and what these lack (Dekker, A floating-point technique, 1971).

    Of the mantissas, so that nothing overflows on the way.
    """
    (m, e), (n, f) = np.frexp(a), np.frexp(b)
    high = m * n
    (m_high, m_low), (n_high, n_low) = _halves(m), _halves(n)
    low = ((m_high * n_high - high) + m_high * n_low + m_low * n_high) + m_low * n_low
    return np.ldexp(high, e + f), np.ldexp(low, e + f)


def _halves(a: Array) -> tuple[Array, Array]:
    """Of 26 bits each, so that products of two are exact."""
    high = a * SPLITTER
    high -= high - a
    return high, a - high

"""Dot products with the same bits on any number of threads, and exact products."""

from __future__ import annotations

import numpy as np

from .thresholds import ONE_THREAD_DOT
from .types import Array

SAFE_SQUARE = 1e-250  # above it, the squares of a sum that underflowed are negligible
SPLITTER = 2.0**27 + 1.0  # Veltkamp's, for two halves of 26 binary digits


def dot(a: Array, b: Array) -> float:
    """Sum of a * b, both of the same shape.

    Large sums do not use BLAS: its threads change the last bits, and their busy waiting slows down
    the threads of a solver.
    """
    if a.size <= ONE_THREAD_DOT:
        return float(np.vdot(a, b))
    if a.flags.c_contiguous and b.flags.c_contiguous:
        return float(np.einsum("i,i->", a.ravel(), b.ravel()))
    axes = "ijkl"[: a.ndim]
    return float(np.einsum(f"{axes},{axes}->", a, b))  # without a copy


def scaled_square(v: Array, by: float = 1.0, over: float = 1.0) -> float:
    """``by * |v|^2 / over``, also if |v|^2 alone overflows or underflows."""
    # Called for every bound of a small fit, so without another layer.
    square = float(np.vdot(v, v)) if v.size <= ONE_THREAD_DOT else dot(v, v)
    if SAFE_SQUARE < square < np.inf:
        return by * square / over
    if square == 0.0 and not v.any():  # the start of most fits
        return 0.0
    with np.errstate(over="ignore"):
        scaled = v * (np.sqrt(by) / np.sqrt(over))
    return dot(scaled, scaled)


def exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b as the nearest doubles and their rounding errors.

    Dekker, A floating-point technique for extending the available precision (1971). Computed from
    the mantissas, so that nothing overflows on the way.
    """
    (m, e), (n, f) = np.frexp(a), np.frexp(b)
    high = m * n
    (m_high, m_low), (n_high, n_low) = _halves(m), _halves(n)
    low = ((m_high * n_high - high) + m_high * n_low + m_low * n_high) + m_low * n_low
    return np.ldexp(high, e + f), np.ldexp(low, e + f)


def exact_quotient(a: Array, b: Array) -> tuple[Array, Array]:
    """a / b as the nearest doubles, and remainders to twice the working precision."""
    high = a / b
    product, error = exact_product(high, b)
    return high, ((a - product) - error) / b


def pair_difference(a: Array, a_low: Array, b: Array, b_low: Array) -> tuple[Array, Array]:
    """Difference of two numbers in twice the working precision, each in two parts."""
    sum = a - b
    part = sum - a
    low = (a - (sum - part)) - (b + part) + (a_low - b_low)
    high = sum + low
    return high, (sum - high) + low


def _halves(a: Array) -> tuple[Array, Array]:
    """Split into halves of 26 bits, so that products of two halves are exact."""
    high = a * SPLITTER
    high -= high - a
    return high, a - high

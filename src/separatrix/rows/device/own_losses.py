"""Losses without kernels: their NumPy functions are called with arrays of the device.

NumPy passes its functions on to the library of their arguments (``__array_ufunc__`` and
``__array_function__``). A loss that uses anything else, such as SciPy, cannot take such arrays, and
gets copies in main memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from ...losses import Loss, MarginLoss
from ...numeric.types import AnyArray, Array
from .device import Device

log = logging.getLogger("separatrix")
MARGINS = np.array([-30.0, -1.5, -1.0, 0.0, 0.25, 1.0, 2.0, 40.0])
CLOSE = 1e-12  # relative difference between a function on the device and on the host


def takes_device_arrays(device: Device, loss: Loss, k: int) -> MarginLoss | None:
    """The loss of two classes if its functions compute on the device what they do on the host."""
    own = loss.column_loss
    if own is None or k > 1:
        return None
    functions = [own.phi, own.slope, *([own.curvature] if own.has_curvature else [])]
    for function in functions:
        found = _tried(function, device.upload(MARGINS))
        if isinstance(found, Exception):
            log.info("%r is evaluated in main memory: %s", own, found)
            return None
        with np.errstate(all="ignore"):
            expected = np.asarray(function(MARGINS.copy()), dtype=np.float64)
        values = np.asarray(device.download(found), dtype=np.float64)
        if not np.allclose(values, expected, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            log.info("%r is evaluated in main memory: it has other values on a device", own)
            return None
    return own


def _tried(function: Callable[[Array], Array], margins: Any) -> Any:
    """What a function makes of margins on the device, or why it cannot."""
    try:
        with np.errstate(all="ignore"):
            found = function(margins)
    except Exception as error:  # whatever a function of the user raises
        return error
    if type(found) is not type(margins) or found.shape != margins.shape:
        return TypeError(f"{function.__name__} returns {type(found).__name__} for device arrays")
    return found


def summed(
    rows: Any,
    y: AnyArray,
    loss: MarginLoss,
    W: Any,
    weight: Array | None,
    gradient: Any | None,
    curvature: Array | None,
) -> tuple[float, float]:
    """The sums of :meth:`Rows.value_gradient` for two classes, a tile of rows at a time."""
    device, total = rows.device, None if gradient is None else rows.device.zeros(W.shape)
    on_device, sums = rows.on_device(W), rows.device.zeros((2,))
    labels, weights = rows.labels_of(y, 1), rows.weights_of(weight)
    for at, tile in rows.tiles(1):
        sign, scores = labels[at], tile.scores(on_device)
        m, c = sign * scores[:, 0], None if weights is None else weights[at]
        both = device.empty((len(m), 2))
        both[:, 0], both[:, 1] = _weighed(c, loss.phi(m)), _weighed(c, _mistakes(m))
        rows.column_sums(both, sums, add=True)
        if curvature is not None:
            curvature[at] = device.download(_weighed(c, loss.curvature(m)))
        if total is not None:
            scores[:, 0] = _weighed(c, loss.slope(m) * sign)
            tile.add_transpose(scores, total)
    if gradient is not None:
        gradient += device.download(total) if isinstance(gradient, np.ndarray) else total
    value, mistakes = device.download(sums).tolist()
    return value, mistakes


def _mistakes(margins: Any) -> Any:
    return 1.0 * np.logical_not(margins > 0.0)


def _weighed(weight: Any, values: Any) -> Any:
    """Times the weights; a row of weight 0 is as if absent, even where its value overflows."""
    return values if weight is None else np.where(weight != 0.0, weight * values, 0.0)


def sums_of_pairs(
    rows: Any,
    y: AnyArray,
    losses: Callable[[Any, Any, Any], Any],
    high: Any,
    low: Any,
    weight: Array | None,
) -> tuple[float, float]:
    """Sums of the losses and mistakes of two classes at finite scores (n, 1) in two parts."""
    labels, c = rows.labels_of(y, 1), rows.weights_of(weight)
    both, sums = rows.device.empty((len(y), 2)), rows.device.zeros((2,))
    both[:, 0] = _weighed(c, losses(labels, high, low))
    both[:, 1] = _weighed(c, _mistakes(labels * high[:, 0]))
    rows.column_sums(both, sums, add=False)
    value, mistakes = rows.device.download(sums).tolist()
    return value, mistakes

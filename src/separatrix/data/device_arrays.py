"""Arrays on a GPU: rows are read where they are, labels and weights are copied to the host."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn import get_config

from ..numeric.types import AnyArray
from ..rows import CsrRows, HostRowsLike, RowsLike, host_rows_of, rows_of
from ..rows.device import (
    Device,
    DeviceCsrRows,
    DeviceDenseRows,
    DeviceRows,
    DeviceValues,
    cuda,
    devices_in_use,
)

CUDA_DEVICES = (2, 13)  # DLPack's numbers of CUDA's memory, and of its managed memory
ELSEWHERE = "move them to one device, e.g. y.to(X.device), or pass y as a NumPy array"
ROW_NUMBERS = 32  # bytes of a row besides its values: four float64 for label, weight and sums
WORKSPACE = 1 << 30  # bytes for tiles and vectors, at most an eighth of the free memory
log = logging.getLogger("separatrix")


def device_of(X: Any) -> int | None:
    """The number of the GPU that holds an array, or the values of a sparse one; else None."""
    if X is None or isinstance(X, (np.ndarray, list, tuple, str)):
        return None
    if type(X).__module__.startswith("cupyx"):
        return device_of(getattr(X, "data", None))
    place = getattr(type(X), "__dlpack_device__", None)
    if place is not None:
        try:
            kind, number = place(X)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return None
        return int(number) if int(kind) in CUDA_DEVICES else None
    if getattr(type(X), "__cuda_array_interface__", None) is None:
        return None
    import cupy

    return int(cupy.asarray(X).device.id)


def on_device(X: Any) -> bool:
    """Whether an array is on a GPU."""
    return device_of(X) is not None


def check_one_device(X: Any, **others: Any) -> None:
    """Refuse labels or weights on another GPU than the rows."""
    number = device_of(X)
    if number is None:
        return
    for name, other in others.items():
        there = device_of(other)
        if there is not None and there != number:
            raise ValueError(
                f"X is on cuda:{number}, but {name} is on cuda:{there}; expected one device: "
                f"{ELSEWHERE}"
            )


def adopted(values: Any, name: str) -> Any | None:
    """An array on a GPU as one of its device; None for anything else."""
    number = device_of(values)
    if number is None:
        return None
    _refuse_gradient(values, name)
    return cuda(number).adopt(values)


def copied_home(values: Any, name: str) -> Any:
    """A copy of an array on a GPU as a NumPy array; anything else unchanged."""
    if isinstance(values, DeviceValues):
        return values.home
    found = adopted(values, name)
    return values if found is None else cuda(device_of(values) or 0).download(found)


def device_rows(X: Any, finite: bool = True) -> DeviceRows:
    """The rows of an array on a GPU, read in place if possible; checked like rows on the host."""
    number = device_of(X)
    assert number is not None
    device = cuda(number)
    _refuse_gradient(X, "X")
    _check_shape(tuple(X.shape))
    parts = _sparse_parts(X)
    rows = _dense(device, X) if parts is None else _sparse(device, X, parts)
    if finite and not rows.finite:
        raise ValueError(
            f"Input X contains NaN or infinity (on {device.name}); every value must be finite: "
            "leave out such rows, or fill in the values"
        )
    return rows


def fits(device: Device, nbytes: float, n: int, storage: str) -> bool:
    """Whether n rows of a host fit into the memory of a device, with all that a fit needs."""
    free = device.free_bytes()
    index = nbytes if storage == "csr" else 0.0  # the transposed index
    return 1.02 * nbytes + index + ROW_NUMBERS * n + min(WORKSPACE, free / 8) <= free


def uploaded(X: HostRowsLike, device: Device) -> DeviceRows:
    """Checked rows of the host, copied to a device."""
    rows = rows_of(X)
    if rows.nbytes > device.free_bytes():
        raise MemoryError(
            f"X has {rows.nbytes / 1e9:.1f} GB, but {device.name} has "
            f"{device.free_bytes() / 1e9:.1f} GB free: pass float32 instead of float64, or "
            "fewer rows, or set device='cpu'"
        )
    if isinstance(rows, CsrRows):
        own = rows.own()
        return DeviceCsrRows(
            device, device.upload(own.data), device.upload(own.indices), own.indptr,
            own.n_features, str(own.dtype),
        )  # fmt: skip
    return DeviceDenseRows(device, device.upload(rows.values), str(rows.dtype))


def placed(rows: RowsLike, device: str | None) -> RowsLike:
    """Checked rows on the device of that name; where they are if None, or too many."""
    if device is None:
        return rows
    number, there = device_number(device), isinstance(rows, DeviceRows)
    if number is None:
        return host_rows_of(rows).X if there else rows
    if isinstance(rows, DeviceRows):
        if rows.device.name != f"cuda:{number}":
            raise ValueError(
                f"X is on {rows.device.name}, but device={device!r}: leave out device=, as X "
                "decides where a fit runs, or move X"
            )
        return rows
    gpu, home = cuda(number), host_rows_of(rows)
    return uploaded(home.X, gpu) if fits(gpu, home.nbytes, home.shape[0], home.storage) else rows


def device_number(device: str) -> int | None:
    """The number in "cuda:1", 0 for "cuda", None for "cpu"."""
    if device == "cpu":
        return None
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind != "cuda" or not (number.isdecimal() or device == "cuda"):
        raise ValueError(f"device must be None, 'cpu', 'cuda' or 'cuda:1', got {device!r}")
    return int(number or 0)


@contextmanager
def memory_released() -> Iterator[None]:
    """Afterwards return unused memory of GPUs that were used, so that other libraries get it.

    If a library reports that their memory is exhausted, the error says how much there is.
    """
    try:
        yield
    except MemoryError as error:
        for device in devices_in_use():
            if (text := device.out_of_memory(error)) is not None:
                raise MemoryError(text) from None
        raise
    finally:
        for device in devices_in_use():
            device.release()


def like(X: Any, found: AnyArray) -> Any:
    """A result as an array of the library and on the device of X, if scikit-learn is set so.

    That is ``sklearn.config_context(array_api_dispatch=True)``. Labels that are strings stay in
    NumPy.
    """
    number = device_of(X)
    if number is None or not get_config()["array_api_dispatch"] or found.dtype.kind in "OUS":
        return found
    library = type(X).__module__.partition(".")[0]
    if library == "torch":
        return sys.modules["torch"].from_numpy(found).to(X.device)
    if library in ("jax", "jaxlib"):
        import jax

        return jax.device_put(found, next(iter(X.devices())))
    return cuda(number).upload(found)


def _refuse_gradient(X: Any, name: str) -> None:
    if getattr(X, "requires_grad", False):
        raise ValueError(
            f"{name} is a tensor that requires a gradient, which a fit does not compute: pass "
            f"{name}.detach()"
        )


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(shape)}D array instead (shape={shape}): X has a row for "
            "every sample. Reshape your data, e.g. X.reshape(-1, 1) for a single feature."
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if not size:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _dense(device: Device, X: Any) -> DeviceDenseRows:
    array = device.adopt(X)
    kind = _kind(array, ("float64", "float32", "float16", "bfloat16"))
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            f"X has negative strides {tuple(array.strides)}; expected rows in order: pass a copy, "
            "e.g. X.copy()"
        )
    if not array.flags.c_contiguous:
        log.info("X is not in C order on %s: copied once, %d bytes", device.name, array.nbytes)
        array = array.copy(order="C")
    return DeviceDenseRows(device, array.view(np.uint16) if kind == "bfloat16" else array, kind)


def _kind(array: Any, expected: tuple[str, ...]) -> str:
    kind = str(array.dtype)
    if kind not in expected:
        raise TypeError(
            f"X has the type {kind} on a GPU; expected {', '.join(expected)}: convert it, e.g. "
            "X.float() or X.astype('float32')"
        )
    return kind


def _sparse_parts(X: Any) -> tuple[Any, Any, Any] | None:
    """Values, indices and offsets of a sparse matrix of CuPy or torch; None for a dense array."""
    layout, kind = str(getattr(X, "layout", "")), str(getattr(X, "format", ""))
    if layout == "torch.sparse_csr":
        return X.values(), X.col_indices(), X.crow_indices()
    if kind == "csr":
        return X.data, X.indices, X.indptr
    if layout.startswith("torch.sparse") or type(X).__module__.startswith("cupyx"):
        raise TypeError(
            f"X is a sparse matrix of the kind {kind or layout}; expected CSR: convert it, e.g. "
            "X.tocsr() or X.to_sparse_csr()"
        )
    return None


def _sparse(device: Device, X: Any, parts: tuple[Any, Any, Any]) -> DeviceRows:
    data, indices, offsets = map(device.adopt, parts)
    kind = _kind(data, ("float64", "float32"))
    # Copies: the caller may write to theirs.
    offsets, indptr = offsets.astype(np.int64), device.download(offsets).astype(np.int64)
    n, d = map(int, X.shape)
    whole = len(indptr) == n + 1 and not indptr[0] and indptr[-1] == len(data) == len(indices)
    if not whole or bool(np.any(offsets[1:] < offsets[:-1])):
        raise ValueError("X is an inconsistent CSR matrix: its offsets do not match its values")
    if len(data) and not 0 <= int(indices.min()) <= int(indices.max()) < d:
        raise ValueError(f"X is an inconsistent CSR matrix: a column is not between 0 and {d - 1}")
    rows = DeviceCsrRows(device, data, indices, indptr, d, kind, offsets=offsets)
    if not _increasing(device, indices, offsets):
        log.info("columns of X are not in order or repeated: copied once through the host")
        matrix = rows.home().as_scipy()
        matrix.sum_duplicates()
        return uploaded(CsrRows.of_scipy(matrix), device)
    return rows


def _increasing(device: Device, indices: Any, offsets: Any) -> bool:
    """Whether columns increase within every row."""
    falls = device.zeros((len(indices) + 1,), np.int8)
    falls[1:-1] = indices[1:] <= indices[:-1]
    falls[offsets] = 0  # where rows begin and end
    return not int(falls.max())

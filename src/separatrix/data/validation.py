"""Checks of the data: each is made once, here, and not repeated later."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.class_weight import compute_class_weight

from .. import loops
from ..numeric.threads import equal_parts, n_threads, ordered_sum
from ..numeric.types import AnyArray, Array
from ..rows import CsrRows, RowsLike
from ..rows.device import DeviceRows, DeviceValues, at_home, device_values
from .arrays import ArraySource
from .containers import explain_words, opened, refuse_paths, refuse_times
from .device_arrays import copied_home, device_rows, on_device
from .device_labels import class_counts
from .labels import (
    check_classes,
    encoded,
    encoded_if_known,
    labels_and_classes,
    numbers,
    per_row,
    present_classes,
)
from .sparse import sound
from .thresholds import BLOCK_BYTES, MOST_BLOCKS

CSR = (sp.csr_array, sp.csr_matrix)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
REACH = 400  # weights from 2**-400 to 2**400 are not scaled

ClassWeight = Mapping[Any, float] | str | None


def plain_rows(X: Any) -> bool:
    """Whether X is an array of rows that can be used as it is if all values are finite."""
    if type(X) is not np.ndarray or X.ndim != 2 or not X.flags.c_contiguous or not X.size:
        return False
    return X.dtype in FLOATS


def plain_csr(X: Any) -> bool:
    """Whether X is a SciPy CSR matrix that can be used as it is if it is consistent and finite."""
    if type(X) not in CSR or X.ndim != 2 or not all(X.shape):
        return False
    return X.dtype in FLOATS


def all_finite(values: AnyArray) -> bool:
    """Whether no value of a contiguous array of floats is NaN or infinite; uses threads."""
    parts = min(MOST_BLOCKS, values.nbytes // BLOCK_BYTES)
    if parts <= 1:  # even counting the threads would take longer
        return loops.all_finite(values)
    flat = values.reshape(-1)

    def flaws(at: slice) -> tuple[int]:
        return (int(not loops.all_finite(flat[at])),)

    return ordered_sum(flaws, equal_parts(len(flat), parts), n_threads(None)) == (0,)


def check_rows(X: Any, owner: Any = None, finite: bool = True) -> RowsLike:
    """X as C-contiguous float32 or float64 rows, dense or sparse, copied only if necessary.

    An array on a GPU stays there. ``finite=False``: the caller checks that values are finite.
    """
    if plain_rows(X) and all_finite(X):
        return np.asarray(X)
    if plain_csr(X):
        X, in_order = sound(X)
        if in_order and all_finite(X.data):
            return CsrRows(X.data, X.indices, X.indptr, X.shape[1])
    if on_device(X):
        return device_rows(X, finite)
    check = partial(
        check_array, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
        estimator=owner, input_name="X",
    )  # fmt: skip
    X, in_order = sound_rows(X)
    if not sp.issparse(X):
        with explain_words(X):
            return np.asarray(check(X, ensure_all_finite=finite))
    was_csr = X.format == "csr"
    X = check(X, ensure_all_finite=False)
    if finite and not all_finite(X.data):
        check(X)  # which says so
    if not (in_order if was_csr else X.has_canonical_format):
        # A copy, as SciPy's flag may wrongly say that it is in order.
        X = sp.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
        X.sum_duplicates()
    return CsrRows.of_scipy(X)


def sound_rows(X: Any) -> tuple[Any, bool]:
    """X in a container that scikit-learn supports, with only the checks that it needs.

    Sparse matrices have consistent indices, and sparse frames are converted. Also returns whether
    X is CSR with increasing indices in every row.
    """
    refuse_paths(X)
    X = opened(X, "X")
    refuse_times(
        X, "X", "numbers: e.g. the days since the first one, or a column for each day of the week"
    )
    if hasattr(X, "dtypes") and hasattr(X, "sparse") and _all_sparse(X.dtypes):
        X = _from_sparse_frame(X)
    return sound(X) if sp.issparse(X) else (X, False)


def _all_sparse(dtypes: Any) -> bool:
    return len(dtypes) > 0 and all(hasattr(dtype, "fill_value") for dtype in dtypes)


def _from_sparse_frame(X: Any) -> Any:
    """The matrix of a pandas frame of sparse columns, whose fill values must be 0."""
    if other := [name for name, dtype in X.dtypes.items() if dtype.fill_value != 0]:
        raise ValueError(
            f"X is a sparse DataFrame whose columns {other!r} have another fill value than 0; "
            "expected pd.SparseDtype(float, fill_value=0): pass X.sparse.to_dense(), or sparse "
            "columns with fill_value=0."
        )
    return X.sparse.to_coo()


def check_scores(found: Array, smaller: Callable[[], Array] | None = None) -> Array:
    """Scores (n, k) of finite rows and weights, checked for overflow.

    With two classes an infinite score is accepted if its sign is certain: if ``smaller`` scores,
    of weights scaled down so that nothing overflows, have the same sign.
    """
    finite = np.isfinite(found)
    if np.all(finite):
        return found
    if smaller is not None and found.shape[1] == 1:
        with np.errstate(over="ignore", invalid="ignore"):
            finite |= smaller() * found == np.inf
    if not np.all(finite):
        row = int(np.argmin(finite.all(axis=1)))
        raise ValueError(
            f"the scores overflow floating point, first that of row {row}: the features are too "
            "large for the weights; scale them (e.g. with sklearn's StandardScaler) before the "
            "fit and before every prediction"
        )
    return found


def check_weights(sample_weight: Any, n: int, dtype: Any = np.float64) -> Array | None:
    """One finite weight >= 0 per row, not all zero; None stays None: 1 each."""
    if sample_weight is None:
        return None
    weight = _weights(sample_weight, n, dtype)
    if weight.shape != (n,):
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight has shape {weight.shape}, "
            f"expected ({n},), one weight per row."
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight contains NaN or infinity; every weight must be finite.")
    if weight.min() < 0.0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row: no row is left to learn from.")
    return weight


def _weights(sample_weight: Any, n: int, dtype: Any) -> Array:
    """Weights as an array; one number is repeated."""
    there = device_values(sample_weight)
    if there is not None and there.dtype == dtype:
        return cast(Array, there)
    sample_weight = copied_home(sample_weight, "sample_weight")
    weight = np.asarray(opened(sample_weight, "sample_weight"), dtype=dtype)
    return np.full(n, float(weight)) if weight.ndim == 0 else weight


def within_reach(weight: Array) -> tuple[Array, int]:
    """The weights times a power of two, and its exponent: 0 unless they are very small or large.

    Their sum must not overflow, nor their products underflow. A power of two changes no bit of a
    mean. Weights that would underflow compared with the largest stay above 0.
    """
    exponent = int(np.frexp(weight.max(initial=0.0))[1])
    if abs(exponent) <= REACH:
        return weight, 0
    scaled = np.maximum(np.ldexp(weight, 1 - exponent), np.nextafter(0.0, 1.0))
    return np.where(weight > 0.0, scaled, 0.0), 1 - exponent


def array_source(
    X: RowsLike,
    y: Any,
    *,
    classes: AnyArray | None = None,
    sample_weight: Any = None,
    class_weight: ClassWeight = None,
    n_jobs: int | None = None,
) -> ArraySource:
    """Rows that passed ``check_rows``, with their labels and weights, ready to train on."""
    found, known = classes, None if classes is None else encoded_if_known(y, classes)
    if known is None:
        y, found = labels_and_classes(y)
    n = X.shape[0]
    if n != len(y):
        check_consistent_length(range(n), y)
    classes, weight, power = weighed_classes(y, found, sample_weight, class_weight, classes)
    if isinstance(X, DeviceRows) and isinstance(weight, np.ndarray):
        weight = cast(Array, DeviceValues(X.device, X.device.upload(weight), weight))
    source = ArraySource(
        X, encoded(y, classes) if known is None else known, classes, weight, n_jobs
    )
    source.weight_power = power
    return source


def checked_weights(sample_weight: Any, n: int) -> tuple[Array | None, int]:
    """Checked weights of n rows, and the power of two by which they are scaled."""
    weight = check_weights(sample_weight, n)
    return (None, 0) if weight is None else within_reach(weight)


def weighed_classes(
    y: AnyArray,
    found: AnyArray | None,
    sample_weight: Any,
    class_weight: ClassWeight,
    given: AnyArray | None = None,
) -> tuple[AnyArray, Array | None, int]:
    """The classes, the weights of the rows, and the power of two by which these are scaled.

    ``found`` are the distinct labels, if known: the ``given`` classes, if there are no others.
    Without ``given`` classes, the classes are those with a row of positive weight: two or more.
    """
    if given is not None and found is given and sample_weight is None and class_weight is None:
        return given, None, 0
    weight, power = checked_weights(sample_weight, len(y))
    weight = without_weightless(class_weight, y, weight)
    if weight is not None and not weight.any():
        raise ValueError(f"class_weight={class_weight!r} leaves no row to learn from.")
    if found is None or (weight is not None and found is not given):
        found = present_classes(y, weight)
    if given is None:
        classes = check_present(found, y, weight, class_weight)
    elif found is not given and (unknown := sorted(set(found.tolist()) - set(given.tolist()))):
        raise ValueError(
            f"y has the labels {unknown!r}, which are not among the classes "
            f"{given.tolist()!r} of the first call, and a model cannot get new ones: start again "
            "with a new model, and pass classes=[...], every label that will ever occur, to its "
            "first call of partial_fit."
        )
    else:
        classes = given
    if class_weight is not None:
        per_class, more = within_reach(class_weights(class_weight, classes, y, weight))
        of_rows = per_row(per_class, numbers(y, classes))
        weight, again = within_reach(of_rows if weight is None else of_rows * weight)
        power += more + again
    return classes, weight, power


def without_weightless(
    class_weight: ClassWeight, y: AnyArray, weight: Array | None
) -> Array | None:
    """Weights of the rows, set to 0 for classes of weight 0: these rows are ignored."""
    if not isinstance(class_weight, Mapping):
        return weight
    weightless = [y == label for label, value in class_weight.items() if value == 0]
    if not weightless:
        return weight
    absent = np.logical_or.reduce([np.asarray(each) for each in weightless])
    return np.where(absent, 0.0, 1.0 if weight is None else weight)


def check_present(
    classes: AnyArray, y: AnyArray, weight: Array | None, class_weight: ClassWeight
) -> AnyArray:
    """Classes with a row of positive weight, two or more; a warning if others have none."""
    if weight is None or weight.all():
        return check_classes(classes)
    everything: AnyArray = np.unique(y)
    if len(classes) < 2 <= len(everything):
        by = "sample_weight" if class_weight is None else f"class_weight={class_weight!r}"
        raise ValueError(f"{by} leaves rows of only one class: {classes.tolist()!r}.")
    if lost := sorted(set(everything.tolist()) - set(classes.tolist())):
        warnings.warn(
            f"every row of the classes {lost!r} has weight 0: these classes are ignored and will "
            "never be predicted; drop their rows, or give some of them a positive weight",
            UserWarning,
            stacklevel=7,
        )
    return check_classes(classes)


def class_weights(
    class_weight: ClassWeight, classes: AnyArray, y: AnyArray, weight: Array | None
) -> Array:
    """A finite weight >= 0 for each class; "balanced" uses the weights of the rows."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if not isinstance(class_weight, (str, Mapping)):
        raise TypeError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if isinstance(class_weight, Mapping):
        if unknown := [
            label for label in class_weight if label not in classes and not (y == label).any()
        ]:
            raise ValueError(
                f"class_weight has the labels {unknown!r}, which are not among the classes "
                f"{classes.tolist()!r}."
            )
        result = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    elif (there := device_values(y)) is not None and weight is None:
        number = class_counts(there, classes)
        result = len(y) / (len(classes) * number)  # as compute_class_weight does
    else:
        y, weight = at_home(y), at_home(weight)
        present = slice(None) if weight is None else weight != 0.0
        result = compute_class_weight(
            class_weight, classes=classes, y=y[present],
            sample_weight=None if weight is None else weight[present],
        ).astype(np.float64)  # fmt: skip
    if not np.all(np.isfinite(result) & (result >= 0.0)):
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}.")
    return result

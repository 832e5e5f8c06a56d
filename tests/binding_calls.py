"""A valid call of every binding, which tests/loops/test_bindings.py spoils in many ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.loops._compiled import _loops

N, D, K, M = 5, 3, 3, 4  # rows, features, classes, columns or other rows
WITHOUT_ARRAYS = {
    "ScreeningState", "Interrupted", "levels", "compiled_levels", "level", "use_level",
    "request_stop", "clear_stop", "stop_requested",
}  # fmt: skip
LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
Arguments = dict[str, Any]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(0.1, 0.9, shape)


def csr(data: type = np.float64, index: type = np.int32) -> tuple[Any, ...]:
    """Five rows of three features, one of them empty, in a part of larger arrays."""
    indptr = np.array([1, 2, 4, 4, 6, 7], dtype=index)
    return numbers(7).astype(data), np.array([0, 0, 1, 2, 0, 2, 1], dtype=index), indptr, D


def signs() -> np.ndarray:
    return np.array([1.0, -1.0, 1.0, -1.0, 1.0])


def classes() -> np.ndarray:
    return np.array([0, 2, 1, 2, 0])


def labels() -> np.ndarray:
    return np.where(np.arange(N * K).reshape(N, K) % 2, 1, -1).astype(np.int8)


def columns() -> tuple[Any, ...]:
    return csr()


def online(rows: Any, y: np.ndarray, k: int, loss: int, **others: Any) -> Arguments:
    arguments = {
        "rows": rows, "loss": loss, "y": y, "weight": numbers(N), "weight_scale": 1.0,
        "order": np.array([4, 0, 2, 1, 3]), "steps": numbers(N), "l1": 0.0, "l2": 0.0, "batch": 1,
        "intercept": True, "max_updates": 2**62, "v": numbers(k, D + 1),
        "scalars": np.array([1.0, 0.0, 0.0]), "sum": numbers(k, D + 1), "lag": numbers(k, D + 1),
        "received": None, "log": np.zeros(N, dtype=np.int64), "screening": None, "ends": None,
        "offset": numbers(N, k),
    }  # fmt: skip
    return arguments | others


def rule(rows: Any, y: np.ndarray, k: int, name: str, **others: Any) -> Arguments:
    arguments = {
        "rows": rows, "rule": _loops.rule_ids[name], "y": y, "weight": 3 * numbers(N),
        "order": np.array([4, 0, 2, 1, 3]), "parameter": 1.5, "intercept": True,
        "max_updates": 2**62, "v": numbers(k, D + 1), "variance": None, "lag": numbers(k, D + 1),
        "area": 0.0, "log": np.zeros(N, dtype=np.int64),
    }  # fmt: skip
    return arguments | others


def dual(**others: Any) -> Arguments:
    arguments = {
        "rows": numbers(N, D), "loss": _loops.loss_ids["hinge"], "y": signs(),
        "weight": numbers(N), "inv_weight_sum": 0.2, "row_norm2": numbers(N), "inv_2l2": 1.0,
        "bias_inv_penalty": 1.0, "alpha": numbers(N), "w": numbers(D + 1), "shrink_margin": np.inf,
        "offset": numbers(N),
    }  # fmt: skip
    return arguments | others


def kernel_arrays(y: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    counts, log = np.zeros((k, N), dtype=np.int64), np.zeros((N, 3), dtype=np.int64)
    order, totals = np.array([4, 0, 2, 1, 3]), np.zeros(2)
    state = -numbers(k, N), numbers(k, N), numbers(k, N)
    return y, numbers(N), numbers(N), order, numbers(N), *state, counts, totals, log


KERNEL_WRITES = {f"arrays[{i}]" for i in range(5, 11)}
KERNEL_FREE = {"arrays[3]", "arrays[4]+", "arrays[10]+"}


def gaussian(reference: type = np.float64) -> Arguments:
    rows, shift = numbers(2, D), numbers(D)
    return {
        "rows": rows,
        "reference": numbers(N, D).astype(reference),
        "shift": shift,
        "gamma": 1.0,
    }


@dataclass(frozen=True)
class Call:
    """A valid call of a binding."""

    name: str
    arguments: Callable[[], Arguments]
    writes: set[str] = field(default_factory=set)
    """Arrays that the loop writes to."""
    free: set[str] = field(default_factory=set)
    """Arrays of which other sizes will do; with + longer ones, with - shorter ones, with # other
    dimensions, with :1 in that axis."""
    indices: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Numbers that an array must not have as an entry."""
    function: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return self.name

    def run(self, arguments: Arguments) -> Any:
        return (self.function or getattr(_loops, self.name))(**arguments)


def call(name: str, arguments: Callable[[], Arguments], writes: str = "", **others: Any) -> Call:
    return Call(name, arguments, set(writes.split()), **others)


def in_blocks(edges: np.ndarray, sum: np.ndarray, **arguments: Any) -> None:
    _loops.batch_blocks(**arguments, blocks=_loops.BlockSum(edges, sum))


def batch(rows: Any, y: np.ndarray, loss: int, w: np.ndarray) -> Arguments:
    return {"rows": rows, "loss": loss, "y": y, "weight": numbers(N), "w": w, "float32_sums": False}


def edges() -> np.ndarray:
    return np.array([0, 2, N])


OFF_ROWS, OFF_CLASSES = (-1, N, LOWEST, HIGHEST), (-1, K, LOWEST, HIGHEST)
CSR_FREE, CSR_ENDS = {"rows[0]+", "rows[1]+"}, {"rows[2]": (-1, 8, np.iinfo(np.int32).max)}
SOFTMAX, PERCEPTRON = _loops.joint_ids["softmax"], _loops.joint_ids["perceptron"]
LOGISTIC = _loops.loss_ids["logistic"]
COLUMNS = _loops.joint_ids["columns"] + LOGISTIC
RULE_WRITES, RULE_FREE = "v lag log", {"order", "log+"}
ONLINE_WRITES, ONLINE_FREE = "v scalars sum lag log", {"order", "steps+", "log+"}
CALLS = [
    call("online_pass", lambda: online(numbers(N, D), signs(), 1, 0, offset=None), ONLINE_WRITES,
         free=ONLINE_FREE, indices={"order": OFF_ROWS}),
    call("online_pass", lambda: online(csr(), signs(), 1, LOGISTIC, batch=2,
                                       steps=numbers(3)), ONLINE_WRITES,
         free=ONLINE_FREE | CSR_FREE, indices={"order": OFF_ROWS} | CSR_ENDS),
    call("online_pass", lambda: online(numbers(N, D), classes(), K, PERCEPTRON, offset=None),
         ONLINE_WRITES,
         free=ONLINE_FREE, indices={"order": OFF_ROWS, "y": OFF_CLASSES}),
    call("online_pass", lambda: online(csr(np.float32), classes(), K, SOFTMAX), ONLINE_WRITES,
         free=ONLINE_FREE | CSR_FREE, indices={"order": OFF_ROWS, "y": OFF_CLASSES} | CSR_ENDS),
    call("online_pass", lambda: online(numbers(N, D), signs(), 1, LOGISTIC, l1=0.1, sum=None,
                                       lag=None, received=numbers(1, D + 1)),
         "v scalars received log", free=ONLINE_FREE, indices={"order": OFF_ROWS}),
    call("online_pass", lambda: online(numbers(N, D).astype(np.float32), signs(), 1, 0,
                                       order=np.array([0, 1, 2, 3, 4] * 2), steps=numbers(1),
                                       log=np.zeros(2 * N, dtype=np.int64),
                                       ends=numbers(2, 3 + 2 * (D + 1))),
         "v scalars sum lag log ends", free={"order-", "log+", "steps+", "ends:0"},
         indices={"order": OFF_ROWS}),
    call("online_rule", lambda: rule(numbers(N, D), signs(), 1, "passive_aggressive_1"),
         RULE_WRITES, free=RULE_FREE, indices={"order": OFF_ROWS}),
    call("online_rule", lambda: rule(csr(), classes(), K, "arow", variance=numbers(K, D + 1)),
         RULE_WRITES + " variance", free=RULE_FREE | CSR_FREE,
         indices={"order": OFF_ROWS, "y": OFF_CLASSES} | CSR_ENDS),
    call("online_rule", lambda: rule(csr(np.float32), classes(), K, "passive_aggressive_2",
                                     order=None), RULE_WRITES,
         free=RULE_FREE | CSR_FREE, indices={"y": OFF_CLASSES} | CSR_ENDS),
    call("online_rule", lambda: rule(numbers(N, D).astype(np.float32), signs(), 1, "winnow"),
         RULE_WRITES, free=RULE_FREE, indices={"order": OFF_ROWS}),
    call("batch_pass", lambda: batch(numbers(N, D), signs(), LOGISTIC, numbers(1, D + 1))
         | {"gradient": numbers(1, D + 1), "curvature": numbers(N)}, "gradient curvature"),
    call("batch_pass", lambda: batch(csr(), classes(), SOFTMAX, numbers(K, D + 1))
         | {"gradient": numbers(K, D + 1), "curvature": None}, "gradient", free=CSR_FREE,
         indices={"y": OFF_CLASSES} | CSR_ENDS),
    call("online_pass", lambda: online(numbers(N, D), labels(), K, COLUMNS), ONLINE_WRITES,
         free=ONLINE_FREE, indices={"order": OFF_ROWS}),
    call("batch_pass", lambda: batch(csr(), labels(), COLUMNS, numbers(K, D + 1))
         | {"gradient": numbers(K, D + 1), "curvature": None}, "gradient", free=CSR_FREE,
         indices=CSR_ENDS),
    call("batch_blocks", lambda: batch(csr(), labels(), COLUMNS, numbers(D + 1, 8))
         | {"in_lines": K, "edges": edges(), "sum": numbers(2 + 8 * (D + 1))}, "sum",
         function=in_blocks, free=CSR_FREE | {"edges+"}, indices=CSR_ENDS),
    call("BlockSum", lambda: {"edges": edges(), "sum": numbers(2 + D + 1)}, "sum",
         free={"edges", "sum"},
         indices={"edges": (-1, LOWEST)}),
    call("batch_blocks", lambda: batch(numbers(N, D), signs(), LOGISTIC, numbers(1, D + 1))
         | {"in_lines": 0, "edges": edges(), "sum": numbers(2 + D + 1)}, "sum", function=in_blocks,
         free={"edges+"}, indices={"edges": (*OFF_ROWS[:1], N + 1, LOWEST, HIGHEST)}),
    call("batch_blocks", lambda: batch(csr(), classes(), SOFTMAX, numbers(D + 1, 8))
         | {"in_lines": K, "edges": edges(), "sum": numbers(2 + 8 * (D + 1))}, "sum",
         function=in_blocks, free=CSR_FREE | {"edges+"}, indices={"y": OFF_CLASSES} | CSR_ENDS),
    call("scores", lambda: {"rows": numbers(N, D), "weights": numbers(K, D + 1),
                            "out": numbers(N, K)}, "out"),
    call("scores", lambda: {"rows": csr(index=np.int64), "weights": numbers(1, D + 1),
                            "out": numbers(N, 1)}, "out", free=CSR_FREE, indices=CSR_ENDS),
    call("compensated_scores", lambda: {"rows": numbers(N, D), "weights": numbers(K, D + 1),
                                        "high": numbers(N, K), "low": numbers(N, K)}, "high low"),
    call("compensated_transpose_product",
         lambda: {"rows": numbers(N, D), "coefficients": numbers(N, K),
                  "high": numbers(K, D + 1), "low": numbers(K, D + 1)}, "high low"),
    call("transpose_product", lambda: {"rows": numbers(N, D), "coefficients": numbers(N, K),
                                       "out": numbers(K, D + 1)}, "out"),
    call("squared_norms", lambda: {"rows": numbers(N, D), "out": numbers(N)}, "out",
         free={"rows:1"}),
    call("hessian_product", lambda: {"rows": numbers(N, D), "curvature": numbers(N),
                                     "V": numbers(K, D + 1), "out": numbers(K, D + 1)}, "out"),
    call("moments", lambda: {"rows": numbers(N, D), "weight": numbers(N), "group": classes(),
                             "shift": numbers(D), "sum": numbers(K, D), "squares": numbers(D)},
         "sum squares", free={"sum+"}, indices={"group": OFF_CLASSES}),
    call("moments", lambda: {"rows": csr(), "weight": numbers(N), "group": None, "shift": None,
                             "sum": numbers(D), "squares": numbers(D)}, "sum squares",
         free=CSR_FREE, indices=CSR_ENDS),
    call("weighted_correct", lambda: {"rows": numbers(N, D), "y": classes(), "weight": numbers(N),
                                      "weights": numbers(2, K, D + 1), "correct": numbers(2)},
         "correct", free={"weights:1"}, indices={"y": OFF_CLASSES}),
    call("max_standardised_norm2", lambda: {"rows": numbers(N, D), "weight": numbers(N),
                                            "mean": numbers(D), "factor": numbers(D)}),
    call("gram", lambda: {"rows": numbers(N, D), "weight": numbers(N), "mean": numbers(D),
                          "factor": numbers(D + 1), "out": numbers(D + 1, D + 1)}, "out"),
    call("ascent_round", lambda: dual(
        active=np.arange(N), seed=1, first_order=0, block_rows=2, blocks_per_group=2,
        most_epochs=2, enough=0.0, careful=1.0, identified=2.0, stands_out=3.0, gap=np.inf,
        step_history=numbers(2, N), weight_history=numbers(2, D + 1),
    ), "active alpha w step_history weight_history", free={"active"}, indices={"active": OFF_ROWS}),
    call("interior_points", lambda: {
        "rows": numbers(N, D), "y": signs(), "share": numbers(N), "l2": 0.1, "intercept": True,
        "mean": numbers(D), "scale": numbers(D + 1), "w": numbers(D + 1),
        **{name: numbers(N) for name in ("alpha", "upper_slack", "slack", "xi")}, "enough": 1e-3,
    }, "w alpha upper_slack slack xi"),
    call("multiclass_epoch", lambda: {
        "rows": numbers(N, D), "y": classes(), "weight": numbers(N), "inv_weight_sum": 0.2,
        "row_norm2": numbers(N), "inv_2l2": 1.0, "bias_inv_penalty": 1.0,
        "order": np.array([4, 0, 2, 1, 3]), "alpha": numbers(N, K), "lines": numbers(D + 1, 8),
        "shrink_margin": np.inf, "offset": numbers(N, K),
    }, "order alpha lines", free={"order", "alpha:1"},
         indices={"order": OFF_ROWS, "y": OFF_CLASSES}),
    call("gaussian_rows", lambda: gaussian() | {"slots": np.array([3, 0]), "out": numbers(M, N)},
         "out", free={"out+"}, indices={"slots": (-1, M, LOWEST, HIGHEST)}),
    call("gaussian_sums", lambda: gaussian(np.float32) | {
        "coefficients": numbers(K, 8), "sums": numbers(2, K, 8)}, "sums", free={"reference:0"}),
    call("exp_neg_all", lambda: {"values": numbers(N), "factor": -1.0}, "values",
         free={"values", "values#"}),
    call("kernel_pass", lambda: {
        "arrays": kernel_arrays(signs(), 1), "kept": numbers(M, N),
        "slot": np.array([0, 1, 2, 3, 0]), "last_used": np.zeros(M, dtype=np.int64), "visits": 0,
        "position": 0, "end": N, "max_updates": N,
    }, "last_used", free=KERNEL_FREE, indices={"arrays[3]": OFF_ROWS}),
    call("kernel_pass", lambda: {
        "arrays": kernel_arrays(classes(), K), "kept": numbers(N, N), "slot": np.arange(N),
        "last_used": np.zeros(N, dtype=np.int64), "visits": 0, "position": 0, "end": N,
        "max_updates": N,
    }, "last_used", free=KERNEL_FREE, indices={"arrays[3]": OFF_ROWS, "arrays[0]": OFF_CLASSES}),
    call("gaussian_scan", lambda: {
        "arrays": kernel_arrays(classes(), K), "rows": numbers(N, D), "gamma": 1.0, "bias": 0.0,
        "visits": 0, "position": 0, "max_updates": N,
    }, free=KERNEL_FREE | {"rows"}, indices={"arrays[3]": OFF_ROWS, "arrays[0]": OFF_CLASSES}),
    call("gaussian_update", lambda: gaussian() | {
        "bias": 0.0, "column": np.array([[0, 1], [2, -1], [1, 0]]), "factor": numbers(3, 2),
        "slot": np.array([1, -1, 0]), "ready": np.array([0, 0, 1]), "kept": numbers(2, N),
        "scores": numbers(K, N), "first": 0, "last": 1,
    }, "kept scores", free={"kept+", "scores+"},
         indices={"slot": (2, HIGHEST), "column": (K, HIGHEST)}),
    call("two_loop", lambda: {
        "gradient": numbers(N), "s": [numbers(N), numbers(N)], "y": [numbers(N), numbers(N)],
        "curvature": numbers(2), "scale": 1.0, "direction": numbers(N),
    }, "direction", free={f"{name}#" for name in ("gradient", "s[0]", "s[1]", "y[0]", "y[1]",
                                                  "direction")}),
    call("all_finite", lambda: {"values": numbers(N)}, free={"values", "values#"}),
    call("csr_flaw", lambda: {"indices": csr()[1], "indptr": csr()[2], "features": D},
         free={"indices", "indptr"}),
    call("column_sizes", lambda: {"rows": csr(), "place": np.array([1, -1, 0], dtype=np.int32),
                                  "sizes": np.zeros(2, dtype=np.int64)}, "sizes",
         free=CSR_FREE | {"rows[2]-", "sizes+"}, indices={"place": (2, 2**31 - 1)} | CSR_ENDS),
    call("copy_columns", lambda: {
        "rows": csr(), "place": np.array([1, -1, 0], dtype=np.int32), "next": np.array([0, 2]),
        "columns": (numbers(5), np.zeros(5, dtype=np.int32)),
    }, "next columns[0] columns[1]", free=CSR_FREE | {"rows[2]-", "next+"},
         indices={"place": (2, 2**31 - 1), "next": (-1, 6, LOWEST, HIGHEST)} | CSR_ENDS),
    call("mark_features", lambda: {"indices": csr()[1], "most": D,
                                   "found": np.zeros(D, dtype=bool)}, "found",
         free={"indices", "found+"}, indices={"indices": (-1, D, 2**31 - 1, -(2**31))}),
    call("coordinate_descent", lambda: {
        "hessian": np.eye(D), "thresholds": numbers(D), "u": numbers(D), "slope": numbers(D),
        "max_epochs": 2, "enough": 0.0,
    }, "u slope"),
    call("block_coordinate_descent", lambda: {
        "hessian": np.eye(D), "starts": np.array([0, 2, D]), "thresholds": numbers(2),
        "u": numbers(D), "slope": numbers(D), "max_epochs": 2, "enough": 0.0,
    }, "u slope", indices={"starts": (-1, D + 1, LOWEST, HIGHEST)}),
    call("column_curvatures", lambda: {
        "columns": numbers(M, N), "curvature": numbers(N), "total": 1.0, "bias": True,
        "products": numbers(M), "squares": numbers(M),
    }, "products squares"),
    call("column_descent", lambda: {
        "columns": numbers(M, N), "curvature": numbers(N), "total": 1.0, "products": numbers(M),
        "squares": numbers(M), "ridge": numbers(M), "thresholds": numbers(M), "zeros": True,
        "w": numbers(M), "slope": numbers(N), "shift": 0.0, "max_epochs": 2, "enough": 0.0,
    }, "w slope"),
    call("draw_orders", lambda: {"orders": np.zeros((2, N), dtype=np.int64), "block_rows": 2,
                                 "blocks_per_group": 2, "seed": 1, "number": 0}, "orders",
         free={"orders"}),
    call("svmlight_counts", lambda: {"text": np.frombuffer(b"1 1:2\n", dtype=np.uint8)},
         free={"text"}),
    call("svmlight_range", lambda: {"text": np.frombuffer(b"1 1:2\n", dtype=np.uint8)},
         free={"text"}),
    call("svmlight_rows", lambda: {
        "text": np.frombuffer(b"1 1:2\n-1 2:3 3:4\n", dtype=np.uint8), "first_index": 1,
        "features": D, "labels": numbers(2), "values": numbers(3),
        "indices": np.zeros(3, dtype=np.int32), "indptr": np.zeros(3, dtype=np.int32),
    }, "labels values indices indptr", free={"text"}),
    call("csv_rows", lambda: {
        "text": np.frombuffer(b"1,a,x\n2,b,y\n", dtype=np.uint8), "delimiter": ord(","),
        "has_names": False, "kinds": np.array([1, 2, 0], dtype=np.uint8),
        "slots": np.zeros(3, dtype=np.int32), "numbers": np.zeros((2, 1)),
        "codes": np.zeros((1, 2), dtype=np.int32),
    }, "numbers codes", free={"text"}, function=lambda **given: str(_loops.csv_rows(**given))),
    call("csv_end", lambda: {"text": np.frombuffer(b"1,2\n", dtype=np.uint8),
                             "delimiter": ord(",")}, free={"text"}),
    call("gather_rows", lambda: {
        "numbers": np.ones((2, 1)), "number_features": np.array([1]),
        "values": np.ones((2, 2)), "features": np.array([[0, 0], [2, 3]]),
        "order": np.array([1, 0, 2]), "n_features": 4,
        "data": np.zeros(6), "indices": np.zeros(6, dtype=np.int32),
        "indptr": np.zeros(3, dtype=np.int32),
    }, "data indices indptr"),
]  # fmt: skip
for entry in CALLS:
    if "arrays" in entry.arguments():
        entry.writes.update(KERNEL_WRITES)

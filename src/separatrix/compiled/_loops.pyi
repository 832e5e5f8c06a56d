"""Compiled loops; reached only through separatrix.loops."""

from ..typing import AnyArray, Array, Ints

Rows = AnyArray | tuple[AnyArray, AnyArray, AnyArray, int]

compiler: str

class Interrupted(KeyboardInterrupt): ...

class RowMemory:
    def __init__(self, n: int, size: int, room: int, epoch_rows: int) -> None: ...
    nbytes: int
    skips: bool
    skipped: int
    always: bool

def online_pass(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    weight_scale: float,
    order: Ints | None,
    steps: Array,
    l2: float,
    batch: int,
    intercept: bool,
    max_updates: int,
    v: Array,
    scalars: Array,
    sum: Array | None,
    lag: Array | None,
    log: Ints | None,
    memory: RowMemory | None,
) -> tuple[float, float, int, int]: ...
def batch_pass(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    w: Array,
    gradient: Array | None,
    curvature: Array | None,
) -> tuple[float, float]: ...
def scores(rows: Rows, weights: Array, out: Array) -> None: ...
def combine(rows: Rows, coefficients: Array, out: Array) -> None: ...
def hessian_product(rows: Rows, curvature: Array, v: Array, out: Array) -> None: ...
def moments(
    rows: Rows, weight: Array | None, shift: Array | None, sum: Array, squares: Array
) -> None: ...
def dual_pass(
    rows: Rows,
    y: Array,
    weight: Array | None,
    share: float,
    square: Array,
    give: float,
    bias_give: float,
    order: Ints,
    alpha: Array,
    w: Array,
    safe: float,
) -> tuple[float, int, float]: ...
def draw_order(order: Ints, block_rows: int, blocks_per_group: int, seed: int) -> None: ...
def levels() -> list[str]: ...
def level() -> str: ...
def use_level(name: str) -> None: ...
def request_stop() -> None: ...
def clear_stop() -> None: ...
def stop_requested() -> bool: ...

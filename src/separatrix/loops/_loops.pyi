"""Compiled loops; reached only through separatrix.loops."""

from ..numeric.types import AnyArray, Array, Ints

Rows = AnyArray | tuple[AnyArray, AnyArray, AnyArray, int]

compiler: str

class Interrupted(KeyboardInterrupt): ...

class RowMemory:
    def __init__(self, n: int, size: int) -> None: ...
    nbytes: int
    skips: bool
    skipped: int
    always: bool

class BlockSum:
    def __init__(self, edges: Ints, sum: Array) -> None: ...
    def give_up(self) -> None: ...

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
    ends: Array | None,
    threads: int,
) -> tuple[float, float, int, int]: ...
def batch_pass(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    w: Array,
    gradient: Array | None,
    curvature: Array | None,
    rough: bool,
) -> tuple[float, float]: ...
def batch_blocks(
    rows: Rows, loss: int, y: Array, weight: Array | None, w: Array, rough: bool, blocks: BlockSum
) -> None: ...
def scores(rows: Rows, weights: Array, out: Array) -> None: ...
def compensated_scores(rows: Rows, weights: Array, high: Array, low: Array) -> None: ...
def compensated_combine(rows: Rows, coefficients: Array, high: Array, low: Array) -> None: ...
def combine(rows: Rows, coefficients: Array, out: Array) -> None: ...
def hessian_product(rows: Rows, curvature: Array, v: Array, out: Array) -> None: ...
def moments(
    rows: Rows,
    weight: Array | None,
    group: Ints | None,
    shift: Array | None,
    sum: Array,
    squares: Array,
) -> None: ...
def right(rows: Rows, y: AnyArray, weight: Array | None, weights: Array, right: Array) -> None: ...
def farthest(rows: Rows, weight: Array | None, mean: Array, factor: Array) -> float: ...
def gram(rows: Rows, weight: Array, mean: Array, factor: Array, out: Array) -> None: ...
def dual_pass(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    share: float,
    square: Array,
    give: float,
    bias_give: float,
    parts: float,
    order: Ints,
    alpha: Array,
    w: Array,
    safe: float,
) -> tuple[int, float]: ...
def gaussian_rows(
    rows: Array, reference: AnyArray, shift: Array, gamma: float, places: Ints, out: Array
) -> None: ...
def gaussian_sums(
    rows: Array, reference: AnyArray, shift: Array, gamma: float, coefficients: Array, sums: Array
) -> None: ...
def all_finite(values: AnyArray) -> bool: ...
def csr_flaw(indices: AnyArray, indptr: AnyArray, features: int) -> int: ...
def decay_all(values: Array, factor: float) -> None: ...
def kernel_pass(
    arrays: tuple[AnyArray, ...],
    kept: Array,
    place: Ints,
    used: Ints,
    visits: int,
    position: int,
    end: int,
    max_updates: int,
) -> tuple[int, int]: ...
def gaussian_scan(
    arrays: tuple[AnyArray, ...],
    rows: Array,
    gamma: float,
    bias: float,
    visits: int,
    position: int,
    max_updates: int,
) -> tuple[int, int]: ...
def gaussian_update(
    rows: Array,
    reference: AnyArray,
    shift: Array,
    gamma: float,
    bias: float,
    column: Ints,
    factor: Array,
    place: Ints,
    ready: Ints,
    kept: Array,
    scores: Array,
    first: int,
    last: int,
) -> None: ...
def draw_orders(
    orders: Ints, block_rows: int, blocks_per_group: int, seed: int, number: int
) -> None: ...
def levels() -> list[str]: ...
def level() -> str: ...
def use_level(name: str) -> None: ...
def request_stop() -> None: ...
def clear_stop() -> None: ...
def stop_requested() -> bool: ...

panel: int
most_updates: int

"""Compiled loops; reached only through separatrix.loops."""

from ..numeric.types import AnyArray, Array, Ints

Rows = AnyArray | tuple[AnyArray, AnyArray, AnyArray, int]

compiler: str
has_threads: bool

class Interrupted(KeyboardInterrupt): ...

class ScreeningState:
    def __init__(self, n: int, size: int) -> None: ...
    nbytes: int
    active: bool
    screened: int
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
    l1: float,
    l2: float,
    batch: int,
    intercept: bool,
    max_updates: int,
    v: Array,
    scalars: Array,
    sum: Array | None,
    lag: Array | None,
    received: Array | None,
    log: Ints | None,
    screening: ScreeningState | None,
    ends: Array | None,
    offset: Array | None,
) -> tuple[float, float, int, int]: ...
def online_rule(
    rows: Rows,
    rule: int,
    y: Array,
    weight: Array | None,
    order: Ints | None,
    parameter: float,
    intercept: bool,
    max_updates: int,
    v: Array,
    variance: Array | None,
    lag: Array | None,
    area: float,
    log: Ints | None,
) -> tuple[float, float, int, int, float]: ...
def batch_pass(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    w: Array,
    gradient: Array | None,
    curvature: Array | None,
    float32_sums: bool,
) -> tuple[float, float]: ...
def batch_blocks(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    w: Array,
    in_lines: int,
    float32_sums: bool,
    blocks: BlockSum,
) -> None: ...
def scores(rows: Rows, weights: Array, out: Array) -> None: ...
def compensated_scores(rows: Rows, weights: Array, high: Array, low: Array) -> None: ...
def compensated_transpose_product(
    rows: Rows, coefficients: Array, high: Array, low: Array
) -> None: ...
def transpose_product(rows: Rows, coefficients: Array, out: Array) -> None: ...
def squared_norms(rows: Rows, out: Array) -> None: ...
def hessian_product(rows: Rows, curvature: Array, V: Array, out: Array) -> None: ...
def moments(
    rows: Rows,
    weight: Array | None,
    group: Ints | None,
    shift: Array | None,
    sum: Array,
    squares: Array,
) -> None: ...
def weighted_correct(
    rows: Rows, y: AnyArray, weight: Array | None, weights: Array, correct: Array
) -> None: ...
def max_standardised_norm2(
    rows: Rows, weight: Array | None, mean: Array, factor: Array
) -> float: ...
def gram(rows: Rows, weight: Array, mean: Array, factor: Array, out: Array) -> None: ...
def ascent_round(
    rows: Rows,
    loss: int,
    y: Array,
    weight: Array | None,
    inv_weight_sum: float,
    row_norm2: Array,
    inv_2l2: float,
    bias_inv_penalty: float,
    active: Ints,
    alpha: Array,
    w: Array,
    shrink_margin: float,
    seed: int,
    first_order: int,
    block_rows: int,
    blocks_per_group: int,
    most_epochs: int,
    enough: float,
    careful: float,
    identified: float,
    stands_out: float,
    gap: float,
    step_history: Array | None,
    weight_history: Array | None,
    offset: Array | None,
) -> tuple[int, int, float, float, bool, bool, int, int]: ...
def interior_points(
    rows: Rows,
    y: Array,
    share: Array,
    l2: float,
    intercept: bool,
    mean: Array,
    scale: Array,
    w: Array,
    alpha: Array,
    upper_slack: Array,
    slack: Array,
    xi: Array,
    enough: float,
) -> int: ...
def multiclass_epoch(
    rows: Rows,
    y: Ints,
    weight: Array | None,
    inv_weight_sum: float,
    row_norm2: Array,
    inv_2l2: float,
    bias_inv_penalty: float,
    order: Ints,
    alpha: Array,
    lines: Array,
    shrink_margin: float,
    offset: Array | None,
) -> tuple[int, float, float]: ...
def gaussian_rows(
    rows: Array, reference: AnyArray, shift: Array, gamma: float, slots: Ints, out: Array
) -> None: ...
def gaussian_sums(
    rows: Array, reference: AnyArray, shift: Array, gamma: float, coefficients: Array, sums: Array
) -> None: ...
def two_loop(
    gradient: Array,
    s: list[Array],
    y: list[Array],
    curvature: Array,
    scale: float,
    direction: Array,
) -> float: ...
def all_finite(values: AnyArray) -> bool: ...
def csr_flaw(indices: AnyArray, indptr: AnyArray, features: int) -> int: ...
def column_sizes(rows: Rows, place: AnyArray, sizes: Ints) -> None: ...
def copy_columns(rows: Rows, place: AnyArray, next: Ints, columns: Rows) -> None: ...
def gather_rows(
    numbers: Array, number_features: Ints, values: Array, features: Ints, order: Ints,
    n_features: int, data: Array, indices: AnyArray, indptr: AnyArray,
) -> int: ...  # fmt: skip
def mark_features(indices: AnyArray, most: int, found: AnyArray) -> int: ...
def coordinate_descent(
    hessian: Array, thresholds: Array, u: Array, slope: Array, max_epochs: int, enough: float
) -> tuple[int, float]: ...
def block_coordinate_descent(
    hessian: Array,
    starts: Ints,
    thresholds: Array,
    u: Array,
    slope: Array,
    max_epochs: int,
    enough: float,
) -> tuple[int, float]: ...
def column_curvatures(
    columns: Rows,
    curvature: Array,
    total: float,
    bias: bool,
    products: Array,
    squares: Array,
) -> None: ...
def column_descent(
    columns: Rows,
    curvature: Array,
    total: float,
    products: Array,
    squares: Array,
    ridge: Array,
    thresholds: Array,
    zeros: bool,
    w: Array,
    slope: Array,
    shift: float,
    max_epochs: int,
    enough: float,
) -> tuple[int, float, float]: ...
def exp_neg_all(values: Array, factor: float) -> None: ...
def kernel_pass(
    arrays: tuple[AnyArray, ...],
    kept: Array,
    slot: Ints,
    last_used: Ints,
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
    slot: Ints,
    ready: Ints,
    kept: Array,
    scores: Array,
    first: int,
    last: int,
) -> None: ...
def draw_orders(
    orders: Ints, block_rows: int, blocks_per_group: int, seed: int, number: int
) -> None: ...
def svmlight_counts(text: AnyArray) -> tuple[int, int]: ...
def svmlight_range(text: AnyArray) -> tuple[int, int]: ...
def svmlight_rows(
    text: AnyArray,
    first_index: int,
    features: int,
    labels: Array,
    values: Array,
    indices: AnyArray,
    indptr: AnyArray,
) -> tuple[int, int, int, int, int]: ...
def csv_end(text: AnyArray, delimiter: int) -> int: ...
def csv_rows(
    text: AnyArray,
    delimiter: int,
    has_names: bool,
    kinds: AnyArray,
    slots: AnyArray,
    numbers: Array,
    codes: AnyArray,
) -> tuple[int, list[tuple[bytes, bytes]]] | None: ...
def levels() -> list[str]: ...
def compiled_levels() -> list[str]: ...
def level() -> str: ...
def use_level(name: str) -> None: ...
def request_stop() -> None: ...
def clear_stop() -> None: ...
def stop_requested() -> bool: ...

# Constants of the loops that Python needs too; some only the twins in tests/loops/twins.
panel: int
most_updates: int
smallest_scale: float
smallest_scale_of_sum: float
newton_last_step: float
newton_max_iter: int
surprise: float
crawling: float
left_by_fast: float
settled: float
gain_rounding: float
dependent: float
nearest_end: float
csr_flaws: dict[str, int]
svmlight_flaws: dict[str, int]
svmlight_last_index: int
loss_ids: dict[str, int]
joint_ids: dict[str, int]
rule_ids: dict[str, int]

"""Thresholds of the room: by what size or shape another method, storage or precision is chosen.

Each line says what it chooses and what that gains, as measured by ``benchmarks/ablation.py``
(time without / time with).
"""

# ---- L-BFGS

FLOAT32_BYTES = 1e7
"""Bytes of float32 rows from which on, far from the minimum, they are summed in float32.

Measured: logistic-independent-wide-32, 1.31; logistic-correlated-tall-32, 1.16; softmax, 0.99."""
SAMPLE_ROWS, SAMPLE_PER_FEATURE = 4096, 10
"""Rows of the sample whose Hessian preconditions: at least so many, and so many per feature.

Measured: logistic-correlated-tall-32, 70.6; logistic-correlated-wide, 6.6; softmax, 1.06."""
SAMPLE_SHARE, SAMPLE_COST = 1 / 32, 3.0
"""The larger of these parts of all rows are sampled, 1 / 32 or 3 / d of them: what costs no more
than an evaluation."""
DEAR, FEWEST_PER_FEATURE = 200.0, 3
"""Where the rows of a sample cost more than 200 / d of an evaluation, 3 per feature will do."""
AT_ONCE = 4.0
"""Evaluations that a Hessian may cost to be factored at once; a dearer one only if steps are slow
without: a trade of the first steps' speed against a factor that few steps may not need."""
SMALL_SAMPLE = 1 / 8
"""A sample of no more than this part of the rows is minimised first.

Measured: logistic-correlated-tall-32, 1.41; squared_hinge-independent-tall-32, 1.32;
logistic-correlated-wide-32, 1.00."""
MOST_PER_CLASS = 20_000_000
"""Values in the Hessians of all classes up to which each class has its own when they are renewed.

Without, 3 of 8 squared hinges with classes of a single row do not arrive in 1000 steps, and with
in 67 to 136. Measured: softmax-digits-weak, 1.30; softmax-images-weak, 0.16."""

# ---- row by row

MOST_AHEAD, VALUES_AHEAD = 8, 1 << 16
"""Epochs made in one call before anybody looks at the first, and rows times weights in them: more
than Python takes for one, and gone in no time.

Measured: passes-iris, 1.31; passes-digits, 1.00."""

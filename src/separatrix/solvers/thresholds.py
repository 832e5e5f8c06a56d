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

# ---- ascent of the dual

FACTORED_UNKNOWNS = 1500
"""Unknowns (the fewer of rows and features) up to which systems of equations are factored; above,
coordinate ascent begins, and proximal points solve theirs by conjugate gradients.

Measured: hinge-wide-text, 40.4; hinge-text is not finished in 120 s without, 0.55 s with."""
SLOW_ROUNDS = 10
"""Rounds of coordinate ascent in which the gap must halve, or else proximal points take over: a
trade of rounds that may still arrive against systems that are dear."""
MANY_FEATURES, FEW_ROWS_PER_FEATURE = 100, 15
"""From so many features on, up to so many rows per feature, two classes begin with interior points;
with fewer features either way is quick.

Measured: hinge-wide-correlated, 9.1; hinge-wide, 7.7."""
FEW_ROWS_PER_WEIGHT = 3
"""Rows per weight up to which more than two classes begin with interior points: a trade of about
twenty dear steps against hundreds of proximal ones."""
FUTILE_STEPS = 9
"""Proximal steps in a row without progress after which more than two classes go on with interior
points."""
INTERIOR_UNKNOWNS, INTERIOR_VALUES = 3000, 30_000_000
"""Unknowns, and rows times unknowns, up to which interior points are affordable for all classes."""

# ---- row by row

MOST_AHEAD, VALUES_AHEAD = 8, 1 << 16
"""Epochs made in one call before anybody looks at the first, and rows times weights in them: more
than Python takes for one, and gone in no time.

Measured: passes-iris, 1.31; passes-digits, 1.00."""

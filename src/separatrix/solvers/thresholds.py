"""Thresholds of the solvers: at which size or shape another method, storage or precision is chosen.

Each line says what it chooses and what that gains, as measured by ``benchmarks/ablation.py``
(time without / time with).
"""

# ---- auto: which solver

FEW_WEIGHTS, SMALL_TABLE = 200, 200_000
"""Weights, and values in all rows (times the square of the classes), up to which Newton is chosen.

Up to this many weights the multiclass hinge starts with interior points; and up to this many
features a larger table that is not in memory is solved by the closed form, in three reads. The
hinge of two classes starts with interior points on dense tables of up to this many values, and
their first steps are compiled.

Measured: logistic-small-correlated, 1.74; logistic-small, 1.53. Proximal points over interior
points, hinge, processor time, one thread of a Xeon core, l2 = 1e-4: 100 x 5, 8; 1,000 x 20, 7; 569
x 30, 7; 3,000 x 60, 6; 10,000 x 30, 2.3; 20,000 x 50, 1.7."""
CLOSED_FORM_FEATURES, MOST_CLOSED_FORM_FEATURES, CLOSED_FORM_VALUES = 64, 128, 5_000_000
"""Features up to which the closed form is chosen for the squared loss on a larger table in memory:
of any number of rows, and of up to this many values (times the classes, if more than two).

Measured, processor time of L-BFGS over the closed form, one thread of a Xeon core, independent and
correlated features, l2 = 0.01 to 1e-8: 300,000 x 20, 1.7; 100,000 x 50, 1.5; 400,000 x 64, 0.92 to
1.05; 3,000 x 128, 1.5 to 2.2; 20,000 x 128, 1.1 to 1.3; 40,000 x 128, 0.95 to 1.3; 50,000 x 100,
1.2. Beyond: 100,000 x 100, 0.84 to 1.2, of 6 classes 1.6; 200,000 x 100, 0.84; 5,000 x 200, 0.54;
50,000 x 200, 0.39; 150,000 x 200, 0.29."""
WIDE_ROWS = 2
"""Features per sparse row from which on coordinate ascent is chosen for two classes even where
linear systems are small.

Measured: squared_hinge-few-wide-text, 12.7; hinge-few-wide-text, 7.70."""
ROWS_OF_A_FEATURE = 5
"""Sparse rows per feature up to which coordinate ascent is chosen for smooth losses: for two
classes where linear systems would be large, or rows are wide; for more classes with one-vs-rest
losses.

Measured, L-BFGS over coordinate ascent without a bias, C = 0.1 to 100 on real text of 13, 17 and 8
words a row, 0.6, 0.6 and 5 rows a feature: squared hinge 6.4 to 105, 4.5 to 23, 2.2 to 3.4;
logistic 1.6 to 9.4, 1.5 and more, 1.4 and more. With 7 rows a feature 0.7 and 1.9, with 19 0.9 and
0.6. Of more classes, squared hinge, rows x features, k, weak to strong penalties, counts: 4,000
x 1,000, 10: 272, 12, 10; 15,000 x 5,000, 5: 99, 8.8, 6.4; tf-idf: 10,000 x 2,000, 8: 6.3, 3.4,
0.55; 10,000 x 20,000, 6: 21, 9.0, 1.8."""
ROW_CURVATURE, COMMON_DIRECTION = 0.1, 0.4
"""With a bias, which couples all rows, a row must also curve J by the first, in units of the
penalty; and for two classes there must be no more rows than features, which share no more than the
second part of |x|^2 with their mean.

Measured, L-BFGS over coordinate ascent on six sets of real text: squared hinge, where a row curves
J by 0.2 to 200, 1.5 to 100; logistic, by 0.025, 0.25, 2.5 and 25: 0.4 to 1.1, 0.7 to 2.1, 1.7 to
6.7, 1.5 to 7.8; with 5 rows a feature 0.5, 0.8, 1.3, 0.4. Of 6 classes, squared hinge, by 0.001,
0.01, 0.1 and 1: 0.17, 0.50, 1.2, 3.9. Of 24 fits to generated documents of no common direction
ahead in 21 by 1.2 to 39."""
NEARLY_SEPARABLE = 3
"""Rows per feature up to which an interior point is chosen for the squared hinge: more rows can
hardly be separated, and fewer of them are at the kink.

Measured: squared_hinge-wide, 5.47; squared_hinge-wide-correlated, 2.86."""
INTERIOR_UNKNOWNS, MOST_CORRELATED = 90.0, 5.0
"""The curvature, in units of the penalty, from which on it is chosen, grows with the unknowns in
units of the first, and with the mean squared correlation of features up to the second.

Measured: as NEARLY_SEPARABLE, on 30 tables with six penalties each."""
FEW_ROWS, FEATURES_OF_A_ROW = 300, 4
"""Dense rows up to which, with at least this many features each, Newton's method is chosen for
smooth losses of two classes; its systems then have one unknown per row.

Measured: logistic-few-rows-correlated, 2.43; logistic-few-rows, 2.11. L-BFGS over Newton, logistic,
l2 = 0.1, 0.001 and 1e-6, two Xeon cores: 10 x 20,000 independent 2.0, 2.9, 5.0, with eight factors
14, 15, 21, of scales 0.01 to 100: 50, 44, 32 and more (L-BFGS ends at max_iter); 60 x 2,000: 2.3,
2.7, 2.4; 26, 30, 14; 29, 35, 65; 300 x 5,000: 0.8, 1.1, 1.0; 14, 48, 18; 9, 21, 31. With more rows
independent features lose: 600 x 3,000: 0.4, 0.5, 0.4; 10, 4, 5; 4, 7, 13; 1,000 x 4,000: 0.2, 0.3,
0.3; 6, 4, 5."""
RARE_ROWS, RARE_SHARE, RARE_FEATURES, RARE_STRENGTH = 4, 0.05, 300, 10.0
"""A feature is rare if fewer than this many rows of the sample with which L-BFGS estimates
curvature have it. If this share of the features of sparse rows is rare, and there are no more of
them than the third, Newton is chosen for a squared hinge of two classes from this C = 1 / (2 l2 n)
on.

Measured, L-BFGS over Newton at C = 0.1, 1, 10 and 100: a9a 0.8, 1.2, 2.0, 3.3; w8a 1.1, 2.2, 5.0,
8.0; adult 0.9, 1.3, 2.2, 3.2; nycflights 1.9, 2.5, 2.8, 4.3; a1a 1.1, 1.1, 2.5, 4.6. Generated
features, independent of each other and a sixth of them or more rare, eight tables: 0.3 to 0.8, 0.3
to 1.3, 0.6 to 2.3, 2.2 to 4.9. Few of them rare, C = 0.1 to 100: phishing 0.4 to 0.5;
bank_marketing 0.2 to 0.3; 10 generated tables of 100 to 1,400 features 0.02 to 1.1."""
LINEAR_PROGRAM_VALUES = 5_000_000
"""Rows times rivals times features up to which the hinge without a penalty is a linear program:
larger ones take too long, and are solved row by row without a proof.

Measured: no speed, proofs where they can be had."""
DENSE_ROWS_OF_A_FEATURE = 50
"""Dense rows per feature up to which l1 uses coordinate descent; sparse rows in memory always do.

Measured, ProximalNewton over CoordinateDescent at 0.1 and 0.01 of the largest strength: 500 x
20,000, 2.1, 2.4; 2,000 x 4,000, 2.7, 2.6, alike features 1.9, 1.5; 5,000 x 1,000, 2.3, 2.0; 20,000
x 500, 2.2, 1.1; 20,000 x 200, alike 1.1, 0.75; 100,000 x 200, 1.4, 0.74; text, 20,000 x 100,000,
3.3, 1.6; 50,000 x 20,000, 3.0, 1.6; one-hot, 50,000 x 2,000, 0.9, 1.6."""

PRODUCTS_AN_EPOCH, MOST_FACTORED = (16, 40), 2000
"""Products of two columns that cost an epoch, dense and sparse: once epochs of coordinate descent
have cost as much as the products of all columns in use and a system of them, Newton's steps with
fixed signs follow, up to this many columns.

Measured, two Xeon cores, logistic: correlated 20,000 x 200, 3.89; correlated 3,000 x 400, 2.27;
sparse 15,000 x 250 with two fifths of the values, 1.23, with one fifth 0.90; text, 1.00."""
FULL, MOST_FILLED = 0.05, 1 << 22
"""Share of their values above which sparse columns are filled in for these products, and most
values of the filled columns.

Measured, two Xeon cores, 15,000 x 250 with two fifths of the values, 3.29, with one fifth 1.42,
with a tenth 1.00; one-hot 20,000 x 200, a twentieth, 0.80."""
ROWS_A_VARIABLE, FEW_OF_ROWS = 10, 0.5
"""Rows per variable in the sample whose Hessian serves for the first steps with l1, if it is at
most this share of all rows.

Measured, two Xeon cores, logistic: images of 6 classes, 20,000 x 100, 2.02; independent 100,000 x
100, 1.79; correlated 50,000 x 200, 1.50."""

# ---- least squares

FILLED_VALUES = 5_000_000
"""Values up to which sparse rows are filled in to be factored; beyond this, only their products
with weights are used.

Measured: squared-sparse-correlated, 26; squared-text, 0.11."""

# ---- gradient descent

EIGEN_FEATURES = 1000
"""Features up to which the curvature of a batch is bounded by an eigenvalue of a sample's second
moments, beyond by the mean of |x|^2.

Measured: minibatch, 1.27."""

# ---- L-BFGS

FLOAT32_BYTES = 1e7
"""Bytes of float32 rows from which on they are summed in float32 far from the minimum.

Measured: logistic-independent-wide-32, 1.30; logistic-correlated-tall-32, 1.15;
logistic-correlated-wide-32, 1.10."""
AT_ONCE = 4.0
"""Evaluations that a Hessian may cost to be factored at once; a more expensive one only if steps
are slow without it.

Measured, to put off expensive ones: logistic-independent-wide, 5.70; logistic-square, 4.84;
logistic-square-correlated, 0.63. Cheap ones at once: logistic-correlated-tall, 1.77;
softmax-small, 0.81."""
PRODUCTS_PER_READ, STEP_BYTES, CLASSES_PER_READ = 15.0, 1e6, 3
"""The cost of a Hessian in evaluations, which AT_ONCE is compared with: products of BLAS while an
evaluation reads one value; bytes that could be read while a step is prepared; and classes whose
scores take as long to compute as the rows take to read.

Measured: as AT_ONCE, whose choices depend on them; not varied by themselves."""
SMALL_SAMPLE = 1 / 8
"""A sample of no more than this part of the rows is minimised first.

Measured: logistic-correlated-tall-32, 1.41; squared_hinge-independent-tall-32, 1.27;
softmax, 1.00."""
MOST_PER_CLASS = 20_000_000
"""Values in the Hessians of all classes up to which each class has its own when they are updated,
if the loss is a sum of columns, one per class.

Without, 3 of 8 squared hinges with classes of a single row do not arrive in 1000 steps, and with in
67 to 136. Not for the softmax, whose classes see each other: with it softmax-images-weak took six
times as long. Measured: squared_hinge-digits, 3.42; squared_hinge-digits-weak, 0.64."""

# ---- ascent of the dual

FACTORED_UNKNOWNS = 1500
"""Unknowns (the fewer of rows and features) up to which linear systems are factored; above this,
coordinate ascent begins, and proximal points use conjugate gradients.

Measured: hinge-wide-text, 11.9; hinge-text is not finished in 120 s without, 0.46 s with."""
FEW_VALUES_OF_FEATURES, MOST_HINGE_CURVATURE = 0.2, 10.0
"""Share of the features that sparse rows store, on average, and curvature of J by a row in units of
the penalty, up to which the hinge begins with coordinate ascent even where systems are small. Up to
the first, and where rows are fewer than features, the squared loss goes by conjugate gradients.

Measured: hinge-one-hot, 3.07. L-BFGS over conjugate gradients, on 28 fits to sparse rows, 1.2 to
7.3; on six of wide ones, 2.2 to 7.1; on rows that store all features as sparse, 0.07."""
SLOW_ROUNDS, SLOW_ROUNDS_BEFORE_SYSTEMS = 10, 4
"""Rounds of coordinate ascent in which the gap must halve; otherwise proximal points take over, and
sooner interior points, for more than two classes where they are affordable.

Without, hinge-one-hot-many-weak does not arrive in 300 rounds. Measured: with it, in 128 steps.
With 4 before proximal points, too, 8,271 counted documents of 9 classes take 40 s, with 10 11 s."""
MANY_FEATURES, FEW_ROWS_PER_FEATURE = 100, 15
"""Features from which on, with at most this many rows per feature, two classes start with interior
points; with fewer features either way is fast.

Measured: hinge-wide-correlated, 7.71; hinge-wide, 6.36."""
LITTLE_DRIFT = 0.01
"""Rounding error of a bound from the weights that epochs left, relative to the gap that they
measured. If it is larger, with a free bias or after other steps, the weights are recomputed from
the alphas.

Measured, to 1e-7 of J: logistic-few-text, 1.25; squared_hinge-few-text, 1.19; hinge-few-text,
1.19."""
GATHERED_BYTES = 1 << 26
"""Bytes of rows that are copied to memory from a source that is not in memory: those near a kink
and a sample of the others, for a model of the hinge; and those near a kink from which proximal
points find Newton's direction.

Measured: no speed, memory that does not grow with the rows. Of 12 generated hinges, with room for
three tenths of the rows, 10 reach 1e-10 of J in 4 to 6 reads, where proximal points take 29 to 133;
two, with six rows of that room per feature, go on with proximal points."""

MOST_CURVATURE_OF_PRODUCTS = 1e11
"""Mean of |x|^2 in units of twice the penalty up to which systems are solved in the space of rows:
beyond, their products keep too few digits of the penalty and of small features, and systems are
those of the features, each scaled; the dual then begins with interior points.

Measured: no speed, minima that are reached."""

AFFORDABLE_UNKNOWNS, AFFORDABLE_VALUES = 3000, 30_000_000
"""Unknowns, and rows times unknowns, up to which interior points are affordable for all classes.

Measured: as SLOW_ROUNDS."""

# ---- row by row

MOST_AHEAD, VALUES_AHEAD = 8, 1 << 16
"""Epochs per call before the first is inspected, and rows times weights in them: amortises the call
overhead.

Measured: passes-iris, 1.33; passes-digits, 1.01."""

"""Sizes at which another method for the same verdict is used.

None of them affects the result: every answer is proven, whatever the method.
"""

from __future__ import annotations

NEWTON_DIMENSION = 600
"""Longer signed rows: Newton's method on the squared hinge instead of linear programs.

It trades simplex steps on a basis of D rows for a few factorisations of D x D matrices.
Measured, on three rows in ten: verdict-wide, 222; verdict-wider, 103; verdict-text, 8.4.
"""

SPARSE_PROGRAM_DIMENSION = 2000
"""Up to this length signed rows that are mostly zeros stay with linear programs.

One-hot columns make programs sparse, and the matrices of Newton's method singular.
Measured, on one Xeon core (Skylake), one-hot tables of 1,500 columns: 3,000 rows, 1.8; 10,000 rows,
29 s, and not ended after 148 s without.
"""

FACE_FEATURES = 40
"""Sparse rows with more features are first given to Newton's method, without dependent features.

It trades linear programs for factorisations of D x D matrices and elimination modulo a prime.
Measured, one-hot tables with 10 levels per column: 3,000 x 50, 1.6 to 2.6; 3,000 x 100, 2.7 to 3.3;
3,000 x 300, 2.6 to 19; 10,000 x 1,500, 7 to 25 s, and not ended after 70 s without.
"""

GRAM_DIMENSION = 2000
"""Up to this length least squares on sparse rows are solved by Z'Z, beyond it by LSMR.

It trades D x D values in memory for iterations, whose number the condition determines.
Measured: one-hot tables, 3,000 x 300, 1.2 to 2.9; 10,000 x 1,500, 1.0.
"""

DENSE_DIMENSION = 1500
"""Up to this length signed rows are gathered as dense arrays, beyond it as sparse ones.

It trades memory, rows x D values, for products by BLAS.
Measured: verdict-wide-apart, 39.7; verdict-wide, 14.8; verdict-text, 0.24.
"""

DECORRELATED_WIDTH = 300
"""Up to this width the coordinates of linear programs are decorrelated, beyond it only scaled.

It trades a decomposition, width^3, for programs that see nearly repeated features apart.
Measured: verdict-repeated, 0.8 s, and not ended after 200 s without; verdict-correlated, 0.52.
"""

SPARSE_SHARE = 0.3
"""Share of values that are not 0 up to which dense rows keep their zeros in linear programs.

One-hot columns are rarely collinear, and decorrelation would make a dense program of a sparse one.
Measured, on one Xeon core (Skylake), one-hot tables: 3,000 x 279, 1.9; 10,000 x 99, 4.2;
10,000 x 279, 4.2 and 37.
"""

QR_VALUES = 4e7
"""Rows x D up to which rows wider than many are shortened by QR, beyond by an eigenbasis of Z Z'.

QR loses no digits and needs the rows as a dense array; products of rows lose half of them.
Measured: verdict-wide-apart, 1.56; verdict-wide, 0.99.
"""

DANTZIG_PIVOTS = 20
"""Pivots per equation by the most negative cost (Dantzig), then by Bland's rule.

Dantzig's choice needs fewer pivots and may cycle; Bland's never does.
Measured: exact-simplex, 4.4.
"""

EXACT_MARGIN_VALUES = 2e7
"""Boundary rows x width up to which all of their margins are computed in whole numbers.

Beyond it they are taken as 0 where floating point cannot distinguish them from it, unless the
caller asked for exact arithmetic: it trades the word "exact" for time.
Measured: no method is chosen, a word is bought.
"""

SPANNING_VALUES = 1 << 22
"""Values in the signed rows of many classes up to which repeated features are searched.

Beyond it the direction itself determines which coefficients diverge.
Measured: no method is chosen, fewer words are said.
"""

EXACT_MARGIN_DIMENSION = 100
"""Length of signed rows up to which the margin is computed exactly if floats do not determine it.

Beyond it the bounds on the margin stay as far apart as floats leave them.
Measured: no method is chosen, an interval is narrowed.
"""

EXACT_MARGIN_WORK = 5e6
"""Units of work, each about a microsecond, after which the exact computation of a margin stops.

The bounds found until then are returned.
Measured: rows 1e8 from the origin, to the end: 5 features, 0.03 s; 10, 0.15 s; 20, 1.5 s; 30 stop.
"""

FLOAT_MARGIN_WORK = 2e7
"""Units of work after which the computation of a margin in floating point stops.

The bounds found until then are returned: an interval. It trades their distance for time.
Measured: no method is chosen, an interval is narrowed.
"""

ELIMINATED_UNKNOWNS = 20
"""Unknowns up to which systems of that computation are solved by elimination, not modulo a prime.

Measured: rows 1e8 from the origin: with 3, 9, 19, 29 and 49 unknowns 23, 7.1, 1.5, 0.6 and 0.14.
"""

SINGLE_FEATURE_BYTES = 1 << 30
"""Bytes of rows up to which they are searched for single features that show one class only.

It trades one copy of the rows in memory for linear programs without the rows that are removed.
Measured: no method is chosen, a step is left out.
"""

SINGLE_FEATURE_STEPS = 32
"""Most times that rows are removed so, each time after those that the previous ones left.

Each examines all remaining rows; what remains is decided by linear programs.
Measured: no method is chosen, a step is left out.
"""

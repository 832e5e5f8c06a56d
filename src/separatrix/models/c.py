"""A linear model as a C header that depends on nothing: C99, doubles, and ``exp`` of the library.

Sums go from the intercept on, feature by feature from the first to the last. Compiled without
contraction of products and sums (``-ffp-contract=off``) they have the bits of the same sums in
Python.
"""

from __future__ import annotations

from collections.abc import Iterable

from .formula import Feature, Formula, digits, signed

SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.,=-")

HEAD = """\
/* A linear classifier, written by separatrix. C99, no dependencies; compile with
   -ffp-contract=off for the same bits everywhere. A value that is missing is NAN; where the
   model does not fill it in, so are the margins, and the class is -1. */
#ifndef SEPARATRIX_MODEL_H
#define SEPARATRIX_MODEL_H
#include <math.h>

enum { separatrix_columns = %d, separatrix_n_classes = %d, separatrix_n_margins = %d };
"""

PREDICT_TWO = """
/* The number of the class: on a tie the larger. */
static inline int separatrix_predict(const double *x) {
  double margins[1];
  separatrix_margins(x, margins);
  return margins[0] != margins[0] ? -1 : margins[0] >= 0.0;
}
"""

PREDICT_MORE = """
/* The number of the class: on a tie the first. */
static inline int separatrix_predict(const double *x) {
  double margins[separatrix_n_margins];
  int best = 0;
  separatrix_margins(x, margins);
  for (int k = 0; k < separatrix_n_margins; k++) {
    if (margins[k] != margins[k]) return -1;
    if (margins[k] > margins[best]) best = k;
  }
  return best;
}
"""

SIGMOID = """
/* The probability of every class. */
static inline void separatrix_probabilities(const double *x, double *probabilities) {
  double margins[1];
  separatrix_margins(x, margins);
  const double e = exp(-fabs(margins[0]));
  const double likely = 1.0 / (1.0 + e), unlikely = e / (1.0 + e);
  probabilities[0] = margins[0] > 0.0 ? unlikely : likely;
  probabilities[1] = margins[0] > 0.0 ? likely : unlikely;
}
"""

LOG_SIGMOID = """  for (int k = 0; k < separatrix_n_classes; k++) {
    const double m = probabilities[k];
    probabilities[k] = (m < 0.0 ? m : 0.0) - log1p(exp(-fabs(m)));
  }
"""

SOFTMAX = """
/* The probability of every class. */
static inline void separatrix_probabilities(const double *x, double *probabilities) {
  double largest, sum = 0.0;
  separatrix_margins(x, probabilities);
%s  largest = probabilities[0];
  for (int k = 1; k < separatrix_n_classes; k++) {
    if (probabilities[k] > largest) largest = probabilities[k];
  }
  for (int k = 0; k < separatrix_n_classes; k++) {
    probabilities[k] = exp(probabilities[k] - largest);
    sum += probabilities[k];
  }
  for (int k = 0; k < separatrix_n_classes; k++) probabilities[k] /= sum;
}
"""


def as_c(formula: Formula) -> str:
    """The header."""
    formula.refuse_categories("C")
    k, d = formula.coef.shape
    text = HEAD % (len(formula.columns), len(formula.classes), k)
    text += _words("column_names", formula.columns) + _words("classes", map(str, formula.labels))
    rows = ",\n".join("  {" + ", ".join(map(digits, row)) + "}" for row in formula.coef.tolist())
    text += f"\nstatic const double separatrix_coef[{k}][{d}] = {{\n{rows}\n}};\n"
    intercept = ", ".join(map(digits, formula.intercept.tolist()))
    text += f"static const double separatrix_intercept[{k}] = {{{intercept}}};\n"
    text += "\n/* The scores of a row. */\n"
    text += "static inline void separatrix_margins(const double *x, double *margins) {\n"
    text += f"  double z[{d}];\n"
    text += "".join(f"  z[{j}] = {_value(one)};\n" for j, one in enumerate(formula.features))
    text += f"  for (int k = 0; k < {k}; k++) {{\n    double sum = separatrix_intercept[k];\n"
    text += f"    for (int j = 0; j < {d}; j++) sum += separatrix_coef[k][j] * z[j];\n"
    text += "    margins[k] = sum;\n  }\n}\n"
    text += PREDICT_TWO if k == 1 else PREDICT_MORE
    text += {
        "sigmoid": SIGMOID, "softmax": SOFTMAX % "", "normalized_sigmoid": SOFTMAX % LOG_SIGMOID,
        None: "",
    }[formula.probability]  # fmt: skip
    return text + "\n#endif\n"


def _value(feature: Feature) -> str:
    """A feature of a row."""
    x = f"x[{feature.column}]"
    if feature.kind == "missing":
        x = f"({x} != {x} ? 1.0 : 0.0)"
    elif feature.fill is not None:
        x = f"({x} != {x} ? {digits(feature.fill)} : {x})"
    if feature.mean is not None:
        x = f"({x} - {signed(feature.mean)})"
    return x if feature.scale is None else f"{x} / {signed(feature.scale)}"


def _words(name: str, words: Iterable[str]) -> str:
    quoted = ",\n".join(f"  {quoted_text(word)}" for word in words)
    return f"\nstatic const char *const separatrix_{name}[] = {{\n{quoted}\n}};\n"


def quoted_text(text: str) -> str:
    """A string of C, in UTF-8; what is no letter, digit or blank by its octal number."""
    data = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if b in SAFE else f"\\{b:03o}" for b in data) + '"'

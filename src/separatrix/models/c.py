"""A linear model as a C header without dependencies: C99, doubles, and ``exp`` of the C library.

A sum starts with the intercept and adds the features in order. Compiled without contraction of
products and sums (``-ffp-contract=off``), the sums have the same bits as in Python.

The size of the model affects only constant tables: functions keep no arrays on the stack, which
millions of features or classes would overflow, and share no memory between calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .features import Feature
from .formula import Formula, digits

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

MARGINS = """
/* The score of a row for a class. */
static inline double separatrix_margin(const double *x, int k) {
  double sum = separatrix_intercept[k];
  for (int j = 0; j < %d; j++) sum += separatrix_coef[k][j] * separatrix_feature(x, j);
  return sum;
}

/* The scores of a row. */
static inline void separatrix_margins(const double *x, double *margins) {
  for (int k = 0; k < separatrix_n_margins; k++) margins[k] = separatrix_margin(x, k);
}
"""

PREDICT_TWO = """
/* The number of the class: on a tie the larger. */
static inline int separatrix_predict(const double *x) {
  const double margin = separatrix_margin(x, 0);
  return margin != margin ? -1 : margin >= %s;
}
"""

PREDICT_MORE = """
/* The number of the class: on a tie the first. */
static inline int separatrix_predict(const double *x) {
  double largest = 0.0;
  int best = 0;
  for (int k = 0; k < separatrix_n_margins; k++) {
    const double margin = separatrix_margin(x, k);
    if (margin != margin) return -1;
    if (k == 0 || margin > largest) {
      largest = margin;
      best = k;
    }
  }
  return best;
}
"""

PREDICT_LABELS = """
/* For each label of separatrix_classes, 1 if the row has it and 0 if not; returns how many it has.
   If a margin is missing, all are -1, and so is the result. */
static inline int separatrix_predict(const double *x, int *labels) {
  int count = 0;
  for (int k = 0; k < separatrix_n_margins; k++) {
    const double margin = separatrix_margin(x, k);
    if (margin != margin) count = -1;
    if (count < 0) break;
    labels[k] = margin >= 0.0;
    count += labels[k];
  }
  for (int k = 0; count < 0 && k < separatrix_n_margins; k++) labels[k] = -1;
  return count;
}
"""

SIGMOIDS = """
/* The probability of every label. */
static inline void separatrix_probabilities(const double *x, double *probabilities) {
  for (int k = 0; k < separatrix_n_margins; k++) {
    const double margin = separatrix_margin(x, k);
    const double e = exp(-fabs(margin));
    probabilities[k] = margin > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
  }
}
"""

SIGMOID = """
/* The probability of every class. */
static inline void separatrix_probabilities(const double *x, double *probabilities) {
  const double margin = separatrix_margin(x, 0);
  const double e = exp(-fabs(margin));
  const double likely = 1.0 / (1.0 + e), unlikely = e / (1.0 + e);
  probabilities[0] = margin > 0.0 ? unlikely : likely;
  probabilities[1] = margin > 0.0 ? likely : unlikely;
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
    formula.refuse_dates("C")
    formula.refuse_categories()
    formula.refuse_costs("C")
    k, d = formula.coef.shape
    text = HEAD % (len(formula.columns), len(formula.classes), k)
    text += _words("column_names", formula.columns) + _words("classes", map(str, formula.labels))
    rows = ",\n".join("  {" + ", ".join(map(digits, row)) + "}" for row in formula.coef.tolist())
    text += f"\nstatic const double separatrix_coef[{k}][{d}] = {{\n{rows}\n}};\n"
    intercept = ", ".join(map(digits, formula.intercept.tolist()))
    text += f"static const double separatrix_intercept[{k}] = {{{intercept}}};\n"
    text += _features(formula.features) + MARGINS % int(d)
    if formula.several:
        text += PREDICT_LABELS
    else:
        text += PREDICT_TWO % digits(formula.cut) if k == 1 else PREDICT_MORE
    text += {
        "sigmoid": SIGMOIDS if formula.several else SIGMOID, "softmax": SOFTMAX % "",
        "normalized_sigmoid": SOFTMAX % LOG_SIGMOID, None: "",
    }[formula.probability]  # fmt: skip
    return text + "\n#endif\n"


def _features(features: Sequence[Feature]) -> str:
    """A function for the features of a row, with tables of the values that differ between them."""
    tables, body = "", "  double value = x[j];\n"
    if [one.column for one in features] != list(range(len(features))):
        tables += _table("int", "column", [str(one.column) for one in features])
        body = "  double value = x[separatrix_column[j]];\n"
    missing = [one.kind == "missing" for one in features]
    if any(missing):
        tables += _table("char", "missing", [str(int(one)) for one in missing])
        body += "  if (separatrix_missing[j]) value = value != value ? 1.0 : 0.0;\n"
    for what, given, statement in (
        ("fill", [one.fill for one in features], "if (value != value) value = separatrix_fill[j]"),
        ("mean", [one.mean for one in features], "value -= separatrix_mean[j]"),
        ("scale", [one.scale for one in features], "value /= separatrix_scale[j]"),
    ):
        if any(number is not None for number in given):
            tables += _table("double", what, [_or_neutral(what, number) for number in given])
            body += f"  {statement};\n"
    head = "\n/* A feature of a row. */\n"
    head += "static inline double separatrix_feature(const double *x, int j) {\n"
    return tables + head + body + "  return value;\n}\n"


def _or_neutral(what: str, number: float | None) -> str:
    """The number, or one that changes no bit when filled in, subtracted or divided by."""
    return (
        {"fill": "NAN", "mean": "0.0", "scale": "1.0"}[what] if number is None else digits(number)
    )


def _table(type: str, name: str, values: list[str]) -> str:
    return f"static const {type} separatrix_{name}[] = {{{', '.join(values)}}};\n"


def _words(name: str, words: Iterable[str]) -> str:
    quoted = ",\n".join(f"  {quoted_text(word)}" for word in words)
    return f"\nstatic const char *const separatrix_{name}[] = {{\n{quoted}\n}};\n"


def quoted_text(text: str) -> str:
    """A C string literal in UTF-8; all but letters, digits and blanks in octal escapes."""
    if "\0" in text:
        raise ValueError(f"{text!r} holds a NUL, which ends a string in C: rename it")
    data = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if b in SAFE else f"\\{b:03o}" for b in data) + '"'

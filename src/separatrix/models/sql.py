"""A linear model as a SQL query, for SQLite, DuckDB and others.

The query returns one row for each row of the table: its key, if given, the label, the probabilities
(by the function EXP) and the margins. If rows may have several labels, there is a column of 0 and 1
for each of them. A number is missing if it is NULL, NaN, infinity, or a text
that is not a number (which SQLite stores in any column and would count as 0; DuckDB refuses it). If
a number is missing that the model does not fill in, all of these are NULL. A category that the
model does not know counts as 0 in all of its features.

A column of dates is joined to a table of its distinct values with their parts (``sql_dates.py``).

Columns are qualified by their table: SQLite would take an unknown name in quotes for a string. Sums
are balanced trees, because SQLite refuses expressions nested more than 1000 deep.
"""

from __future__ import annotations

from typing import Any

from .features import Feature, Type
from .formula import Formula, digits, signed
from .sql_dates import value_of, with_parts

MOST_CLASSES = 100  # each is compared with every other
DATES = "dates_of_column_"  # names of tables of dates begin like this
LARGEST = "1.7976931348623157e308"


def as_sql(formula: Formula, table: str = "rows", key: str | None = None) -> str:
    formula.refuse_costs("SQL")
    labels = formula.labels
    if len(labels) > MOST_CLASSES and not formula.several:
        raise ValueError(
            f"a query compares every class with every other, and is limited to {MOST_CLASSES} "
            f"classes, but this model has {len(labels)}: export to 'onnx', 'json' or 'c'"
        )
    k = len(formula.coef)
    sums = [_sum([*_products(formula, row), digits(formula.intercept[row])]) for row in range(k)]
    inner = [f"{margin} AS m{row}" for row, margin in enumerate(sums)]
    # If one margin is not a number, all results are NULL.
    known = " AND ".join(f"m{row} BETWEEN -{LARGEST} AND {LARGEST}" for row in range(k))
    middle = [f"CASE WHEN {known} THEN m{row} END AS m{row}" for row in range(k)]
    if formula.several:
        outer = [
            f"CASE WHEN m{i} >= 0e0 THEN 1 WHEN m{i} < 0e0 THEN 0 END AS {name(f'label_{label}')}"
            for i, label in enumerate(labels)
        ]
    else:
        outer = [f"{_label(labels, formula.cut)} AS {name('label')}"]
    if key is not None:
        inner.insert(0, f"{_of_table(key)} AS the_key")
        middle.insert(0, "the_key")
        outer.insert(0, f"the_key AS {name(key)}")
    outer += _probabilities(formula)
    shown = [""] if k == 1 else [f"_{label}" for label in labels]
    outer += [f"m{row} AS {name(f'margin{which}')}" for row, which in enumerate(shown)]
    parts, joins = _dates(formula, table)
    return (
        f"{parts}SELECT {_list(outer)}\nFROM (SELECT {_list(middle)}\nFROM (SELECT {_list(inner)}\n"
        f"FROM {name(table)} AS t{joins}) AS s) AS m;\n"
    )


def _dates(formula: Formula, table: str) -> tuple[str, str]:
    """Tables of the parts of dates, as a clause before the query, and the joins with them."""
    dates = [j for j, type in enumerate(formula.types) if type == "date"]
    if not dates:
        return "", ""
    if table.lower().startswith(DATES):
        raise ValueError(f"table={table!r}: the query uses names that begin with {DATES!r}")
    tables = [f"{DATES}{j}" for j in dates]
    texts = [f"CAST({_of_table(formula.columns[j])} AS VARCHAR)" for j in dates]
    joins = [f"\nLEFT JOIN {d} ON {d}.x = {x}" for d, x in zip(tables, texts, strict=True)]
    return with_parts(tables, texts, name(table)), "".join(joins)


def name(text: str) -> str:
    """An identifier in quotes."""
    return '"' + _plain(text).replace('"', '""') + '"'


def text_literal(text: str) -> str:
    return "'" + _plain(text).replace("'", "''") + "'"


def _plain(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{text!r} contains a character that SQL cannot represent: rename it")
    return text


def literal(value: Any) -> str:
    """A label or a category as a literal."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    return digits(value) if isinstance(value, float) else text_literal(str(value))


def _list(parts: list[str]) -> str:
    return ",\n  ".join(parts)


def _of_table(column: str) -> str:
    return f"t.{name(column)}"


def _sum(terms: list[str]) -> str:
    """Sum as a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


def _products(formula: Formula, row: int) -> list[str]:
    return [
        f"({digits(weight)} * {_value(feature, formula)})"
        for weight, feature in zip(formula.coef[row].tolist(), formula.features, strict=True)
    ]


def _value(feature: Feature, formula: Formula) -> str:
    column, type = _of_table(formula.columns[feature.column]), formula.types[feature.column]
    if feature.part is not None:
        column = value_of(feature.part, f"{DATES}{feature.column}")
    # SQLite compares with cast bounds as numbers: text that is not a number is above all of them.
    known = f"{column} BETWEEN {_number('-' + LARGEST)} AND {_number(LARGEST)}"
    if feature.kind == "missing":
        x = f"CASE WHEN {known} THEN 0e0 ELSE 1e0 END"
    elif feature.kind == "category":
        x = f"CASE WHEN {_is_one_of(column, type, feature.values)} THEN 1e0 ELSE 0e0 END"
    else:
        fill = "NULL" if feature.fill is None else digits(feature.fill)
        x = f"CASE WHEN {known} THEN {_number(column)} ELSE {fill} END"
    if feature.mean is not None:
        x = f"({x} - {signed(feature.mean)})"
    return x if feature.scale is None else f"({x} / {signed(feature.scale)})"


def _number(text: str) -> str:
    return f"CAST({text} AS DOUBLE)"


def _is_one_of(column: str, type: Type, values: tuple[Any, ...]) -> str:
    known = [literal(value) for value in values if value is not None]
    if type == "boolean":
        column = f"CAST({column} AS INTEGER)"
    found = [f"{column} IN ({', '.join(known)})"] * bool(known)
    return " OR ".join(found + [f"{column} IS NULL"] * (None in values))


def _label(labels: list[Any], cut: float) -> str:
    if len(labels) == 2:
        cases = [f"WHEN m0 >= {signed(cut)} THEN {literal(labels[1])}"]
        cases.append(f"WHEN m0 < {signed(cut)} THEN {literal(labels[0])}")
    else:
        # In a tie the first class.
        cases = [
            f"WHEN {' AND '.join(f'm{i} >= m{j}' for j in range(len(labels)) if j != i)} "
            f"THEN {literal(label)}"
            for i, label in enumerate(labels)
        ]
    return f"CASE {' '.join(cases)} END"


def _sigmoid(margin: str, sign: str) -> str:
    """The probability of the side of 0 on which the margin is by this sign."""
    e = f"EXP(-ABS({margin}))"
    return f"(CASE WHEN {margin} {sign} 0e0 THEN 1e0 ELSE {e} END) / (1e0 + {e})"


def _probabilities(formula: Formula) -> list[str]:
    labels = formula.labels
    if formula.probability is None:
        return []
    if formula.several:
        shares = [_sigmoid(f"m{i}", ">") for i in range(len(labels))]
    elif formula.probability == "sigmoid":
        shares = [_sigmoid("m0", sign) for sign in "<>"]
    else:
        # 1 / sum of exp(m_j - m_i); 0 where that overflows.
        each = [f"m{i}" for i in range(len(labels))]
        if formula.probability == "normalized_sigmoid":  # use logarithms of sigmoids instead
            each = ["((m - ABS(m)) / 2e0 - LN(1e0 + EXP(-ABS(m))))".replace("m", m) for m in each]
        shares = [
            f"1e0 / {_sum(['1e0' if j == i else f'EXP({b} - {a})' for j, b in enumerate(each)])}"
            for i, a in enumerate(each)
        ]
    return [
        f"{share} AS {name(f'probability_{label}')}"
        for share, label in zip(shares, labels, strict=True)
    ]

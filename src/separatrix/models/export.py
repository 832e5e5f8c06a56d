"""Export of a linear model for programs outside of Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..numeric import checks
from ..numeric.replaced import check_file_path, replaced
from .c import as_c
from .formula import Formula, finite, formula_of
from .json import as_json
from .sql import as_sql

LANGUAGES = ("onnx", "json", "sql", "c")


def export(
    model: Any,
    path: str | os.PathLike[str],
    to: str,
    *,
    table: str = "rows",
    key: str | None = None,
) -> None:
    """Write a fitted linear model to a file, for ONNX, SQL databases, C, or as JSON.

    Parameters
    ----------
    model : LinearClassifier, LinearClassifierCV, Perceptron, or a pipeline that ends in one
        Before it, a pipeline may have a StandardScaler and, except for C, a OneHotEncoder, also
        inside a ColumnTransformer. A model that was fitted to files includes how its columns are
        read; parts of dates are for "sql" only. Hashed columns and kernels are refused with the
        reason. A model that was fitted with an offset needs it as last columns: ``offset``, or the
        column of the files; ``offset_<label>`` for each of more than two classes.
    path : str or path
        The file. An existing file is replaced once the new one is complete; pipes and devices such
        as ``/dev/stdout`` are written to directly.
    to : {"onnx", "json", "sql", "c"}
        "onnx": a graph in float64 (opset 17). "json": columns, features, weights. "sql": a query.
        "c": a header.
    table, key : str
        For "sql": the table to read, and a column to include in the result.

    See Also
    --------
    save : for a file that separatrix can load.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from separatrix import LinearClassifier, export
    >>> clf = LinearClassifier(l2=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(clf, Path(folder) / "model.json", to="json")
    ...     model = json.loads((Path(folder) / "model.json").read_text())
    >>> model["classes"]
    [0, 1]
    """
    checks.choice("to", to, LANGUAGES)
    if to != "sql" and (table != "rows" or key is not None):
        raise ValueError(f"table and key are for to='sql', got to={to!r}")
    check_file_path(path, "an export")
    formula = formula_of(model)
    _refuse_infinite(formula)
    if to == "onnx":
        from .onnx import as_onnx

        data = as_onnx(formula).SerializeToString()
    elif to == "sql":
        data = as_sql(formula, table, key).encode()
    else:
        data = (as_json(formula) if to == "json" else as_c(formula)).encode()
    with replaced(Path(path)) as file:
        file.write(data)


def _refuse_infinite(formula: Formula) -> None:
    finite([*formula.coef.ravel().tolist(), *formula.intercept.tolist()])
    settings = [(one.fill, one.mean, one.scale) for one in formula.features]
    finite([number for some in settings for number in some if number is not None])

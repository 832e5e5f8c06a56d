"""A linear model as an ONNX graph in float64, opset 17.

Outputs, in this order: label, probabilities (if the loss defines them), margins. With two classes
the margin decides, as in ``predict``: probabilities may be equal by rounding. If rows may have
several labels, ``label`` is a matrix of 0 and 1, as skl2onnx has it for scikit-learn's
OneVsRestClassifier. If all columns are
numeric, they form one input ``X``, (n, columns). Otherwise every column is a separate input, (n,
1): numbers as double, strings as string, integer categories as int64, others as double or bool. A
missing number is NaN, a missing string the empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .features import Feature, Type
from .formula import Formula

OPSET, OPSET_ML = 17, 3  # the oldest with all operators that are used
IR_VERSION = 8  # of the releases that introduced opset 17


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name.partition('.')[0]} is needed to export to ONNX: pip install 'separatrix[onnx]'"
        ) from error


@contextmanager
def text_named_in_errors() -> Iterator[None]:
    """Names, labels and categories are UTF-8 in ONNX: errors name one that cannot be encoded."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{error.object!r} holds half of a surrogate pair, which is not a character and "
            "cannot be in an ONNX graph: rename it"
        ) from error


@text_named_in_errors()
def as_onnx(formula: Formula) -> Any:
    """The model as an ``onnx.ModelProto``."""
    helper, checker = _import("onnx.helper"), _import("onnx.checker")
    graph = Graph()
    inputs = graph.inputs(formula)
    features = graph.features(formula, inputs)
    outputs = graph.outputs(formula, features)
    made = helper.make_graph(
        graph.nodes, "separatrix", list(graph.given.values()), outputs, graph.constants
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", OPSET_ML)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="separatrix")
    model.ir_version = IR_VERSION
    checker.check_model(model)
    return model


class Graph:
    """Nodes and constants in the order added; results are named by numbers."""

    def __init__(self, prefix: str = "separatrix") -> None:
        self.prefix = prefix
        self.helper, self.arrays = _import("onnx.helper"), _import("onnx.numpy_helper")
        self.tensor = _import("onnx").TensorProto
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.given: dict[str, Any] = {}

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = name or f"{self.prefix}/{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"{self.prefix}/constant/{len(self.constants)}"
        array = np.asarray(values, dtype)
        self.constants.append(self.arrays.from_array(array, name))
        return name

    def inputs(self, formula: Formula) -> list[str]:
        """Add the inputs, one name for each column, (n, 1)."""
        formula.refuse_dates("ONNX")
        self.types = {
            "number": self.tensor.DOUBLE, "float": self.tensor.DOUBLE, "text": self.tensor.STRING,
            "whole": self.tensor.INT64, "boolean": self.tensor.BOOL,
        }  # fmt: skip
        if formula.is_numeric:
            self._input("X", "number", len(formula.columns))
            return []
        for name, type in zip(formula.columns, formula.types, strict=True):
            self._input(name, type, 1)
        return list(formula.columns)

    def _input(self, name: str, type: Type, width: int) -> None:
        if not name or name in ("label", "probabilities", "margins") or name in self.given:
            raise ValueError(f"a column called {name!r} is not allowed in an ONNX graph: rename it")
        self.given[name] = self.helper.make_tensor_value_info(name, self.types[type], ["n", width])

    def features(self, formula: Formula, inputs: list[str]) -> str:
        """The features (n, d) computed from the columns."""
        parts = []
        for which in self._runs(formula):
            some = [formula.features[j] for j in which]
            parts.append(self._scaled(some, self._raw(some, formula, inputs)))
        return parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=1)

    def _runs(self, formula: Formula) -> list[list[int]]:
        """Groups of features computed together: numbers without filled values, or one column."""
        runs: list[list[int]] = []
        numeric = formula.is_numeric  # examines every column
        of = [
            (0 if numeric and one.kind == "number" else one.column, one.kind)
            for one in formula.features
        ]
        for j, made in enumerate(of):
            if runs and of[runs[-1][0]] == made:
                runs[-1].append(j)
            else:
                runs.append([j])
        return runs

    def _raw(self, some: list[Feature], formula: Formula, inputs: list[str]) -> str:
        columns = [one.column for one in some]
        if inputs:
            x = inputs[columns[0]]
        elif some[0].kind == "number" and columns == list(range(len(formula.columns))):
            x = "X"
        else:
            x = self.node("Gather", ["X", self.constant(columns, np.int64)], axis=1)
        if some[0].kind == "category":
            return self._one_hot(some, formula.types[columns[0]], x)
        if some[0].kind == "missing":
            return self.node("Cast", [self.node("IsNaN", [x])], to=self.tensor.DOUBLE)
        if formula.types[columns[0]] != "number":
            if formula.types[columns[0]] == "text":
                raise ValueError(
                    f"the column {formula.columns[columns[0]]!r} is used as strings and as numbers"
                )
            x = self.node("Cast", [x], to=self.tensor.DOUBLE)
        if inputs and len(some) > 1:  # a column that is used more than once
            x = self.node("Concat", [x] * len(some), axis=1)
        fills = [np.nan if one.fill is None else one.fill for one in some]
        if np.all(np.isnan(fills)):
            return x
        return self.node("Where", [self.node("IsNaN", [x]), self.constant([fills]), x])

    def _one_hot(self, some: list[Feature], type: Type, x: str) -> str:
        """One-hot encode a column: 1 in the feature that has its value."""
        values = [value for one in some for value in one.values]
        place = [number for number, one in enumerate(some) for _ in one.values]
        if type == "text":
            words = ["" if value is None else value for value in values]
            if len(set(words)) < len(words):
                raise ValueError(
                    "a missing string is the empty one in ONNX, and this model has a category that "
                    "is empty, too: give it another name"
                )
            codes: list[Any] = list(range(len(words)))
            x = self.node(
                "LabelEncoder", [x], domain="ai.onnx.ml", keys_strings=words, values_int64s=codes,
                default_int64=-1,
            )  # fmt: skip
        elif None in values:
            raise ValueError(
                "numeric categories cannot be missing in ONNX: fit without "
                "missing values, or with the numbers as strings"
            )
        else:
            codes = [int(value) if type == "boolean" else value for value in values]
        if type == "boolean":
            x = self.node("Cast", [x], to=self.tensor.INT64)
        dtype = np.float64 if type == "float" else np.int64
        same = self.node("Equal", [x, self.constant([codes], dtype)])
        found = self.node("Cast", [same], to=self.tensor.DOUBLE)
        if len(values) == len(some):
            return found
        shared = np.zeros((len(values), len(some)))
        shared[np.arange(len(values)), place] = 1.0
        return self.node("MatMul", [found, self.constant(shared)])

    def _scaled(self, some: list[Feature], x: str) -> str:
        if any(one.mean is not None for one in some):
            x = self.node("Sub", [x, self.constant([[one.mean or 0.0 for one in some]])])
        if any(one.scale is not None for one in some):
            scales = [1.0 if one.scale is None else one.scale for one in some]
            x = self.node("Div", [x, self.constant([scales])])
        return x

    def outputs(self, formula: Formula, features: str) -> list[Any]:
        """Margins, probabilities and labels computed from the features."""
        margins = self.linear(formula, features, ("label", "probabilities", "margins"))
        labels = formula.classes
        type = self.tensor.STRING if labels.dtype.kind in "OU" else self.label_type(labels)
        info = self.helper.make_tensor_value_info
        outputs = [info("label", type, ["n"])]
        if formula.several:
            outputs = [info("label", self.tensor.INT64, ["n", len(labels)])]
        if formula.probability is not None:
            outputs.append(info("probabilities", self.tensor.DOUBLE, ["n", len(labels)]))
        outputs.append(info(margins, self.tensor.DOUBLE, ["n", len(formula.coef)]))
        return outputs

    def label_type(self, labels: Any) -> int:
        """Element type of the labels: integer or double for numbers; Booleans stay Booleans."""
        kinds = {"b": self.tensor.BOOL, "f": self.tensor.DOUBLE}
        return int(kinds.get(labels.dtype.kind, self.tensor.INT64))

    def linear(self, formula: Formula, features: str, names: tuple[str, str, str]) -> str:
        """Add the nodes from features to outputs of these names; return the name of the margins."""
        label, probabilities, margins = names
        coef, intercept = self.constant(formula.coef.T), self.constant(formula.intercept)
        self.node("Gemm", [features, coef, intercept], margins)
        if formula.several:
            above = self.node("GreaterOrEqual", [margins, self.constant(0.0)])
            self.node("Cast", [above], label, to=self.tensor.INT64)
            if formula.probability is not None:
                self.node("Sigmoid", [margins], probabilities)
            return margins
        if len(formula.coef) == 1:
            above = self.node("GreaterOrEqual", [margins, self.constant(formula.cut)])
            whole = self.node("Cast", [above], to=self.tensor.INT64)
            number = self.node("Squeeze", [whole, self.constant([1], np.int64)])
        elif formula.costs is None:
            number = self.node("ArgMax", [margins], axis=1, keepdims=0)
        self._probabilities(formula, margins, probabilities)
        if formula.costs is not None:
            expected = self.node("MatMul", [probabilities, self.constant(formula.costs)])
            number = self.node("ArgMin", [expected], axis=1, keepdims=0)
        self.node("Gather", [self._labels(formula), number], label)
        return margins

    def _probabilities(self, formula: Formula, margins: str, name: str) -> None:
        """Add the nodes from margins to probabilities of this name, if the loss defines them."""
        if formula.probability == "sigmoid":
            both = self.node("Concat", [self.node("Neg", [margins]), margins], axis=1)
            self.node("Sigmoid", [both], name)
        elif formula.probability is not None:
            shares = margins
            if formula.probability == "normalized_sigmoid":
                shares = self._log_sigmoid(margins)
            self.node("Softmax", [shares], name, axis=1)

    def _log_sigmoid(self, margins: str) -> str:
        """``min(m, 0) - log(1 + e^-|m|)``: its softmax gives each sigmoid divided by their sum.

        This form does not underflow.
        """
        decay = self.node("Exp", [self.node("Neg", [self.node("Abs", [margins])])])
        log = self.node("Log", [self.node("Add", [self.constant(1.0), decay])])
        return self.node("Sub", [self.node("Min", [margins, self.constant(0.0)]), log])

    def _labels(self, formula: Formula) -> str:
        labels = formula.classes
        if labels.dtype.kind in "OU":
            words = formula.labels
            if not all(isinstance(word, str) for word in words):
                raise ValueError(f"ONNX labels must be all numbers or all strings, got {words!r}")
            return self.constant(words, object)
        return self.constant(
            labels, {"b": np.bool_, "f": np.float64}.get(labels.dtype.kind, np.int64)
        )

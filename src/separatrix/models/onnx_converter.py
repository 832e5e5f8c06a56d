"""Conversion of the linear classifiers of separatrix by skl2onnx, as the last step of pipelines.

skl2onnx calls the methods ``onnx_converter`` and ``onnx_shape_calculator`` of a model that it does
not know: those of the classifiers (``LinearModel``) return ``convert`` and ``shapes`` below, so
``skl2onnx.to_onnx(pipeline, X)`` works. It accepts its options, such as ``zipmap``, only for
registered models: call ``register_converters()`` once. Everything after the features is computed in
float64; float32 inputs give float32 outputs.
"""

from __future__ import annotations

from typing import Any

from ..estimators import (
    AROW,
    LinearClassifier,
    LinearClassifierCV,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from .formula import formula_of
from .onnx import Graph, _import, text_named_in_errors

CLASSIFIERS: tuple[Any, ...] = (
    AROW, LinearClassifier, LinearClassifierCV, PassiveAggressive, Perceptron, Winnow,
)  # fmt: skip
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def register_converters() -> None:
    """Register the linear classifiers of separatrix with skl2onnx.

    Without registration skl2onnx converts them too, but accepts no options and adds no ZipMap. The
    outputs are the label and the probability of every class; if the loss defines no probabilities,
    the margins, for two classes as (-margin, margin). For rows with several labels the first output
    is the matrix of labels, 0 and 1; these models need ``zipmap=False``.
    """
    skl2onnx = _import("skl2onnx")
    for cls in CLASSIFIERS:
        skl2onnx.update_registered_converter(
            cls, f"Separatrix{cls.__name__}", shapes, convert, overwrite=True, options=OPTIONS
        )


def shapes(operator: Any) -> None:
    """Set the types of the outputs from those of the inputs."""
    types = _import("skl2onnx.common.data_types")
    n, classes = operator.inputs[0].get_first_dimension(), operator.raw_operator.classes_
    words = classes.dtype.kind in "OU"
    label = types.StringTensorType if words else types.Int64TensorType
    double = isinstance(operator.inputs[0].type, types.DoubleTensorType)
    share = types.DoubleTensorType if double else types.FloatTensorType
    if operator.raw_operator._has_labels:  # as of a OneVsRestClassifier
        operator.outputs[0].type = types.Int64TensorType([n, len(classes)])
    else:
        operator.outputs[0].type = label([n])
    operator.outputs[1].type = share([n, len(classes)])


@text_named_in_errors()
def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to the graph."""
    types, helper = _import("skl2onnx.common.data_types"), _import("onnx.helper")
    if operator.raw_operator.uses_offset_:
        raise ValueError(
            "skl2onnx passes features alone, and this model was fitted with an offset: use "
            "separatrix.export(model, path, to='onnx'), whose graph has inputs for it"
        )
    formula = formula_of(operator.raw_operator)
    graph = Graph(scope.get_unique_variable_name("separatrix"))
    label, shares = (output.full_name for output in operator.outputs)
    double = graph.node("Cast", [operator.inputs[0].full_name], to=graph.tensor.DOUBLE)
    names = [f"{graph.prefix}/{name}" for name in ("label", "probabilities", "margins")]
    margins = graph.linear(formula, double, (names[0], names[1], names[2]))
    found = names[1]
    if formula.probability is None:
        found = margins
        if len(formula.coef) == 1:
            found = graph.node("Concat", [graph.node("Neg", [margins]), margins], axis=1)
    proto = types.guess_proto_type(operator.outputs[1].type)
    graph.node("Cast", [found], shares, to=proto)
    if formula.classes.dtype.kind in "OU" and not formula.several:
        graph.node("Identity", [names[0]], label)
    else:
        graph.node("Cast", [names[0]], label, to=graph.tensor.INT64)
    for constant in graph.constants:
        values = graph.arrays.to_array(constant)
        container.add_initializer(
            constant.name, constant.data_type, list(values.shape), values.ravel().tolist()
        )
    for node in graph.nodes:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type, list(node.input), list(node.output), op_domain=node.domain,
            name=scope.get_unique_operator_name("separatrix"), **attributes,
        )  # fmt: skip

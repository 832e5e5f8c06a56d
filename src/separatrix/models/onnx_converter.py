"""How skl2onnx takes the linear classifiers of separatrix, as the last step of its own pipelines.

skl2onnx asks a model that it does not know for ``onnx_converter`` and ``onnx_shape_calculator``:
the classifiers have them, so that ``skl2onnx.to_onnx(pipeline, X)`` works. Its options, as
``zipmap``, it takes for models alone that were registered: ``register_converters()``, once. All is
computed in float64 from the features on; inputs that are float32 give outputs that are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..estimators import LinearClassifier, LinearClassifierCV, Perceptron
from .formula import formula_of
from .onnx import Graph, _import, text_named_in_errors

CLASSIFIERS: tuple[Any, ...] = (LinearClassifier, LinearClassifierCV, Perceptron)
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def register_converters() -> None:
    """Tell skl2onnx of LinearClassifier, LinearClassifierCV and Perceptron, and of their options.

    Without this it converts them too, but takes no options, and adds no ZipMap. The outputs are the
    label and the probabilities of every class; where the loss defines none, the margins, of two
    classes as (-margin, margin).
    """
    skl2onnx = _import("skl2onnx")
    for cls in CLASSIFIERS:
        skl2onnx.update_registered_converter(
            cls, f"Separatrix{cls.__name__}", _shapes, _convert, overwrite=True, options=OPTIONS
        )


def _shapes(operator: Any) -> None:
    """The types of the outputs, by those of the inputs."""
    types = _import("skl2onnx.common.data_types")
    n, classes = operator.inputs[0].get_first_dimension(), operator.raw_operator.classes_
    words = classes.dtype.kind in "OU"
    label = types.StringTensorType if words else types.Int64TensorType
    double = isinstance(operator.inputs[0].type, types.DoubleTensorType)
    share = types.DoubleTensorType if double else types.FloatTensorType
    operator.outputs[0].type = label([n])
    operator.outputs[1].type = share([n, len(classes)])


@text_named_in_errors()
def _convert(scope: Any, operator: Any, container: Any) -> None:
    types, helper = _import("skl2onnx.common.data_types"), _import("onnx.helper")
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
    if formula.classes.dtype.kind in "OU":
        graph.node("Identity", [names[0]], label)
    else:
        graph.node("Cast", [names[0]], label, to=graph.tensor.INT64)
    for constant in graph.constants:
        values = graph.arrays.to_array(constant)
        container.add_initializer(
            constant.name, constant.data_type, list(values.shape), values.ravel().tolist()
        )
    for node in graph.nodes:
        told = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        container.add_node(
            node.op_type, list(node.input), list(node.output), op_domain=node.domain,
            name=scope.get_unique_operator_name("separatrix"), **told,
        )  # fmt: skip


def onnx_converter(self: Any) -> Callable[[Any, Any, Any], None]:
    """For skl2onnx: what writes this model into its graph."""
    return _convert


def onnx_shape_calculator(self: Any) -> Callable[[Any], None]:
    """For skl2onnx: what tells the types of the outputs."""
    return _shapes


for _classifier in CLASSIFIERS:  # here: estimators know nothing of formulas and graphs
    _classifier.onnx_converter = onnx_converter
    _classifier.onnx_shape_calculator = onnx_shape_calculator

"""Losses and penalties say what they can do; few places ask which class they are."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import separatrix
from separatrix import losses, penalties
from separatrix.numeric.types import Array

SRC = Path(separatrix.__file__).parent
MOST = 15
OWN = "separatrix."


def _classes(root: type) -> set[type]:
    return {root}.union(*(_classes(each) for each in root.__subclasses__()))


OURS = {
    each.__name__
    for root in (losses.Loss, penalties.Penalty)
    for each in _classes(root)
    if each.__module__.startswith(OWN)
}
NAMES = {
    str(each.name)
    for registry in (losses.REGISTRY, penalties.REGISTRY)
    for each in registry.values()
    if each.__module__.startswith(OWN)
} | set(losses.FORMS)
WORDS = {"loss", "binary", "column_loss", "penalty"}
FOREIGN = "clf"  # a classifier of another library, whose losses and penalties are words


def _last(node: ast.expr) -> str:
    """The last word of a name: ``loss`` of ``objective.loss``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _of_ours(node: ast.expr) -> bool:
    """Whether a loss or penalty is meant, by the word for it, or a form of it for k classes."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and _of_ours(node.func.value)
    return _last(node) in WORDS


def _names_ours(node: ast.AST) -> bool:
    """Whether a class of ours is named, also in a tuple."""
    return any(_last(each) in OURS for each in ast.walk(node) if isinstance(each, ast.expr))


def _is_type_test(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
            return _names_ours(classes)
        case ast.Call(func=ast.Name(id="type"), args=[of]):
            return _of_ours(of)
        case ast.MatchClass(cls=cls):
            return _names_ours(cls)
        case ast.Compare(left=left, comparators=[right]):
            return _compares(left, right) or _compares(right, left)
    return False


def _compares(left: ast.expr, right: ast.expr) -> bool:
    """A name of a loss or penalty, or one itself, with a word or an object of a class."""
    if isinstance(left, ast.Attribute) and _last(left.value) == FOREIGN:
        return False
    named = isinstance(left, ast.Attribute) and left.attr == "name" and _of_ours(left.value)
    if not named and not _of_ours(left):
        return False
    words = {each.value for each in ast.walk(right) if isinstance(each, ast.Constant)}
    return bool(words & NAMES) or _names_ours(right) or (named and not isinstance(right, ast.Name))


def single_flags() -> set[str]:
    """Attributes that are true, or false, of one class of losses and penalties alone."""
    binary = [each() for each in losses.REGISTRY.values() if each.__module__.startswith(OWN)]
    forms = {type(form): form for form in (each.multiclass() for each in binary)}
    kinds = [
        *binary, *forms.values(),
        penalties.L2(1.0), penalties.ElasticNet(1.0, 1.0), penalties.GroupLasso(1.0, 1.0),
    ]  # fmt: skip
    found = set()
    for name in {name for kind in kinds for name in dir(kind) if not name.startswith("_")}:
        values = [getattr(kind, name) for kind in kinds if hasattr(kind, name)]
        flags = all(isinstance(value, bool) for value in values)
        if flags and 1 in (values.count(True), values.count(False)):
            found.add(name)
    return found


def _no_tests(tree: ast.AST) -> set[int]:
    """``type(loss).__name__`` of a message decides nothing; ``type(x) is bool`` asks for data."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__")
    } | {
        id(node.left)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and hasattr(builtins, _last(node.comparators[0]))
    }


def type_tests() -> Iterator[tuple[str, int, str]]:
    """File, line and text of every type test on a loss or a penalty in the package.

    A flag that only one class has counts too, wherever another package asks for it.
    """
    flags = single_flags()
    for path in sorted(SRC.rglob("*.py")):
        text = path.read_text()
        tree = ast.parse(text)
        own = path.parent.name in ("losses", "penalties")
        tests = [
            node
            for node in ast.walk(tree)
            if (isinstance(node, ast.Attribute) and node.attr in flags and not own)
            or _is_type_test(node)
        ]
        fine = _no_tests(tree) if tests else set()
        for node in tests:
            if id(node) not in fine:
                line = node.lineno  # type: ignore[attr-defined]
                yield str(path.relative_to(SRC)), line, text.splitlines()[line - 1].strip()


def test_few_places_ask_which_class_a_loss_or_penalty_is() -> None:
    found = list(type_tests())
    assert len(found) <= MOST, "\n".join(f"{path}:{line} {text}" for path, line, text in found)


def test_the_counter_counts() -> None:
    asked = [
        "isinstance(loss, Hinge)", "isinstance(x, (Hinge, L2))", "issubclass(kind, Penalty)",
        "type(loss) is Hinge", "type(objective.loss)", "loss.name == 'hinge'", "loss == 'hinge'",
        "penalty == L2(0.0)", "loss.for_classes(2).name in ('hinge', 'logistic')",
    ]  # fmt: skip
    for text in asked:
        assert any(map(_is_type_test, ast.walk(ast.parse(text)))), text
    assert not _no_tests(ast.parse("type(loss) is Hinge"))
    assert _no_tests(ast.parse("type(self.binary) is bool"))
    fine = ["isinstance(source, InMemory)", "type(rows)", "clf.loss == 'hinge'", "loss.smooth"]
    for text in fine:
        assert not any(map(_is_type_test, ast.walk(ast.parse(text)))), text


@pytest.mark.parametrize("name", [name for name in losses.REGISTRY if name != "zero_one"])
def test_steepness_bounds_the_mean_slope(name: str) -> None:
    loss = losses.REGISTRY[name]()
    assert loss.has_steepness
    for seed in range(20):
        rng = np.random.default_rng(seed)
        m = rng.normal(rng.normal(0.0, 3.0), 10.0 ** rng.uniform(-3.0, 3.0), size=50)
        bound = loss.steepness(float(loss.phi(m).mean()))
        assert np.abs(loss.slope(m)).mean() <= bound * (1.0 + 1e-12), name


def test_a_subclass_with_another_formula_inherits_no_statement_about_it() -> None:
    class Wider(losses.Hinge):
        def phi(self, m: Array) -> Array:
            return np.maximum(0.0, 2.0 - m)

    class Renamed(losses.Hinge):
        pass

    assert Wider.dual_range is None
    assert Renamed.dual_range == losses.Hinge.dual_range == (0.0, 1.0)


@pytest.mark.parametrize("name", [name for name in losses.REGISTRY if name != "zero_one"])
def test_what_losses_state_is_true(name: str) -> None:
    """The attributes that solvers and proofs trust, against the values of the loss."""
    loss, m = losses.REGISTRY[name](), np.linspace(-5.0, 5.0, 201)
    scaled = np.allclose(loss.phi(2.0 * m), 2.0 * loss.phi(m))
    assert loss.homogeneous == scaled
    if loss.dual_range is not None:
        alpha = -loss.slope(np.linspace(-800.0, 800.0, 20001))
        low, high = loss.dual_range
        assert low <= alpha.min()
        assert alpha.max() <= high
    if loss.constant_curvature is not None:
        np.testing.assert_array_equal(loss.curvature(m), loss.constant_curvature)
    if loss.log_likelihood:
        np.testing.assert_allclose(loss.phi(m), -np.log(loss.probability(m)))
    assert loss.column_loss is loss
    joint = loss.multiclass()
    scores = np.random.default_rng(0).standard_normal((30, 3))
    y = np.arange(30) % 3
    moved = np.allclose(joint.value(y, scores + 7.0), joint.value(y, scores))
    assert joint.shifts == moved
    assert (joint.column_loss is None) == joint.shifts

"""Saving a fitted estimator to a file and loading it: same parameters, attributes, predictions."""

from __future__ import annotations

import inspect
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_type_hints

from ..estimators import (
    AROW,
    KernelPerceptron,
    LinearClassifier,
    LinearClassifierCV,
    PassiveAggressive,
    Perceptron,
    Winnow,
)
from ..features import RadialBasis
from ..numeric import container
from ..numeric.container import Damaged, HeaderTooLong
from ..numeric.replaced import check_file_path, replaced
from .reader import ModelReader
from .soundness import check_sparse_weights, refuse_unsound
from .writer import Writer

FORMAT, VERSION = "separatrix model", "1"
ESTIMATORS: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        AROW,
        KernelPerceptron,
        LinearClassifier,
        LinearClassifierCV,
        PassiveAggressive,
        Perceptron,
        RadialBasis,
        Winnow,
    )
}
DERIVED = {KernelPerceptron: ("support_", "support_vectors_", "dual_coef_", "intercept_")}
"""Attributes that other attributes determine."""
OPTIONAL = (
    "feature_names_in_", "unknown_categories_", "_reading", "loo_check_", "l2_path_", "l1_",
    "strength_", "l1_ratio_", "decision_", "_labels", "prior_shift_", "_with_offset",
    "intercept_flic_", "prediction_bounds_", "sigmoid_", "survivors_", "votes_",
)  # fmt: skip
"""Attributes that a fit may leave out."""
LATER: dict[type[Any], tuple[str, ...]] = {
    KernelPerceptron: ("trace_",),
    LinearClassifier: ("_nonzero", "_zero"),
    LinearClassifierCV: ("_nonzero", "_zero"),
}
"""Attributes that were added later, so that older files lack them."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save an estimator, fitted or not, to a file that :func:`load` reads.

    Everything is saved: parameters, attributes, how a model that was fitted to files reads columns,
    history and trace. The file holds numbers and strings in the byte layout of safetensors, no
    code, and a digest that detects any damage. An existing file is replaced only once the new one
    is complete.

    Parameters
    ----------
    estimator : classifier of separatrix, or RadialBasis
        Code cannot be saved and is refused by name: callbacks, functions, and losses and solvers of
        your own. ``set_params(callbacks=())`` removes callbacks without changing the fit.
    path : str or path

    See Also
    --------
    load : reads it.
    export : for other programs.
    Checkpoint : saves a fit that has not finished.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import separatrix
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "no", "yes"]
    >>> clf = separatrix.Perceptron(shuffle=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     separatrix.save(clf, Path(folder) / "and.sep")
    ...     loaded = separatrix.load(Path(folder) / "and.sep")
    >>> loaded.predict([[1, 1]]), loaded.stop_
    (array(['yes'], dtype='<U3'), 'no mistakes')
    """
    cls = type(estimator)
    if hasattr(estimator, "steps"):
        raise TypeError(
            "save takes the estimators of separatrix, got a pipeline, whose other steps are "
            "not: fit with standardize=True instead of a StandardScaler, and to separatrix.read "
            "instead of a OneHotEncoder, so that the model has them; or use separatrix.export, "
            "which writes a whole pipeline, or joblib or skops"
        )
    if ESTIMATORS.get(cls.__name__) is not cls:
        raise TypeError(
            f"save takes the estimators of separatrix ({', '.join(ESTIMATORS)}), got a "
            f"{cls.__qualname__}: save its parts one by one, or use joblib or pickle"
        )
    check_sparse_weights(vars(estimator).get("coef_"))
    writer = Writer()
    parameters = estimator.get_params(deep=False)
    attributes = _attributes(estimator, set(parameters))
    model = {
        "estimator": cls.__name__,
        "parameters": {name: writer.plain(name, value) for name, value in parameters.items()},
        "attributes": {name: writer.plain(name, value) for name, value in attributes.items()},
    }
    metadata = {
        "format": FORMAT, "version": VERSION, "separatrix": version("separatrix"),
        "model": json.dumps(model, allow_nan=False, separators=(",", ":")),
    }  # fmt: skip
    try:
        pieces = container.packed(metadata, writer.arrays)
    except HeaderTooLong as error:
        raise ValueError(
            f"{error}: read categories with categorical='hash', or keep fewer of them "
            "(max_categories, min_frequency)"
        ) from None
    path = Path(path)
    check_file_path(path, "a model")
    with replaced(path) as file:
        for piece in pieces:
            file.write(piece)


def _attributes(estimator: Any, parameters: set[str]) -> dict[str, Any]:
    """Attributes set by a fit, by name; refused if a file cannot hold them."""
    cls = type(estimator)
    known, derived = _fitted(cls), DERIVED.get(cls, ())
    for name in vars(estimator):
        if name not in known and name not in parameters and name not in derived:
            raise TypeError(
                f"this {cls.__name__} has an attribute {name!r}, which a model file cannot "
                f"hold: delete it before saving (del estimator.{name}), or use joblib or pickle"
            )
    return {name: getattr(estimator, name) for name in known if name in vars(estimator)}


def _fitted(cls: type[Any]) -> dict[str, Any]:
    """The attributes that a fit sets and a file holds, and their types."""
    others = {*inspect.signature(cls).parameters, *DERIVED.get(cls, ())}
    hints = get_type_hints(cls)
    # What has a value in the class is not a result of a fit.
    names = sorted(name for name in hints if name not in others and not hasattr(cls, name))
    return {name: hints[name] for name in names}


def load(path: str | os.PathLike[str]) -> Any:
    """Load the estimator that :func:`save` wrote to a file.

    Nothing in the file is executed. A file that is damaged, truncated or tampered with is refused
    with a ValueError that says what is wrong.

    Parameters
    ----------
    path : str or path
        The file.

    See Also
    --------
    save : writes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from separatrix import LinearClassifier, load, save
    >>> clf = LinearClassifier(l2=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, Path(folder) / "model.sep")
    ...     load(Path(folder) / "model.sep").predict([[0.4], [2.6]]).tolist()
    [0, 1]
    """
    try:
        return _loaded(Path(path))
    except Damaged as damage:
        raise ValueError(
            f"{os.fspath(path)!r} cannot be loaded: {damage}. Expected a file written by "
            "separatrix.save and unchanged since: take another copy, or save the model again"
        ) from None


def _loaded(path: Path) -> Any:
    metadata, arrays = container.read(path, "model file")
    if metadata.get("format") != FORMAT:
        raise Damaged("it contains arrays, but not a separatrix model")
    if metadata.get("version") != VERSION:
        raise Damaged(
            f"its format has the version {metadata.get('version')!r}, written by separatrix "
            f"{metadata.get('separatrix')!r}, and this separatrix reads version {VERSION!r}"
        )
    try:
        return _estimator(container.parsed(metadata.get("model", "")), ModelReader(arrays))
    # The contents have passed through the constructors of losses and other classes, which may raise
    # any kind of error.
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError,
            TypeError, ValueError) as error:  # fmt: skip
        raise Damaged(f"its content is invalid ({error})") from None


def _estimator(model: Any, reader: ModelReader) -> Any:
    if not isinstance(model, dict) or set(model) != {"estimator", "parameters", "attributes"}:
        raise Damaged("it does not contain a model")
    cls = ESTIMATORS.get(str(model["estimator"]))
    if cls is None:
        raise Damaged(
            f"it contains a {model['estimator']!r}, unknown to this version of separatrix"
        )
    parameters, attributes = (reader.value(model[name]) for name in ("parameters", "attributes"))
    if not isinstance(parameters, dict) or not isinstance(attributes, dict):
        raise Damaged("it does not contain a model")
    if reader.arrays:
        raise Damaged(f"the array {next(iter(reader.arrays))!r} is not used by the model")
    if unknown := set(parameters) - set(inspect.signature(cls).parameters):
        raise Damaged(f"a {cls.__name__} has no parameter {min(unknown)!r}")
    estimator = cls(**parameters)
    if attributes:
        hints = _fitted(cls)
        needed = [name for name in hints if name not in OPTIONAL and name not in LATER.get(cls, ())]
        if lost := [name for name in needed if name not in attributes]:
            raise Damaged(f"the attribute {lost[0]!r} is missing")
        if unknown := set(attributes) - set(hints):
            raise Damaged(f"a {cls.__name__} has no attribute {min(unknown)!r}")
        vars(estimator).update(attributes)
        refuse_unsound(estimator, hints)
    return estimator

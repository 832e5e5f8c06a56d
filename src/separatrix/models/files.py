"""A fitted estimator in a file, and back: the same parameters, attributes and predictions."""

from __future__ import annotations

import inspect
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_type_hints

from ..estimators import KernelPerceptron, LinearClassifier, LinearClassifierCV, Perceptron
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
    for cls in (KernelPerceptron, LinearClassifier, LinearClassifierCV, Perceptron, RadialBasis)
}
DERIVED = {KernelPerceptron: ("support_", "support_vectors_", "dual_coef_", "intercept_")}
"""Attributes that others tell, too."""
OPTIONAL = (
    "feature_names_in_", "unknown_categories_", "_reading", "loo_check_", "l2_path_", "l1_",
    "strength_", "l1_ratio_",
)  # fmt: skip
"""Attributes that a fit may leave out."""
LATER: dict[type[Any], tuple[str, ...]] = {
    KernelPerceptron: ("trace_",),
    LinearClassifier: ("_zero",),
    LinearClassifierCV: ("_zero",),
}
"""Attributes that are not in files which were written before there were such."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Keep an estimator, fitted or not, in a file that :func:`load` reads.

    All of it is kept: parameters, attributes, how a model that was fitted to files reads others,
    history and trace. The file holds numbers and words in the byte layout of safetensors, no code,
    and a digest by which any damage is found. It takes the place of another only once it is whole.

    Parameters
    ----------
    estimator : LinearClassifier, LinearClassifierCV, Perceptron, KernelPerceptron or RadialBasis
        What of it is code cannot be kept, and is refused by name: callbacks, functions, losses
        and solvers of your own. ``set_params(callbacks=())`` leaves a fit as it is.
    path : str or path

    See Also
    --------
    load : reads it.
    export : for other programs.
    Checkpoint : keeps a fit that is not done.

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
            "save keeps the estimators of separatrix, and got a pipeline, whose other steps are "
            "not: fit with standardize=True in place of a StandardScaler, and to separatrix.read "
            "in place of a OneHotEncoder, and the model has them; or use separatrix.export, which "
            "writes a pipeline as one, or joblib or skops"
        )
    if ESTIMATORS.get(cls.__name__) is not cls:
        raise TypeError(
            f"save keeps the estimators of separatrix ({', '.join(ESTIMATORS)}), and got a "
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
    """What a fit set, by name; refused where a file has no place for it."""
    cls = type(estimator)
    known, derived = _fitted(cls), DERIVED.get(cls, ())
    for name in vars(estimator):
        if name not in known and name not in parameters and name not in derived:
            raise TypeError(
                f"this {cls.__name__} has an attribute {name!r}, for which a model file has no "
                f"place: delete it before saving (del estimator.{name}), or use joblib or pickle"
            )
    return {name: getattr(estimator, name) for name in known if name in vars(estimator)}


def _fitted(cls: type[Any]) -> dict[str, Any]:
    """The attributes that a fit sets and a file keeps, and their types."""
    others = {*inspect.signature(cls).parameters, *DERIVED.get(cls, ())}
    hints = get_type_hints(cls)
    # What has a value in the class is no result of a fit.
    names = sorted(name for name in hints if name not in others and not hasattr(cls, name))
    return {name: hints[name] for name in names}


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that :func:`save` kept in a file.

    Nothing in the file is executed. One that was damaged, cut short or tampered with is refused
    with a ValueError that says what is wrong with it.

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
            f"{os.fspath(path)!r} cannot be loaded: {damage}. Expected a file that "
            "separatrix.save wrote, unchanged since: take another copy, or save the model again"
        ) from None


def _loaded(path: Path) -> Any:
    metadata, arrays = container.read(path, "model file")
    if metadata.get("format") != FORMAT:
        raise Damaged("it is a file of arrays, but no model of separatrix")
    if metadata.get("version") != VERSION:
        raise Damaged(
            f"its format has the version {metadata.get('version')!r}, written by separatrix "
            f"{metadata.get('separatrix')!r}, and this separatrix reads version {VERSION!r}"
        )
    try:
        return _estimator(container.parsed(metadata.get("model", "")), ModelReader(arrays))
    # What a file holds has passed through the constructors of losses and others: of what they
    # object to, any kind of error may tell.
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError,
            TypeError, ValueError) as error:  # fmt: skip
        raise Damaged(f"what it holds is not as it should be ({error})") from None


def _estimator(model: Any, reader: ModelReader) -> Any:
    if not isinstance(model, dict) or set(model) != {"estimator", "parameters", "attributes"}:
        raise Damaged("it holds no model")
    cls = ESTIMATORS.get(str(model["estimator"]))
    if cls is None:
        raise Damaged(f"it holds a {model['estimator']!r}, of which this separatrix does not know")
    parameters, attributes = (reader.value(model[name]) for name in ("parameters", "attributes"))
    if not isinstance(parameters, dict) or not isinstance(attributes, dict):
        raise Damaged("it holds no model")
    if reader.arrays:
        raise Damaged(f"the array {next(iter(reader.arrays))!r} belongs to nothing")
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

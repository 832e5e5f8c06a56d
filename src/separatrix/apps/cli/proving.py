"""``check``, ``certify`` and ``diagnose``: what can be proven about data and models."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import separatrix

from . import arguments as arg
from . import suggestions
from .inputs import Judged, Options, any_model, in_memory, judged, loaded, rows_in_memory
from .output import console, counted, print_json, printable, say
from .paths import opened
from .progress import Watch

CODE_NOT_SEPARABLE = 3  # exit code of `check` on data that is not separable


def check(
    data: arg.Data,
    target: arg.Target = None,
    keep: arg.Keep = None,
    drop: arg.Drop = None,
    as_category: arg.AsCategory = None,
    date: arg.Date = None,
    missing: arg.Missing = None,
    format: arg.Format = None,
    json: arg.Json = False,
) -> int:
    """Prove whether a plane separates the classes; exit code 3 if none does."""
    options = Options(
        target, None, drop or [], as_category or [], missing, format, dates=date or [],
        keep=keep or [],
    )  # fmt: skip
    found, words = checked(data, options)
    if json:
        print_json("check", found)
    else:
        console().print(printable(words))
        for finding in found["findings"]:
            say(f"warning: {finding['sentence']}")
    return 0 if found["separability"]["verdict"] == "separable" else CODE_NOT_SEPARABLE


def checked(data: list[str], options: Options) -> tuple[dict[str, Any], str]:
    """The verdict on the rows of files, as plain data and as text."""
    from .figures import class_counts

    with opened(data, options.format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        source = options.read(paths)
        watch.stage("Looking for a plane")
        encoding = getattr(source.reading, "encoding", None)
        names = None if encoding is None else encoding.coef_names
        rows = in_memory(source)
        verdict = separatrix.separability(rows, feature_names=names)
        rest = "margin" if verdict.verdict == "separable" else "certificate"
        watch.stage(f"The rows are {verdict.verdict}; computing the {rest}")
        words, proven = str(verdict), verdict.to_dict()
        findings = options.doubts(source) + _leaks(rows, encoding)
    facts = {"file": " ".join(data), "rows": source.n_rows, "classes": class_counts(source)}
    return {"data": facts, "separability": proven, "findings": findings}, words


def _leaks(rows: Any, encoding: Any) -> list[dict[str, str]]:
    """Columns that alone say the class, as a finding; for rows in memory."""
    import numpy as np

    from ...inspection.diagnose.leaks import separating, words

    if encoding is None or not hasattr(rows, "block"):
        return []
    names = encoding.coef_names
    X, y = rows.block().X, rows.y
    found = separating(X, y, np.unique(y), lambda j: repr(str(names[j])), encoding)
    if not found:
        return []
    at, columns = {j for some in found.values() for j in some}, []
    first = 0
    for column in encoding.columns:
        if at & {*range(first, first + column.n_features)}:
            columns.append(column.name)
        first += column.n_features
    drop = suggestions.options({"drop": columns})
    sentence = f"{words(list(found))}: leave it out by {drop}."
    return [{"cause": "one feature separates", "sentence": sentence}]


def certify(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Prove how far a model, of separatrix or of scikit-learn (skops), is above its minimum.

    Pass the rows of its fit. A model that held out rows knows which, and leaves them out.
    """
    estimator = any_model(model)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage("Fitting the same objective")
        if type(estimator).__module__.startswith("separatrix"):
            found = judged(estimator, paths, target, format)
            certificate = separatrix.certify(estimator, found.rows)
        else:
            try:
                rows, certificate = _certified(estimator, paths, target, format)
            # The contents of a skops file are checked only by type.
            except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
                raise ValueError(
                    f"{model} cannot be certified: its attributes do not fit together ({error}); "
                    "fit the model again, and write it with skops.io.dump(model, 'model.skops')"
                ) from error
            found = Judged(rows, None, None)
    options = _remedy_options(estimator, certificate.remedy)
    if json:
        proven = certificate.to_dict() | {"options": options}
        print_json("certify", {"model": model, "data": found.facts(data), "certificate": proven})
        return
    print_rows(found)
    out = console()
    words = str(replace(certificate, remedy=None))
    # A fingerprint has shown that these are the rows of the fit: no caveat is needed.
    out.print(printable(certificate.finding if found.is_of_fit else words))
    if certificate.remedy is not None:
        python = f"in Python, where clf is the model: {certificate.remedy}"
        out.print(
            printable(f"Remedy: {python if options is None else f'fit again with {options}'}"),
            soft_wrap=True,
        )


def _remedy_options(estimator: Any, remedy: str | None) -> str | None:
    """The options of ``fit`` that a remedy stands for; None if only Python has it."""
    if not isinstance(estimator, (separatrix.LinearClassifier, separatrix.LinearClassifierCV)):
        return None
    return suggestions.options(getattr(remedy, "changes", {}))


def print_rows(found: Judged) -> None:
    """Print which rows a model is evaluated on."""
    if found.is_of_fit:
        without = ""
        if found.held_out is not None:
            without = f", without {counted(found.held_out.n_rows, 'other')} that it held out"
        console().print(f"The {counted(found.rows.n_rows, 'row')} of its fit{without}.")
    elif found.is_of_fit is False:
        n = found.rows.n_rows
        say(f"warning: this is not the file of its fit; all {counted(n, 'row')} are used.")


def _certified(
    estimator: Any, paths: list[str], target: str | None, format: str | None
) -> tuple[Any, Any]:
    """Certify a scikit-learn model, with columns in its own order if it knows their names."""
    from .figures import labels_and_weights
    from .labels import indicator_and_weights

    options = Options(target=target, missing="error", format=format)
    names = getattr(estimator, "feature_names_in_", None)
    options.features = None if names is None else [str(name) for name in names]
    rows = rows_in_memory(options.read(paths, several=True), "certify")
    several = rows.labels is not None
    labels, weights = (indicator_and_weights if several else labels_and_weights)(rows)
    X = rows.block().X
    if hasattr(X, "indptr"):
        from scipy.sparse import csr_array

        X = csr_array((X.data, X.indices, X.indptr), shape=(len(labels), rows.n_features))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return rows, separatrix.certify(estimator, X, labels, sample_weight=weights)


def diagnose(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Report what is wrong with a model, the worst first, given the rows of its fit; in memory.

    A model that held out rows knows which, and leaves them out.
    """
    estimator = loaded(model)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage(f"Reading {data[0]}")
        of = judged(estimator, paths, target, format)
        rows = rows_in_memory(of.rows, "diagnose")
        watch.stage("Looking for causes")
        found = separatrix.diagnose(estimator, rows)
    if json:
        facts = of.facts(data) | {"in_memory": True}
        plain = found.to_dict()
        for finding, each in zip(found.findings, plain["findings"], strict=True):
            each["options"] = suggestions.options(finding.changes)
        print_json("diagnose", {"model": model, "data": facts} | plain)
        return
    print_rows(of)
    out = console()
    out.print(f"{counted(rows.n_rows, 'row')} in memory.")
    if found.healthy:
        out.print(printable(found))
    for number, finding in enumerate(found.findings, 1):
        options = suggestions.options(finding.changes)
        remedy = f"in Python: {finding.remedy}" if options is None else f"fit again with {options}"
        out.print(printable(f"{number}. {finding.sentence}\n   {remedy}"), soft_wrap=True)

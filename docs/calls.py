"""The functions and files that a fit enters: found by running it, with separatrix installed."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


def frames(estimator: Any, X: Any, y: Any, loop: str) -> list[str]:
    """The functions from ``fit`` down to the one that enters a compiled loop, both included.

    ``loop``: how the loop's name begins. Of several ways there, the one gone most often.
    """
    (module,) = [m for name, m in sys.modules.items() if name.endswith("._loops")]
    ways: Counter[tuple[str, ...]] = Counter()

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        def enter(*args: Any, **kwargs: Any) -> Any:
            ways[tuple(_stack(sys._getframe(1)))] += 1
            return plain(*args, **kwargs)

        return enter

    loops = {name: plain for name, plain in vars(module).items() if name.startswith(loop)}
    try:
        for name, plain in loops.items():
            setattr(module, name, watched(plain))
        estimator.fit(X, y)
    finally:
        for name, plain in loops.items():
            setattr(module, name, plain)
    return list(ways.most_common(1)[0][0])


def _stack(frame: FrameType | None) -> list[str]:
    """The functions from ``fit`` to this frame; none if ``fit`` is not above it."""
    found: list[str] = []
    while frame is not None:
        path = frame.f_code.co_filename.rsplit("/separatrix/", 1)[-1]
        found.insert(0, f"{path} {frame.f_code.co_qualname}")
        if frame.f_code.co_name == "fit":
            return found
        frame = frame.f_back
    return []


def profiled(work: Callable[[], Any]) -> tuple[list[str], int]:
    """The files whose functions some work enters, in order, and its greatest depth of calls.

    Only functions of the package count, those that a call of another library enters included.
    """
    found: dict[str, None] = {}
    depth = most = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, most
        code = frame.f_code
        if event not in ("call", "return") or "/separatrix/" not in code.co_filename:
            return
        if event == "call":
            depth += 1
            most = max(most, depth)
            if code.co_name != "<module>":
                found[code.co_filename.rsplit("/separatrix/", 1)[-1]] = None
        elif depth:
            depth -= 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return list(found), most


def entered(estimator: Any, X: Any, y: Any) -> list[str]:
    """The files of the package whose functions ``fit`` calls, in the order of their first call."""
    return profiled(lambda: estimator.fit(X, y))[0]


def four_fits() -> dict[str, tuple[list[str], int]]:
    """Files entered and depth of calls of four fits; needs PyArrow."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) + np.repeat(np.eye(3, 4), 50, axis=0)
    y = np.repeat([0, 1, 2], 50)
    text, rows, words = hinge_on_text()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        columns = {f"x{j}": X[:, j] for j in range(4)} | {"label": y}
        pa.parquet.write_table(pa.table(columns), path)

        def fit_file() -> None:
            separatrix.LinearClassifier().fit(separatrix.read(path, target="label"))

        return {
            "Perceptron": profiled(lambda: separatrix.Perceptron(random_state=0).fit(X, y)),
            "logistic": profiled(lambda: separatrix.LinearClassifier("logistic").fit(X, y)),
            "hinge on text": profiled(lambda: text.fit(rows, words)),
            "Parquet": profiled(fit_file),
        }


def hinge_on_text() -> tuple[Any, Any, Any]:
    """A classifier, sparse rows and labels."""
    import numpy as np
    import scipy.sparse

    import separatrix

    rng = np.random.default_rng(0)
    X = scipy.sparse.random(1000, 20_000, density=0.003, random_state=rng, format="csr")
    y = X @ rng.normal(size=20_000) > 0.0
    return separatrix.LinearClassifier("hinge", random_state=0), X, y


def walks() -> dict[str, list[str]]:
    """The frames of three fits, the outermost first."""
    import numpy as np

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=200) > 0.0
    lbfgs = separatrix.LinearClassifier("logistic", solver=separatrix.LBFGS())
    return {
        "Perceptron": frames(separatrix.Perceptron(max_iter=3), X, y, "online"),
        "L-BFGS": frames(lbfgs, X, y, "batch"),
        "the hinge on text": frames(*hinge_on_text(), "ascent_round"),
    }

"""Version and settings of this installation."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from . import loops
from .numeric.threads import n_threads
from .rows.device import cuda


def documentation() -> str:
    """Where the pages are: ``$SEPARATRIX_DOCS``, or the output of ``make docs``; "" if neither.

    There is no default address: a broken link is worse than none.
    """
    given = os.environ.get("SEPARATRIX_DOCS", "")
    if given:
        return given.rstrip("/")
    built = Path(__file__).resolve().parents[2] / "build" / "docs"
    return built.as_uri() if (built / "index.html").is_file() else ""


class LinkedToPages:
    """An estimator whose HTML in notebooks links to its page, with tooltips from its docstring."""

    _doc_link_module = "separatrix"
    _page = "separatrix.{estimator_name}"

    @property
    def _doc_link_template(self) -> str:
        """The name that scikit-learn expects; "": no link."""
        pages = documentation()
        return f"{pages}/generated/{self._page}.html" if pages else ""


def config() -> dict[str, str]:
    """Version, compiler, instruction set and threads, by name."""
    import numpy
    import scipy
    import sklearn

    usable, compiled = ", ".join(loops.levels()), ", ".join(loops.compiled_levels())
    return {
        "separatrix": version("separatrix"),
        "python": f"{platform.python_version()} on {sys.platform} {platform.machine()}",
        "compiler": loops.compiler + ("" if loops.has_threads else ", without threads"),
        "instruction set": f"{loops.level()} (compiled: {compiled}; usable here: {usable}; "
        "set by SEPARATRIX_SIMD)",
        "threads": str(n_threads(None)),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "gpu": gpu(),
        "documentation": documentation() or "not built here (set by SEPARATRIX_DOCS)",
    }


def gpu() -> str:
    """The first GPU and its driver, or why there is none."""
    try:
        return cuda(0).description
    except ImportError:
        return "CuPy is not installed"
    except RuntimeError:
        return "none that CuPy can use"


def show_config() -> None:
    """Print version, compiler, the instruction set in use and the number of threads.

    Examples
    --------
    >>> from separatrix import show_config
    >>> show_config()  # doctest: +ELLIPSIS
          separatrix: ...
    """
    for name, value in config().items():
        print(f"{name:>16}: {value}")

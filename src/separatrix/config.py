"""What this installation is made of."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from . import loops
from .numeric.threads import n_threads


def config() -> dict[str, str]:
    """Version, compiler, instruction set and threads, by name."""
    import numpy
    import scipy
    import sklearn

    usable = ", ".join(loops.levels())
    return {
        "separatrix": version("separatrix"),
        "python": f"{platform.python_version()} on {sys.platform} {platform.machine()}",
        "compiler": loops.compiler,
        "instruction set": f"{loops.level()} (usable here: {usable}; set by SEPARATRIX_SIMD)",
        "threads": str(n_threads(None)),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def show_config() -> None:
    """Print version, compiler, the instruction set in use and the number of threads."""
    for name, value in config().items():
        print(f"{name:>16}: {value}")

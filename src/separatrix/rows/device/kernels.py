"""Kernels as text: ``kernels/*.cu``, one per file, with values for their macros."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

WARP = 32  # threads that run together
THREADS = 256  # of a block, unless a kernel says otherwise
MOST_BLOCKS = 1 << 16  # of a kernel whose threads take several values


@dataclass(frozen=True)
class CudaKernel:
    """A kernel and the values of its macros, which are fixed when it is compiled."""

    name: str
    macros: tuple[tuple[str, str], ...]

    @staticmethod
    @cache
    def of(name: str, **macros: object) -> CudaKernel:
        """A kernel with these macros."""
        return CudaKernel(name, tuple((key, str(value)) for key, value in sorted(macros.items())))

    @property
    def source(self) -> str:
        """The text of the kernel and of the files that it includes."""
        return text(f"{self.name}.cu")

    @property
    def options(self) -> tuple[str, ...]:
        """The macros as options of a compiler."""
        return tuple(f"-D{name}={value}" for name, value in self.macros)


@cache
def text(name: str) -> str:
    """A file, with included files in place of ``#include``."""
    lines = (files(__package__) / "kernels" / name).read_text(encoding="utf-8").splitlines()
    included = '#include "'
    return "\n".join(
        text(line[len(included) : -1]) if line.startswith(included) else line for line in lines
    )

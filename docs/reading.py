"""What the pages have beyond their text: the order of the gallery, and what a block of code prints.

Blocks of a page are run one after another, as ``tests/test_docs.py`` runs them; what one prints is
put below it when the pages are built, and is nowhere kept.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

ORDER = (
    "and_or_xor", "step_size", "perceptron_loss", "separable_or_not", "loss_zoo", "spam",
    "choosing_l2", "many_classes", "kernel_digits", "feature_maps", "imbalanced", "churn",
    "linear_probe", "larger_than_memory", "resume", "certify_sklearn", "reading_a_diagnosis",
    "structured_perceptron",
)  # fmt: skip
"""Of the examples: what needs least comes first."""
SILENT = ("cluster", "decision", "diagnose", "gpu")
"""Pages whose blocks are not run here: they start workers, need a file or a GPU, or have output."""
BLOCK = re.compile(r"```python\n(.*?)```\n", re.S)
PRINTED = "\n```{{code-block}} text\n:class: printed\n\n{}\n```\n"


class ReadingOrder:
    """Sorts the examples of the gallery; those that are new come last."""

    def __init__(self, src_dir: object) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: object) -> tuple[int, str]:
        """Called by sphinx-gallery."""
        name = Path(str(filename)).stem
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def with_outputs(text: str) -> str:
    """The same page, with what its blocks print below them."""
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block.group(1), names)  # the project's own pages
        shown = printed.getvalue().rstrip()
        return block.group(0) + (PRINTED.format(shown) if shown else "")

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(action="ignore"),
    ):
        return BLOCK.sub(run, text)


def add_outputs(app: Any, page: str, source: list[str]) -> None:
    """Called by Sphinx when it has read a page."""
    if "```python\n" in source[0] and page not in SILENT:
        source[0] = with_outputs(source[0])

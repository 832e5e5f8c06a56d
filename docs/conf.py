"""How ``make docs`` builds the pages. Nothing is fetched, neither while building nor viewing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import separatrix
from separatrix.apps.playground.standalone import standalone

sys.path.insert(0, str(Path(__file__).parent))
from reading import add_outputs

project = "separatrix"
author = "The separatrix developers"
copyright = author
release = version = separatrix.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False

# ---- pages
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# ---- reference
autosummary_generate = True
autodoc_typehints = "none"  # the text of every parameter says what it takes
numpydoc_show_class_members = False
templates_path = ["templates"]

# ---- pictures: drawn by the blocks above them
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("svg", 100)]
plot_include_source = True
plot_rcparams = {"svg.hashsalt": "separatrix"}  # the same bits from the same code
plot_apply_rcparams = True

# ---- gallery: every script in examples/ is run
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "reading.ReadingOrder",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # a page that would fetch scripts
    "abort_on_example_error": True,
    "capture_repr": (),  # what is drawn and printed, not what the last line returns
}


# ---- the playground, and a recording as a page: docs/playground.md shows them in frames
def write_pages(folder: Path) -> None:
    """The playground, and the perceptron on AND, row by row."""
    X, y = separatrix.datasets.logic("and")
    clf = separatrix.Perceptron(shuffle=False).fit(X, y)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "playground.html").write_text(standalone(), encoding="utf-8")
    (folder / "recording.html").write_text(clf.trace_.recording(X, y).to_html(), encoding="utf-8")


html_extra_path = ["generated/pages"]
write_pages(Path(__file__).parent / "generated" / "pages")

# ---- look
html_theme = "pydata_sphinx_theme"
html_title = "separatrix"
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars: dict[str, list[str]] = {  # nothing is below these
    page: [] for page in ("index", "start", "benchmarks")
}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}


def inherited_from_elsewhere(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Whether a method is scikit-learn's or Python's own: its pages are not here to link to."""
    where = getattr(member, "__module__", None)
    return True if what == "class" and where and not where.startswith("separatrix") else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", inherited_from_elsewhere)
    app.connect("source-read", add_outputs)

"""Colours, shapes and axes that the displays share; matplotlib is imported on first use.

Colours: M. A. Petroff, Accessible color sequences for data visualization, arXiv:2107.02270 (2021).
Shapes or dashes repeat whatever a colour shows, for print in grey. Black elements have the colour
of the title, and white ones that of the paper, so that plots work on a dark background.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...numeric.types import AnyArray, Array, Ints

COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
MARKERS = "os^DvPX*<>"
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
WIDTH_OF_LETTER = 0.55  # approximate share of its height
OVERHANG = 1.05  # width of a line of text relative to the axes, which have ticks and a label
NARROW = 220.0  # points: narrower axes, as in a column of a paper, have a small title
CELL = 1.29  # width of the axes and their labels relative to the axes, as in a new figure
LETTERS_OF_HANDLE = 6  # width of the handle in a legend
GAP = 4.0  # points between the label of the axes and the legend below it
SIZES = ("medium", "small", "x-small", "xx-small")  # of a title
LINE = 1.2  # height of a line relative to its letters
SHARE_OF_TITLE = 0.4  # of the height of the axes: smaller letters for a title that takes more
SHARE_OF_LEGEND = 0.4  # of the height of the axes: a legend that names fewer lines is no higher
SHARE_OF_LABEL = 0.6  # of the height of the axes, before titles and legends take their part
MOST_ROWS = 2000  # maximum number of rows to plot; of more, a random selection is plotted


def colour(number: int) -> str:
    """Colour of a class or a curve, by its number."""
    return COLOURS[number % len(COLOURS)]


def marker(number: int) -> str:
    """Marker of a class or a curve, by its number."""
    return MARKERS[number % len(MARKERS)]


def dash(number: int) -> Any:
    """Dash pattern of a curve, by its number."""
    return DASHES[number % len(DASHES)]


def pyplot(caller: str) -> Any:
    """matplotlib's pyplot, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} draws with matplotlib, which is not installed: "
            "pip install 'separatrix[plot]'"
        ) from error
    return plt


def axes(caller: object, ax: Any = None, **figure: Any) -> Any:
    """The given axes, or those of a new figure."""
    plt = pyplot(f"{type(caller).__name__}.plot")
    if ax is not None:
        return ax
    return plt.subplots(layout="constrained", **figure)[1]


def stacked_axes(caller: object, ax: Any, wanted: int) -> list[Any]:
    """The given axes, or new ones above each other."""
    plt = pyplot(f"{type(caller).__name__}.plot")
    if ax is None:
        size = (6.4, 1.6 + 2.4 * wanted)
        _, ax = plt.subplots(wanted, sharex=True, figsize=size, layout="constrained")
    found = list(np.atleast_1d(np.asarray(ax, dtype=object)))
    if len(found) != wanted:
        raise ValueError(f"ax has {len(found)} axes for {wanted} pictures: give one for each")
    return found


def ink(ax: Any) -> Any:
    """The colour that is black on white paper."""
    return ax.title.get_color()


def paper(ax: Any) -> Any:
    """The background colour."""
    return ax.get_facecolor()


def points(fontsize: str) -> float:
    """Height of a line of this size."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=fontsize).get_size_in_points())


def width(ax: Any) -> float:
    """Width of the axes in points."""
    return float(ax.get_position().width * ax.figure.bbox.width * 72.0 / ax.figure.dpi)


def letters(ax: Any, fontsize: str = "medium") -> int:
    """Approximate number of letters that fit along the axes."""
    return max(1, int(width(ax) / (WIDTH_OF_LETTER * points(fontsize))))


def title(ax: Any, name: str, said: str) -> None:
    """Set the title: name and description, on several lines and smaller if necessary."""
    parts = [part for part in (name, said) if part]
    most = SHARE_OF_TITLE * ax.bbox.height * 72.0 / ax.figure.dpi
    labels = ax.yaxis.get_tightbbox()
    left = 0.0 if labels is None else labels.width * 72.0 / ax.figure.dpi
    room = min(OVERHANG * width(ax), max(CELL * width(ax) - left, 0.5 * width(ax)))
    for fontsize in SIZES[width(ax) < NARROW :]:
        letters_of_line = max(1, int(room / (WIDTH_OF_LETTER * points(fontsize))))
        long = len(": ".join(parts).partition("\n")[0]) > letters_of_line
        lines = (":\n" if long else ": ").join(parts).split("\n")
        text = "\n".join(textwrap.fill(line, letters_of_line) for line in lines)
        if LINE * points(fontsize) * (text.count("\n") + 1) <= most:
            break
    ax.set_title(text, fontsize=fontsize)


def ylabel(ax: Any, text: str) -> None:
    """Set the label of the y axis, on several lines and smaller if the axes are low or narrow."""
    fontsize = "small" if width(ax) < NARROW else "medium"
    tall = SHARE_OF_LABEL * ax.bbox.height * 72.0 / ax.figure.dpi
    most = max(1, int(tall / (WIDTH_OF_LETTER * points(fontsize))))
    ax.set_ylabel(textwrap.fill(text, most, break_long_words=False), fontsize=fontsize)


def legend(ax: Any) -> Any:
    """Place the legend below the axes; inside them if the figure has no layout to reserve room."""
    if ax.figure.get_layout_engine() is None:
        return ax.legend(loc="best", fontsize="small", framealpha=0.8)
    return legend_below(ax, "x-small" if width(ax) < NARROW else "small")


def legend_below(ax: Any, fontsize: str, ranked: Sequence[Any] = ()) -> Any:
    """Place the legend below the axes and their label, where it hides nothing.

    Call it when the labels and scales of the axes are set. ``ranked``: the lines of the legend, the
    most important ones first; those without room are left out. Default: all lines with a label.
    """
    shown = list(ranked) or ax.get_legend_handles_labels()[0]
    label = ax.xaxis.get_tightbbox()
    below = 0.0 if label is None else max(0.0, ax.bbox.y0 - label.y0) * 72.0 / ax.figure.dpi
    for columns in range(len(shown), 0, -1):
        found = ax.legend(
            handles=shown, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=fontsize,
            frameon=False, columnspacing=1.2, handletextpad=0.5, borderpad=0.0, ncols=columns,
            borderaxespad=(below + GAP) / points(fontsize),
        )  # fmt: skip
        box = found.get_window_extent()
        if box.width <= OVERHANG * ax.bbox.width:
            break
    else:  # even one column is too wide
        for text in found.get_texts():
            most = max(1, letters(ax, fontsize) - LETTERS_OF_HANDLE)
            text.set_text(textwrap.fill(text.get_text(), most))
    height = box.height if ranked and len(shown) > 1 else 0.0
    too_high = height > SHARE_OF_LEGEND * ax.bbox.height
    return legend_below(ax, fontsize, shown[:-1]) if too_high else found


def finish(display: Any, ax: Any, name: str | None, said: str) -> None:
    """Set the title, by another name if one is given, and the attributes of a display."""
    title(ax, display.name if name is None else name, said)
    display.ax_, display.figure_ = ax, ax.figure


def merged(defaults: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge options of the user with defaults, under any of matplotlib's names for them."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    own: Mapping[str, Any] = {} if given is None else normalize_kwargs(dict(given), Line2D)
    return {**defaults, **own}


def some_rows(n: int) -> Ints:
    """The numbers of the rows to plot: all, or a fixed random selection, in order."""
    if n <= MOST_ROWS:
        return np.arange(n)
    chosen = np.random.default_rng(0).choice(n, MOST_ROWS, replace=False)
    return np.sort(chosen)


def scatter_classes(
    ax: Any, points: Array, y: AnyArray, classes: AnyArray, given: Mapping[str, Any] | None = None
) -> list[Any]:
    """One collection of markers per class, each with its own colour and shape."""
    found = []
    for number, label in enumerate(classes):
        at = y == label
        looks = {
            "color": colour(number), "marker": marker(number), "edgecolors": paper(ax),
            "linewidths": 0.5, "s": 26 if len(y) <= 300 else 14, "label": str(label), "zorder": 3,
        }  # fmt: skip
        found.append(ax.scatter(points[at, 0], points[at, 1], **{**looks, **(given or {})}))
    return found


def rings(ax: Any, points: Array, label: str) -> Any:
    """Circles around some of the rows."""
    return ax.scatter(
        points[:, 0], points[:, 1], s=70, facecolors="none", edgecolors=ink(ax), linewidths=1.1,
        label=label if len(points) else None, zorder=4,
    )  # fmt: skip

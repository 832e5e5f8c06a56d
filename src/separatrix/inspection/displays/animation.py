"""A fit as an animation: one picture per update, or per pass."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import numpy as np

from ...data.labels import refuse_several
from ...numeric.replaced import check_file_path, replaced
from ...numeric.types import AnyArray, Array, Ints
from ...proofs.units import original_weights
from ...training.trace import Trace
from . import style
from .plane import Plane, as_rows, plane_of

MOST_PICTURES = 150
"""Maximum number of pictures; longer runs are thinned out evenly, keeping the last step."""
FORMATS = (".gif", ".png", ".webp")


def animate(
    trace: Trace,
    X: Any,
    y: Any,
    path: Any,
    *,
    sample_weight: Any = None,
    features: Sequence[int | str] | None = None,
    seconds: float = 0.2,
    dpi: int = 100,
) -> Path:
    """Write the run of a fit as an animation, and return its path.

    Each picture shows the rows, the boundary, and, for solvers that visit single rows, a ring
    around the row of the update; the last one stays longer. If there are more than 150 steps, some
    are left out evenly; the title shows their numbers. Only for two classes.

    Parameters
    ----------
    trace : Trace
        The attribute ``trace_`` of a fit.
    X, y, sample_weight
        The data of the fit, in memory.
    path : str or path
        The suffix selects the format: ``.gif``, ``.png`` (animated) or ``.webp``. The file appears
        only when it is complete.
    features : two numbers or names, optional
        The features to show, as in :class:`BoundaryDisplay`.
    seconds : float
        Duration of each picture.
    dpi : int
        Dots per inch of pictures of 4.8 by 4 inches.

    See Also
    --------
    Trace : the run to show.
    HistoryDisplay : all passes at once.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix import Perceptron, animate, datasets
    >>> X, y = datasets.logic("and")
    >>> clf = Perceptron(shuffle=False).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animate(clf.trace_, X, y, f"{folder}/run.gif", dpi=40).name
    'run.gif'
    """
    style.pyplot("animate")
    from matplotlib.animation import PillowWriter

    where = Path(os.fspath(path))
    if where.suffix not in FORMATS:
        raise ValueError(f"{where.name!r} must end in one of {', '.join(FORMATS)}")
    check_file_path(where, "a film")
    if not seconds > 0.0:
        raise ValueError(f"seconds must be above 0, got {seconds!r}")
    if not isinstance(trace, Trace):
        raise TypeError(f"trace must be the trace_ of a linear fit, got a {type(trace).__name__}")
    refuse_several(y)
    if len(trace.classes) != 2:
        raise ValueError(f"the run has {len(trace.classes)} classes: an animation shows two")
    film = _Film(trace, X, y, plane_of(X, features))
    pictures = list(_thinned(trace, trace.replay(X, y, sample_weight)))
    if len(pictures) == 1:
        raise ValueError("the run has no step to show: it ended at its start")
    pictures += pictures[-1:] * 5  # the last picture stays longer
    writer = PillowWriter(fps=cast(int, 1.0 / seconds))  # any positive number works
    with TemporaryDirectory() as folder, replaced(where) as file:
        part = Path(folder) / f"film{where.suffix}"
        writer.setup(film.figure, part, dpi=dpi)
        for picture in pictures:
            film.show(picture)
            writer.grab_frame()
        writer.finish()
        file.write(part.read_bytes())
    return where


class _Picture(NamedTuple):
    number: int  # number of the update; 0 is the start
    in_pass: int
    weights: Array
    rows: Ints | None  # the row of the update, if it is a single one


def _thinned(trace: Trace, steps: Iterator[Any]) -> Iterator[_Picture]:
    """The start, every update and every pass without one; thinned out if there are too many."""
    last = _Picture(0, 0, original_weights(trace.start, trace.features), None)
    whole, ended = [], 0
    yield last
    for step in steps:
        moved = step.rows if step.rows is not None and len(step.rows) == 1 else None
        same = np.array_equal(last.weights, step.weights)
        if not same or last.in_pass != ended + 1:
            last = _Picture(last.number + (not same), ended + 1, step.weights, moved)
            whole.append(last if not same else last._replace(rows=None))
        ended += step.ends_pass
    every = max(1, -(-len(whole) // MOST_PICTURES))
    kept = whole[every - 1 :: every]
    yield from kept
    if whole and kept[-1] is not whole[-1]:
        yield whole[-1]


class _Film:
    """One figure with a moving boundary and ring."""

    def __init__(self, trace: Trace, X: Any, y: Any, plane: Plane) -> None:
        from matplotlib.figure import Figure

        rows, _ = as_rows(X)
        labels: AnyArray = np.asarray(y)
        self.plane, self.name = plane, type(trace.solver).__name__
        self.points = plane.coordinates(rows)
        self.signs = np.where(labels == trace.classes[1], 1.0, -1.0)
        self.rows = rows
        # Not part of pyplot's state: nothing stays open, and nothing is shown.
        self.figure = Figure(figsize=(4.8, 4.0), layout="constrained")
        self.ax = self.figure.add_subplot()
        drawn = style.some_rows(len(labels))
        style.scatter_classes(self.ax, self.points[drawn], labels[drawn], trace.classes)
        self.ring = self.ax.scatter([], [], s=130, facecolors="none", linewidths=1.6,
                                    edgecolors=style.ink(self.ax), zorder=4)  # fmt: skip
        self.figure.legend(*self.ax.get_legend_handles_labels(), loc="outside lower center",
                           ncols=2, fontsize="small", frameon=False)  # fmt: skip
        self.ax.set(xlabel=plane.labels[0], ylabel=plane.labels[1])
        self.ax.margins(0.15)
        self.low, self.high = np.array([self.ax.get_xlim(), self.ax.get_ylim()]).T
        self.ax.set_title(" ", fontsize="medium")
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")  # laid out once: only the boundary moves
        self.drawn: list[Any] = []

    def show(self, picture: _Picture) -> None:
        """Update the figure to one step of the run."""
        while self.drawn:
            self.drawn.pop().remove()
        w, b = picture.weights[0, :-1], float(picture.weights[0, -1])
        slope, offset = self.plane.axes @ w, b + float(self.plane.origin @ w)
        xx0, xx1 = np.meshgrid(*zip(self.low, self.high, strict=True))
        scores = slope[0] * xx0 + slope[1] * xx1 + offset  # linear, so four corners suffice
        most = float(np.abs(scores).max()) or 1.0
        self.drawn.append(self.ax.contourf(
            xx0, xx1, scores, levels=[-2 * most, 0.0, 2 * most], alpha=0.22, zorder=-1,
            colors=[style.colour(0), style.colour(1)],
        ))  # fmt: skip
        if scores.min() < 0.0 < scores.max():
            self.drawn.append(self.ax.contour(
                xx0, xx1, scores, levels=[0.0], colors=[style.ink(self.ax)], linewidths=1.5
            ))  # fmt: skip
        moved = np.empty((0, 2)) if picture.rows is None else self.points[picture.rows]
        self.ring.set_offsets(moved)
        wrong = int(np.count_nonzero(~(self.signs * (self.rows @ w + b) > 0.0)))
        at = f"update {picture.number}, pass {picture.in_pass}" if picture.in_pass else "start"
        style.title(self.ax, self.name, f"{at}, {wrong} mistake{'' if wrong == 1 else 's'}")

"""Certificates that classes can be separated, or that they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ...numeric.types import AnyArray, Array, Ints
from ...separation import Separability, separability
from ...separation.text import enclosed
from . import style
from .plane import Plane, as_rows, plane_along, plane_of

WITNESS = 60.0  # area of the ring around a witness with the mean weight


class CertificateDisplay:
    """The certificate of :func:`separatrix.separability`: a separator, or hulls that meet.

    Separable: the line of the largest margin, the band without rows, and rings around the rows that
    determine it. Quasi-separable: the line that only touches, and rings around the rows on it. Not
    separable: the convex hulls of the two classes, rings around the witness rows (larger for larger
    weights), and a star at the point that is a convex combination of both classes, which no line
    can have on both sides.

    With more than two features the plane along the separator's normal is shown, which preserves
    distances to it, or the plane of the two principal components.

    ``flipped`` shows signed rows ``z = y * (x, 1)`` instead (``y * x`` without an intercept). A
    separator has all of them on one side: ``w.z > 0``. If there is none, 0 is a convex combination
    of witness rows.

    Use :meth:`from_data` or :meth:`from_separability` to make one. Two classes.

    Parameters
    ----------
    verdict : str
    points : array (n, 2)
        The rows that are drawn.
    y : array (n,)
        Labels of the rows.
    classes : array (2,)
    plane : Plane
    slope, offset : array (2,) and float, or None
        The score of a point is ``slope . point + offset``.
    margin : float
        The score at the edges of the band; 0: there is no band.
    hulls : list of arrays (m, 2)
        Corners of the hulls, in order.
    marked : array (m, 2)
        The rows of the certificate.
    weights : array (m,), or None
        Weights of the witnesses.
    meeting : array (2,), or None
        The point in both hulls; ``flipped``: 0.
    flipped : bool
    name : str
        Name of the rows.
    margin_bounds : tuple of two floats, or None
        Bounds on the largest margin, for the title.

    Attributes
    ----------
    rows_ : list of collections
        One per class.
    line_, band_ : contours or None
    hulls_ : list of polygons
    marked_ : collection
    meeting_ : line or None
    ax_, figure_
        The axes and the figure.

    See Also
    --------
    separability : computes the certificate.

    Examples
    --------
    >>> from separatrix import CertificateDisplay, datasets
    >>> display = CertificateDisplay.from_data(*datasets.logic("xor"))
    >>> display.ax_.get_title(), display.meeting.round(6).tolist()
    ('overlapping: hulls meet', [0.5, 0.5])
    """

    def __init__(
        self,
        verdict: str,
        *,
        points: Array,
        y: AnyArray,
        classes: AnyArray,
        plane: Plane,
        slope: Array | None,
        offset: float,
        margin: float,
        hulls: list[Array],
        marked: Array,
        weights: Array | None,
        meeting: Array | None,
        flipped: bool = False,
        name: str = "",
        margin_bounds: tuple[float, float] | None = None,
    ) -> None:
        self.verdict, self.points, self.y, self.classes = verdict, points, y, classes
        self.plane, self.slope, self.offset, self.margin = plane, slope, offset, margin
        self.hulls, self.marked, self.weights, self.meeting = hulls, marked, weights, meeting
        self.flipped, self.name, self.margin_bounds = flipped, name, margin_bounds

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        fit_intercept: bool = True,
        flipped: bool = False,
        name: str = "",
        ax: Any = None,
        scatter_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Call :func:`separatrix.separability` with these rows, and plot the result."""
        style.pyplot(f"{cls.__name__}.from_data")
        found = separability(X, y, fit_intercept=fit_intercept)
        return cls.from_separability(
            found, X, y, flipped=flipped, name=name, ax=ax, scatter_kwargs=scatter_kwargs
        )

    @classmethod
    def from_separability(
        cls,
        found: Separability,
        X: Any,
        y: Any,
        *,
        flipped: bool = False,
        name: str = "",
        ax: Any = None,
        scatter_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot a verdict and its rows, in memory."""
        style.pyplot(f"{cls.__name__}.from_separability")
        y, intercept = np.asarray(y), found.signed.intercept
        if len(found.classes) != 2:
            raise ValueError(
                f"there are {len(found.classes)} classes: pass the rows of two classes, "
                "whose certificate can be drawn"
            )
        if np.shape(X) != (found.n_rows, len(found.feature_names)) or len(y) != found.n_rows:
            raise ValueError(
                f"the verdict is about {found.n_rows} rows of {len(found.feature_names)} features, "
                f"and X has shape {np.shape(X)}: pass the rows of the verdict"
            )
        if found.direction is None and not intercept and not flipped:
            raise ValueError(
                "without an intercept the signed rows cancel, and no hulls meet: set flipped=True"
            )
        signs = np.where(y == found.classes[1], 1.0, -1.0)
        geometry = _flipped if flipped else _as_given
        return cls(
            found.verdict,
            y=y,
            classes=found.classes,
            flipped=flipped,
            name=name,
            margin_bounds=found.margin_bounds,
            **geometry(found, X, signs),
        ).plot(ax, scatter_kwargs=scatter_kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        scatter_kwargs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Plot the certificate."""
        ax = style.axes(self, ax)
        drawn = style.some_rows(len(self.points))
        self.rows_ = style.scatter_classes(
            ax, self.points[drawn], self.y[drawn], self.classes, scatter_kwargs
        )
        self.hulls_ = [self._hull(ax, number, hull) for number, hull in enumerate(self.hulls)]
        self.marked_ = style.rings(ax, self.marked, self._role())
        if self.weights is not None:
            self.marked_.set_sizes(WITNESS * (0.5 + self.weights / self.weights.mean()))
        self.meeting_ = None
        if self.meeting is not None:
            label = "origin" if self.flipped else "meeting point"
            (self.meeting_,) = ax.plot(
                *self.meeting, marker="*", markersize=11, linestyle="", color=style.colour(2),
                markeredgecolor=style.paper(ax), label=label, zorder=5,
            )  # fmt: skip
        self.line_ = self.band_ = None
        if self.slope is not None:
            self._separator(ax, self.slope)
        ax.set_xlabel(self.plane.labels[0])
        style.ylabel(ax, self.plane.labels[1])
        said = "\n".join(part for part in (self._words(), self.plane.said) if part)
        name = self.name if name is None else name
        style.legend(ax)
        style.finish(self, ax, ", ".join(part for part in (name, self.verdict) if part), said)
        return self

    def _words(self) -> str:
        if self.verdict == "separable":
            lower, upper = self.margin_bounds or (self.margin, self.margin)
            return f"margin {enclosed(lower, upper, 3)} of unit (w, b)"
        if self.slope is None:
            return "0 is a convex combination of signed rows" if self.flipped else "hulls meet"
        return f"{len(self.marked):,} rows stay on the boundary"

    def _role(self) -> str:
        if self.weights is not None:
            return "witness"
        return "on the margin" if self.margin else "on the boundary"

    def _hull(self, ax: Any, number: int, corners: Array) -> Any:
        colour = style.ink(ax) if self.flipped else style.colour(number)
        return ax.fill(
            *corners.T, facecolor=colour, edgecolor=colour, alpha=0.25, linewidth=1.5,
            linestyle=style.dash(number), zorder=1,
        )[0]  # fmt: skip

    def _separator(self, ax: Any, slope: Array) -> None:
        """The line and the band around it, from edge to edge of the picture."""
        low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
        xx0, xx1 = np.meshgrid(*zip(low, high, strict=True))
        scores = slope[0] * xx0 + slope[1] * xx1 + self.offset  # linear, so four corners suffice
        if self.margin:
            band = [self.margin, np.inf] if self.flipped else [-self.margin, self.margin]
            band = [min(edge, float(np.abs(scores).max()) + 1.0) for edge in band]
            self.band_ = ax.contourf(
                xx0, xx1, scores, levels=band, colors=[style.colour(3)], alpha=0.3, zorder=0
            )
        levels = [0.0] if not self.margin else [-self.margin, 0.0, self.margin]
        levels = levels[-2:] if self.flipped else levels
        shown = [level for level in levels if scores.min() < level < scores.max()]
        if shown:
            dashes = ["-" if level == 0.0 else "--" for level in shown]
            self.line_ = ax.contour(
                xx0, xx1, scores, levels=shown, colors=[style.ink(ax)], linestyles=dashes,
                linewidths=1.3,
            )  # fmt: skip
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _as_given(found: Separability, X: Any, signs: Array) -> dict[str, Any]:
    """The rows as given, with the separator or with the hulls."""
    rows, _ = as_rows(X)
    slope, offset, margin = None, 0.0, 0.0
    if found.coef is None or found.intercept is None:
        plane = plane_of(X)
    else:
        w = found.coef[0]
        plane = plane_of(X) if rows.shape[1] == 2 else plane_along(rows, w)
        slope = plane.axes @ w
        offset = float(found.intercept[0] + plane.origin @ w)
        margin = found.margin or 0.0
    points = plane.coordinates(rows)
    hulls, meeting, weights = [], None, None
    if found.verdict != "separable" and found.witness is not None:
        hulls = [_corners(points[signs == sign]) for sign in (-1.0, 1.0)]
        mixed = _mixture(found.witness, points * (signs > 0.0)[:, None])
        share = _mixture(found.witness, (signs > 0.0).astype(float)[:, None])
        meeting = mixed / share
    marked = _certificate_rows(found)
    if found.verdict == "overlapping":
        weights = _weights(found.witness)
    return {
        "points": points, "plane": plane, "slope": slope, "offset": offset, "margin": margin,
        "hulls": hulls, "meeting": meeting, "marked": points[marked], "weights": weights,
    }  # fmt: skip


def _flipped(found: Separability, X: Any, signs: Array) -> dict[str, Any]:
    """Signed rows, with the side of a line through 0 that contains all, or with 0 among them."""
    Z = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    names = list(found.feature_names)
    if found.signed.intercept:
        Z, names = np.column_stack([Z, np.ones(len(Z))]), [*names, "1"]
    Z = Z * signs[:, None]
    w = None
    if found.coef is not None and found.intercept is not None:
        w = np.append(found.coef[0], found.intercept[0])[: Z.shape[1]]
    if Z.shape[1] == 2:
        labels = (f"y {names[0]}", f"y {names[1]}" if names[1] != "1" else "y")
        plane = Plane(np.zeros(2), np.eye(2), labels, "signed rows")
    elif Z.shape[1] < 2:
        raise ValueError("signed rows of one feature and no intercept are numbers: nothing to draw")
    else:
        plane = plane_along(Z, w, centred=False)
    points = plane.coordinates(Z)
    overlapping = found.verdict == "overlapping"
    marked = _certificate_rows(found)
    return {
        "points": points, "plane": plane, "slope": None if w is None else plane.axes @ w,
        "offset": 0.0, "margin": found.margin or 0.0, "meeting": np.zeros(2),
        "hulls": [_corners(points[marked])] if overlapping else [], "marked": points[marked],
        "weights": _weights(found.witness) if overlapping else None,
    }  # fmt: skip


def _certificate_rows(found: Separability) -> Ints:
    if found.verdict == "separable":
        return np.empty(0, np.int64) if found.support is None else found.support.rows
    if found.verdict == "quasi-separable":
        return np.asarray(found.boundary)
    return np.empty(0, np.int64) if found.witness is None else found.witness.rows


def _weights(witness: Any) -> Array:
    return np.array([float(weight) for weight in witness.weights])


def _mixture(witness: Any, values: Array) -> Array:
    return np.asarray(_weights(witness) @ values[witness.rows])


def _corners(points: Array) -> Array:
    """Corners of the convex hull, in order; for points on one line, its ends."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        along = np.lexsort(points.T[::-1])
        return np.asarray(points[along[[0, -1]]])

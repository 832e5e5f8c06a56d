"""The plots of a report, each as an image in a data URI with a text that describes it."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...numeric.dense import dense
from ...numeric.types import Array
from ..displays import style
from ..displays.classifiers import last_step
from ..displays.coefficient import CoefficientDisplay, feature_names
from ..displays.history import HistoryDisplay
from ..displays.path import PathDisplay
from .scored import ScoredRows
from .words import short, shown

MOST_CURVES = 7  # most classes in a plot: those with the largest weight
MOST_POINTS = 1000  # most points of a curve
TOP = 20  # most features in the plot of coefficients
SETTINGS: Any = {
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",  # text stays text: any script can be shown
    "svg.hashsalt": "separatrix",  # the same file each time
}


class Picture(NamedTuple):
    """An image, and what it shows for those who cannot see it."""

    source: str
    alt: str


def picture(draw: Callable[[Any], str], size: tuple[float, float] = (6.0, 4.2)) -> Picture:
    """Draw on new axes; ``draw`` returns the text that describes the result."""
    style.pyplot("Report.to_html")
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the browser has other fonts
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        alt = draw(axes)
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":  # its usual labels are formulas
                axis.set_major_formatter(lambda value, _: f"{value:g}")
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return Picture(f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}", alt)


def _curves(rows: ScoredRows, known: Callable[[Any], bool]) -> list[int]:
    """The classes to plot: the larger of two, or those with the largest weight."""
    k = len(rows.classes)
    meant = [1] if k == 2 else range(k)
    sizes = {j: float(rows.weights[rows.labels == rows.classes[j]].sum()) for j in meant}
    drawn = [j for j in sorted(meant, key=lambda j: -sizes[j]) if known(rows.classes[j])]
    return drawn[:MOST_CURVES]


def roc(rows: ScoredRows, found: dict[str, Any]) -> Picture | None:
    """ROC curves, with the point of the decision for two classes."""
    return _ranking(rows, found, "auc", "ROC", _roc_points)


def precision_recall(rows: ScoredRows, found: dict[str, Any]) -> Picture | None:
    """Precision against recall, with the point of the decision for two classes."""
    return _ranking(rows, found, "average_precision", "Precision and recall", _pr_points)


def _roc_points(*given: Any, sample_weight: Array) -> tuple[Array, Array]:
    from sklearn.metrics import roc_curve

    x, y, _ = roc_curve(*given, sample_weight=sample_weight)
    return x, y


def _pr_points(*given: Any, sample_weight: Array) -> tuple[Array, Array]:
    from sklearn.metrics import precision_recall_curve

    y, x, _ = precision_recall_curve(*given, sample_weight=sample_weight, drop_intermediate=True)
    return x, y


AXES = {
    "auc": ("false positive rate", "true positive rate", "area under the curve"),
    "average_precision": ("recall", "precision", "average precision"),
}


def _ranking(
    rows: ScoredRows, found: dict[str, Any], key: str, title: str, points: Callable[..., Any]
) -> Picture | None:
    values = {one["label"]: one[key] for one in found["classes"]}
    drawn = _curves(rows, lambda label: values[label.item() if hasattr(label, "item") else label]
                    is not None)  # fmt: skip
    if not drawn:
        return None
    words = AXES[key]

    def draw(ax: Any) -> str:
        said = []
        for number, j in enumerate(drawn):
            label = rows.classes[j]
            x, y = points(rows.labels == label, rows.scores_of(j), sample_weight=rows.weights)
            some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
            value = values[label.item() if hasattr(label, "item") else label]
            said.append(f"{short(label)}: {words[2]} {shown(value)}")
            ax.plot(
                x[some], y[some], color=style.colour(number), linestyle=style.dash(number),
                label=said[-1], drawstyle="default" if key == "auc" else "steps-post",
            )  # fmt: skip
        if len(rows.classes) == 2:
            x, y = _decided(rows, key)
            if x is not None and y is not None:
                ax.plot([x], [y], "o", color=style.ink(ax), label="the decision")
                said.append(f"the decision is at {words[0]} {x:.3g}, {words[1]} {y:.3g}")
        if key == "auc":
            ax.plot([0, 1], [0, 1], color=style.colour(3), linestyle=":", label="by chance")
        ax.set(xlabel=words[0], ylabel=words[1], xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.legend(fontsize="small")
        return f"{title} curve. {'; '.join(said)}."

    return picture(draw)


def _decided(rows: ScoredRows, key: str) -> tuple[float | None, float | None]:
    """The point of the predictions of two classes in the plot."""
    positive, chosen = rows.labels == rows.classes[1], rows.predicted == rows.classes[1]

    def share(of: Any, among: Any) -> float | None:
        total = float(rows.weights[among].sum())
        return float(rows.weights[among & of].sum()) / total if total else None

    recall = share(chosen, positive)
    if key == "auc":
        return share(chosen, ~positive), recall
    return recall, share(positive, chosen)


def calibration(rows: ScoredRows, found: dict[str, Any]) -> Picture | None:
    """Probabilities against shares."""
    if found["calibration"] is None:
        return None
    sizes = {one["label"]: one["weight"] for one in found["classes"]}
    each = sorted(found["calibration"], key=lambda one: -sizes[one["label"]])[:MOST_CURVES]

    def draw(ax: Any) -> str:
        ax.plot([0, 1], [0, 1], color=style.colour(3), linestyle=":", label="as predicted")
        for number, one in enumerate(each):
            x = [group["probability"] for group in one["bins"]]
            y = [group["share"] for group in one["bins"]]
            ax.plot(x, y, color=style.colour(number), linestyle=style.dash(number),
                    marker=style.marker(number), label=short(one["label"]))  # fmt: skip
        ax.set(xlabel="mean probability in a group", ylabel="share of the class")
        ax.legend(fontsize="small")
        groups = "; ".join(
            f"{group['probability']:.2g} predicted, {group['share']:.2g} observed"
            for group in each[0]["bins"]
        )
        error = shown(found["calibration_error"])
        return f"Calibration, mean error {error}. {short(each[0]['label'])}: {groups}."

    return picture(draw)


def coefficients(model: Any) -> Picture | None:
    """The largest weights, times the deviations of the features if they are known."""
    last = last_step(model)
    if getattr(last, "coef_", None) is None or len(last.classes_) > len(style.COLOURS):
        return None
    coefs = np.atleast_2d(dense(last.coef_))
    scale = getattr(last, "scale_", None)
    coefs = coefs if scale is None else coefs * scale
    names = [short(name) for name in feature_names(model, coefs.shape[1])]
    display = CoefficientDisplay(
        coefs, names=names, classes=np.array([short(label) for label in last.classes_.tolist()]),
        scaled=scale is not None,
    )  # fmt: skip

    def draw(ax: Any) -> str:
        display.plot(ax, top=TOP)
        largest = ", ".join(
            f"{names[j]} {coefs[np.abs(coefs[:, j]).argmax(), j]:.3g}" for j in display.order_[:5]
        )
        return f"Weights of the features, the largest first: {largest}."

    rows = min(TOP, coefs.shape[1])
    return picture(draw, (6.4, 1.4 + 0.26 * rows))


def path(model: Any) -> Picture | None:
    """Scores along the path of a search, for the best ``l1_ratio`` if there are several."""
    last = last_step(model)
    results = getattr(last, "cv_results_", {})
    if not {"l2", "mean_test_score", "standard_error"} <= set(results):
        return None
    along = "strength" if "strength" in results else "l2"
    chosen = getattr(last, f"{along}_")

    def draw(ax: Any) -> str:
        PathDisplay.from_cv_results(results, l2=chosen, ax=ax)
        best = float(np.max(results["mean_test_score"]))
        return (
            f"Scores of held-out rows by {along}. {chosen:.3g} was chosen; the best score is "
            f"{best:.4g}."
        )

    return picture(draw)


def proof(model: Any) -> Picture | None:
    """The objective pass by pass, and the proven lower bound."""
    last = last_step(model)
    history = getattr(last, "history_", {})
    values = np.asarray(history.get("objective", []), dtype=np.float64)
    if getattr(last, "gap_", None) is None or not np.any(np.isfinite(values)):
        return None

    def draw(ax: Any) -> str:
        HistoryDisplay.from_estimator(last, columns="objective", name="", ax=ax)
        return (
            f"The objective after each of {len(values)} passes. It ends at "
            f"{last.objective_:.6g}; the proven lower bound is {last.objective_ - last.gap_:.6g}."
        )

    return picture(draw)

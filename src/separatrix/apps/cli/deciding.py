"""``--threshold`` and ``--cost``: how a model decides, and which held-out rows chose it."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import separatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = "fp=1,fn=5 for two classes, 'a:b=5' (b predicted for a), or a CSV file"


@dataclass(frozen=True)
class DecisionOptions:
    """As given on the command line."""

    threshold: float | None = None
    cost: str | None = None

    def check(self) -> None:
        """Check what can be checked before the rows are read."""
        if self.threshold is not None and self.cost is not None:
            raise ValueError("--threshold and --cost: give one of them, a cost chooses a threshold")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise ValueError(f"--threshold {self.threshold:g}: expected a finite number")
        if self.cost is not None and "=" not in self.cost and not Path(self.cost).is_file():
            raise ValueError(f"--cost {self.cost}: there is no such file; expected {EXAMPLES}")

    def checked_costs(self, source: Any, settings: dict[str, Any]) -> Any:
        """The costs by (true, predicted) labels, or None; fails before the fit if at all."""
        classes = source.classes
        if self.threshold is not None:
            self._check_threshold(classes, settings["loss"])
        if self.cost is None:
            return None
        costs = given_costs(self.cost, classes.tolist())
        if len(classes) == 2:
            self._check_choice(source, costs)
        elif settings["class_weight"] is not None and not settings["prior_correction"]:
            raise ValueError(
                "--cost with more than two classes uses the probabilities, which --balanced "
                "changes: leave out --balanced, or add --prior-correction"
            )
        elif not _has_probabilities(settings["loss"]):
            raise ValueError(
                "--cost with more than two classes uses probabilities, which --loss "
                f"{settings['loss']} does not define: use --loss logistic"
            )
        return costs

    def _check_threshold(self, classes: Any, loss: str) -> None:
        if len(classes) > 2:
            raise ValueError(
                f"--threshold is for two classes, but there are {len(classes)}: use --cost"
            )
        if _has_probabilities(loss) and not 0.0 < (self.threshold or 0.0) < 1.0:
            raise ValueError(
                f"--threshold {self.threshold:g}: expected a probability above 0 and below 1"
            )

    def _check_choice(self, source: Any, costs: dict[tuple[Any, Any], float]) -> None:
        """Check the costs of two classes, and for held-out rows on which to choose."""
        if free := [pair for pair, cost in costs.items() if pair[0] != pair[1] and not cost]:
            raise ValueError(
                f"--cost {self.cost}: predicting {free[0][1]} for {free[0][0]} costs nothing, so "
                "it would always be predicted: expected costs above 0"
            )
        if source.validation is None:
            raise ValueError(
                "--cost chooses the threshold on held-out rows, and --test 0 holds out none: use "
                "--test above 0, or --threshold"
            )
        import numpy as np

        from .figures import labels_and_weights

        labels, _ = labels_and_weights(source.validation)
        found = np.unique(labels[choosing_weights(source.validation) > 0.0]).tolist()
        if len(found) < 2:
            only = ", ".join(map(str, found)) or "of weight 0"
            raise ValueError(
                "--cost chooses the threshold on half of the held-out rows, which are all "
                f"{only}: use a larger --test, or --threshold"
            )

    def apply(self, model: Any, costs: Any, held_out: Any) -> None:
        """Set the decision of a fitted model."""
        if self.threshold is not None:
            before = getattr(model, "decision_", None)
            try:
                model.set_decision(threshold=self.threshold)
            except ValueError as error:
                raise ValueError(f"--threshold {self.threshold:g}: {error}") from error
            if before is not None:  # its costs still measure the errors
                model.decision_ = replace(model.decision_, costs=before.costs)
        elif costs is not None:
            try:
                if len(model.classes_) > 2:
                    model.set_decision(costs=costs)
                    return
                weights = choosing_weights(held_out)
                model.tune_threshold(held_out, costs=costs, sample_weight=weights)
            except ValueError as error:
                raise ValueError(f"--cost {self.cost}: {error}") from error


def _has_probabilities(loss: str) -> bool:
    return hasattr(separatrix.LinearClassifier(loss), "predict_proba")


def choosing_weights(held_out: Any) -> NDArray[Any]:
    """The weights of the half of the rows on which a threshold is chosen; 0 for the others.

    Half of the rows of every class, always the same.
    """
    import numpy as np

    from .figures import labels_and_weights

    labels, weights = labels_and_weights(held_out)
    shuffled = np.random.default_rng(0).permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    found = np.zeros(len(labels))
    found[by_class[::2]] = weights[by_class[::2]]
    return found


def report_weights(model: Any, held_out: Any) -> NDArray[Any] | None:
    """The weights with which held-out rows are measured; None: their own.

    Rows on which the threshold was chosen have weight 0.
    """
    decision = getattr(model, "decision_", None)
    if decision is None or decision.tuned_on is None:
        return None
    from .figures import labels_and_weights

    labels, weights = labels_and_weights(held_out)
    chosen = choosing_weights(held_out)
    return weights - chosen if decision.was_tuned_on(labels, chosen) else None


def decision_facts(model: Any) -> dict[str, Any] | None:
    """How a model decides, if not by the largest score."""
    decision = getattr(model, "decision_", None)
    if decision is None:
        return None
    return {
        "threshold": decision.threshold, "score": decision.score, "costs": decision.costs,
        "tuned": decision.tuned_on is not None,
    }  # fmt: skip


def decision_words(model: Any) -> str | None:
    """The same in a few words."""
    found = decision_facts(model)
    if found is None or found["threshold"] is None:
        return None if found is None else "the class with the least expected cost"
    what = "probability" if hasattr(model, "predict_proba") else "score"
    return f"{model.classes_.tolist()[1]} from a {what} of {found['threshold']:.4g}"


def given_costs(text: str, labels: list[Any]) -> dict[tuple[Any, Any], float]:
    """Costs by (true, predicted) labels, from ``fp=1,fn=5``, ``a:b=5,b:a=2`` or a CSV file."""
    pairs = _from_text(text, labels) if "=" in text else _from_file(text, labels)
    found: dict[tuple[Any, Any], float] = {}
    for pair, cost in pairs:
        if pair in found:
            raise ValueError(f"--cost {text}: the cost of {pair[0]}:{pair[1]} is given twice")
        found[pair] = _number(text, cost)
    return found


def _from_text(text: str, labels: list[Any]) -> Iterator[tuple[tuple[Any, Any], str]]:
    for item in text.split(","):
        name, sign, cost = item.rpartition("=")
        name = name.strip()
        if not sign:
            raise ValueError(f"--cost {text}: {item!r} has no '='; expected {EXAMPLES}")
        if name in ("fp", "fn") and len(labels) == 2:
            negative, positive = labels
            yield ((negative, positive) if name == "fp" else (positive, negative)), cost
        elif name in ("fp", "fn"):
            raise ValueError(
                f"--cost {text}: {name} is for two classes, but there are {len(labels)}: name the "
                "true and the predicted class, such as 'a:b=5'"
            )
        else:
            yield _pair(text, name, labels), cost


def _pair(text: str, name: str, labels: list[Any]) -> tuple[Any, Any]:
    """The labels in ``true:predicted``; labels may contain colons."""
    known = {str(label): label for label in labels}
    cuts = [at for at, letter in enumerate(name) if letter == ":"]
    found = [(name[:at], name[at + 1 :]) for at in cuts]
    exact = [(known[a], known[b]) for a, b in found if a in known and b in known]
    if len(exact) == 1:
        return exact[0]
    if len(exact) > 1 or len(found) != 1:
        raise ValueError(
            f"--cost {text}: {name!r} does not name a true and a predicted class, such as "
            "'a:b=5'; use a CSV file for classes with colons"
        )
    unknown = next(label for label in found[0] if label not in known)
    raise ValueError(f"--cost {text}: {_unknown(unknown, list(known))}")


def _unknown(label: str, known: list[str]) -> str:
    near = get_close_matches(label, known, n=1)
    asked = f"; is it {near[0]!r}?" if near else ""
    return f"there is no class {label!r}; expected one of {', '.join(known)}{asked}"


def _from_file(path: str, labels: list[Any]) -> Iterator[tuple[tuple[Any, Any], str]]:
    """A square table: predicted classes in the first line, true classes in the first column."""
    known = {str(label): label for label in labels}
    text = Path(path).read_text(encoding="utf-8-sig")
    first = text.partition("\n")[0]
    rows = [row for row in csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",")
            if row]  # fmt: skip
    head, body = ([], []) if not rows else (rows[0][1:], rows[1:])
    for label in (*head, *(row[0] for row in body)):
        if label not in known:
            raise ValueError(f"--cost {path}: {_unknown(label, list(known))}")
    if sorted(head) != sorted(known) or sorted(row[0] for row in body) != sorted(known):
        raise ValueError(
            f"--cost {path}: expected a line and a column for each of the {len(known)} classes, "
            f"{', '.join(known)}: the predicted classes in the first line, the true ones in the "
            "first column"
        )
    for row in body:
        if len(row) != len(head) + 1:
            raise ValueError(
                f"--cost {path}: the line of {row[0]!r} has {len(row) - 1} costs; expected "
                f"{len(head)}"
            )
        for predicted, cost in zip(head, row[1:], strict=True):
            yield (known[row[0]], known[predicted]), cost


def _number(text: str, cost: str) -> float:
    try:
        found = float(cost)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < math.inf:
        raise ValueError(f"--cost {text}: {cost.strip()!r} is not a cost; expected 0 or more")
    return found

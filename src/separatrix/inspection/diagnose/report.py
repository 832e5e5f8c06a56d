"""The result of a diagnosis: findings, the worst first, each with evidence and remedy."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

LONG = 300  # characters


@dataclass(frozen=True)
class Finding:
    """One problem of a fit.

    See Also
    --------
    diagnose : finds problems.

    Examples
    --------
    >>> from separatrix import Perceptron, datasets, diagnose
    >>> X, y = datasets.logic("xor")
    >>> finding = diagnose(Perceptron(shuffle=False).fit(X, y), X, y).findings[0]
    >>> finding.cause
    'cycling'
    """

    cause: str
    """Name of the problem, e.g. "separable without penalty"."""
    sentence: str
    """Description of the problem, with the numbers."""
    evidence: dict[str, Any] = field(repr=False)
    """The numbers that support it."""
    remedy: str
    """A line of Python as a remedy, for names ``clf``, ``X`` and ``y``."""
    harm: float = field(default=1.0, repr=False)
    """1 if the fit is useless; else the estimated share of the loss that a remedy should save; 0
    for minor problems."""

    @property
    def changes(self) -> dict[str, Any]:
        """Parameters that the remedy sets, ``standardize=True`` for scaled features, and as
        ``drop`` the columns that it leaves out; empty for other remedies."""
        return dict(getattr(self.remedy, "changes", {}))

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {
            "cause": self.cause, "sentence": self.sentence, "evidence": dict(self.evidence),
            "remedy": self.remedy, "harm": self.harm,
        }  # fmt: skip


@dataclass(frozen=True)
class Diagnosis:
    """Why a fit is slow, stopped early or performs badly; true if no problem was found.

    See Also
    --------
    diagnose : computes it.
    Finding : one problem.

    Examples
    --------
    >>> from separatrix import LinearClassifier, datasets, diagnose
    >>> X, y = datasets.overlapping(200, random_state=0)
    >>> diagnosis = diagnose(LinearClassifier(l2=1e-2).fit(X, y), X, y)
    >>> diagnosis.healthy, diagnosis.findings, diagnosis.facts["stop"]
    (True, (), 'optimal')
    """

    findings: tuple[Finding, ...]
    """The problems, the worst first."""
    facts: dict[str, Any] = field(repr=False)
    """How the fit ended, and as "influential_rows" the ten rows whose removal changes the scores
    most (see :func:`separatrix.leave_one_out`), for smooth losses and small tables, else None."""

    @property
    def healthy(self) -> bool:
        """Whether no problem was found."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.healthy

    def __str__(self) -> str:
        if self.healthy:
            return f"Nothing wrong found: {self._ending()}."
        return "\n".join(
            f"{number}. {finding.sentence}\n   {_cut(finding.remedy)}"
            for number, finding in enumerate(self.findings, 1)
        )

    def _ending(self) -> str:
        facts = self.facts
        text = f"the fit stopped with {facts['stop']!r} after {plural(facts['passes'], 'pass')}"
        if facts.get("gap") is not None:
            text += f", at most {facts['gap']:.2g} above the least objective"
        return text + (
            f", and {facts['accuracy']:.1%} of the rows are right "
            f"({facts['balanced_accuracy']:.1%} on average over the classes)"
        )

    def _repr_html_(self) -> str:
        if self.healthy:
            return f"<p>{escape(str(self))}</p>"
        items = "".join(
            f"<li><p>{escape(finding.sentence)}</p><pre>{escape(_cut(finding.remedy))}</pre>"
            f"<details><summary>{escape(finding.cause)}: evidence</summary>"
            f"{_table(finding.evidence)}</details></li>"
            for finding in self.findings
        )
        return f"<ol>{items}</ol>"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, ready for JSON."""
        return {
            "healthy": self.healthy,
            "findings": [finding.to_dict() for finding in self.findings],
            "facts": dict(self.facts),
        }


def _table(evidence: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{escape(_short(value))}</td></tr>"
        for name, value in evidence.items()
    )
    return f"<table>{rows}</table>"


def _cut(line: str) -> str:
    """Shorten a line for display: ``remedy`` has long lists of columns in full."""
    return line if len(line) <= LONG else f"{line[: LONG // 2]} ... {line[-LONG // 4 :]}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def plural(count: int, word: str) -> str:
    """``1 pass``, ``2 passes``, ``1 row``, ``3 rows``."""
    many = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{count} {word if count == 1 else many}"

"""Whether the tests notice small mistakes: 20 mutants of the package, one after another.

    python tests/mutants.py                     what a quick run notices
    python tests/mutants.py --tier all          what all tests notice
    python tests/mutants.py --near pocket       one mutant, and the tests of its package alone

A mutant is one change of text, in a copy of the working tree. The unchanged copy has to pass first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mutant:
    """Text that stands once in the package, and what is written in its place."""

    name: str
    old: str
    new: str

    def file(self, tree: Path) -> Path:
        """The only one with the text."""
        texts = {path: path.read_text() for path in sorted((tree / "src").rglob("*.py"))}
        found = [path for path, text in texts.items() if self.old in text]
        if len(found) != 1 or texts[found[0]].count(self.old) != 1:
            raise SystemExit(f"{self.name}: {self.old!r} has to stand once in src")
        return found[0]


MUTANTS = [
    # losses
    Mutant("perceptron-kink", "np.where(m > 0, 0.0, -1.0)", "np.where(m >= 0, 0.0, -1.0)"),
    Mutant("hinge-kink", "np.where(m >= 1, 0.0, -1.0)", "np.where(m > 1, 0.0, -1.0)"),
    Mutant(
        "curvature", "curvature: Array = e / (1.0 + e) ** 2", "curvature: Array = e / (1.0 + e)"
    ),
    Mutant("entropy", "-alpha) - entr(alpha)", "-alpha) + entr(alpha)"),
    Mutant("softmax", ".sum(axis=1) + np.expm1(-top)", ".sum(axis=1)"),
    # ties
    Mutant(
        "best-rival",
        "rival = others.argmax(axis=1)",
        "rival = others.shape[1] - 1 - others[:, ::-1].argmax(axis=1)",
    ),
    Mutant("predict", "np.where(scores >= 0.0, classes", "np.where(scores > 0.0, classes"),
    Mutant("pocket", "mistakes[first] < self._best.m", "mistakes[first] <= self._best.m"),
    # stopping
    Mutant("max-iter", "iteration >= self.stop.max_iter", "iteration > self.stop.max_iter"),
    Mutant("cycle", "point, 0, 2 * self.power", "point, 0, self.power"),
    Mutant("patience", "self.stale >= patience", "self.stale > patience"),
    Mutant("fewest", "step.mistakes < self.fewest", "step.mistakes <= self.fewest"),
    Mutant("rest", "bool(self.space.distance(step, before) <= least)", "True"),
    # bounds
    Mutant("conjugate", "along - (at.value - penalty.value)", "along - at.value"),
    Mutant("dual-scale", "return s * gain - penalty.c", "return gain - penalty.c"),
    Mutant("screening", "moves = radius *", "moves = 0.5 * radius *"),
    Mutant("mistake-bound", "gamma) ** 2 / 2 - a", "gamma) ** 2 / 2 + a"),
    # steps
    Mutant("threshold", "np.maximum(np.abs(w) - threshold", "np.maximum(np.abs(w) - 2 * threshold"),
    Mutant(
        "armijo",
        "if then.value <= at.value + SUFFICIENT_DECREASE * length * slope:",
        "if np.isfinite(then.value):",
    ),
    Mutant("spectral", "longer = move.square / along if", "longer = along / move.square if"),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="mutants (default: all)")
    parser.add_argument("--tier", choices=("quick", "all"), default="quick")
    parser.add_argument("--pytest", default="", help="more arguments for pytest, in one string")
    parser.add_argument("--near", action="store_true", help="only the tests of the same package")
    parser.add_argument(
        "--workers", default="2", help="of pytest-xdist; 0: one process runs the tests"
    )
    given = parser.parse_args()
    if unknown := set(given.names) - {mutant.name for mutant in MUTANTS}:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")
    mutants = [mutant for mutant in MUTANTS if not given.names or mutant.name in given.names]
    with tempfile.TemporaryDirectory() as folder:
        tree, python = Path(folder, "tree"), environment(Path(folder))
        copy(tree)
        options = ["-x", "-q", "-n", given.workers, f"--tier={given.tier}", *seed(),
                   "--ignore=tests/test_mutants.py"]  # fmt: skip
        tests = {mutant: options + of(mutant, tree, given) for mutant in mutants}
        for chosen in {tuple(chosen) for chosen in tests.values()}:
            if (passed := run(python, tree, chosen)) != "":
                raise SystemExit(f"the unchanged tree does not pass: {passed}")
        survivors = 0
        for mutant in mutants:
            path = mutant.file(tree)
            text, began = path.read_text(), time.monotonic()
            path.write_text(text.replace(mutant.old, mutant.new))
            failure = run(python, tree, tests[mutant])
            path.write_text(text)
            survivors += failure == ""
            verdict = f"killed by {failure}" if failure else "SURVIVED"
            print(f"{mutant.name:16} {time.monotonic() - began:5.0f} s  {verdict}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants killed, tier {given.tier}")
    return 0


def environment(folder: Path) -> Path:
    """A Python with the packages of this one, which imports separatrix from the copy."""
    venv.create(folder / "env", symlinks=True)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "copy.pth").write_text("\n".join([str(folder / "tree" / "src"), *packages]))
    return folder / "env" / "bin" / "python"


def copy(tree: Path) -> None:
    """The working tree as it is, and the compiled module."""
    import separatrix.loops

    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(git, capture_output=True, text=True, check=True).stdout
    for name in names.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    (module,) = (path for place in separatrix.loops.__path__ for path in Path(place).glob("*.so"))
    shutil.copy2(module, tree / "src" / "separatrix" / "loops")


def seed() -> list[str]:
    """The copy is no repository: the tests that are chosen are those of the commit here."""
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return [
        "--tier-seed",
        subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
    ]


def of(mutant: Mutant, tree: Path, given: argparse.Namespace) -> list[str]:
    package = mutant.file(tree).relative_to(tree / "src" / "separatrix").parts[0]
    return [*given.pytest.split(), *([f"tests/{package}"] if given.near else [])]


def run(python: Path, tree: Path, options: object) -> str:
    """The first test that fails; empty if all pass."""
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(
        command, cwd=tree, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else f"pytest: {done.returncode} {done.stderr[-300:]}"


if __name__ == "__main__":
    sys.exit(main())

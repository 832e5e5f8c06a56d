"""Gain of the compiled shortcuts: the module is built without each, and passes are timed.

``python -m benchmarks.variants [name ...]`` copies the sources, changes the lines below, installs
the copy next to the original, and runs the works of ``benchmarks/ablation_works.py`` with both in
turn, each in a separate process. The bits of the weights must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ablation_works import WORKS
from .contest import Ratio, rest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("src", "cpp", "CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE")
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
NATIVE = ("--config-settings=cmake.define.SEPARATRIX_LEVELS=native",)
ROUNDS, RUNS = 5, 3  # processes of either, and runs in each


@dataclass(frozen=True)
class Variant:
    """A shortcut, the replacement in a file that disables it, and the works that it may affect."""

    name: str
    file: str
    before: str
    after: str
    works: Sequence[str]

    def edit(self, root: Path) -> None:
        path = root / "cpp" / self.file
        text = path.read_text()
        if text.count(self.before) != 1:
            raise ValueError(f"{self.file} has {text.count(self.before)} times {self.before!r}")
        path.write_text(text.replace(self.before, self.after))


DENSE = ("passes-tall-32", "passes-tall-64", "passes-wide-64", "clean-pass-64", "clean-pass-32")
# No source has these rows: a specialisation for them is never used.
UNUSED = "CsrRows<Value, char>"
VARIANTS = (
    Variant("filter of two classes", "perceptron/binary_filter.hpp",
            "class BinaryFilter<DenseRows<Value>>", f"class BinaryFilter<{UNUSED}>", DENSE),
    Variant("filter of many classes", "perceptron/multiclass_filter.hpp",
            "class MulticlassFilter<DenseRows<Value>>", f"class MulticlassFilter<{UNUSED}>",
            ("clean-pass-4-classes", "passes-digits", "passes-images")),
    Variant("prefetching", "simd/doubles.hpp", "#pragma once",
            "#pragma once\n#define __builtin_prefetch(...) ((void)0)",
            ("passes-tall-64", "passes-sparse")),
)  # fmt: skip


def install(variant: Variant | None, folder: Path) -> Path:
    """The package, or a copy without a shortcut, in a separate folder."""
    source, target = folder / "source", folder / "package"
    for name in SOURCES:
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        if (ROOT / name).exists():
            source.mkdir(parents=True, exist_ok=True)
            place(ROOT / name, source / name)
    if variant is not None:
        variant.edit(source)
    subprocess.run([*PIP, *NATIVE, "--no-deps", "--target", str(target), str(source)], check=True)
    return target


def timed(package: Path, work: str) -> dict[str, Any]:
    """Time some runs in a process that imports this package."""
    # Without `site`, whose hooks would find an editable install of the original first.
    paths = os.pathsep.join([str(package), str(ROOT), sysconfig.get_path("platlib")])
    command = [sys.executable, "-S", "-m", "benchmarks.variants", "--time", work]
    child = subprocess.run(
        command, cwd=package, env=os.environ | {"PYTHONPATH": paths}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    if not result["package"].startswith(str(package)):
        raise RuntimeError(f"{result['package']} was timed, not that in {package}")
    return result


def time_here(work: str) -> None:
    import separatrix

    warnings.simplefilter("ignore")
    run = WORKS[work](lambda n: n)
    model = run()
    spent = []
    for _ in range(RUNS):
        rest()
        began = time.perf_counter()
        run()
        spent.append(time.perf_counter() - began)
    model = model[-1] if isinstance(model, list) else model
    bits = model.coef_.tobytes().hex()
    print(json.dumps({"package": separatrix.__file__, "seconds": spent, "bits": bits}))


def compare(variant: Variant, plain: Path, package: Path) -> None:
    for work in variant.works:
        used: list[float] = []
        spared: list[float] = []
        for _ in range(ROUNDS):
            one, other = timed(plain, work), timed(package, work)
            if one["bits"] != other["bits"]:
                raise RuntimeError(f"{variant.name} changes the bits of {work}")
            used.append(min(one["seconds"]))
            spared.append(min(other["seconds"]))
        ratio = Ratio.of(spared, used)
        print(
            f"{variant.name:24} {work:28} {min(used):9.4f} s  without {ratio.median:6.2f} x "
            f"[{ratio.low:.2f}, {ratio.high:.2f}]",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.variants", description=__doc__)
    parser.add_argument("names", nargs="*", help="of shortcuts; all if none is given")
    parser.add_argument("--time", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.time:
        time_here(options.time)
        return 0
    asked = [each for each in VARIANTS if not options.names or each.name in options.names]
    if not asked:
        parser.error(f"no such shortcut; there are: {', '.join(each.name for each in VARIANTS)}")
    with tempfile.TemporaryDirectory() as folder:
        plain = install(None, Path(folder, "plain"))
        for number, variant in enumerate(asked):
            compare(variant, plain, install(variant, Path(folder, str(number))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

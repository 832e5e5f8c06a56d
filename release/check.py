"""``make release-check``: what has to hold before a version is tagged.

python release/check.py PAGES [WHEEL ...]    the built pages, and the wheels of dist/ by default
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
IN_EVERY_WHEEL = (
    "licenses/LICENSE", "licenses/nanobind.txt", "licenses/robin-map.txt",
    "sboms/separatrix.cdx.json",
)  # fmt: skip


def version() -> Iterator[str]:
    """The version stands in pyproject.toml; CITATION.cff repeats it, and nothing else does."""
    cited = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    if cited != [VERSION]:
        yield f"CITATION.cff has version {cited}, pyproject.toml {VERSION}"
    literal = re.compile(rf"""["']{re.escape(VERSION)}["']""")
    for folder in ("src", "cpp", "release", "docs"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".py", ".hpp", ".cpp", ".in", ".yaml") and literal.search(
                path.read_text(encoding="utf-8")
            ):
                yield f"{path.relative_to(ROOT)} repeats the version {VERSION}"


def changelog() -> Iterator[str]:
    """The newest heading is this version, with the day on which it is released."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    if not re.fullmatch(rf"{re.escape(VERSION)}, \d{{4}}-\d\d-\d\d", headings[0]):
        yield f"CHANGELOG.md begins with {headings[0]!r}; expected '{VERSION}, ' and the day"


def tag() -> Iterator[str]:
    """The tag is new, and all files are committed."""
    if _out("git", "tag", "--list", f"v{VERSION}"):
        yield f"the tag v{VERSION} exists"
    if changed := _out("git", "status", "--porcelain"):
        names = [line.split(maxsplit=1)[1] for line in changed.splitlines()]
        yield f"not committed: {', '.join(names)}"


def model_files() -> Iterator[str]:
    """Model files of this version are kept: later ones have to load them."""
    if not (ROOT / "tests" / "models" / "golden" / VERSION / "expected.json").is_file():
        yield f"no model files of {VERSION}: python tests/models/write_golden.py"


def wheels() -> Iterator[str]:
    """Each has the licences and the list of what it contains, with this version."""
    found = [Path(name) for name in sys.argv[2:]] or sorted((ROOT / "dist").glob("*.whl"))
    if not found:
        yield "no wheels in dist/: make wheel"
    for wheel in found:
        with zipfile.ZipFile(wheel) as archive:
            about = f"separatrix-{VERSION}.dist-info/"
            names = {name.removeprefix(about): name for name in archive.namelist()}
            yield from (
                f"{wheel.name} has no {name}" for name in IN_EVERY_WHEEL if name not in names
            )
            if "sboms/separatrix.cdx.json" in names:
                sbom = json.loads(archive.read(names["sboms/separatrix.cdx.json"]))
                unknown = [c["name"] for c in sbom["components"] if c.get("version") == "unknown"]
                if sbom["metadata"]["component"]["version"] != VERSION or unknown:
                    yield f"{wheel.name}: its SBOM lacks versions: {unknown or 'its own'}"


def vulnerabilities() -> Iterator[str]:
    """Of the newest releases of what the package needs, as pip-audit knows them."""
    needs = ROOT / "build" / "needs.txt"
    needs.parent.mkdir(exist_ok=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs.write_text("\n".join(project["dependencies"]))
    yield from _fails(sys.executable, "-m", "pip_audit", "--strict", "-r", str(needs))


def recipe() -> Iterator[str]:
    """The conda recipe needs what pyproject.toml needs."""
    text = (ROOT / "release" / "conda" / "recipe.yaml").read_text()
    lists = re.findall(r"^  (host|run):\n((?:    - .*\n)+)", text, re.M)
    found = {
        name: sorted(line.replace(" ", "")[1:] for line in lines.splitlines())
        for name, lines in lists
    }
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python = f"python{settings['project']['requires-python']}"
    expected = {
        "host": sorted([python, "pip", *settings["build-system"]["requires"]]),
        "run": sorted([python, *settings["project"]["dependencies"]]),
    }
    for name, needs in expected.items():
        if found.get(name) != needs:
            yield f"the recipe has {name}: {found.get(name)}; pyproject.toml has {needs}"


def windows() -> Iterator[str]:
    """No name that Windows lacks is used outside of its branch."""
    yield from _fails(sys.executable, "-m", "mypy", "--platform", "win32", "src")


def workflows() -> Iterator[str]:
    """As actionlint reads them."""
    if shutil.which("actionlint") is None:
        yield "the workflows were not checked: actionlint is not installed"
    else:
        yield from _fails("actionlint")


def pages() -> Iterator[str]:
    """Every link of the pages leads somewhere."""
    yield from _fails(sys.executable, str(ROOT / "docs" / "links.py"), sys.argv[1])


CHECKS: list[Callable[[], Iterator[str]]] = [
    version, changelog, tag, model_files, wheels, recipe, vulnerabilities, windows, workflows,
    pages,
]  # fmt: skip


def _out(*command: str) -> str:
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=True
    ).stdout.strip()


def _fails(*command: str) -> Iterator[str]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        said = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        yield f"{' '.join(command)}:\n    {said}"


def main() -> None:
    """Run all checks, print what is wrong, and exit with the number of checks that failed."""
    if len(sys.argv) < 2:
        sys.exit(f"expected the folder of the built pages: python {sys.argv[0]} build/docs")
    failed = 0
    for check in CHECKS:
        flaws = list(check())
        failed += bool(flaws)
        print(f"{'FAILED' if flaws else 'ok    '} {check.__name__}", flush=True)
        for flaw in flaws:
            print(f"  {flaw}")
    sys.exit(failed)


if __name__ == "__main__":
    main()

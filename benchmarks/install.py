"""Install the packages of the extra ``bench`` one by one: a failure does not stop the others."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def main() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    for requirement in extras["bench"]:
        done = subprocess.run([*PIP, requirement], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or ["pip said nothing"]
            print(f"skipped {requirement}: it cannot be installed ({said[-1]})")


if __name__ == "__main__":
    main()

"""Small tables for the command, and the command itself in this process or in one of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from separatrix.apps.cli.app import run

INSTALLED = shutil.which("separatrix", path=str(Path(sys.executable).parent))
COMMAND = [INSTALLED] if INSTALLED else [sys.executable, "-m", "separatrix"]


def flowers(rows=300, seed=0):
    """Numbers, a category, missing values, and labels that they nearly tell."""
    rng = np.random.default_rng(seed)
    size, height = rng.normal(5, 2, rows), rng.normal(50, 20, rows)
    colour = rng.choice(["red", "blue", "white"], rows)
    score = (size - 5) / 2 + (colour == "red") + rng.normal(0, 0.7, rows)
    kind = np.where(score > 0.3, "rose", "iris")
    size[rng.random(rows) < 0.1] = np.nan
    table = {"size": size.round(3), "height": height.round(2), "colour": colour, "kind": kind}
    return pd.DataFrame(table)


def output(capsys, *arguments):
    """The exit code and the one object of ``--json``."""
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def process(*arguments, **options):
    """The command as people run it."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, timeout=120, check=False, **options
    )

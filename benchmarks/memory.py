"""Peak memory of a run beyond its data, measured in a separate process.

The child generates the same data again, returns freed memory, resets the kernel's peak (Linux
only), runs the contestant once and prints the growth of the peak in bytes.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATUS, REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def extra_bytes(workload: str, size: str, contestant: str, setting: int) -> int | None:
    """Extra bytes of a contestant with a setting; None, with a message, if not measurable."""
    if not REFS.exists():
        print("memory is not measured: only Linux resets its peak")
        return None
    command = [sys.executable, "-m", __name__, workload, size, contestant, str(setting)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        reason = (child.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"memory of {contestant} is not measured: {reason}")
        return None
    return int(child.stdout.split()[-1])


def kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


def _measure(workload: str, size: str, name: str, setting: str) -> int:
    from .registry import Workload
    from .workloads import WORKLOADS, real

    real.register()
    found = WORKLOADS[workload]
    assert isinstance(found, Workload)
    contest = found.build(size)
    contestant = next(each for each in contest.contestants if each.name == name)
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    before = kilobytes("VmRSS")
    REFS.write_text("5")
    contestant.run(contestant.settings[int(setting)])
    return 1024 * max(0, kilobytes("VmHWM") - before)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(_measure(*sys.argv[1:]))

"""Programs in processes of their own, of which only the first has to import the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys

FORKS = """
import json, os, sys, traceback
import numpy, scipy.sparse, separatrix
code, cases = json.loads(sys.argv[1])
reported = []
for arguments in cases:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        sys.argv[1:] = arguments
        try:
            exec(code, {"__name__": "__main__"})
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(write)
    with open(read) as out:
        reported.append(out.read())
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise SystemExit(f"failed: {arguments}")
print(json.dumps(reported))
"""


def in_children(code, cases, **env):
    """What a program prints with each list of arguments, every time in a child of its own."""
    command = [sys.executable, "-W", "ignore", "-c", FORKS, json.dumps([code, cases])]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

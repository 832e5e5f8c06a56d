"""A limit on the CPU time of this process, which the kernel keeps.

On Windows (untested) there is none: requests have the limit by the clock alone.
"""

from __future__ import annotations

import math
import sys
import time

if sys.platform == "win32":

    def no_core_files() -> None:
        """There are none."""

    def limit_cpu(seconds: int) -> None:
        """The kernel does not count here."""

    def ended_by_limit(exitcode: int) -> bool:
        return False

else:
    import resource
    import signal

    def no_core_files() -> None:
        """Leave no image of the memory when the kernel ends this process."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    def limit_cpu(seconds: int) -> None:
        """Let the kernel end this process after this many more seconds of CPU time."""
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(time.process_time()) + seconds
        if hard == resource.RLIM_INFINITY or soft < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))

    def ended_by_limit(exitcode: int) -> bool:
        """Whether a process with this exit code used up its time."""
        return exitcode == -signal.SIGXCPU

"""The installed command in a terminal 40 columns wide: progress, Ctrl-C, completion."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from apps.cli.tables import COMMAND, INSTALLED, process

import separatrix

COLUMNS = 40
SECONDS = 90.0  # a loaded machine is slow


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, *arguments, command=COMMAND, **variables):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
        self.process = subprocess.Popen(
            [*command, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, env=environment | {"TERM": "xterm"} | variables,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.text = ""

    def read_until(self, words, computed=0.0):
        """Wait for words on the screen, and these seconds of the processor; None: for the end."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if words is not None and words in self.text and self.computed() >= computed:
                return
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    more = os.read(self.ours, 1 << 16)
                except OSError:  # Linux's way to say that the other side is closed
                    more = b""
                if not more:
                    break
                self.text += more.decode("utf-8", "replace")
        assert words is None, f"{words!r} was not shown, but {self.text!r}"

    def computed(self):
        """The seconds of the processor that the process has used."""
        return psutil.Process(self.process.pid).cpu_times().user

    def press(self, key):
        os.write(self.ours, key)


def lines(text):
    """What is left without colours and what was overwritten."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    return [line.split("\r")[-1] for line in plain.replace("\r\n", "\n").split("\n")]


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """Rows that no perceptron settles on."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5000, 6)).round(4), rng.integers(0, 2, 5000)
    np.savetxt("noise.csv", np.column_stack([X, y]), "%g", ",", header="a,b,c,d,e,f,y", comments="")


@pytest.mark.processes
def test_progress_and_ctrl_c_in_a_narrow_terminal(endless):
    terminal = Terminal(
        "fit", "noise.csv", "-t", "y", "--loss", "perceptron", "--l2", "0", "--max-iter",
        "100000000", "-o", "part.sep",
    )  # fmt: skip
    terminal.read_until("Fitting: pass")
    terminal.read_until("left")  # and the time that is
    terminal.press(b"\x03")
    terminal.read_until(None)
    assert terminal.process.wait(SECONDS) == 130
    assert "\x1b[" in terminal.text
    shown = lines(terminal.text)
    assert any(
        "Interrupted: the model of the last complete pass is in part.sep." in s for s in shown
    )
    wide = [s for s in shown if len(s) > COLUMNS]
    assert all("part.sep" in s or "warning" in s for s in wide)  # names of files are never cut
    model = separatrix.load("part.sep")
    assert model.stop_ == "interrupted"
    assert model.predict("noise.csv").shape == (5000,)


@pytest.mark.processes
@pytest.mark.parametrize("asked", [True, False])
def test_colours_on_a_terminal_unless_nobody_wants_them(endless, asked):
    given = {} if asked else {"NO_COLOR": "1"}
    terminal = Terminal("fit", "noise.csv", "-t", "y", "--l2", "0.1", "--max-iter", "1", **given)
    terminal.read_until(None)
    assert terminal.process.wait(SECONDS) == 0
    assert "warning" in terminal.text  # that it was cut off, in yellow
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", terminal.text)) is asked


@pytest.mark.processes
def test_ctrl_c_during_the_search_for_l2(endless):
    terminal = Terminal(
        "fit", "noise.csv", "-t", "y", "--loss", "perceptron", "--max-iter", "100000",
        "-o", "best.sep",
    )  # fmt: skip
    terminal.read_until("Searching l2")
    terminal.read_until("Searching l2", computed=terminal.computed() + 2.0)  # some fits
    terminal.press(b"\x03")
    terminal.read_until("is fitted to all rows")
    time.sleep(1.2)  # a second one soon after would end at once
    terminal.press(b"\x03")
    terminal.read_until(None)
    assert terminal.process.wait(SECONDS) == 130
    assert "the model so far is in best.sep" in " ".join(lines(terminal.text))
    model = separatrix.load("best.sep")
    assert type(model) is separatrix.LinearClassifier
    assert model.predict("noise.csv").shape == (5000,)


@pytest.mark.processes
def test_sigterm_leaves_the_model_so_far(endless):
    fit = Terminal(
        "fit", "noise.csv", "-t", "y", "--loss", "perceptron", "--l2", "0", "--max-iter",
        "100000000", "-o", "part.sep",
    )  # fmt: skip
    fit.read_until("Fitting: pass")
    fit.process.terminate()
    fit.read_until(None)
    assert fit.process.wait(SECONDS) == 130
    assert separatrix.load("part.sep").stop_ == "interrupted"


@pytest.mark.skipif(not (INSTALLED and shutil.which("bash")), reason="bash and the command")
@pytest.mark.processes
def test_completion_by_the_tab_key(endless):
    # Typer would look which shell is above, and that may be any.
    asked = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    script = process("--show-completion", "bash", env=asked).stdout.decode()
    Path("completion.sh").write_text(script)
    path = f"{Path(INSTALLED).parent}{os.pathsep}{os.environ['PATH']}"
    bash = Terminal(command=["bash", "--norc", "--noprofile", "-i"], PATH=path, PS1="ready> ")
    bash.read_until("ready> ")
    bash.press(b". ./completion.sh\n")
    bash.press(b"separatrix pre\t")
    bash.read_until("separatrix predict")
    bash.press(b"\x15separatrix fit noise.csv --loss logi\t")  # after the line was wiped
    bash.read_until("logistic")
    bash.press(b"\x15exit\n")
    bash.read_until(None)
    assert bash.process.wait(SECONDS) == 0


@pytest.mark.processes
@pytest.mark.parametrize(
    ("words", "found"),
    [("separatrix pre", "predict"), ("separatrix fit noise.csv --target e", "e"),
     ("separatrix fit noise.csv --loss log", "logistic")],
)  # fmt: skip
def test_completion(endless, words, found):
    asked = {"_SEPARATRIX_COMPLETE": "complete_bash", "COMP_WORDS": words,
             "COMP_CWORD": str(len(words.split()) - 1)}  # fmt: skip
    done = process(env=os.environ | asked)
    assert done.stdout.decode().split() == [found]

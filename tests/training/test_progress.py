"""The line that shows how far a run is."""

from __future__ import annotations

import io
import sys

from conftest import overlapping

from separatrix import (
    Perceptron,
)
from separatrix.training.progress import PlainLine, RichLine, progress_line

X, Y = overlapping(80, 4, seed=1)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_plain_line_overwrites_itself(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    line = PlainLine()
    line.show("pass 1")
    line.close("pass 2")
    assert terminal.getvalue() == "\rpass 1\rpass 2\n"


def test_without_a_terminal_only_the_end_is_written(capsys):
    Perceptron(random_state=0, verbose=True).fit(X, Y)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("pass ")
    assert "mistakes" in err


def test_rich_on_a_terminal_plain_text_without_it(monkeypatch):
    assert progress_line(False) is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = progress_line(True)
    assert isinstance(line, RichLine)
    line.show("pass 1")
    line.close("pass 2")
    assert "pass 2" in sys.stderr.getvalue()
    monkeypatch.setitem(sys.modules, "rich.live", None)
    assert isinstance(progress_line(True), PlainLine)

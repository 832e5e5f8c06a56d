"""The compiled parser of LIBSVM text against its twin, and its numbers against ``float``."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from loops.twins import svmlight as twins

from separatrix.loops import svmlight as loops
from separatrix.loops.svmlight import (
    FEATURE,
    INDEX_ORDER,
    INDEX_RANGE,
    LABEL,
    LAST_INDEX,
    VALUE,
    index_range,
    parse_svmlight,
)


def as_bytes(text):
    return np.frombuffer(text if isinstance(text, bytes) else text.encode(), dtype=np.uint8)


def assert_twins(text, first_index=1, features=50):
    ours = parse_svmlight(as_bytes(text), first_index, features)
    twin = twins.parse_svmlight(as_bytes(text), first_index, features)
    assert ours[2:] == twin[2:], text
    np.testing.assert_array_equal(ours.labels, twin.labels, strict=True)
    for one, other in zip(ours.X[:3], twin.X[:3], strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    assert ours.X.n_features == twin.X.n_features == features
    return ours


def test_a_text():
    text = "# head 3:4\n+1 1:2 3:-.5#c 9:9\r\n\n \t\n-1e0\tqid:7 2:1. 4:1E-2  \n0.5\n2 51:1 60:1\n"
    rows = assert_twins(text)
    assert rows.labels.tolist() == [1.0, -1.0, 0.5, 2.0]
    assert rows.X.data.tolist() == [2.0, -0.5, 1.0, 0.01]
    assert rows.X.indices.tolist() == [0, 2, 1, 3]
    assert rows.X.indptr.tolist() == [0, 2, 4, 4, 4]
    assert (rows.left_out, rows.flaw) == (2, 0)


def test_nothing():
    for text in ("", "\n", "#\n", " \n\r\n"):
        assert len(assert_twins(text).labels) == 0
        assert index_range(as_bytes(text)) == twins.index_range(as_bytes(text))
        assert index_range(as_bytes(text))[0] > index_range(as_bytes(text))[1]


FLAWS = {
    LABEL: (
        "x 1:1", "nan 1:1", "inf", "-Infinity", "1e999", "1:2 3:4", "1,2 1:1", "+ 1:1", "- 1",
        "+-1", "0x1 1:1", "1e 1:1", ". 1:1", "1_0", "1.2.3", "\x00 1:1", "\ufeff1 1:1", "qid:3 1:1",
        ":",
    ),
    FEATURE: (
        "1 3", "1 a:1", "1 :1", "1 -3:1", "1 +3:1", "1 3.0:1", "1 3 :1", "1 1:1 qid:2", "1 qid:a",
        "1 qid: 1:1", "1 qid:1 qid:1", "1 1\v:1", "1 1:1 -", "1 1e1:2", "1 \u0663:1",
    ),
    VALUE: (
        "1 3:", "1 3: 4", "1 3:x", "1 3:nan", "1 3:inf", "1 3:-inf", "1 3:1e400",
        "1 3:1e99999999999", "1 3:1:2", "1 3:1,5", "1 3:0x10", "1 3:1e+", "1 3:--1", "1 3:1d0",
        "1 3:1.5f", "1 3:" + "9" * 400, "1 3:1;", "1 3:\u0663",
    ),
    INDEX_RANGE: ("1 0:1", f"1 {LAST_INDEX + 2}:1", "1 99999999999999999999999:1"),
    INDEX_ORDER: ("1 3:1 2:1", "1 3:1 3:1", "1 2:0 3:1 1:5"),
}  # fmt: skip


@pytest.mark.parametrize(("flaw", "line"), [(f, line) for f in FLAWS for line in FLAWS[f]])
def test_flaws(flaw, line):
    rows = assert_twins(f"-1 1:1\n\n{line}\n1 1:2\n")
    assert rows.flaw == flaw
    assert rows.labels.tolist() == [-1.0]
    assert rows.at >= len("-1 1:1\n\n")


def test_random_texts(rng):
    """Words that are nearly right, in any order: the same rows, or the same flaw at one place."""
    words = [
        "1", "-1", "3:1", "4:2.5", "07:1e-3", "9:.5", "qid:3", "#", "\n", "\n1 ", " ", "\t", "\r",
        "3:", ":", "e", "0:1", "51:1", "2:1e5", "+", ".", "12:1e-400", "nan", "13:-0.0",
    ]  # fmt: skip
    flaws = set()
    for _ in range(1500):
        at = rng.integers(len(words), size=rng.integers(1, 12))
        text = "1 " + rng.choice(["", " "]).join(words[i] for i in at) + "\n"
        flaws.add(assert_twins(text, int(rng.integers(2))).flaw)
    assert flaws == {0, LABEL, FEATURE, INDEX_RANGE, INDEX_ORDER, VALUE}


def test_every_end_of_a_text(rng):
    """Nothing beyond it is read: every beginning, in memory of just that size."""
    text = b"+1.5e-3 qid:12 1:0.25 17:3e2 # note 4:4\r\n-2 3:123456789012345678901\n"
    for end in range(len(text)):
        assert_twins(text[:end] + b"\n", 0)


def numbers(rng):
    """Of all sizes and lengths, and those at which rounding is hardest."""
    bits = rng.integers(0, 2**63, 3000)
    for word in bits:
        value = struct.unpack("<d", struct.pack("<Q", int(word)))[0]
        if np.isfinite(value):
            yield repr(value)
            yield f"{value:.16e}"
            yield f"{value:.25e}"
    for _ in range(3000):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, 25))))
        point = rng.integers(0, len(digits) + 1)
        yield f"{digits[:point]}.{digits[point:]}e{rng.integers(-40, 40)}"
        yield f"{digits[:point]}.{digits[point:]}"
    for whole in (2**53, 2**53 + 1, 2**53 + 3, 2**64, 2**64 + 1, 10**19, 10**22, 10**23):
        for power in (-23, -22, -1, 0, 1, 22, 23):
            yield f"{whole}e{power}"
    yield from (
        "5e-324",
        "2e-324",
        "2.5e-324",
        "1e-400",
        "0e999",
        "1.7976931348623157e308",
        "00001",
    )
    yield from ("1.7976931348623158e308", "2.2250738585072011e-308", "0." + "0" * 400 + "1")


def test_numbers_are_the_nearest_doubles(rng):
    written = list(numbers(rng))
    text = "".join(f"-{number} 1:{number} 2:+{number}\n" for number in written)
    rows = parse_svmlight(as_bytes(text), 1, 2)
    assert rows.flaw == 0
    expected = np.array([float(number) for number in written])
    np.testing.assert_array_equal(rows.X.data, np.repeat(expected, 2))
    np.testing.assert_array_equal(rows.labels, -expected)
    assert np.signbit(parse_svmlight(as_bytes("1 1:-0\n"), 1, 1).X.data[0])


def test_the_range_of_indices(rng):
    for _ in range(300):
        lines = []
        for _ in range(rng.integers(0, 5)):
            indices = np.sort(rng.choice(30, rng.integers(0, 4), replace=False)) + rng.integers(2)
            query = rng.choice(["", " qid:77", " qid:0"])
            note = rng.choice(["", " # 99:1", "#0:1", "\r", "  "])
            lines.append("1" + query + "".join(f" {i}:2" for i in indices) + note + "\n")
        text = as_bytes("".join(lines))
        assert index_range(text) == twins.index_range(text)


def test_text_that_does_not_end_with_a_line_is_refused():
    for function in (index_range, lambda text: parse_svmlight(text, 1, 2)):
        with pytest.raises(ValueError, match="must end with a line's end"):
            function(as_bytes("1 1:1"))


def test_too_little_room_is_refused():
    text, room = as_bytes("1 1:1 2:1\n1 1:1\n"), np.empty
    for lines, entries in ((1, 3), (2, 2)):
        with pytest.raises(ValueError, match="room: too little"):
            loops._loops.svmlight_rows(
                text, 1, 2, room(lines), room(entries), room(entries, "i4"), room(lines + 1, "i4")
            )

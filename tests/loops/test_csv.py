"""The compiled parser of CSV text against pyarrow: what it accepts has the values of pyarrow."""

from __future__ import annotations

import random
import struct
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from separatrix.loops.csv import NUMBER, SKIP, WORD, end_of_rows, parse_csv


def as_bytes(text):
    return np.frombuffer(text if isinstance(text, bytes) else text.encode(), dtype=np.uint8)


def parsed(text, kinds, delimiter=",", has_names=False):
    """Columns as lists, None where a value is missing; None if the text is refused."""
    counts = {SKIP: 0, NUMBER: 0, WORD: 0}
    slots = []
    for kind in kinds:
        slots.append(counts[kind])
        counts[kind] += 1
    kinds, slots = np.array(kinds, dtype=np.uint8), np.array(slots, dtype=np.int32)
    found = parse_csv(as_bytes(text), delimiter, has_names, kinds, slots)
    if found is None:
        return None
    columns = []
    for kind, slot in zip(kinds.tolist(), slots.tolist(), strict=True):
        if kind == NUMBER:
            values = found.numbers[:, slot].tolist()
            columns.append([None if value != value else value for value in values])
        elif kind == WORD:
            codes, offsets, words = found.words[slot]
            ends = struct.unpack(f"{len(offsets) // 4}i", offsets)
            distinct = [words[a:b].decode() for a, b in pairwise(ends)]
            assert len(set(distinct)) == len(distinct)
            assert not codes.size or codes.max() == len(distinct) - 1
            columns.append([None if code < 0 else distinct[code] for code in codes.tolist()])
    return columns


def by_arrow(text, kinds, delimiter=","):
    """The same by pyarrow; None if it refuses the text."""
    types = {SKIP: pa.null(), NUMBER: pa.float64(), WORD: pa.string()}
    names = [str(j) for j in range(len(kinds))]
    chosen = {name: types[k] for name, k in zip(names, kinds, strict=True) if k != SKIP}
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(text.encode() if isinstance(text, str) else text),
            pa.csv.ReadOptions(use_threads=False, column_names=names),
            pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(
                column_types=chosen, include_columns=list(chosen), strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid:
        return None
    return [column.to_pylist() for column in table.columns]


def test_a_text():
    text = 'a,b,"c"\n1.5,x,3\n\n,"y ""q"",\n",NA\n 2\t,x,"4"\r\n\r\n-1e5,,.5\r\n5.,nan, 0 \n'
    assert parsed(text, [NUMBER, WORD, NUMBER], has_names=True) == [
        [1.5, None, 2.0, -1e5, 5.0], ["x", 'y "q",\n', "x", None, None], [3.0, None, 4.0, 0.5, 0.0]
    ]  # fmt: skip
    assert parsed(text, [SKIP, WORD, SKIP], has_names=True) == [["x", 'y "q",\n', "x", None, None]]
    assert parsed("\n\r\n", [NUMBER]) == [[]]
    assert parsed("", [WORD, NUMBER]) == [[], []]
    assert parsed("x\t1\n", [WORD, NUMBER], "\t") == [["x"], [1.0]]


REFUSED = [
    "1,2\n", "\n1\r2\n", "x\n", "1.2.3\n", "+1\n", "1e\n", "inf\n", "1e999\n", "1e-400\n", "0x1\n",
    "1_0\n", "- 1\n", '"1\n"\n', '"1"x\n', '"1""2"\n', '1"\n', '"1\n', "1 2\n", " \n", " NA\n",
    "1\r\r\n", "1\0\n",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_doubtful_numbers_are_refused(text):
    assert parsed(text, [NUMBER]) is None
    assert parsed("7\n" * 5 + text, [NUMBER]) is None


@pytest.mark.parametrize("text", ['a"b\n', '"a"b\n', "a,b\n", "a\rb\n", '"a\n', '"a""\n'])
def test_words_that_parsers_read_in_different_ways_are_refused(text):
    assert parsed(text, [WORD]) is None
    assert parsed(text, [SKIP]) is None


@pytest.mark.parametrize("word", pa.csv.ConvertOptions().null_values)
@pytest.mark.parametrize("quoted", [False, True])
def test_missing_values_are_those_of_arrow(word, quoted):
    word = f'"{word}"' if quoted else word
    text = f"1,a\n{word},{word}\n"
    assert parsed(text, [NUMBER, WORD]) == [[1.0, None], ["a", None]]
    assert by_arrow(text, [NUMBER, WORD]) == [[1.0, None], ["a", None]]


FIELDS = [
    "", "NA", "nan", "-nan", "1", "-0", "0.0", "007", "1.", ".5", "-.5e3", "1e5", "1E-7", " 3",
    "4 ", "\t5", "12345678901234567890", "0.1234567890123456789", "9007199254740993", "1e300",
    "1e-290", "1e308", "1e309", "4e-320", "-1.#IND", "inf", "+3", "é", "a b", '"q"', '"1.5"',
    '"a,b"',
    '"a""b"', '"l\nm"', '"l\r\nm"', '""', '""""', '"NA"', "x\"", "'s'", "true",
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_accepted_is_what_arrow_reads(delimiter, end):
    rng = random.Random(0)
    accepted = 0
    for _ in range(1500):
        kinds = [rng.choice([NUMBER, WORD, SKIP]) for _ in range(rng.randint(1, 3))]
        fields = rng.sample(FIELDS, 6)
        rows = [
            delimiter.join(rng.choice(fields) for _ in range(len(kinds)))
            for _ in range(rng.randint(1, 3))
        ]
        text = end.join(rows) + end
        found = parsed(text, kinds, delimiter)
        if found is not None and any(kind != SKIP for kind in kinds):
            accepted += 1
            assert found == by_arrow(text, kinds, delimiter), text
    assert accepted > 180


def test_numbers_have_the_bits_of_arrow():
    rng = np.random.default_rng(0)
    values = rng.normal(size=3000) * 10.0 ** rng.integers(-280, 290, 3000)
    text = "".join(f"{value!r}\n{value:.3g}\n{value:.15f}\n" for value in values.tolist())
    (found,), (expected,) = parsed(text, [NUMBER]), by_arrow(text, [NUMBER])
    assert np.array_equal(found, expected)
    assert np.signbit(parsed("-0\n", [NUMBER])[0][0])


def test_many_words_and_those_that_are_alike():
    words = [f"w{i % 3000}" + "x" * (i % 40) for i in range(20_000)]
    assert parsed("".join(f"{word}\n" for word in words), [WORD]) == [words]


def test_a_text_must_end_with_a_line():
    with pytest.raises(ValueError, match="must end with a line's end"):
        parsed("1,2", [NUMBER, NUMBER])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", 0), ("a", 0), ("a\n", 2), ("a\nb", 2), ("a\rb", 2), ("a\r", 0), ("a\r\n", 3),
        ('a,"b\n', 0), ('x\n"b\nc",\n', 9), ('x\n"b\n""c",\ny', 11), ('x\n"b"', 2), ('"a"\n', 4),
        ('\ufeff"a"\nb', 7), ('x\na"b\n', None), ('x\n"a"b\n', None),
    ],
)  # fmt: skip
def test_the_end_of_the_last_row(text, end):
    assert end_of_rows(as_bytes(text), ",") == end

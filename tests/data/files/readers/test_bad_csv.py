"""CSV that is wrong: each flaw is reported with its line and the way out."""

import re
import shlex
import shutil
import subprocess

import pytest
from bad_tables import bad_csv, labelled, read

import separatrix
from separatrix.data.files.encoding.decoding import decoded
from separatrix.data.files.readers.formats import open_reader


def test_a_short_row_is_named_by_its_line(tmp_path):
    text = "x,y\n" + "1,2\n" * 3000 + '\n"a\nb",2\n' + "3\n" + "1,2\n" * 10
    with pytest.raises(ValueError, match=r"t\.csv, line 3005 has 1 value; expected 2"):
        read(bad_csv(tmp_path, text))


def test_a_long_row(tmp_path):
    with pytest.raises(ValueError, match=r"t\.csv, line 3 has 3 values; expected 2.*quotes"):
        read(bad_csv(tmp_path, "x,y\n1,2\n1,2,3\n"))


def test_a_quote_that_is_never_closed(tmp_path):
    """Arrow takes all that follows for one value, and would read fewer rows."""
    text = "x,y\n1,2\n" + '5,"6\n' + "1,2\n" * 100
    with pytest.raises(ValueError, match=r"t\.csv, line 3 opens a quote that is never closed"):
        read(bad_csv(tmp_path, text))
    assert read(bad_csv(tmp_path, 'x,y\n1,2\n1,"a\nb"\n')) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('x,y\n1,"2"3\n5,"6\n1,2\n', 3),  # a quote that closes in the middle of a value is none
        ('x,y\n1,2\n5,"6', 3),  # the file was cut off
        ('x,"y\n1,2\n', 1),
        ('x;y\n1,5;2\n5;"6\n1;2\n', 3),
        ('x,y\r1,"\r"\r5,"6\r1,2\r', 4),
    ],
)
def test_the_line_of_a_quote_that_is_never_closed(tmp_path, text, line):
    with pytest.raises(ValueError, match=rf"t\.csv, line {line} opens a quote that is never clos"):
        read(bad_csv(tmp_path, text))


def test_a_line_end_in_the_last_value_is_no_flaw(tmp_path):
    assert read(bad_csv(tmp_path, 'x,y\n1,"a"c\n2,"b\nb"\n')) == 2


def test_text_that_is_not_utf8(tmp_path):
    text = "x,y\n1,é\n".encode() * 2 + "2,é\n".encode("latin-1")
    with pytest.raises(ValueError, match=r"t\.csv, line 5 is not in UTF-8"):
        read(bad_csv(tmp_path, text))
    with pytest.raises(ValueError, match=r"t\.csv, line 1 is not in UTF-8"):
        read(bad_csv(tmp_path, "x,é\n1,2\n".encode("latin-1")))


@pytest.mark.skipif(shutil.which("iconv") is None, reason="the hint is a command")
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_the_hint_converts_a_file_to_utf8(tmp_path, encoding):
    bad = bad_csv(tmp_path, ("x,y\n" + "1,a\n2,é\n" * 2).encode(encoding))
    with pytest.raises(ValueError, match="is not in UTF-8, but probably in") as error:
        read(bad)
    (hint,) = re.findall("`(iconv -f .*)`", str(error.value))
    done = subprocess.run(
        shlex.split(hint), input=bad.read_bytes(), capture_output=True, check=True
    )
    assert done.stdout.decode().lstrip("\ufeff") == bad.read_text(encoding)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n\n", "holds only empty lines"),
        ("1,2.5\n3,4\n", r"line 1: numbers \(1, 2.5, ...\) where the names of columns"),
        ("x,x\n3,4\n", r"several columns named \['x'\]"),
        ("x,\n3,4\n", "line 1: column 2 has no name"),
        ("x|y\n3|4\n", r"one column, 'x.y'.*separator="),
    ],
)
def test_names_that_are_wrong(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"t\.csv.*{message}"):
        read(bad_csv(tmp_path, text))


def test_a_word_among_numbers(tmp_path):
    path = labelled(tmp_path, "", "huge,red,True")
    message = r"t\.csv, line 3003: column 'size' holds 'huge', but numbers such as 0 in other rows"
    with pytest.raises(ValueError, match=message):
        separatrix.read(path, target="label")
    words = separatrix.read(path, target="label", categorical={"size": "onehot"})
    assert words.n_features == 8 + 1
    assert separatrix.read(path, target="label", features=["colour"]).n_features == 1


def test_a_word_among_numbers_of_a_file_to_predict(tmp_path):
    """The model's columns are numbers, whatever the file has."""
    source = separatrix.read(labelled(tmp_path), target="label")
    (tmp_path / "new.csv").write_text("size,colour\n1,red\nhuge,blue\n")
    reader = open_reader(tmp_path / "new.csv")
    with pytest.raises(ValueError, match=r"new\.csv, line 3: column 'size' holds 'huge'"):
        list(decoded(reader, source.rows.encoding, labels=False))


def test_categories_that_look_like_numbers_in_a_file_to_predict(tmp_path):
    path = labelled(tmp_path, "1.50,red,True", "huge,red,True")
    source = separatrix.read(path, target="label", categorical={"size": "onehot"})
    (tmp_path / "new.csv").write_text("size,colour\n1.50,red\n2,blue\n")
    (found,) = decoded(open_reader(tmp_path / "new.csv"), source.rows.encoding, labels=False)
    assert found.unknown == {}

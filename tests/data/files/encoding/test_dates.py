"""Dates as parts of them, against Python's calendar."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from encoded_tables import dense, encoding_of

import separatrix
from separatrix import LinearClassifier
from separatrix.data.files.encoding.encoding import Encoding
from separatrix.data.files.encoding.suspects import ColumnWarning

ALL = ["year", "month", "day", "weekday", "hour", "days"]
EPOCH = dt.date(1970, 1, 1)


def moments(n=300, seed=0):
    rng = np.random.default_rng(seed)
    first = dt.datetime(1899, 12, 30, 23, 59)
    return [first + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 10**8, n)]


def expected(when):
    """Feature by name, of one moment."""
    day = when.date()
    return {
        "at_year": day.year, f"at_month_{day.month}": 1.0, "at_day": day.day,
        f"at_weekday_{day.strftime('%A')}": 1.0, f"at_hour_{when.hour}": 1.0,
        "at_days": (day - EPOCH).days,
    }  # fmt: skip


def check(encoding, table, whens):
    names, X = encoding.coef_names.tolist(), dense(encoding.encode(table).X)
    for row, when in zip(X, whens, strict=True):
        found = {name: value for name, value in zip(names, row.tolist(), strict=True) if value}
        assert found == {name: value for name, value in expected(when).items() if value}


ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))
COLUMNS = {
    "text": lambda whens: pa.array([when.isoformat(" ") for when in whens]),
    "text with T": lambda whens: pa.array([when.isoformat() for when in whens]),
    "text with a zone": lambda whens: pa.array(
        [when.replace(tzinfo=dt.UTC).astimezone(ZONE).isoformat() for when in whens]
    ),
    "nanoseconds": lambda whens: pa.array(whens, pa.timestamp("ns")),
    "a zone": lambda whens: pa.array(whens, pa.timestamp("s", "Asia/Tokyo")),
    "repeated": lambda whens: pa.array([when.isoformat() for when in whens]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_parts_are_those_of_the_calendar_in_utc(kind):
    whens = moments()
    table = pa.table({"at": COLUMNS[kind](whens)})
    encoding = encoding_of(table, dates={"at": ALL})
    check(encoding, table, whens)
    assert Encoding.from_dict(encoding.to_dict()) == encoding
    new = moments(40, seed=1)
    check(encoding, pa.table({"at": COLUMNS[kind](new)}), new)


def test_days_without_a_time():
    days = [dt.date(2000, 2, 29), dt.date(1969, 12, 31), dt.date(9999, 12, 31), dt.date(1, 1, 1)]
    for column in (pa.array(days), pa.array([day.isoformat() for day in days])):
        table = pa.table({"at": column})
        X = dense(encoding_of(table, dates={"at": ["days", "year"]}).encode(table).X)
        assert X.tolist() == [[(day - EPOCH).days, day.year] for day in days]


@pytest.mark.parametrize("missing", ["mean", "zero", "indicator"])
def test_a_missing_date(missing):
    table = pa.table({"at": ["2024-01-01", None, "2026-03-03", "2026-03-03"]})
    encoding = encoding_of(table, dates={"at": ["year", "month"]}, missing=missing)
    X, names = dense(encoding.encode(table).X), encoding.coef_names.tolist()
    mean = 0.0 if missing == "zero" else (2024 + 2 * 2026) / 3
    assert X[1, 0] == pytest.approx(mean)
    assert ("missingindicator_at_year" in names) == (missing == "indicator")
    assert ("missingindicator_at_month" in names) == (missing != "zero")
    with pytest.raises(ValueError, match=r"column 'at' has no value in row 1 "):
        encoding_of(table, dates={"at": ["year", "month"]})


def csv_of(path, values, name="signup"):
    rng = np.random.default_rng(0)
    rows = [f"{value},{rng.normal():.3f},{i % 2}" for i, value in enumerate(values)]
    path.write_text(f"{name},x,y\n" + "\n".join(rows) + "\n")
    return path


def days_of(n):
    return [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(n)]


def test_dates_of_a_csv_file_are_no_silent_categories(tmp_path):
    path = csv_of(tmp_path / "t.csv", days_of(200))
    with pytest.warns(
        ColumnWarning, match=r"'signup' holds dates, such as '2020-01-01'.* 200 feat"
    ) as found:
        separatrix.read(path, target="y")
    assert found[0].filename == __file__
    advice = str(found[0].message)
    assert "dates={'signup': ['year', 'month', 'weekday']}" in advice
    assert "drop=['signup']" in advice
    source = separatrix.read(path, target="y", dates={"signup": ["year", "month", "weekday"]})
    assert source.n_features == 1 + 7 + 7 + 1  # January to July
    separatrix.read(path, target="y", categorical={"signup": "onehot"})  # as it is meant


def test_dates_that_are_read_otherwise_in_other_countries_are_not_guessed(tmp_path):
    path = csv_of(tmp_path / "t.csv", [day.strftime("%d/%m/%Y") for day in days_of(100)])
    with pytest.warns(ColumnWarning, match=r"write them as 2024-12-31 and read with dates="):
        separatrix.read(path, target="y")
    with pytest.raises(ValueError, match=r"'signup' holds '01/01/2020' in .*t\.csv, line 2, which"):
        separatrix.read(path, target="y", dates={"signup": ["year"]})


def test_names_of_rows_are_noticed(tmp_path):
    path = csv_of(tmp_path / "t.csv", [f"c{i}" for i in range(100)], "id")
    with pytest.warns(
        ColumnWarning, match=r"'id' has 100 different values in 100 rows.*drop=\['id'"
    ):
        separatrix.read(path, target="y")
    few = csv_of(tmp_path / "few.csv", [f"c{i % 30}" for i in range(100)], "id")
    assert separatrix.read(few, target="y").n_features == 31


def test_a_model_keeps_the_dates_of_its_fit(tmp_path):
    path = csv_of(tmp_path / "t.csv", days_of(200))
    options = {"target": "y", "dates": {"signup": ["year", "weekday", "days"]}}
    clf = LinearClassifier(l2=1e-2, standardize=True).fit(separatrix.read(path, **options))
    separatrix.save(clf, tmp_path / "m.sep")
    again = separatrix.load(tmp_path / "m.sep")
    frame = pd.read_csv(path)
    for given in (path, frame, frame.assign(signup=pd.to_datetime(frame["signup"]))):
        np.testing.assert_array_equal(again.decision_function(given), clf.decision_function(path))
    assert again.coef_names_.tolist() == clf.coef_names_.tolist()
    with pytest.raises(ValueError, match=r"column 'signup' is int64 from .*row 0 .*expected dates"):
        again.predict(frame.assign(signup=7))
    with pytest.raises(ValueError, match=r"'signup' is read as parts of a date, which an export"):
        separatrix.export(clf, tmp_path / "m.json", to="json")


def test_a_cache_keeps_the_dates(tmp_path):
    path = csv_of(tmp_path / "t.csv", days_of(60))
    options = {"target": "y", "dates": {"signup": ["month"]}, "cache": tmp_path / "cache"}
    one, other = (separatrix.read(path, **options) for _ in range(2))
    assert one.reading == other.reading
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize(
    ("value", "row"), [("2020-02-30", 3), ("soon", 3), ("2020-01-01T00:00Z", 3), ("20200101", 3)]
)
def test_what_is_no_date_is_named_with_its_line(tmp_path, value, row):
    days = [*map(str, days_of(2)), value, "2020-01-09"]
    path = csv_of(tmp_path / "t.csv", days)
    line = row + 1
    where = rf"t\.csv, line {line}, which is no date" if "Z" not in value else "without a time zone"
    with pytest.raises(ValueError, match=rf"column 'signup' holds .*{where}"):
        separatrix.read(path, target="y", dates={"signup": ["year"]})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dates": {"signup": ["week"]}}, ValueError, r"dates\['signup'\] must be one of"),
        ({"dates": {"signup": "year"}}, TypeError, r"dates\['signup'\] must be a list of parts"),
        ({"dates": ["signup"]}, TypeError, r"dates must be a dict of parts by column"),
        ({"dates": {"signup": []}}, ValueError, r"must name parts once each"),
        ({"dates": {"signup": ["day", "day"]}}, ValueError, r"must name parts once each"),
        ({"dates": {"singup": ["day"]}}, ValueError, r"dates names the column 'singup'.*'signup'"),
        ({"dates": {"y": ["day"]}}, ValueError, r"dates names 'y', which is not among the feat"),
        (
            {"dates": {"signup": ["day"]}, "categorical": {"signup": "hash"}},
            ValueError, r"dates and categorical both name 'signup'",
        ),
    ],
)  # fmt: skip
def test_options_that_are_wrong(tmp_path, options, error, message):
    path = csv_of(tmp_path / "t.csv", days_of(4))
    with pytest.raises(error, match=message):
        separatrix.read(path, target="y", **options)


def test_numbers_are_no_dates():
    with pytest.raises(ValueError, match=r"dates names the column 'at', which is int64; expected"):
        encoding_of(pa.table({"at": [1, 2]}), dates={"at": ["year"]})


def test_damaged_parts_of_a_cache_or_model_are_refused():
    table = pa.table({"at": ["2024-01-01", "2024-02-02", "2025-03-03"]})
    good = encoding_of(table, dates={"at": ["year", "month"]}).to_dict()
    for change in (
        {"parts": ["year"]}, {"parts": ["year", "year"]}, {"parts": ["month", "year"]},
        {"parts": ["year", "week"]}, {"columns": []}, {"name": 3},
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            Encoding.from_dict({**good, "columns": [{**good["columns"][0], **change}]})

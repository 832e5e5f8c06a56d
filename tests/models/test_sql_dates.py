"""Parts of dates in SQL against Python's, in SQLite and DuckDB."""

from __future__ import annotations

import datetime
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import separatrix
from separatrix import LinearClassifier

PARTS = ["year", "month", "day", "weekday", "hour", "days"]
FIRST, LAST = (datetime.date(year, 1, 1).toordinal() for year in (2, 9999))


def words(with_time: bool, with_zone: bool, n: int = 400) -> list[str]:
    """Dates of eight thousand years, leap days and ends of years among them."""
    rng = np.random.default_rng(0)
    found = [datetime.date.fromordinal(int(d)) for d in rng.integers(FIRST, LAST, n)]
    found[:8] = [
        datetime.date(*d)
        for d in [
            (2000, 2, 29), (1900, 2, 28), (1900, 3, 1), (2023, 12, 31), (2024, 1, 1), (1970, 1, 1),
            (1969, 12, 31), (2024, 2, 29),
        ]
    ]  # fmt: skip
    texts = [day.isoformat() for day in found]
    if with_time:
        texts = [
            f"{day}{' T'[i % 2]}{rng.integers(24):02d}:{rng.integers(60):02d}{':59' * (i % 3 > 0)}"
            for i, day in enumerate(texts)
        ]
    if with_zone:
        texts = [
            f"{t}{['Z', '+01', '-05:30', '+0930', '+14:00'][i % 5]}" for i, t in enumerate(texts)
        ]
    return texts


def in_sqlite(text: str, frame: pd.DataFrame) -> dict[int, tuple[object, ...]]:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE "rows" ("when", x, id)')
        rows = frame[["when", "x", "id"]].astype(object).where(frame.notna(), None)
        base.executemany('INSERT INTO "rows" VALUES (?, ?, ?)', rows.to_numpy().tolist())
        return {row[0]: row[1:] for row in base.execute(text)}


def in_duckdb(text: str, frame: pd.DataFrame | pa.Table) -> dict[int, tuple[object, ...]]:
    duckdb = pytest.importorskip("duckdb")
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    with duckdb.connect() as base:
        base.register("given", frame)
        base.execute('CREATE TABLE "rows" AS SELECT * FROM given')
        return {row[0]: row[1:] for row in base.execute(text).fetchall()}


def rows_of(dates: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = len(dates)
    frame = pd.DataFrame({"when": dates, "x": rng.normal(size=n), "id": range(n)})
    frame.loc[::17, "when"] = None
    return frame.assign(y=rng.integers(0, 2, n))


def fitted(frame: pd.DataFrame, **options: object) -> LinearClassifier:
    options = {"missing": "indicator"} | options
    rows = separatrix.read(frame, target="y", drop=["id"], dates={"when": PARTS}, **options)
    return LinearClassifier(l2=1e-2, standardize=True).fit(rows)


def exported(model: LinearClassifier, tmp_path, **options: object) -> str:
    separatrix.export(model, tmp_path / "model.sql", "sql", key="id", **options)
    return (tmp_path / "model.sql").read_text()


@pytest.mark.sampled
@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("missing", ["indicator", "mean", "zero"])
@pytest.mark.parametrize("kind", ["date", "time", "zone"])
def test_dates_as_text(kind, missing, run, tmp_path):
    frame = rows_of(words(kind != "date", kind == "zone"))
    model = fitted(frame, missing=missing)
    found = run(exported(model, tmp_path), frame)
    assert [found[i][-1] for i in frame.id] == pytest.approx(
        model.decision_function(frame), rel=1e-12, abs=1e-12
    )
    assert [found[i][0] for i in frame.id] == model.predict(frame).tolist()


@pytest.mark.parametrize("type", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_dates_as_dates_of_duckdb(type, tmp_path):
    frame = rows_of(words(with_time=False, with_zone=False))
    model = fitted(frame, missing="indicator")
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    when = rows["when"].cast(pa.timestamp("us")).cast(type)
    found = in_duckdb(exported(model, tmp_path), rows.set_column(0, "when", when))
    assert [found[i][-1] for i in frame.id] == pytest.approx(
        model.decision_function(frame), rel=1e-12, abs=1e-12
    )


WRONG = [
    "", "abc", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "2024-01-00",
    "2024-1-5", "20240105", "0000-01-01", "2024-01-05 24:00", "2024-01-05 23:60", "2024-01-05 x",
    "2024-01-05 10h", "12.05.2024",
]  # fmt: skip


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_what_is_no_date_is_missing(run, tmp_path):
    frame = rows_of(words(with_time=True, with_zone=False))
    model = fitted(frame, missing="indicator")
    wrong = pd.DataFrame({"when": WRONG, "x": 0.5, "id": range(len(WRONG))})
    found = run(exported(model, tmp_path), wrong)
    expected = model.decision_function(wrong.assign(when=pa.nulls(len(WRONG), pa.string())))
    assert [found[i][-1] for i in wrong.id] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb])
def test_a_missing_date_that_the_model_refuses(run, tmp_path):
    frame = rows_of(words(with_time=False, with_zone=False)).dropna()
    text = exported(fitted(frame, missing="error"), tmp_path)
    found = run(text, rows_of(words(with_time=False, with_zone=False)))
    assert [i for i, row in found.items() if set(row) == {None}] == list(range(0, 400, 17))


def test_dates_that_repeat_are_computed_once_each_and_two_columns_are_kept_apart(tmp_path):
    """Rows are joined with distinct dates: none may be lost or doubled."""
    frame = rows_of(words(with_time=False, with_zone=False, n=10) * 30)
    frame["then"] = frame["when"].shift(1)
    rows = separatrix.read(
        frame, target="y", drop=["id"], missing="mean",
        dates={"then": ["weekday"], "when": ["month", "days"]},
    )  # fmt: skip
    model = LinearClassifier(l2=1e-2).fit(rows)
    found = in_duckdb(exported(model, tmp_path), frame)
    assert len(found) == len(frame)
    assert [found[i][-1] for i in frame.id] == pytest.approx(
        model.decision_function(frame), rel=1e-9, abs=1e-12
    )


def test_refusals(tmp_path):
    model = fitted(rows_of(words(with_time=False, with_zone=False)))
    with pytest.raises(ValueError, match="begin with 'dates_of_column_'"):
        exported(model, tmp_path, table="Dates_of_column_0")
    for language in ("json", "c", "onnx"):
        with pytest.raises(
            ValueError, match=f"(?i)'when' is read as parts of a date, which.*{language}.*'sql'"
        ):
            separatrix.export(model, tmp_path / "model", language)
    assert not (tmp_path / "model").exists()

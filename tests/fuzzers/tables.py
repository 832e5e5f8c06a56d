"""Damaged and hostile tables: a model, or an error that names the file."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import tempfile
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

import separatrix as sx

from .expected import expect, result_or_refusal
from .mutations import mutated_bytes

ROWS = 40


@cache
def tables() -> dict[str, bytes]:
    """One small table in every format, by the suffix of its file."""
    rng = np.random.default_rng(0)
    size, y = rng.normal(size=ROWS).round(3), rng.integers(0, 2, ROWS)
    words = [["red", 'a "quote"', "two, words", "line\nend"][i % 4] for i in range(ROWS)]
    table = pa.table({"size": size, "colour": words, "y": [f"c{label}" for label in y]})
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    parquet, feather = io.BytesIO(), io.BytesIO()
    pa.parquet.write_table(table, parquet, row_group_size=16)
    pa.feather.write_feather(table, feather, compression="uncompressed")
    lines = [
        f"{2 * label - 1} 1:{a} {i % 7 + 2}:1 # x"
        for i, (label, a) in enumerate(zip(y, size, strict=True))
    ]
    svmlight = ("\n".join(lines) + "\n").encode()
    return {
        ".csv": text.getvalue(), ".csv.gz": gzip.compress(text.getvalue()),
        ".tsv": text.getvalue().replace(b",", b"\t"), ".parquet": parquet.getvalue(),
        ".feather": feather.getvalue(), ".svm": svmlight, ".svm.gz": gzip.compress(svmlight),
        ".svm.bz2": bz2.compress(svmlight),
    }  # fmt: skip


def one(seed: int) -> str:
    """One damaged table, read and fitted."""
    draw = random.Random(seed)
    suffix = draw.choice(sorted(tables()))
    raw = tables()[suffix]
    if suffix.endswith(".gz") and draw.random() < 0.5:
        raw = gzip.compress(mutated_bytes(gzip.decompress(raw), draw))
    else:
        raw = mutated_bytes(raw, draw)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"hostile{suffix}"
        path.write_bytes(raw)
        return f"{suffix}: {_read_and_fitted(path)}"


def _read_and_fitted(path: Path) -> str:
    options = {} if ".svm" in path.name else {"target": "y", "missing": "mean"}
    read = partial(sx.read, path, block_rows=16, **options)
    source, _ = result_or_refusal(read, names=path.name)
    if source is None:
        return "not read"
    model, _ = result_or_refusal(sx.LinearClassifier(l2=0.1, max_iter=20).fit, source)
    if model is None:
        return "not fitted"
    expect(bool(np.all(np.isfinite(model.coef_))), "weights that are not finite")
    return "fitted"

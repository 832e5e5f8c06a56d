"""Tables, and the encoding that a first pass over them finds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from separatrix.data.files.encoding.options import EncodingOptions
from separatrix.data.files.encoding.survey import Survey
from separatrix.data.files.readers.reader import Place
from separatrix.numeric.rows import to_dense


def columns_of(table):
    """Names and types."""
    return zip(table.schema.names, table.schema.types, strict=True)


def encoding_of(table, batch_rows=7, **options):
    """The encoding that a first pass over small batches finds."""
    found = Survey(columns_of(table), EncodingOptions(**options))
    for batch in table.to_batches(max_chunksize=batch_rows):
        found.add(batch, Place(first=found.n_read))
    return found.encoding()


def dense(rows):
    return to_dense(rows)


def words(n=200, kinds=6, seed=0):
    """Words of a few kinds, the later ones rarer."""
    rng = np.random.default_rng(seed)
    return rng.choice(
        [f"w{i}" for i in range(kinds)], n, p=np.arange(kinds, 0, -1) / sum(range(kinds + 1))
    )


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "word": words(n, seed=seed),
            "flag": rng.random(n) < 0.3,
            "code": rng.integers(0, 5, n),
            "label": rng.choice(["no", "yes"], n),
        }
    )

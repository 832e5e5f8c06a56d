"""
A file larger than memory
=========================

A source reads a few blocks at a time; the fit is the one that arrays would give, with its proof.
The file here is small, and written on the spot.
"""

# %%
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import separatrix
from separatrix import HistoryDisplay, LinearClassifier

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
n = 30_000
delay, hour = rng.exponential(12.0, n), rng.integers(0, 24, n)
carrier = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
score = 0.08 * delay - 0.1 * np.abs(hour - 12) + (carrier == "west")
late = score + rng.logistic(size=n) > 1.0
table = pa.table({"delay": delay, "hour": hour, "carrier": carrier, "late": late})
pq.write_table(table, folder / "flights.parquet")

# %%
# Categories become one weight each; the first pass writes a cache that later passes read.
source = separatrix.read(
    folder / "flights.parquet", target="late", block_rows=4096, cache=folder / "cache"
)
clf = LinearClassifier("logistic", standardize=True).fit(source)
print(clf.stop_, f"within {clf.gap_:.1e}")
for name, weight in zip(clf.coef_names_, clf.coef_[0], strict=True):
    print(f"{name:20}{weight: .3f}")
HistoryDisplay.from_estimator(clf)

# %%
# The model remembers how its file was read: new files and tables are coded alike.
print(clf.predict(folder / "flights.parquet")[:5], clf.score(source))

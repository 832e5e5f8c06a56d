"""
From a table to a decision
==========================

A file as companies have them: names of rows, dates, missing values, a column that is only known
after the fact, and few rows of the class of interest. ``python examples/churn.py churn.csv`` writes
the file and stops; the page *From a table to a decision* goes on with it on the command line.
"""

# %%
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

import separatrix
from separatrix import LinearClassifierCV, Report


def churn(rows: int = 10_000, seed: int = 0) -> pa.Table:
    """Customers, and whether they left: about one in twenty."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 2000, rows)
    calls, spent = rng.poisson(1.5, rows), rng.gamma(4.0, 12.0, rows)
    plan = rng.choice(["basic", "family", "business"], rows, p=[0.6, 0.3, 0.1])
    score = -5.0 + 0.9 * calls - 0.0008 * days + 1.2 * (plan == "basic") - 0.01 * spent
    left = rng.random(rows) < 1.0 / (1.0 + np.exp(-score))
    signed_up = np.datetime64("2026-01-01") - days
    return pa.table(
        {
            "customer": [f"C-{number:06d}" for number in rng.permutation(rows)],
            "signed_up": signed_up.astype(str),
            "plan": plan,
            "calls": calls,
            "spent": pa.array(spent.round(2), mask=rng.random(rows) < 0.05),
            # Charged to those who have left: it says the answer, and is not known in time.
            "closing_fee": np.where(left, rng.uniform(5.0, 20.0, rows).round(2), 0.0),
            "churned": np.where(left, "yes", "no"),
        }
    )


def write(table: pa.Table, file: Path | str) -> None:
    """Write a table as CSV, with quotes around the names of columns only."""
    csv.write_csv(table, file, csv.WriteOptions(quoting_style="none"))


if len(sys.argv) == 2 and sys.argv[1].endswith(".csv"):
    write(churn(), sys.argv[1])
    raise SystemExit

# %%
# A fit without the names of rows and without the leak, whose penalty is chosen by the loss of
# held-out rows. Two thirds of the rows are set aside first: one to choose a threshold, the other
# for the report.
table = churn().drop_columns(["customer", "closing_fee"])
folder, third = Path(tempfile.mkdtemp()), np.arange(len(table)) % 3
for number in range(3):
    write(table.filter(pa.array(third == number)), folder / f"part-{number}.csv")
source = separatrix.read(
    folder / "part-0.csv", target="churned", dates={"signed_up": ["days"]}, missing="indicator"
)
clf = LinearClassifierCV(scoring="loss", standardize=True).fit(source.sample(len(table)))
choose = separatrix.read(folder / "part-1.csv", like=clf)
measure = separatrix.read(folder / "part-2.csv", like=clf)

# %%
# It costs eight times as much to lose a customer as to call one who would have stayed.
clf.tune_threshold(choose, costs={("yes", "no"): 8.0, ("no", "yes"): 1.0})
report = Report(clf, measure, title="Churn")
report.save(folder / "report.html")
print(report)

# %%
# The cost per row by threshold, on the rows of the report.
thresholds = np.linspace(0.01, 0.6, 40)
shares = clf.predict_proba(measure)[:, 1]
left = table["churned"].to_numpy()[third == 2] == "yes"
cost = [np.mean(np.where(left, 8.0 * (shares < t), shares >= t)) for t in thresholds]
figure, ax = plt.subplots(layout="constrained")
ax.plot(thresholds, cost)
ax.axvline(
    clf.decision_.threshold or 0.0, linestyle="--", color="black", label="chosen on other rows"
)
ax.set(xlabel="threshold", ylabel="cost per row")
ax.legend()

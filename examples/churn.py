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
import pandas as pd

import separatrix
from separatrix import LinearClassifierCV, Report


def churn(rows: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Customers, and whether they left: about one in twenty."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 2000, rows)
    calls, spent = rng.poisson(1.5, rows), rng.gamma(4.0, 12.0, rows)
    plan = rng.choice(["basic", "family", "business"], rows, p=[0.6, 0.3, 0.1])
    score = -5.0 + 0.9 * calls - 0.0008 * days + 1.2 * (plan == "basic") - 0.01 * spent
    left = rng.random(rows) < 1.0 / (1.0 + np.exp(-score))
    signed_up = np.datetime64("2026-01-01") - days
    return pd.DataFrame(
        {
            "customer": [f"C-{number:06d}" for number in rng.permutation(rows)],
            "signed_up": signed_up.astype(str),
            "plan": plan,
            "calls": calls,
            "spent": np.where(rng.random(rows) < 0.05, np.nan, spent.round(2)),
            # Sent to those who have left: it says the answer, and will not be known in time.
            "closing_fee": np.where(left, rng.uniform(5.0, 20.0, rows).round(2), 0.0),
            "churned": np.where(left, "yes", "no"),
        }
    )


if len(sys.argv) == 2 and sys.argv[1].endswith(".csv"):
    churn().to_csv(sys.argv[1], index=False)
    raise SystemExit

folder = Path(tempfile.mkdtemp())
churn().to_csv(folder / "churn.csv", index=False)

# %%
# A fit without the names of rows and without the leak, whose penalty is chosen by the loss of
# held-out rows. A third of the rows is set aside first: half of them to choose a threshold, the
# others for the report.
table = pd.read_csv(folder / "churn.csv").drop(columns=["customer", "closing_fee"])
third = np.arange(len(table)) % 3
source = separatrix.read(
    table[third == 0], target="churned", dates={"signed_up": ["days"]}, missing="indicator"
)
clf = LinearClassifierCV(scoring="loss", standardize=True).fit(source.sample(len(table)))
for number in (1, 2):
    table[third == number].to_csv(folder / f"part-{number}.csv", index=False)
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
shares, labels = clf.predict_proba(measure)[:, 1], table[third == 2].churned.to_numpy()
cost = [np.mean(np.where(labels == "yes", 8.0 * (shares < t), shares >= t)) for t in thresholds]
figure, ax = plt.subplots(layout="constrained")
ax.plot(thresholds, cost)
ax.axvline(clf.decision_.threshold, linestyle="--", color="black", label="chosen on other rows")
ax.set(xlabel="threshold", ylabel="cost per row")
ax.legend()

"""Models to be exported, the tables that they predict, and what is expected of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from kept_models import THREE, TWO, WORDS, X, fits, table
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import separatrix
from separatrix import LinearClassifier

EVIL = ['"; DROP TABLE x;--', "*/", "<script>", "it's", 'a "quote"', "\\", "??/", "ä\n"]
FRAME = pd.DataFrame(dict(zip(EVIL[:3], (X * [1.0, 1e3, 1e-3]).T, strict=True)))
NAMED = FRAME.assign(colour=np.array(EVIL)[np.arange(60) % 8], size=np.arange(60) % 3)


def models():
    """Models with the table that they predict, and the same as Python predicts it."""
    fitted = fits()
    plain = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    scaled = make_pipeline(StandardScaler(), LinearClassifier(l2=0.01)).fit(
        FRAME, np.array(EVIL)[THREE]
    )
    hot = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
        (StandardScaler(), slice(EVIL[0], EVIL[1])), ("passthrough", ["size"]),
    )  # fmt: skip
    encoded = make_pipeline(hot, LinearClassifier(l2=0.01)).fit(NAMED, TWO)
    fewer = make_column_transformer(
        (OneHotEncoder(drop="first", min_frequency=8, handle_unknown="ignore"), ["colour"]),
        (OneHotEncoder(drop="if_binary", max_categories=2, handle_unknown="ignore"), ["size"]),
        ("passthrough", [EVIL[0]]),
    )  # fmt: skip
    joined = make_pipeline(fewer, LinearClassifier(l2=0.01)).fit(NAMED, TWO)
    of_table = table().to_pandas()
    rare = separatrix.read(
        NAMED.assign(y=WORDS[THREE]), target="y", min_frequency=8, categorical={"size": "onehot"}
    )
    return {
        "two classes": (fitted["two classes"][0], plain, X),
        "three": (fitted["three"][0], plain, X),
        "against the rest": (fitted["against the rest"][0], plain, X),
        "objects": (fitted["objects"][0], plain, X),
        "perceptron": (fitted["perceptron"][0], plain, X),
        "scaled": (scaled, FRAME, FRAME),
        "one-hot": (encoded, NAMED, NAMED),
        "one-hot, dropped and joined": (joined, NAMED, NAMED),
        "table": (fitted["table"][0], of_table, table()),
        "infrequent": (LinearClassifier(l2=0.01).fit(rare), NAMED, NAMED),
    }


MODELS = models()
NUMERIC = ("two classes", "three", "against the rest", "objects", "perceptron", "scaled")


def expected(model, rows):
    margins = model.decision_function(rows)
    margins = margins[:, None] if margins.ndim == 1 else margins
    probabilities = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
    return model.predict(rows).tolist(), probabilities, margins

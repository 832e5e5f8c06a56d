"""Generated data: the same seed and size give the same rows, in any process.

Dense rows are generated in float32, so that float32 and float64 contestants see the same numbers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

Table = tuple[Any, Any]  # rows and labels


def clouds(n: int, d: int, seed: int = 0) -> Table:
    """Independent Gaussian columns; labels drawn from a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    u = np.random.default_rng(1).standard_normal(d)  # the same for every seed
    return X, _labels(X @ (3.0 * u / np.linalg.norm(u)).astype(np.float32), rng)


def many_clouds(n: int, d: int, k: int) -> Table:
    """Independent Gaussian columns; labels drawn from a softmax model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    U = rng.standard_normal((d, k), dtype=np.float32)
    scores = X @ (np.float32(3.0) * U / np.linalg.norm(U, axis=0))
    return X, np.argmax(scores + rng.gumbel(size=(n, k)), axis=1)


def correlated(n: int, d: int, condition: float = 1e4) -> Table:
    """Columns whose covariance has this condition number; every direction counts for the label."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, d), dtype=np.float32)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    spread = np.sqrt(np.geomspace(1.0, 1.0 / condition, d) * d)
    u = rng.standard_normal(d)
    y = _labels(Z @ (3.0 * u / np.linalg.norm(u)).astype(np.float32), rng)
    return Z @ (spread[:, None] * turn).astype(np.float32), y


def few_relevant(n: int, d: int, relevant: int, k: int = 2) -> Table:
    """Columns correlated with their neighbours (correlation 1/2), of which a few are relevant.

    Labels are drawn from a logistic or softmax model of as many columns as are relevant.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, 1:] *= np.float32(0.75**0.5)
    for column in range(1, d):
        X[:, column] += np.float32(0.5) * X[:, column - 1]
    which = rng.choice(d, relevant, replace=False)
    if k == 2:
        scores = X[:, which] @ rng.choice([-1.0, 1.0], relevant).astype(np.float32)
        return X, _labels(3.0 * scores / scores.std(), rng)
    scores = X[:, which] @ rng.standard_normal((relevant, k), dtype=np.float32)
    return X, np.argmax(3.0 * scores / scores.std() + rng.gumbel(size=(n, k)), axis=1)


def separable(n: int, d: int, gap: float) -> Table:
    """Gaussian rows, each moved away from a plane by a gap: the smaller, the more passes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    u = rng.standard_normal(d).astype(np.float32)
    u /= np.linalg.norm(u)
    y = np.where(X @ u >= 0.0, 1, -1)
    X += (gap * y).astype(np.float32)[:, None] * u
    return X, y


def text(n: int, d: int, nonzeros: int) -> Table:
    """CSR rows of unit norm, tf-idf: a word of rank r has frequency proportional to 1/r."""
    rng = np.random.default_rng(0)
    draws = int(1.25 * nonzeros)  # common words are drawn more than once
    X = tf_idf(_counts(_words(n * draws, d, rng), np.full(n, draws), d))
    scores = X @ rng.standard_normal(d)
    return X, _labels(3.0 * (scores - scores.mean()) / scores.std(), rng)


def documents(n: int, d: int, nonzeros: int, k: int = 2, seed: int = 0) -> Table:
    """Counts of words, as CSR rows, with the skew of text in words, lengths and classes.

    A word of rank r has frequency proportional to 1/r, whatever the class, or, at one place in
    four, by ranks specific to the class. Lengths are log-normal, with about ``nonzeros`` distinct
    words per row on average. Class c has a share proportional to 1/(c + 1), and one label in twenty
    is drawn at random. Two classes are -1 and +1, more are numbers from 0.
    """
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, k + 1)
    topic = rng.choice(k, n, p=shares / shares.sum())
    topic[:k] = np.arange(k)
    spread = np.exp(0.7 * rng.standard_normal(n) - 0.245)  # with mean 1
    lengths = np.maximum(1, np.rint(spread * _draws_for(nonzeros, d))).astype(np.int64)
    words = _words(int(lengths.sum()), d, rng)
    own_ranks = np.stack([rng.permutation(d) for _ in range(k)]).astype(np.int32)
    topical = rng.random(len(words)) < 0.25
    words[topical] = own_ranks[np.repeat(topic, lengths)[topical], words[topical]]
    anew = np.flatnonzero(rng.random(n - k) < 0.05) + k
    topic[anew] = rng.choice(k, len(anew), p=shares / shares.sum())
    return _counts(words, lengths, d), np.where(topic == 0, -1, 1) if k == 2 else topic


def tf_idf(counts: Any) -> Any:
    """Rows of unit norm: logarithms of counts, with higher weights for words in few rows."""
    n, d = counts.shape
    rarity = 1.0 + np.log(n / (1.0 + np.bincount(counts.indices, minlength=d)))
    X = counts.copy()
    X.data = (1.0 + np.log(X.data)) * rarity[X.indices]
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def tf_idf_documents(n: int, d: int, nonzeros: int, k: int = 2, seed: int = 0) -> Table:
    """The documents, in the usual preprocessing for classifiers."""
    counts, y = documents(n, d, nonzeros, k, seed)
    return tf_idf(counts), y


def _words(count: int, d: int, rng: np.random.Generator) -> Any:
    """Ranks from 0; rank r has frequency proportional to 1/(r + 1)."""
    return np.minimum(d ** rng.random(count) - 1.0, d - 1.0).astype(np.int32)


def _counts(words: Any, lengths: Any, d: int) -> Any:
    """How often each row has each word."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    X = sp.csr_matrix((np.ones(len(words)), words, starts), shape=(len(lengths), d))
    X.sum_duplicates()
    return X


def _draws_for(nonzeros: int, d: int) -> float:
    """Mean number of words in a text with this many distinct words."""
    chances = np.diff(np.log(np.arange(1, d + 2))) / np.log(d + 1)
    draws = float(nonzeros)
    for _ in range(20):
        draws *= nonzeros / float(np.sum(-np.expm1(-draws * chances)))
    return draws


def one_hot(n: int, features: int, levels: int) -> Table:
    """CSR rows with a 1 for the level of each feature; some levels are much rarer than others."""
    rng = np.random.default_rng(0)
    level = _words(n * features, levels, rng).reshape(n, features)
    columns = (level + levels * np.arange(features, dtype=np.int32)).ravel()
    starts = np.arange(0, n * features + 1, features, dtype=np.int32)
    X = sp.csr_matrix((np.ones(n * features), columns, starts), shape=(n, features * levels))
    scores = X @ rng.standard_normal(features * levels)
    return X, _labels(2.0 * (scores - scores.mean()) / scores.std(), rng)


def images(n: int, pixels: int, k: int) -> Table:
    """Similar to digits: values from 0 to 1, most of them 0, styles shared by the classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    y[:k] = np.arange(k)
    shapes = rng.standard_normal((k, pixels), dtype=np.float32)
    styles = rng.standard_normal((20, pixels), dtype=np.float32)
    X = rng.standard_normal((n, 20), dtype=np.float32) @ styles / np.float32(20**0.5)
    X += np.float32(0.35) * shapes[y]
    X += np.float32(0.5) * rng.standard_normal((n, pixels), dtype=np.float32)
    X -= np.float32(0.9)  # about four of five pixels become 0
    np.clip(X, 0.0, 1.0, out=X)
    X[:, : pixels // 10] = 0.0  # empty margins
    return X, y


def rings(n: int, d: int, seed: int = 0) -> Table:
    """Two classes with a curved boundary and a few wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    bent = (X[:, : d // 2] ** 2).sum(axis=1) - (X[:, d // 2 :] ** 2).sum(axis=1) + 2.0 * X[:, 0]
    return X, _labels(1.5 * bent, rng)


def _labels(scores: Any, rng: np.random.Generator) -> Any:
    """-1 or +1, drawn with the probabilities that a logistic model gives to the scores."""
    return np.where(rng.logistic(size=len(scores)) < scores, 1, -1)


ONE_HOT_KINDS = ("overlapping", "separable", "quasi-single", "quasi-sum")


def one_hot_of_kind(rows: int, columns: int, kind: str, levels: int = 10, seed: int = 0) -> Table:
    """One-hot encoded categories, about as many levels for each, the later ones rarer.

    Labels are those of a linear model, with much noise unless the kind is "separable". In the kind
    "quasi-single" rare levels have one label. In "quasi-sum" the levels of some categories each
    have both, but a sum of them, with signs, decides the label where it is not 0. Tables with few
    rows for their columns are separable anyway.
    """
    rng = np.random.default_rng(seed)
    edges = np.linspace(0, columns, max(2, columns // levels) + 1).astype(np.int64)
    codes = np.empty((rows, len(edges) - 1), np.int64)
    for place, (first, end) in enumerate(pairwise(edges)):
        share = 1.0 / np.sqrt(np.arange(1, end - first + 1))
        codes[:, place] = first + rng.choice(end - first, rows, p=share / share.sum())
    starts = np.arange(0, codes.size + 1, codes.shape[1])
    X = sp.csr_array((np.ones(codes.size), codes.ravel(), starts), shape=(rows, columns))
    scores = X @ rng.standard_normal(columns)
    scores -= np.median(scores)
    noise = 0.0 if kind == "separable" else 3.0 * scores.std()
    y = np.where(scores + noise * rng.standard_normal(rows) > 0.0, 1, -1)
    rare = edges[1:] - 1
    if kind == "quasi-single":
        y[np.isin(codes, rare[:3]).any(axis=1)] = 1
    if kind == "quasi-sum":
        weights = np.zeros(columns)
        weights[rare[:4]] = np.resize([1.0, -1.0], len(rare[:4]))
        sums = X @ weights
        y = np.where(sums == 0.0, y, np.sign(sums).astype(np.int64))
    return X, y

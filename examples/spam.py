"""
Spam from raw text
==================

From messages to a classifier in one pipeline: sparse rows of words, a hinge with a proof, and the
most important words. The messages are generated, so nothing is downloaded.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from separatrix import LinearClassifier

SPAM = [
    "win", "free", "cash", "prize", "claim", "offer", "urgent", "click", "account", "bonus",
]  # fmt: skip
HAM = [
    "meeting", "lunch", "report", "draft", "evening", "thanks", "project", "notes", "train", "call",
]  # fmt: skip
BOTH = [
    "the", "a", "and", "you", "to", "for", "is", "on", "with", "your", "please", "today", "now",
]  # fmt: skip

rng = np.random.default_rng(0)
spam = rng.random(2000) < 0.3
messages = [
    " ".join(rng.permutation([*rng.choice(SPAM if bad else HAM, 2), *rng.choice(HAM + SPAM, 3),
                              *rng.choice(BOTH, rng.poisson(6) + 1)]))
    for bad in spam
]  # fmt: skip
print(messages[int(np.argmax(spam))])

# %%
# Rows stay sparse from end to end.
train, test, y_train, y_test = train_test_split(messages, spam, random_state=0)
model = make_pipeline(TfidfVectorizer(), LinearClassifier("hinge", l2=1e-3))
model.fit(train, y_train)
clf = model[-1]
print(f"{clf.stop_}: within {clf.gap_:.1e} of the minimum, by {clf.solver_!r}")
print(f"{model.score(test, y_test):.3f} right, {1 - spam.mean():.3f} by always saying no")

# %%
# The words with the largest weights, on both sides.
words = model[0].get_feature_names_out()
order = np.argsort(clf.coef_[0])
telling = np.concatenate([order[:8], order[-8:]])
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.barh([str(words[i]) for i in telling], clf.coef_[0][telling])
ax.set(xlabel="weight", title="Most important words")

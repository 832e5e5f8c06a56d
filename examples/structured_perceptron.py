"""
A tagger for sentences: the structured perceptron
=================================================

Words are ambiguous: "light" is a noun, a verb or an adjective, so the tag of a word depends on its
neighbours. Here the tags of a whole sentence are one prediction, found by Viterbi's algorithm, and
the rule is the perceptron's: ``w += features(true tags) - features(predicted tags)``
(M. Collins, EMNLP 2002). The sentences are generated.
"""

# %%
# A sentence is a walk over tags, and every tag says a word that it knows.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

TAGS = ("noun", "verb", "adjective", "article")
WORDS = (
    ["light", "watch", "dog", "fish", "cook", "clean", "water"],
    ["light", "watch", "fish", "cook", "clean", "water", "see"],
    ["light", "clean", "old", "small"],
    ["the", "a"],
)
NEXT = np.array([  # the probability of each tag after each tag
    [0.1, 0.8, 0.0, 0.1], [0.2, 0.0, 0.2, 0.6], [0.9, 0.0, 0.1, 0.0], [0.6, 0.0, 0.4, 0.0],
])  # fmt: skip
VOCABULARY = sorted({word for words in WORDS for word in words})


def sentence(rng: np.random.Generator) -> tuple[Any, Any]:
    """Numbers of the words, and of their tags, of 4 to 9 words."""
    tags = [rng.choice([0, 3])]
    for _ in range(rng.integers(3, 9)):
        tags.append(rng.choice(4, p=NEXT[tags[-1]]))
    words = [VOCABULARY.index(rng.choice(WORDS[tag])) for tag in tags]
    return np.array(words), np.array(tags)


rng = np.random.default_rng(0)
training, test = ([sentence(rng) for _ in range(300)] for _ in range(2))
print(*(f"{VOCABULARY[word]}/{TAGS[tag]}" for word, tag in zip(*training[0], strict=True)))


# %%
# The score of tags is a sum of weights: of each tag with its word, and of each tag with the next.
def viterbi(words: Any, emission: Any, transition: Any) -> Any:
    """The tags with the largest sum of weights."""
    scores, back = emission[:, words[0]], []
    for word in words[1:]:
        through = scores[:, None] + transition  # (previous, next)
        back.append(through.argmax(axis=0))
        scores = through.max(axis=0) + emission[:, word]
    tags = [scores.argmax()]
    for before in reversed(back):
        tags.append(before[tags[-1]])
    return np.array(tags[::-1])


def add(words: Any, tags: Any, step: float, emission: Any, transition: Any) -> None:
    """Add the features of tagged words to the weights, ``step`` times."""
    np.add.at(emission, (tags, words), step)
    np.add.at(transition, (tags[:-1], tags[1:]), step)


# %%
# The perceptron, with the mean of the weights after every sentence.
weights = np.zeros((4, len(VOCABULARY))), np.zeros((4, 4))
totals = tuple(np.zeros_like(each) for each in weights)
for number in range(8):
    wrong = 0
    for words, tags in training:
        found = viterbi(words, *weights)
        if not np.array_equal(found, tags):
            wrong += 1
            add(words, tags, 1.0, *weights)
            add(words, found, -1.0, *weights)
        for total, each in zip(totals, weights, strict=True):
            total += each
    print(f"pass {number + 1}: {wrong} of {len(training)} sentences wrong")


# %%
# The sentences are random, so no weights are right for all; but neighbours help.
def accuracy(*weights: Any) -> float:
    right = [viterbi(words, *weights) == tags for words, tags in test]
    return float(np.mean(np.concatenate(right)))


with_neighbours, alone = accuracy(*totals), accuracy(totals[0], np.zeros((4, 4)))
print(f"tags right: {with_neighbours:.3f}, and {alone:.3f} without the weights of neighbours")

figure, ax = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
mean = totals[1] / (8 * len(training))
image = ax.imshow(mean, cmap="RdBu_r", vmin=-abs(mean).max(), vmax=abs(mean).max())
ax.set(xlabel="next tag", ylabel="tag", title="Weights")
ax.set_xticks(range(4), TAGS, rotation=30)
ax.set_yticks(range(4), TAGS)
figure.colorbar(image)

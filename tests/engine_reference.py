"""Plain Python, in fractions, for runs of the page's engine on small whole numbers.

It imports neither the engine nor the library. Where every number of a run fits into a double, the
engine must compute the same bits. The order of shuffled rows is taken from the run itself.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

BITS = 44  # of the largest number of a run that is compared: products of two rows add 9 at most
METHODS = ("perceptron", "batch_perceptron", "gradient_descent")


def problem(seed):
    """Points with small whole coordinates, and a method whose settings are dyadic."""
    draw = random.Random(seed)
    name = METHODS[seed % 3]
    classes = draw.choice((2, 2, 3, 4))
    n = draw.choice((4, 8, 16))
    labels = [*range(classes), *(draw.randrange(classes) for _ in range(n - classes))]
    draw.shuffle(labels)
    points = [[draw.randint(-4, 4), draw.randint(-4, 4), label] for label in labels]
    method = {
        "name": name, "fit_intercept": draw.random() < 0.7, "max_iter": draw.randint(1, 9),
        "learning_rate": draw.choice((1.0, 0.5, 2.0)), "shuffle": draw.random() < 0.3,
        "keep": draw.choice(("last", "average", "best")), "start": draw.choice(("zeros", "sum")),
    }  # fmt: skip
    if name == "perceptron":
        method["l2"] = draw.choice((0.0, 0.0, 0.125))
        method["max_iter"] = 3 if method["l2"] else method["max_iter"]
    if name == "gradient_descent":
        method |= {
            "loss": "squared", "learning_rate": draw.choice((0.125, 0.0625, 0.03125)),
            "form": draw.choice(("batch", "sequential", "stochastic", "mini-batch")),
            "batch_size": draw.choice((2, 4)), "l2": draw.choice((0.0, 0.25)), "start": "zeros",
            "max_iter": draw.randint(1, 6),
        }  # fmt: skip
    places = [[draw.randint(-5, 5), draw.randint(-5, 5)] for _ in range(6)]
    return {"points": points, "method": method, "asks": {"votes": places}}


class Reference:
    """The steps of a method by its definition, one after another."""

    def __init__(self, points, method):
        self.method = method
        self.x = [[Fraction(u), Fraction(v), Fraction(method["fit_intercept"])]
                  for u, v, _ in points]  # fmt: skip
        self.y = [label for _, _, label in points]
        self.k = max(self.y) + 1
        self.rate, self.l2 = Fraction(method["learning_rate"]), Fraction(method.get("l2", 0))
        if method["name"] == "batch_perceptron":
            self.l2 = Fraction(0)
        self.W = [[Fraction(0)] * 3 for _ in range(1 if self.k == 2 else self.k)]
        if method["start"] == "sum":
            for x, y in zip(self.x, self.y, strict=True):
                self._add(self.W, self._toward(y), x)

    def _toward(self, y):
        """What each class gains of a row in the sum of all signed rows."""
        if self.k == 2:
            return [2 * y - 1]
        return [self.k - 1 if c == y else -1 for c in range(self.k)]

    @staticmethod
    def _add(W, amounts, x, times=1):
        for row, amount in zip(W, amounts, strict=True):
            for j in range(3):
                row[j] += times * amount * x[j]

    def scores(self, x):
        return [sum(w * v for w, v in zip(row, x, strict=True)) for row in self.W]

    def rival(self, y, scores):
        others = [(-score, c) for c, score in enumerate(scores) if c != y]
        return min(others)[1]  # the first of those with the largest score

    def margin(self, i):
        y, scores = self.y[i], self.scores(self.x[i])
        if self.k == 2:
            return (2 * y - 1) * scores[0]
        return scores[y] - scores[self.rival(y, scores)]

    def is_mistake(self, i):
        return self.margin(i) <= 0

    def mistakes(self):
        return sum(self.is_mistake(i) for i in range(len(self.y)))

    def correction(self, i):
        """What each column of weights gains of a row that is a mistake."""
        if self.k == 2:
            return [2 * self.y[i] - 1]
        rival = self.rival(self.y[i], self.scores(self.x[i]))
        return [(c == self.y[i]) - (c == rival) for c in range(self.k)]

    def shrink(self):
        for row in self.W:
            row[0] *= 1 - 2 * self.rate * self.l2
            row[1] *= 1 - 2 * self.rate * self.l2

    def step(self, rows):
        """Make a step of the rows, None for all; return the rows that change the weights."""
        name = self.method["name"]
        some = range(len(self.y)) if rows is None else rows
        if name == "gradient_descent":
            return self._descend(some, rows is None)
        wrong = [i for i in some if self.is_mistake(i)]
        changes = [(self.correction(i), self.x[i]) for i in wrong]
        if name == "perceptron":
            self.shrink()
        for amounts, x in changes:
            self._add(self.W, amounts, x, self.rate)
        return wrong

    def _descend(self, some, everything):
        count = len(some)
        # Of the square of 1 - y s, summed over the columns, with respect to each score.
        slopes = [[-2 * t * (1 - t * s) for t, s in zip(self._signs(i), self.scores(self.x[i]),
                                                        strict=True)] for i in some]  # fmt: skip
        self.shrink()  # the gradient of the penalty is that of the weights before the step
        for i, slope in zip(some, slopes, strict=True):
            self._add(self.W, slope, self.x[i], -self.rate / count)
        moving = [i for i, slope in zip(some, slopes, strict=True) if any(slope)]
        return [] if everything else moving

    def _signs(self, i):
        if self.k == 2:
            return [2 * self.y[i] - 1]
        return [1 if c == self.y[i] else -1 for c in range(self.k)]

    def objective(self):
        total = Fraction(0)
        for i in range(len(self.y)):
            if self.method["name"] == "gradient_descent":
                scores = self.scores(self.x[i])
                total += sum((1 - t * s) ** 2 for t, s in zip(self._signs(i), scores, strict=True))
            else:
                total += max(Fraction(0), -self.margin(i))
        penalty = self.l2 * sum(row[0] ** 2 + row[1] ** 2 for row in self.W)
        return total / len(self.y), penalty


def fits(*numbers):
    """Whether numbers are doubles, with room for the terms of their sums."""
    return all(max(abs(v.numerator), v.denominator).bit_length() <= BITS for v in numbers)


def compare(asked, answer, seen):
    """Compare a run of the engine with the definition, as long as its numbers fit."""
    method, recording = asked["method"], answer["recording"]
    run, steps, n = Reference(asked["points"], method), recording["steps"], len(asked["points"])
    sums = [[Fraction(0)] * 3 for _ in run.W]
    votes, survivor = [[0] * len(run.W) for _ in asked["asks"]["votes"]], False
    pocket, passes, everything = None, recording["passes"], True
    assert recording["start"]["weights"] == run.W
    seen["problems"] += 1
    for number, rows in enumerate(steps["rows"], 1):
        column = {name: values[number - 1] for name, values in steps.items() if values is not None}
        if rows is not None:
            assert column["margins"] == [run.margin(i) for i in rows]
        assert column["updated"] == run.step(rows)
        (loss, penalty), flat = run.objective(), [v for row in run.W for v in row]
        if not fits(*flat, loss, penalty):
            everything = False
            seen["runs with numbers that do not fit"] += 1
            break
        assert column["weights"] == run.W
        assert column["mistakes"] == run.mistakes()
        assert column["objective"] == float(loss) + float(penalty)
        square = sum(v * v for v in flat)
        if fits(square):
            assert column["norm"] == math.sqrt(square)
        sums = [
            [s + v for s, v in zip(*both, strict=True)] for both in zip(sums, run.W, strict=True)
        ]
        if "average" in column:
            assert column["average"] == [[float(v / number) for v in row] for row in sums]
            seen["averages"] += 1
        if number in passes and (pocket is None or column["mistakes"] < pocket[0]):
            pocket = (column["mistakes"], number)
        assert column["best"] == (pocket and pocket[1])
        survivor |= bool(column["updated"])
        if survivor:
            vote(run, asked["asks"]["votes"], votes)
        seen[method["name"]] += 1
    if not everything:
        return
    if method["name"] == "perceptron":
        assert answer["votes"] == votes
        seen["votes"] += 1
    check_order(recording, method, n)
    check_end(recording, method, n, seen)


def vote(run, places, votes):
    """The weights vote for each place, with ties for the larger of two or the first class."""
    for place, own in zip(places, votes, strict=True):
        scores = run.scores([*map(Fraction, place), Fraction(1)])
        if run.k == 2:
            own[0] += 1 if scores[0] >= 0 else -1
        else:
            own[scores.index(max(scores))] += 1


def check_order(recording, method, n):
    """Each pass processes every row once, in order unless it is shuffled."""
    random_order = method["shuffle"] if method["name"] == "perceptron" else (
        method.get("form") in ("stochastic", "mini-batch"))  # fmt: skip
    ends = [0, *recording["passes"]]
    for first, last in pairwise(ends):
        rows = recording["steps"]["rows"][first:last]
        if rows[0] is not None:
            visited = [row for some in rows for row in some]
            assert (sorted(visited) if random_order else visited) == list(range(n))


def check_end(recording, method, n, seen):
    """Why a perceptron ended: a pass without mistakes, weights that repeat, or the limit."""
    if method["name"] == "gradient_descent":
        return
    steps, ends = recording["steps"], recording["passes"]
    clean = [
        not any(steps["updated"][first:last]) for first, last in zip([0, *ends], ends, strict=False)
    ]
    weights = [recording["start"]["weights"], *(steps["weights"][end - 1] for end in ends)]
    stop, l2 = recording["stop"], method.get("l2", 0.0) and method["name"] == "perceptron"
    if stop == "no mistakes":
        assert clean[-1]
        assert not any(clean[:-1])
        assert not l2
    elif stop == "cycle":
        assert weights[-1] in weights[:-1]
        assert not method["shuffle"] or method["name"] == "batch_perceptron"
    else:
        assert (stop, len(ends)) == ("max_iter", method["max_iter"])
        assert l2 or not any(clean)
    seen[stop] += 1

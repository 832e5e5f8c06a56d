"""An engine without a cluster: all parts are in this process."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np

from separatrix.data.cluster.engine import Engine
from separatrix.data.cluster.parts import fold, loaded
from separatrix.data.cluster.source import ClusterSource
from separatrix.numeric.tree_sum import TreeSum
from separatrix.rows import CsrRows, rows_of


class HereEngine(Engine):
    """Workers that are this process; requests and answers are pickled on their way.

    ``lost`` are the numbers of parts that are gone before the next sum.
    """

    def __init__(self, rows, workers=3, dumps=pickle.dumps, make=loaded):
        super().__init__()
        self.make = make
        self.rows, self.workers, self.n_parts = rows, workers, len(rows)
        self.dumps, self.lost, self.asked = dumps, [], []

    def place(self):
        self.parts = [self.make(number, *rows) for number, rows in enumerate(self.rows)]

    def total(self, of):
        self.asked.append(of)
        self.replace_lost()
        cuts = [worker * self.n_parts // self.workers for worker in range(self.workers + 1)]
        tree = TreeSum()
        for first, stop in pairwise(cuts):
            parts = self.parts[first:stop]
            done = min((part.changes for part in parts), default=0)
            sent = pickle.loads(self.dumps((of, self.changes[done:])))
            nodes = fold(sent[0], parts, done, sent[1], threads=1)
            for node in pickle.loads(self.dumps(nodes)):
                tree.add(node)
        return tree.total()

    def replace_lost(self):
        for number in self.lost:
            self.parts[number] = self.make(number, *self.rows[number])
        self.lost = []


def clustered(X, y, classes, weight, edges, workers=3):
    """Rows of a source in parts, some of them without rows."""
    labels = classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def part(start, stop):
        some = rows_of(X).part(start, stop).X
        some = rows_of(some).as_scipy() if isinstance(X, CsrRows) else np.array(some)
        return (some, labels[start:stop], None if weight is None else weight[start:stop])

    return ClusterSource(HereEngine([part(*ends) for ends in pairwise(edges)], workers))

"""Sums along one binary tree, whichever process adds up which part of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Node(NamedTuple):
    """The sum of the leaves ``place * 2**level`` to ``(place + 1) * 2**level - 1``.

    Leaves beyond the last do not exist. A sum of None: none of its leaves has anything to add.
    """

    level: int
    place: int
    sum: tuple[Any, ...] | None


class TreeSum:
    """Adds nodes in the order of their leaves, without gaps.

    Two nodes are added only if they are the halves of a node above. So the bits of the sum do not
    depend on who folds which leaves: adjacent leaves are folded to a few complete nodes, and others
    add these to theirs. It holds as many nodes as the tree has levels.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.nodes: list[Node] = []
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Add the next node, and fold what it completes."""
        while self.nodes and _halves(self.nodes[-1], node):
            left = self.nodes.pop()
            node = Node(node.level + 1, node.place // 2, _plus(left.sum, node.sum))
        self.nodes.append(node)

    def total(self) -> tuple[Any, ...] | None:
        """The sum of all leaves, after the last was added: incomplete nodes count as they are."""
        nodes = list(self.nodes)
        while len(nodes) > 1:
            right, left = nodes.pop(), nodes.pop()
            nodes.append(left._replace(sum=_plus(left.sum, right.sum)))
        return nodes[0].sum if nodes else None


def _halves(left: Node, right: Node) -> bool:
    """Whether these are the two halves of a node above."""
    return left.level == right.level and right.place % 2 == 1


def _plus(left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if left is None or right is None:
        return right if left is None else left
    return tuple(a + b for a, b in zip(left, right, strict=True))

"""Sums along one binary tree, whoever adds up which part of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar, cast

T = TypeVar("T", bound=tuple[Any, ...])


class Node(NamedTuple):
    """The sum of the leaves ``place * 2**level`` to ``(place + 1) * 2**level - 1``.

    Those beyond the last leaf are not there. A sum of None: none of its leaves has anything to add.
    """

    level: int
    place: int
    sum: tuple[Any, ...] | None


class TreeSum:
    """Adds nodes in the order of their leaves, of which none may be missing in between.

    Two nodes are added where they are the halves of one above, and only there. So it does not
    matter for the bits of the sum who folds which leaves: some of them side by side come to a few
    whole nodes, which others add to theirs. It holds as many nodes as the tree has levels.
    """

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.nodes: list[Node] = []
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Take the next node, and fold what it completes."""
        while self.nodes and _halves(self.nodes[-1], node):
            left = self.nodes.pop()
            node = Node(node.level + 1, node.place // 2, _plus(left.sum, node.sum))
        self.nodes.append(node)

    def total(self) -> tuple[Any, ...] | None:
        """The sum of all, once the last leaf is there: what stands alone is added as it is."""
        nodes = list(self.nodes)
        while len(nodes) > 1:
            right, left = nodes.pop(), nodes.pop()
            nodes.append(left._replace(sum=_plus(left.sum, right.sum)))
        return nodes[0].sum if nodes else None


def tree_sum(leaves: Iterable[T]) -> T:
    """Sum of tuples entry by entry, along the tree: of at least one."""
    tree = TreeSum(Node(0, number, leaf) for number, leaf in enumerate(leaves))
    result = tree.total()
    if result is None:
        raise ValueError("there is nothing to sum")
    return cast(T, result)


def _halves(left: Node, right: Node) -> bool:
    """Whether these are the two halves of one node above."""
    return left.level == right.level and right.place % 2 == 1


def _plus(left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if left is None or right is None:
        return right if left is None else left
    return tuple(a + b for a, b in zip(left, right, strict=True))

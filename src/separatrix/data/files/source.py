"""A source of rows in files, read and decoded block by block with prefetching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from typing import Any

import numpy as np

from ... import loops
from ...numeric.lazy import cached_property
from ...numeric.threads import n_threads, running_sum
from ...numeric.types import AnyArray, Array
from ...rows import Storage, widened
from ..blocks import Block, Shuffle, Visit, random_order, shuffled
from ..class_moments import ClassMoments
from ..indicator import label_columns
from ..source import InMemory, Source
from ..sum import Sum, T
from ..thresholds import BLOCK_BYTES
from ..wrapped import WithoutOffset
from .encoding.label_sets import signs_of_words
from .facts import starts
from .held_out import held_out
from .prefetch import prefetched
from .reading import Reading, Split
from .stored import StoredRows
from .thresholds import ROUNDS, WINDOW


class FileSource(Source):
    """Rows that are read from files, objects or functions, a few blocks in memory at a time.

    :func:`separatrix.read` returns one. Every sum and every pass reads all rows again, from the
    cache if there is one; a second thread prefetches blocks.

    **Shuffling.** A shuffled pass takes ``WINDOW`` (2) blocks at a time, draws a random order of
    the rows of each, and alternates between them, an eighth of each at a time. With a cache the
    blocks come in a random order, else in file order. All orders are determined by the seed and the
    number of the pass. Without a cache, rows far apart in a file are never mixed: shuffle data that
    is sorted by class before writing it.

    Attributes
    ----------
    classes : array
        The distinct labels, sorted; empty for unlabelled rows.
    validation : FileSource or None
        The held-out rows (``read(validation=...)``) as a source.
    """

    validation: FileSource | None = None

    def __init__(self, rows: StoredRows, of_validation: bool = False) -> None:
        facts = rows.facts
        self.rows, self._side = rows, int(of_validation)
        column = "" if rows.encoding is None else f" {rows.encoding.target!r}"
        self.target = f"the target{column} of {rows.reader.name}"
        self.n_features = facts.n_features
        present = facts.present() if rows.labelled else []
        several = None if rows.encoding is None else rows.encoding.target
        if isinstance(several, tuple):
            self._take_labels(several)
        else:
            self.classes = np.unique(np.array([rows.codes.values[code] for code in present]))
            self._labels = _labels_of_codes(rows.codes.values, self.classes)
        if self.has_offset and (self.labels is not None or len(self.classes) > 2):
            raise ValueError(
                "a column of offsets is for the score of two classes, and there are "
                f"{len(self.classes)} scores: pass arrays to fit, with a number for each"
            )
        sizes = zip(facts.lengths, facts.kept, strict=True)
        self._starts = starts([n - kept if of_validation else kept for n, kept in sizes])
        if facts.share and not of_validation:
            self._check_training_rows()
            self.validation = FileSource(rows, of_validation=True)

    def _take_labels(self, names: tuple[str, ...]) -> None:
        """Labels that do not exclude each other: codes are those of words of 0 and 1."""
        facts, signs = self.rows.facts, signs_of_words(self.rows.codes.values, len(names))
        trained, out = (sorted(side) for side in facts.counts)
        self.labels = label_columns(signs[trained], np.array(names, dtype=object))
        self.classes, self._labels = self.labels.classes, self.labels.encoded(signs)
        constant = self.labels.constant
        other = np.any((signs[out] != constant) & (constant != 0), axis=0)
        if lost := np.flatnonzero(other).tolist():
            which = "without" if constant[lost[0]] > 0 else "with"
            raise ValueError(
                f"validation={facts.share:g} holds out every row {which} the label "
                f"{names[lost[0]]!r}: expected some to train on; hold out a smaller share."
            )

    def __repr__(self) -> str:
        rows = f"{self.n_rows:,} rows x {self.n_features:,} features"
        storage = "sparse" if self.storage == "csr" else "dense"
        kept = ", cached" * self.rows.cached + ", held out" * self._side
        return (
            f"<FileSource of {self.rows.reader.name}: {rows}, {storage} {self.dtype}, "
            f"{len(self.classes)} classes{kept}>"
        )

    @property
    def reading(self) -> Reading:
        """How its rows are read and which are held out; a fitted model keeps it.

        If rows are held out, the others are read once for their fingerprint.
        """
        return self._with_split(self)

    def _with_split(self, trained_on: Source) -> Reading:
        share = 0.0 if self._side else self.rows.facts.share
        # A fingerprint takes a read, which is cheap only for rows in memory.
        known = share or (isinstance(trained_on, InMemory) and not self._side)
        split = Split(share, trained_on.fingerprint()) if known else None
        return replace(self._own_reading, split=split)

    @property
    def _own_reading(self) -> Reading:
        rows = self.rows
        encoding = rows.encoding
        if encoding is not None and self.classes.dtype.kind == "U":
            encoding = encoding.with_text_target()
        return Reading(encoding, self.n_features, rows.dtype, rows.format)

    @property
    def has_offset(self) -> bool:
        encoding = self.rows.encoding
        return encoding is not None and encoding.offset is not None

    @property
    def without_offset(self) -> Source:
        return WithoutOffset(self) if self.has_offset else self

    def read_as(self, reading: Reading) -> FileSource:
        """The same rows with the features of a fit: its columns, dictionaries and means."""
        if reading == self._own_reading:
            return self
        rows, encoding = self.rows, reading.encoding
        if (encoding is None) != (rows.encoding is None):
            raise TypeError(
                "one of the model's data and this data is a table with named columns, the other is "
                "not: expected rows of the same kind"
            )
        if encoding is not None and rows.encoding is not None:
            roles = rows.encoding
            encoding = replace(
                encoding, target=roles.target, weight=roles.weight, offset=roles.offset
            )
        alike = FileSource(
            StoredRows(
                reading.adapted(rows.reader), rows.options, encoding=encoding,
                dtype=reading.dtype, block_rows=rows.block_rows, validation=rows.validation,
            )
        )  # fmt: skip
        if self._side and alike.validation is not None:
            alike = alike.validation
        alike.n_features = reading.check_width(alike.storage, alike.n_features)
        return alike

    def sample(self, size: int) -> InMemory:
        """At most ``size`` random rows in memory; a model fitted to them can also read files."""
        found = super().sample(size)
        found.labels = self.labels
        found.reading = self._with_split(found if size >= self.n_rows else self)
        return found

    def _check_training_rows(self) -> None:
        """Check that there are training rows of every class, and held-out rows."""
        facts, values = self.rows.facts, self.rows.codes.values
        if len(self.classes) == 1:
            only = self.classes.tolist()[0]
            raise ValueError(f"every row has the label {only!r}; expected two classes or more.")
        if not facts.counts[1]:
            raise ValueError(
                f"validation={facts.share:g} of {facts.n_rows} rows holds out none of weight > 0: "
                "expected a larger share, or more rows."
            )
        lost = sorted(set(facts.counts[1]) - set(facts.counts[0]))
        if lost and self.labels is None:
            place = self.rows.place_of(values[lost[0]])
            raise ValueError(
                f"validation={facts.share:g} holds out every row of the class {values[lost[0]]!r}"
                f"{place and f' (the first is in {place})'}: expected some of every class to train "
                "on; hold out a smaller share, or mend the label."
            )

    @property
    def n_rows(self) -> int:
        return sum(self.rows.facts.counts[self._side].values())

    @property
    def length(self) -> int:
        return int(self._starts[-1])

    @property
    def weight_sum(self) -> float:
        return float(sum(self.rows.facts.weights[self._side].values()))

    def class_weight_sums(self) -> Array:
        """Sum of the weights of every class, known from the first pass."""
        sums, values = self.rows.facts.weights[self._side], self.rows.codes.values
        if self.labels is not None:
            of_codes = np.array([sums.get(code, 0.0) for code in range(len(values))])
            has = of_codes @ (self._labels > 0)
            return has if self.multilabel else np.array([of_codes.sum() - has, has])
        of_label = {values[code]: weight for code, weight in sums.items()}
        return np.array([of_label.get(label, 0.0) for label in self.classes.tolist()])

    def class_moments(self) -> ClassMoments | None:
        """Sums of every feature by class over the training rows, cached from one pass."""
        if self._side or not len(self.classes) or self.labels is not None:
            return None
        moments = self.rows.running_moments()
        of_label = {label: code for code, label in enumerate(self.rows.codes.values)}
        codes = np.array([of_label[label] for label in self.classes.tolist()])
        return moments.of_codes(codes, self.n_features, self.class_weight_sums())

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.rows.facts.dtype)

    @property
    def storage(self) -> Storage:
        return self.rows.facts.storage

    @property
    def row_values(self) -> float:
        return self.rows.facts.n_values / self.rows.facts.n_rows

    @property
    def row_bytes(self) -> float:
        return self.rows.facts.value_bytes * self.row_values

    @cached_property
    def threads(self) -> int:
        return n_threads(None)

    @cached_property
    def _fingerprint(self) -> str:
        return super().fingerprint()

    def fingerprint(self) -> str:
        return self._fingerprint

    def layout(self, shuffled: bool) -> dict[str, Any]:
        """Rows per block; if shuffled also whether there is a cache, which changes the order."""
        layout = {**super().layout(shuffled), "block_rows": self.rows.block_rows}
        return {**layout, "cache": self.rows.cached} if shuffled else layout

    def blocks(self) -> Iterator[Block]:
        """All rows in file order; block boundaries depend only on ``block_rows``."""
        return self._read_ahead(self._in_order)

    def visits(self, shuffle: Shuffle | None = None) -> Iterator[Visit]:
        if shuffle is None:
            yield from super().visits()
            return
        for number in range(shuffle.number, shuffle.number + shuffle.passes):
            once = Shuffle(shuffle.seed, number)
            blocks = self._shuffled_blocks(once)
            while window := [
                shuffled(block, once.of_block(block.start + 1), self.row_bytes)
                for block in islice(blocks, WINDOW)
            ]:
                yield from _in_turns(window)
                del window  # before the next is read

    def _shuffled_blocks(self, shuffle: Shuffle) -> Iterator[Block]:
        if not self.rows.cached:
            return self._filled_blocks()
        order = random_order(len(self.rows.facts.lengths), shuffle).tolist()
        blocks = self._read_ahead(lambda: map(self._block, order))
        return (block for block in blocks if len(block.y))

    def total(self, sum: Sum[T]) -> T:
        """The sum over parts of blocks, which threads share, added in order."""
        if sum.batch_rows is not None:
            return sum.over(self.batches(sum.batch_rows), self.threads)

        def of_block(block: Block) -> T:
            return sum.over_parts(block, self._parts(block), self.threads)

        return running_sum(map(of_block, self._filled_blocks()))  # a loop would keep one more block

    def _parts(self, block: Block) -> list[Block]:
        n = len(block.y)
        size = max(1, int(BLOCK_BYTES / max(self.row_bytes, 1.0)))
        return [block.part(first, min(first + size, n)) for first in range(0, n, size)]

    def _in_order(self) -> Iterator[Block]:
        return map(self._own, count(), self.rows)

    def _block(self, number: int) -> Block:
        return self._own(number, self.rows.block(number))

    def _own(self, number: int, block: Block) -> Block:
        """The block with the rows of this source and encoded labels."""
        y, weight = self._labels[block.y], block.weight
        rows = widened(block.rows, self.n_features)
        if share := self.rows.facts.share:
            out = held_out(block.start, len(y), share)
            at = np.flatnonzero(out == bool(self._side))
            rows, y, weight = rows.take(at), y[at], None if weight is None else weight[at]
        return Block(rows.X, y, weight, int(self._starts[number]))

    def _read_ahead(self, blocks: Callable[[], Iterator[Block]]) -> Iterator[Block]:
        if self.rows.kept is None:
            yield from prefetched(blocks, check=self._look)
        else:  # nothing is read
            self._look()
            yield from blocks()
        self.rows.tell()

    def _look(self) -> None:
        """Stop on Ctrl-C as compiled loops do, also while waiting for a disk."""
        self.rows.tell()
        if loops.stop_requested():
            raise loops.Interrupted("asked to stop while rows were read")


def _labels_of_codes(values: list[Any], classes: AnyArray) -> AnyArray:
    """The encoded label of each code: -1.0, +1.0, or the number of its class.

    Labels without a row of positive weight are not classes: their rows get an arbitrary label.
    """
    number = np.array([0] if not values else np.searchsorted(classes, values), dtype=np.int64)
    number = np.minimum(number, max(len(classes) - 1, 0))
    return np.where(number == 1, 1.0, -1.0) if len(classes) == 2 else number


def _in_turns(visits: list[Visit]) -> Iterator[Visit]:
    """Alternate between blocks, 1 / ROUNDS of each at a time."""
    for turn in range(ROUNDS):
        for block, order in visits:
            assert order is not None
            edges = [len(order) * (turn + more) // ROUNDS for more in (0, 1)]
            if edges[0] < edges[1]:
                yield Visit(block, order[slice(*edges)])

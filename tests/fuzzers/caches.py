"""Decoded caches that were forged with valid checksums: decoded again, or the right rows."""

from __future__ import annotations

import random
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from forged_caches import array_in, forge

import separatrix as sx

from .expected import result_or_refusal
from .mutations import STRANGE, mutated_array, mutated_bytes, mutated_tree

DTYPES = ("<i4,(60000000,)f8", "<f8", "<i8", "|O", "<U9", "|V8", "(3,)<f8", "<f4", "|b1", ">f8")


def one(seed: int) -> str:
    """One forged cache, from which a model is fitted."""
    draw = random.Random(seed)
    sparse = draw.random() < 0.5
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, cache = Path(folder) / f"rows{'.svm' if sparse else '.csv'}", Path(folder) / "cache"
        path.write_text(_svmlight() if sparse else _csv())
        read = partial(sx.read, path, target=None if sparse else "y", cache=cache, block_rows=16)
        _fit(read())
        kept = [one for one in cache.iterdir() if one.stat().st_size > 100]
        if not kept:
            return "no cache was written"
        _forge(kept[0], draw)
        source, _ = result_or_refusal(read)
        if source is None:
            return "refused"
        model, _ = result_or_refusal(_fit, source)
    return "not fitted" if model is None else "fitted"


def _fit(source: Any) -> Any:
    return sx.LinearClassifier(l2=0.1, max_iter=5).fit(source)


def _csv() -> str:
    rows = [f"{i % 7 - 3},{i % 5},{i % 2}" for i in range(40)]
    return "\n".join(["a,b,y", *rows]) + "\n"


def _svmlight() -> str:
    return "".join(f"{i % 2} {i % 4 + 1}:{i % 7 + 1} {i % 3 + 6}:1.5\n" for i in range(40))


def _forge(path: Path, draw: random.Random) -> None:
    """Change the index, an array of a block, or bytes of the file."""
    how = draw.random()
    if how < 0.1:
        path.write_bytes(mutated_bytes(path.read_bytes(), draw))
    elif how < 0.5:
        forge(path, lambda index, blocks: mutated_tree(index, draw, (*STRANGE, *DTYPES)))
    else:
        forge(path, partial(_with_other_values, draw=draw))


def _with_other_values(index: Any, blocks: bytearray, draw: random.Random) -> None:
    number = draw.randrange(len(index["blocks"]))
    names = [name for name, _, _ in _arrays(index, number)]
    array = array_in(index, blocks, number, draw.choice(names))
    for _ in range(draw.choice((1, 3))):
        other = mutated_array(array, draw)
        if other.shape == array.shape and other.dtype == array.dtype:
            array[...] = other
    if draw.random() < 0.3 and array.dtype.kind in "iu":
        array[...] = draw.choice((2**30, -1, 5)) + np.zeros_like(array)


def _arrays(index: Any, number: int) -> Any:
    return next(part for part in index["blocks"][number] if isinstance(part, list))

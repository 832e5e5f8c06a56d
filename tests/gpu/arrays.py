"""Data on a GPU, in every library and type, and the same data for the CPU."""

from __future__ import annotations

import numpy as np

KINDS = ("float64", "float32", "float16", "bfloat16")


def problem(n=600, d=12, k=2, seed=0, kind="float64"):
    """Rows whose values the type can hold, so that both sides see the same numbers, and labels."""
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.standard_normal((n, d))) / 8.0
    number = (X[:, :k] + 1.5 * rng.standard_normal((n, k))).argmax(axis=1)
    return X.astype("float32" if kind != "float64" else kind), number


def torch_rows(X, kind):
    import torch

    return torch.from_numpy(np.asarray(X)).cuda().to(getattr(torch, kind))


def cupy_rows(X, kind):
    import cupy

    return cupy.asarray(X).astype(kind)


def jax_rows(X, kind):
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(kind == "float64"):
        return jnp.asarray(X, dtype=kind)

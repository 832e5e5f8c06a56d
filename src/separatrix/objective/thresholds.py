"""How the products of features that a Hessian is made of are shared by threads."""

from __future__ import annotations

GRAM_TILE = 256
"""Features from which on threads share the tiles of one sum, about so many square, not the rows.

Measured: logistic-correlated-wide, 1.32; softmax, 1.02."""

"""Pictures of data, losses and fits, after the conventions of scikit-learn's displays."""

from .boundary import BoundaryDisplay

__all__ = ["BoundaryDisplay"]

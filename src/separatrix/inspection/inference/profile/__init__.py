"""Profile likelihood: how well do the data fit if a coefficient has a given value?"""

from __future__ import annotations

from .intervals import Profile, fitted_weights, one_end, profiled

__all__ = ["Profile", "fitted_weights", "one_end", "profiled"]

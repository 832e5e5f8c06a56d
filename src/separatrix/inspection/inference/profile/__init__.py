"""Profile likelihood: how well do the data fit if a coefficient has a given value?"""

from __future__ import annotations

from .intervals import Profile, profiled

__all__ = ["Profile", "profiled"]

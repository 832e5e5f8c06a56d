"""The playground: a page where users place points and watch a classifier learn.

The library does every computation; the page draws what a recording contains.
"""

from __future__ import annotations

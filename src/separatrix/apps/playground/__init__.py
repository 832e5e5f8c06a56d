"""The playground: a page on which points are placed and a classifier is seen to learn.

The library does every computation; the page draws what a recording tells.
"""

from __future__ import annotations

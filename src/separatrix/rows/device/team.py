"""How the threads of the fused pass share dense rows."""

from __future__ import annotations

from typing import NamedTuple

from .kernels import WARP
from .thresholds import (
    AHEAD_BYTES,
    MOST_PER_LANE,
    REGISTERS,
    RESIDENT_PER_LANE,
    SHARED_BYTES,
)


class Team(NamedTuple):
    """How ``dense_pass`` shares rows among lanes."""

    pack: int
    per_lane: int
    warps: int
    rows: int
    full: bool
    stages: int  # groups of rows that are read ahead

    @classmethod
    def of(
        cls, d: int, size: int, aligned: bool, most: int = MOST_PER_LANE, registers: int = REGISTERS
    ) -> Team | None:
        """For d features of ``size`` bytes; None if a row does not fit into registers."""
        pack = 1
        while aligned and 2 * pack * size <= 16 and d % (2 * pack) == 0 and 2 * pack * WARP <= d:
            pack *= 2
        for warps in (1, 2, 4, 8):
            per_lane = -(-d // (WARP * warps * pack)) * pack
            if per_lane <= (most if warps < 8 else 2 * MOST_PER_LANE):
                held = per_lane * (2 if size == 8 else 1)
                rows = 8
                while rows > 1 and rows * held > registers:
                    rows //= 2
                group = rows * per_lane * size * WARP * (4 if warps == 1 else warps)
                stages = 2 if 2 * group <= AHEAD_BYTES else int(group <= SHARED_BYTES)
                return cls(pack, per_lane, warps, rows, per_lane * WARP * warps == d, stages)
        return None

    @property
    def resident(self) -> int:
        """Blocks that a multiprocessor must hold: 4 if they are small, to hide latency."""
        return 4 if self.warps == 1 and self.per_lane <= RESIDENT_PER_LANE else 1

    @property
    def per_block(self) -> int:
        """Teams of a block: one if its warps wait for each other."""
        return 4 if self.warps == 1 else 1

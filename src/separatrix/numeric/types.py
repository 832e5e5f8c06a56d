"""Names for the arrays that pass between packages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
AnyArray = npt.NDArray[Any]

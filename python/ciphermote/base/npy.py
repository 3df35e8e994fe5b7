# SPDX-License-Identifier: Apache-2.0
"""Read arrays in NumPy's .npy format in no more memory than their bytes: numpy.load allocates whatever shape
a header claims.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"


def read_header(content: io.BytesIO, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an array's header: (shape, whether in column order, dtype). The content follows in the file.
    Raises ValueError."""
    if np.lib.format.read_magic(content) != (1, 0):
        raise ValueError(f"{name} is of another version than 1.0")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(content)
    return shape, by_columns, dtype


def make_array(
    shape: tuple[int, ...], *, by_columns: bool, dtype: np.dtype[Any], values: bytes, name: str
) -> NDArray[Any]:
    """Make an array over the bytes that follow its header; dtype holds no objects. Raises ValueError unless
    they fill it."""
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"{name} has {len(values)} bytes, which are not {dtype} of shape {list(shape)}")
    return np.ndarray(shape, dtype, values, order="F" if by_columns else "C")

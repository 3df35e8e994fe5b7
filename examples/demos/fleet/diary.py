# SPDX-License-Identifier: Apache-2.0
"""A diary of each device's measurements and their fate, with which results are compared. Nothing of it
reaches the gateway."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Key = tuple[str, int, int]
"""A window: fleet, device, number."""


@dataclass
class Window:
    """measured: seconds since 1970. tries: how often it was sent. receipted: its device has checked the
    receipt."""

    fleet: str
    device: int
    number: int
    measured: float
    values: NDArray[np.float64] = field(repr=False)
    tries: int = 0
    receipted: bool = False

    @property
    def key(self) -> Key:
        return self.fleet, self.device, self.number


class Diary:
    """The measurements of all devices; several threads may write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: dict[Key, Window] = {}

    def note(self, window: Window) -> Window:
        with self._lock:
            assert window.key not in self._windows, window
            self._windows[window.key] = window
        return window

    def windows(self) -> list[Window]:
        with self._lock:
            return list(self._windows.values())

    def values(self, keys: Iterable[Key]) -> NDArray[np.float64]:
        """float64 [windows, values]. Raises KeyError for one that no device has measured."""
        return np.array([self._windows[key].values for key in keys])

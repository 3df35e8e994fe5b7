# SPDX-License-Identifier: Apache-2.0
"""What each device measured, as it says itself, and what became of it: the truth that results are held to.
Nothing of it reaches the gateway."""

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
    """What all devices sent; several threads may write."""

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
        """float64 [windows, values]. KeyError for one that no device has measured."""
        return np.array([self._windows[key].values for key in keys])

# SPDX-License-Identifier: Apache-2.0
"""Tasks in threads of this process. They compute without the interpreter's lock, and copy nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Literal, TypeVar

from ciphermote.gateway.executors.interface import Handle, Task

_T = TypeVar("_T")
_AHEAD = 1
"""How many tasks wait for each thread."""


class _Value(Generic[_T]):
    """A value in this process."""

    def __init__(self, value: _T) -> None:
        self._value = value

    def get(self) -> _T:
        return self._value


class LocalExecutor:
    """A thread for each core that this process may use."""

    reads: Literal["directory", "object store"] = "directory"

    def __init__(self) -> None:
        self._threads = len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._threads, "task")
        self._placed: tuple[str, _Value[Any]] | None = None

    @property
    def most_waiting(self) -> int:
        return self._threads * (1 + _AHEAD)

    def share(self, name: str, make: Callable[[], _T]) -> _Value[_T]:
        if self._placed is None or self._placed[0] != name:
            self._placed = name, _Value(make())
        return self._placed[1]

    def submit(self, task: Task, *arguments: Any) -> Handle:
        found = [each.result() if isinstance(each, Future) else each for each in arguments]
        return self._pool.submit(task, *found)

    def wait(self, handle: Handle, seconds: float) -> bool:
        return bool(wait([handle], seconds).done)

    def result(self, handle: Handle) -> Any:
        return handle.result()

    def cancel(self, handles: Collection[Handle]) -> None:
        for handle in handles:
            handle.cancel()
        wait(handles)

    def close(self) -> None:
        self._pool.shutdown()

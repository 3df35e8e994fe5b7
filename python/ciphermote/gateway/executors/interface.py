# SPDX-License-Identifier: Apache-2.0
"""The interface of every executor, and what jobs do with one.

A task is a function of this package. It depends on its arguments only and changes nothing, so that it may be
computed again anywhere. Results are combined in an order that only the tasks determine: every executor gives
a job the same bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

Task = Callable[..., Any]
Handle = Any
"""A task's result, which may not be there yet; as an argument of another task, the result itself."""
Beat = Callable[[int], None]
"""Called with the windows done so far, at least every second; what it raises ends the job's tasks."""

BEAT_SECONDS = 0.5
_BRANCHES = 8
"""How many results a task combines."""


class ExecutorUnavailable(OSError):
    """The executor cannot be used now: no job is at fault."""


class TaskLost(Exception):
    """A task ended its process whenever it was tried: by its memory, most likely."""


class Shared(Protocol[_T_co]):
    """A value that many tasks use, placed once a node."""

    def get(self) -> _T_co:
        """Return the value, the same object for all tasks of a process."""


class Executor(Protocol):
    """Computes tasks. reads: whether tasks can read the gateway's directory, or only an object store."""

    reads: Literal["directory", "object store"]

    @property
    def most_waiting(self) -> int:
        """How many tasks are submitted at a time."""

    def share(self, name: str, make: Callable[[], _T]) -> Shared[_T]:
        """Place a value. name: tells it from others; a value that is placed already is not made again."""

    def submit(self, task: Task, *arguments: Any) -> Handle:
        """Begin a task. arguments: handles among them become their results, which must be there."""

    def wait(self, handle: Handle, seconds: float) -> bool:
        """Wait for a task; False if it has not ended in time."""

    def result(self, handle: Handle) -> Any:
        """Return the result of a task that has ended, or raise what it raised. Raises ExecutorUnavailable or
        TaskLost."""

    def cancel(self, handles: Collection[Handle]) -> None:
        """End tasks whose results nobody needs any more. None of them runs here on return."""

    def close(self) -> None:
        """Release all that the executor has."""


class Call(NamedTuple):
    """A task to submit. windows: how many it takes."""

    task: Task
    arguments: tuple[Any, ...]
    windows: int = 0


class Run:
    """The tasks of one job. As a context manager it ends those that still run."""

    def __init__(self, executor: Executor, beat: Beat) -> None:
        self.executor = executor
        self._beat = beat
        self._running: set[Handle] = set()
        self._done = 0

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.cancel(self._running)

    def results(self, calls: Iterable[Call]) -> Iterator[Any]:
        """Yield the result of each task, in order, with a limited number of them ahead."""
        return (self.executor.result(handle) for handle in self._ended(calls))

    def combined(self, calls: Iterable[Call], combine: Task, *arguments: Any) -> Any:
        """Return the results of tasks combined to one, in a tree over their order. combine: takes arguments
        and two or more results."""
        levels: list[list[Handle]] = []

        def add(level: int, handle: Handle) -> None:
            if level == len(levels):
                levels.append([])
            levels[level].append(handle)
            if len(levels[level]) == _BRANCHES:
                full, levels[level] = levels[level], []
                add(level + 1, self._now(Call(combine, (*arguments, *full))))

        for handle in self._ended(calls):
            add(0, handle)
        left: list[Handle] = []
        for level in levels:
            left = [*level, *left]
            if len(left) > 1:
                left = [self._now(Call(combine, (*arguments, *left)))]
        (whole,) = left
        return self.executor.result(whole)

    def handles(self, calls: Iterable[Call]) -> list[Handle]:
        """Return where the results of tasks are, all of which have ended, without fetching them."""
        return list(self._ended(calls))

    def one(self, call: Call) -> Any:
        """Return the result of one task."""
        return self.executor.result(self._now(call))

    def _now(self, call: Call) -> Handle:
        (handle,) = self._ended([call])
        return handle

    def _ended(self, calls: Iterable[Call]) -> Iterator[Handle]:
        waiting: deque[tuple[Handle, int]] = deque()
        given = iter(calls)
        is_over = False
        while True:
            while not is_over and len(waiting) < self.executor.most_waiting:
                call = next(given, None)
                if call is None:
                    is_over = True
                    break
                handle = self.executor.submit(call.task, *call.arguments)
                self._running.add(handle)
                waiting.append((handle, call.windows))
            if not waiting:
                return
            handle, windows = waiting.popleft()
            while not self.executor.wait(handle, BEAT_SECONDS):
                self._beat(self._done)
            self._running.discard(handle)
            self._done += windows
            self._beat(self._done)
            yield handle

# SPDX-License-Identifier: Apache-2.0
"""Tasks on a Ray cluster, of which this machine is a node.

Nodes have this package installed, in the gateway's version. They get tasks and what those take: no code, no
environment and no file of the gateway's.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Generic, Literal, TypeVar

import ray as typed_ray
from ray import exceptions

import ciphermote
from ciphermote.base.errors import EngineError, ParameterError
from ciphermote.gateway.executors import dial
from ciphermote.gateway.executors.interface import ExecutorUnavailable, Handle, Task, TaskLost

ray: Any = typed_ray  # most of it has no types
_T = TypeVar("_T")
_RETRIES = 3
"""How often a task is computed again whose process or node has ended."""
_MOST_PLACED = 4
"""The most values that are placed at a time."""
_DIAL_SECONDS = 30.0
_SIZE_SECONDS = 5.0
_LEAST_WAITING = 4
_LOST = (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError)

_values: OrderedDict[str, Any] = OrderedDict()
"""The shared values that this process, on a node, has opened."""


class _Placed(Generic[_T]):
    """A value in the object stores of the nodes, one copy in each that uses it. Pickles as its name there."""

    def __init__(self, name: str, reference: Any) -> None:
        self._name, self.reference = name, reference

    def get(self) -> _T:
        if self._name not in _values:
            _values[self._name] = ray.get(self.reference)
            while len(_values) > _MOST_PLACED:
                _values.popitem(last=False)
        _values.move_to_end(self._name)
        found: _T = _values[self._name]
        return found


def _compute(version: str, task: Task, *arguments: Any) -> Any:
    """Compute a task, on a node."""
    if version != ciphermote.__version__:
        raise EngineError(
            f"A node of the Ray cluster has Ciphermote {ciphermote.__version__}, and the gateway {version}: "
            "have the operator install the gateway's version there, and retry."
        )
    return task(*arguments)


class RayExecutor:
    """A Ray cluster. address: HOST:PORT of its head. Raises ParameterError if the cluster lets in who has no
    token, or has another version of Ray or Python; ExecutorUnavailable if it cannot be reached."""

    reads: Literal["directory", "object store"] = "object store"

    def __init__(self, address: str) -> None:
        self._address = address
        self._check_closed()
        try:
            ray.init(
                address,
                namespace="ciphermote",
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
            )
        except RuntimeError as error:
            if "Version mismatch" in str(error):
                raise ParameterError(_first_line(f"The Ray cluster at {address}: {error}")) from None
            raise self._unreachable(error) from None
        except (ConnectionError, ValueError, exceptions.RayError) as error:
            raise self._unreachable(error) from None
        self._compute = ray.remote(max_retries=_RETRIES, num_cpus=1)(_compute)
        self._placed: OrderedDict[str, _Placed[Any]] = OrderedDict()
        self._size, self._size_known = 0, -_SIZE_SECONDS

    def _check_closed(self) -> None:
        command = (sys.executable, "-m", dial.__name__, self._address)
        try:
            found = subprocess.run(command, capture_output=True, timeout=_DIAL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise self._unreachable(None) from None
        if found.returncode == dial.ANSWERED:
            raise ParameterError(
                f"The Ray cluster at {self._address} answers who has no token: start all its nodes with "
                "RAY_AUTH_MODE=token."
            )
        if found.returncode != dial.REFUSED:
            raise self._unreachable(None)

    def _unreachable(self, error: Exception | None) -> ExecutorUnavailable:
        why = "" if error is None else f" ({_first_line(str(error))})"
        return ExecutorUnavailable(f"The Ray cluster at {self._address} cannot be reached{why}")

    @property
    def most_waiting(self) -> int:
        """Twice as many as the cluster can compute: those that wait are what it grows by."""
        now = time.monotonic()
        if now - self._size_known > _SIZE_SECONDS:
            self._size, self._size_known = int(ray.cluster_resources().get("CPU", 0)), now
        return max(_LEAST_WAITING, 2 * self._size)

    def share(self, name: str, make: Callable[[], _T]) -> _Placed[_T]:
        if name not in self._placed:
            self._placed[name] = _Placed(name, ray.put(make()))
            while len(self._placed) > _MOST_PLACED:
                self._placed.popitem(last=False)
        self._placed.move_to_end(name)
        return self._placed[name]

    def submit(self, task: Task, *arguments: Any) -> Handle:
        named = self._compute.options(name=task.__name__)
        return named.remote(ciphermote.__version__, task, *arguments)

    def wait(self, handle: Handle, seconds: float) -> bool:
        ended, _ = ray.wait([handle], timeout=seconds, fetch_local=False)
        return bool(ended)

    def result(self, handle: Handle) -> Any:
        try:
            return ray.get(handle)
        except exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, _LOST):
                raise TaskLost(_first_line(str(cause))) from None
            raise (cause if isinstance(cause, Exception) else error) from None
        except _LOST as error:
            raise TaskLost(_first_line(str(error))) from None
        except exceptions.RayError as error:
            raise ExecutorUnavailable(_first_line(f"Ray: {error}")) from None

    def cancel(self, handles: Collection[Handle]) -> None:
        for handle in handles:
            with suppress(exceptions.RayError, ValueError):
                ray.cancel(handle, force=False, recursive=False)

    def close(self) -> None:
        ray.shutdown()


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip(". ")

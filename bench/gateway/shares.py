# SPDX-License-Identifier: Apache-2.0
"""Holds processes to a share of a core, by Linux control groups (version 1 or 2), which takes root."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from ciphermote.base.errors import Error

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 10_000


@contextlib.contextmanager
def held(processes: Iterable[int], cores: float) -> Iterator[None]:
    """Hold each process, with all its threads, to so many cores for the block. Raises Error without root."""
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(_held(process, cores))
        yield


@contextlib.contextmanager
def _held(process: int, cores: float) -> Iterator[None]:
    is_first = (_ROOT / "cpu").is_dir()  # version 1 has a tree for each controller
    above = _ROOT / "cpu" if is_first else _ROOT
    group = above / f"ciphermote-{os.getpid()}-{process}"
    quota = round(cores * _PERIOD_US)
    try:
        if not is_first:
            (above / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        if is_first:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
        (group / "cgroup.procs").write_text(str(process))
    except OSError as error:
        raise Error(f"A process cannot be held to a share of a core ({error}): run this as root.") from None
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            (above / "cgroup.procs").write_text(str(process))
        group.rmdir()

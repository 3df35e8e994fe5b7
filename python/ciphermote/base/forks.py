# SPDX-License-Identifier: Apache-2.0
"""Resources that belong to the process that opened them. After a fork, counters, locks and connections would
exist in two processes at once, and a shared counter would give one number to two readings."""

from __future__ import annotations

import os

from ciphermote.base.errors import ParameterError


class Opener:
    """The process that opened something. what: its name in sentences, such as "The ledger"."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._place = _place()

    @property
    def is_here(self) -> bool:
        """Whether this process is the opener."""
        return _place() == self._place

    def check(self) -> None:
        """Raises ParameterError in any other process."""
        if not self.is_here:
            raise ParameterError(
                f"{self._what} was opened by another process, before a fork: open it in the process that "
                "uses it."
            )


_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


def _place() -> tuple[int, int]:
    """The number of forks of this interpreter, because process ids are reused, and the process id, because C
    code forks too."""
    return _forks, os.getpid()


os.register_at_fork(after_in_child=_count_fork)

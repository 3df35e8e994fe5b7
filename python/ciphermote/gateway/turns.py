# SPDX-License-Identifier: Apache-2.0
"""Whose delivery is next: tenants take turns, and within a tenant its devices do. So whoever sends a thousand
at once waits for all of them, and somebody else's single one waits for nobody's second."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits, a queue for each sender."""

    def __init__(self) -> None:
        self._tenants: deque[tuple[Hashable, deque[Hashable]]] = deque()
        """Those that wait, the next one first, each with its senders, the next one first."""
        self._senders: dict[Hashable, deque[Hashable]] = {}
        self._queues: dict[tuple[Hashable, Hashable], deque[T]] = {}

    def __bool__(self) -> bool:
        return bool(self._tenants)

    def add(self, tenant: Hashable, sender: Hashable, item: T) -> None:
        queue = self._queues.get((tenant, sender))
        if queue is not None:
            queue.append(item)
            return
        self._queues[tenant, sender] = deque((item,))
        senders = self._senders.get(tenant)
        if senders is None:
            senders = self._senders[tenant] = deque()
            self._tenants.append((tenant, senders))
        senders.append(sender)

    def take(self) -> T:
        """The next one; there is one. Whoever had it is next when all others have had theirs."""
        tenant, senders = self._tenants.popleft()
        sender = senders.popleft()
        queue = self._queues[tenant, sender]
        item = queue.popleft()
        if queue:
            senders.append(sender)
        else:
            del self._queues[tenant, sender]
        if senders:
            self._tenants.append((tenant, senders))
        else:
            del self._senders[tenant]
        return item

# SPDX-License-Identifier: Apache-2.0
"""Fair order of deliveries: tenants take turns, and within a tenant its devices do. A sender of a thousand
deliveries waits for all of them, while another sender's single one is served before anybody's second."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Waiting items, in a queue for each sender."""

    def __init__(self) -> None:
        self._tenants: deque[tuple[Hashable, deque[Hashable]]] = deque()
        """Tenants with waiting items in the order of their turns, each with its senders in the order of
        theirs."""
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
        """Remove and return the next item; there must be one. Its sender is next again after all others."""
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

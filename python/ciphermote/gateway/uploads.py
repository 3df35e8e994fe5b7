# SPDX-License-Identifier: Apache-2.0
"""Uploads of keys and results, which are large: how many and how much of them the gateway takes at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from ciphermote.gateway.intake import Shares
from ciphermote.gateway.refusals import overloaded
from ciphermote.gateway.registry import MOST_KEYS_BYTES

_MOST_BYTES = 2 * MOST_KEYS_BYTES
"""Of all at once. A tenant has at most as much as is free: alone, the largest upload there is."""


class Uploads:
    """Each tenant has one at a time, and waits for no other tenant's to arrive."""

    def __init__(self) -> None:
        self._tenants: set[int] = set()
        self._bytes = Shares(_MOST_BYTES)
        self._turn = asyncio.Semaphore(1)

    @contextlib.contextmanager
    def room_for(self, tenant: int) -> Iterator[Callable[[int], None]]:
        """Account for an upload; what is yielded, for bytes of it that have come. Refusal if the tenant has
        one already, or there is no room."""
        if tenant in self._tenants:
            raise overloaded("The gateway is taking another upload of yours, and takes one at a time")
        size = 0

        def take(more: int) -> None:
            nonlocal size
            self._bytes.add(tenant, more)
            size += more

        self._tenants.add(tenant)
        try:
            yield take
        finally:
            self._tenants.remove(tenant)
            self._bytes.remove(tenant, size)

    async def put(self, put: Callable[[bytes], None], data: bytes) -> None:
        """Store one that is here whole: one after the other, for unpacked keys take far more memory."""
        async with self._turn:
            await asyncio.to_thread(put, data)

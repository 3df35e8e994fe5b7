# SPDX-License-Identifier: Apache-2.0
"""Bodies of bytes, with limits on their size and time; deliveries read and send them without the framework.
For uploads of keys and results, which are large, also limits on their number and total size at once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

from starlette.types import Receive, Scope, Send

from ciphermote.base import number_text
from ciphermote.gateway.connections import BODY_SECONDS
from ciphermote.gateway.intake import Shares
from ciphermote.gateway.refusals import Refusal, overloaded
from ciphermote.gateway.registry import MOST_KEYS_BYTES

OCTETS = "application/octet-stream"
_MOST_BYTES = 2 * MOST_KEYS_BYTES
"""The most bytes of all uploads at once. A tenant may have at most as much as is free, which is enough for
the largest upload if it is the only one."""


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return a request's headers by lowercase name, the first of each."""
    return dict(reversed(scope["headers"]))


def check_type(headers: dict[bytes, bytes]) -> None:
    """Raises Refusal for a body that is declared as anything but plain bytes."""
    kind = headers.get(b"content-type", OCTETS.encode()).decode("latin-1")
    if kind.split(";")[0].strip() != OCTETS:
        raise Refusal(415, "wrong-type", f"The body is {kind[:60]}: send {OCTETS}.")
    if b"content-encoding" in headers:
        raise Refusal(
            415, "compressed", "The body is compressed, and ciphertexts do not shrink: send it as it is."
        )


def stated_length(headers: dict[bytes, bytes], most: int) -> int:
    """Return the length of the body; the largest allowed one if no header states it. Raises Refusal if it is
    larger."""
    said = headers.get(b"content-length")
    try:
        stated = most if said is None else number_text.integer(said.decode("latin-1"))
    except ValueError:
        raise Refusal(400, "malformed", "Content-Length is no number.") from None
    if stated > most:
        raise Refusal(413, "too-large", f"The body has {stated} bytes, and {most} is the most.")
    return stated


async def read_body(receive: Receive, most: int, take: Callable[[int], None] | None = None) -> bytes:
    """Read a whole body. take: called with the number of bytes received. Raises Refusal if it is longer than
    stated, or does not end in time."""
    pieces: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "unfinished", f"The client left after {size} bytes of the body.")
                piece: bytes = message.get("body", b"")
                size += len(piece)
                if size > most:
                    raise Refusal(413, "too-large", f"The body goes on after {most} bytes: that is the most.")
                if take is not None:
                    take(len(piece))
                pieces.append(piece)
                more = message.get("more_body", False)
    except TimeoutError:
        raise Refusal(
            408, "slow", f"The body has not ended within {BODY_SECONDS:g} s: send it again."
        ) from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def send_octets(send: Send, content: bytes) -> None:
    """Answer a request with bytes."""
    headers = [(b"content-length", str(len(content)).encode()), (b"content-type", OCTETS.encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class Uploads:
    """Limits uploads: each tenant has one at a time, and never waits for another tenant's to arrive."""

    def __init__(self) -> None:
        self._tenants: set[int] = set()
        self._bytes = Shares(_MOST_BYTES)
        self._turn = asyncio.Semaphore(1)

    @contextlib.contextmanager
    def room_for(self, tenant: int) -> Iterator[Callable[[int], None]]:
        """Account for an upload, and yield a function to account for its bytes. Raises Refusal if the tenant
        already has one, or there is no room."""
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
        """Store a complete upload, one at a time, because unpacked keys take far more memory."""
        async with self._turn:
            await asyncio.to_thread(put, data)

# SPDX-License-Identifier: Apache-2.0
"""Limits on connections before a byte of them is read: an address may have as many as are free, so that room
is left for others, and new connections displace silent ones.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
import socket
import ssl
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress

from ciphermote.gateway.logs import log

MOST_CONNECTIONS = 10_000
HANDSHAKE_SECONDS = 20.0
_MOST_FILES = 65_536
_OWN_FILES = 256
"""Number of files that the gateway itself opens: its database, once for each thread, segments, workers."""
_LOG_SECONDS = 1.0
_LOGGED_ADDRESSES = 10
_AGAIN_SECONDS = 0.1
_BACKLOG = 2048


def room_for_connections() -> int:
    """Raise the process's limit on open files as far as allowed, and return how many connections fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    files = _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    return min(MOST_CONNECTIONS, files - min(_OWN_FILES, files // 2))


class Connections:
    """The open connections by address, identified by their sockets, and those whose handshake is not
    complete."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._addresses: dict[socket.socket, str] = {}
        self._open: Counter[str] = Counter()
        self._silent: dict[str, OrderedDict[socket.socket, None]] = {}

    def of(self, address: str) -> int:
        return self._open[address]

    def add(self, connection: socket.socket, address: str) -> socket.socket | None:
        """Add a connection, and return the one to close: None, the oldest of its address without a handshake,
        or itself."""
        goes = None
        if self._open[address] >= self._most - len(self._addresses):
            silent = self._silent.get(address)
            if not silent:
                return connection
            goes = next(iter(silent))
            self.remove(goes)
        self._addresses[connection] = address
        self._open[address] += 1
        self._silent.setdefault(address, OrderedDict())[connection] = None
        return goes

    def has_spoken(self, connection: socket.socket) -> None:
        """Record that a connection's handshake is complete."""
        address = self._addresses.get(connection)
        silent = self._silent.get(address) if address is not None else None
        if address is not None and silent is not None:
            silent.pop(connection, None)
            if not silent:
                del self._silent[address]

    def remove(self, connection: socket.socket) -> None:
        """Remove a connection that has ended; repeated calls have no effect."""
        self.has_spoken(connection)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


class Turned:
    """Logs refused connections: at most one line for an address in a second."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, what: str, address: str) -> None:
        if not self._counts:
            asyncio.get_running_loop().call_later(_LOG_SECONDS, self._log)
        self._counts[what, address] += 1

    def _log(self) -> None:
        for (what, address), count in self._counts.most_common(_LOGGED_ADDRESSES):
            log.warning(what, address=address, connections=count, open=self._connections.of(address))
        if len(self._counts) > _LOGGED_ADDRESSES:
            log.warning("and of other addresses", addresses=len(self._counts) - _LOGGED_ADDRESSES)
        self._counts.clear()


class Listener:
    """Accepts connections, and makes the protocol of each once its handshake is complete. It is closed and
    awaited like asyncio's Server."""

    def __init__(
        self,
        sockets: list[socket.socket],
        connect: Callable[[Callable[[], None]], asyncio.Protocol],
        tls: ssl.SSLContext,
    ) -> None:
        """connect: makes a protocol; its argument is called once the connection has ended."""
        self._loop = asyncio.get_running_loop()
        self._connect = connect
        self._tls = tls
        self.connections = Connections(room_for_connections())
        self._turned = Turned(self.connections)
        self._beginning: set[asyncio.Task[None]] = set()
        self._accepting = [self._loop.create_task(self._accept(each)) for each in sockets]

    def close(self) -> None:
        for task in (*self._accepting, *self._beginning):
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._accepting, *self._beginning, return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        with listening:
            await self._accept_all(listening)

    async def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, place = await self._loop.sock_accept(listening)
            except OSError as error:  # no more files, or the client has gone already
                log.error("no connection can be taken", error=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            address = network_of(place[0])
            goes = self.connections.add(connection, address)
            if goes is connection:
                self._turned.count("connections refused", address)
                connection.close()
                continue
            if goes is not None:
                self._turned.count("silent connections dropped", address)
                with suppress(OSError):
                    goes.shutdown(socket.SHUT_RDWR)  # which ends its handshake, and that closes it
            task = self._loop.create_task(self._begin(connection, address))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)

    async def _begin(self, connection: socket.socket, address: str) -> None:
        def left() -> None:
            self.connections.remove(connection)

        try:
            await self._loop.connect_accepted_socket(
                lambda: self._connect(left),
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
            self.connections.has_spoken(connection)
        except OSError:  # also what TLS objects to, and time that is up
            self._turned.count("connections without a handshake", address)
            left()


def network_of(address: str) -> str:
    """Return the unit of the limits: an IPv4 address, or a customer's network for IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def bound(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at each of this machine's addresses with a name. Raises OSError if there is
    none."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    found, failure = [], None
    for family, _, _, _, address in places:
        try:
            found.append(socket.create_server(address, family=family, backlog=_BACKLOG))
        except OSError as error:  # of a name for IPv4 and IPv6, on a machine that has one of them
            failure = error
    if not found and failure is not None:
        raise failure
    for each in found:
        each.setblocking(False)
    return found

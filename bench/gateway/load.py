# SPDX-License-Identifier: Apache-2.0
"""A load generator: sends bodies as fast as they are answered, over so many connections, and notes how long
each takes. One process, on the machine of the server. What it sends is made beforehand.

    python load.py http PORT[,PORT] CA TOKEN PATH CONNECTIONS FILE
    python load.py mqtt PORT CA USER TOKEN CONNECTIONS FILE

Prints JSON: seconds, count, p50_ms, p99_ms.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import aiomqtt
import uvloop
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


def write_bodies(path: Path, bodies: Iterator[bytes]) -> None:
    """For another process."""
    with path.open("wb") as file:
        for body in bodies:
            file.write(struct.pack("<I", len(body)) + body)


def read_bodies(path: Path) -> list[bytes]:
    data = path.read_bytes()
    bodies, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        bodies.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return bodies


class Connection(asyncio.Protocol):
    """One request at a time; the answer's body has 40 bytes."""

    def __init__(self, head: str, bodies: Iterator[bytes], latencies: list[float]) -> None:
        self._head = head
        self._bodies = bodies
        self._latencies = latencies
        self._answer = b""
        self._since = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own kind
        self._send()

    def _send(self) -> None:
        body = next(self._bodies, None)
        if body is None:
            self._transport.close()
            self.done.set_result(None)
            return
        self._since = time.perf_counter()
        self._transport.write(f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, found, body = self._answer.partition(b"\r\n\r\n")
        if not found or len(body) < 40:
            return
        if not head.startswith(b"HTTP/1.1 200") or len(body) != 40:
            self.done.set_exception(RuntimeError(self._answer[:1000].decode(errors="replace")))
            self._transport.close()
            return
        self._latencies.append(time.perf_counter() - self._since)
        self._answer = b""
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


async def http(ports: str, ca: str, token: str, path: str, connections: str, file: str) -> dict[str, float]:
    bodies = read_bodies(Path(file))
    servers = [int(port) for port in ports.split(",")]
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/octet-stream\r\n"
    )
    latencies: list[float] = []
    each = iter(bodies)
    context = ssl.create_default_context(cafile=ca)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    made = [
        await loop.create_connection(
            lambda: Connection(head, each, latencies),
            "localhost",
            servers[number % len(servers)],
            ssl=context,
        )
        for number in range(int(connections))
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    return _summary(time.perf_counter() - started, latencies)


async def mqtt(port: str, ca: str, user: str, token: str, connections: str, file: str) -> dict[str, float]:
    """connections: how many deliveries are on their way at once, over one connection."""
    bodies = iter(read_bodies(Path(file)))
    latencies: list[float] = []
    waiting: dict[bytes, asyncio.Future[bytes]] = {}
    down = f"ciphermote/{user}/down"
    async with aiomqtt.Client(
        "localhost",
        int(port),
        protocol=aiomqtt.ProtocolVersion.V5,
        username=user,
        password=token,
        tls_context=ssl.create_default_context(cafile=ca),
        max_queued_outgoing_messages=10_000,
    ) as client:
        client.pending_calls_threshold = int(connections)  # of which it would warn
        await client.subscribe(down, qos=1)

        async def listen() -> None:
            async for message in client.messages:
                future = waiting.pop(message.properties.CorrelationData, None)
                if future is not None:
                    future.set_result(bytes(message.payload))

        async def send(sender: int) -> None:
            for number, body in enumerate(bodies):
                properties = Properties(PacketTypes.PUBLISH)
                properties.ResponseTopic = down
                properties.CorrelationData = correlation = struct.pack("<II", sender, number)
                future = waiting[correlation] = asyncio.get_running_loop().create_future()
                since = time.perf_counter()
                await client.publish(f"ciphermote/{user}/up", body, qos=1, properties=properties)
                answer = await asyncio.wait_for(future, 60)
                if len(answer) != 40:
                    raise RuntimeError(answer[:1000].decode(errors="replace"))
                latencies.append(time.perf_counter() - since)

        listener = asyncio.create_task(listen())
        started = time.perf_counter()
        await asyncio.gather(*(send(number) for number in range(int(connections))))
        seconds = time.perf_counter() - started
        listener.cancel()
    return _summary(seconds, latencies)


def _summary(seconds: float, latencies: list[float]) -> dict[str, float]:
    ordered = sorted(latencies)
    return {
        "seconds": seconds,
        "count": len(ordered),
        "p50_ms": 1000 * ordered[len(ordered) // 2],
        "p99_ms": 1000 * ordered[len(ordered) * 99 // 100],
    }


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    print(json.dumps(uvloop.run({"http": http, "mqtt": mqtt}[kind](*arguments))))

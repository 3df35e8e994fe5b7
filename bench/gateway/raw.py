# SPDX-License-Identifier: Apache-2.0
"""Raw: what the gateway is measured against. The same server, short cut past routing, TLS, bounds on bodies,
segments, database, syncs, rounds, broker and an answer of 40 bytes, and nothing of Ciphermote between: no
token and no frame is checked, told apart or counted.

    python raw.py DIRECTORY PORT CERTIFICATE KEY [BROKER_PORT CA GATEWAY]

GATEWAY: the directory of one that is not running, whose broker it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import ssl
import sys
import threading
import time
from pathlib import Path

import aiomqtt
import uvloop
from ciphermote.gateway.access import Access
from ciphermote.gateway.broker_files import BrokerFiles
from ciphermote.gateway.broker_gate import BrokerGate
from ciphermote.gateway.database.sqlite import SqliteDatabase
from ciphermote.gateway.gateway_files import BROKER, DATABASE_FILE
from ciphermote.gateway.http_server import https_server
from ciphermote.gateway.intake import GATHERING_SECONDS, MOST_DELIVERY_BYTES
from ciphermote.gateway.mqtt import SUBSCRIPTION
from ciphermote.gateway.store.folder import Segments
from ciphermote.gateway.uploads import headers_of, read_body, send_octets, stated_length
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from starlette.types import Receive, Scope, Send

ANSWER = bytes(40)
_ROUND = 512
_ROUND_BYTES = 32 << 20


class Store:
    """Appends and commits what has come, a round at a time, and then answers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = SqliteDatabase(folder / "raw.db")
        with self._database.writing() as database:
            database.execute("CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, extent TEXT)")
        self._segments = Segments(folder / "segments")
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[bytes]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, daemon=True).start()

    async def take(self, data: bytes) -> bytes:
        future = self._loop.create_future()
        self._queue.put((data, future))
        return await future

    def _run(self) -> None:
        while True:
            taken = [self._queue.get()]
            size = len(taken[0][0])
            with contextlib.suppress(queue.Empty):
                while len(taken) < _ROUND and size < _ROUND_BYTES:
                    taken.append(self._queue.get_nowait())
                    size += len(taken[-1][0])
            extents = self._segments.append([data for data, _ in taken])
            with self._database.writing() as database:
                rows = [(str(extent),) for extent in extents]
                database.executemany("INSERT INTO kept (extent) VALUES (?)", rows)
            self._loop.call_soon_threadsafe(self._answer, [future for _, future in taken])
            time.sleep(GATHERING_SECONDS)

    @staticmethod
    def _answer(futures: list[asyncio.Future[bytes]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(ANSWER)


async def subscribe(store: Store, subscribed: asyncio.Event, port: int, ca: str, gateway: str) -> None:
    """Take what devices publish, and answer each on its response topic."""
    files = BrokerFiles(Path(gateway) / BROKER)
    BrokerGate(Access(SqliteDatabase(Path(gateway) / DATABASE_FILE)), files.socket, files.password)
    client = aiomqtt.Client(
        "localhost",
        port,
        protocol=aiomqtt.ProtocolVersion.V5,
        username=files.user,
        password=files.password,
        tls_context=ssl.create_default_context(cafile=ca),
        max_queued_outgoing_messages=10_000,
    )
    client.pending_calls_threshold = _ROUND  # of which it would warn
    tasks: set[asyncio.Task[None]] = set()

    async def take(message: aiomqtt.Message) -> None:
        answer = await store.take(message.payload)
        properties = Properties(PacketTypes.PUBLISH)
        properties.CorrelationData = message.properties.CorrelationData
        await client.publish(message.properties.ResponseTopic, answer, qos=1, properties=properties)

    async with client:
        await client.subscribe(SUBSCRIPTION, qos=1)
        subscribed.set()
        async for message in client.messages:
            task = asyncio.create_task(take(message))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


async def main() -> None:
    folder, port, certificate, key, *broker = sys.argv[1:]
    store = Store(Path(folder))

    async def deliver(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/deliveries":
            return
        data = await read_body(receive, stated_length(headers_of(scope), MOST_DELIVERY_BYTES))
        await send_octets(send, await store.take(data))

    server = https_server(deliver, "127.0.0.1", int(port), Path(certificate), Path(key))
    tasks = [asyncio.create_task(server.serve())]
    if broker:
        subscribed = asyncio.Event()
        subscriber = subscribe(store, subscribed, int(broker[0]), *broker[1:])
        tasks.append(asyncio.create_task(subscriber))
        await subscribed.wait()
    await server.started.wait()
    print("ready", flush=True)
    await tasks[0]
    for task in tasks[1:]:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(main())

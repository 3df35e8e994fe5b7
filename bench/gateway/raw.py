# SPDX-License-Identifier: Apache-2.0
"""Raw: what the gateway is measured against. The same framework, TLS, bytes, segments, syncs, rounds, broker
and an answer of 40 bytes, and nothing of Ciphermote between: nothing is checked, told apart or counted.

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
from pathlib import Path

import aiomqtt
import uvicorn
import uvloop
from ciphermote.gateway.access import Access
from ciphermote.gateway.blobs import Segments
from ciphermote.gateway.broker_files import GATEWAY_USER, BrokerFiles
from ciphermote.gateway.broker_gate import BrokerGate
from ciphermote.gateway.database import Database
from ciphermote.gateway.gateway_files import BROKER, DATABASE_FILE
from ciphermote.gateway.mqtt import SUBSCRIPTION
from fastapi import FastAPI, Request, Response
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

ANSWER = bytes(40)
_ROUND = 512
_ROUND_BYTES = 32 << 20


class Store:
    """Appends and commits what has come, a round at a time, and then answers."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._database = Database(folder / "raw.db")
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

    @staticmethod
    def _answer(futures: list[asyncio.Future[bytes]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(ANSWER)


async def subscribe(store: Store, port: int, ca: str, gateway: str) -> None:
    """Take what devices publish, and answer each on its response topic."""
    files = BrokerFiles(Path(gateway) / BROKER)
    BrokerGate(Access(Database(Path(gateway) / DATABASE_FILE)), files.socket, files.password)
    client = aiomqtt.Client(
        "localhost",
        port,
        protocol=aiomqtt.ProtocolVersion.V5,
        username=GATEWAY_USER,
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
        async for message in client.messages:
            task = asyncio.create_task(take(message))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


async def main() -> None:
    folder, port, certificate, key, *broker = sys.argv[1:]
    store = Store(Path(folder))
    app = FastAPI()

    @app.post("/deliveries")
    async def deliver(request: Request) -> Response:
        pieces = [piece async for piece in request.stream()]
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return Response(await store.take(data), media_type="application/octet-stream")

    config = uvicorn.Config(
        app,
        port=int(port),
        ssl_certfile=certificate,
        ssl_keyfile=key,
        log_config=None,
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    tasks = [asyncio.create_task(subscribe(store, int(broker[0]), *broker[1:]))] if broker else []
    await server.serve()
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(main())

# SPDX-License-Identifier: Apache-2.0
"""Raw: what the gateway is measured against. The same server, short cut past routing, TLS, bounds on bodies,
segments, database, syncs, rounds, broker and an answer of 40 bytes, and nothing of Ciphermote between: no
token and no frame is checked, told apart or counted.

    python raw.py DIRECTORY PORT CERTIFICATE KEY [--broker PORT CA GATEWAY] [--cluster DATABASE STORE]

GATEWAY: the directory of one that is not running, whose broker it is. DATABASE and STORE: the URLs of a
PostgreSQL and of an object store; else SQLite and segments in the directory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import queue
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import aiomqtt
import uvloop
from ciphermote.gateway.access import Access
from ciphermote.gateway.broker_files import BrokerFiles
from ciphermote.gateway.broker_gate import BrokerGate
from ciphermote.gateway.database.interface import write_values
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.database.sqlite import SqliteDatabase
from ciphermote.gateway.gateway_files import BROKER, DATABASE_FILE
from ciphermote.gateway.http_server import https_server
from ciphermote.gateway.intake import GATHERING_SECONDS, MOST_DELIVERY_BYTES
from ciphermote.gateway.mqtt import SUBSCRIPTION
from ciphermote.gateway.store.folder import FolderStore
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.store.object_store import ObjectStore
from ciphermote.gateway.uploads import headers_of, read_body, send_octets, stated_length
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from starlette.types import Receive, Scope, Send

ANSWER = bytes(40)
_ROUND = 512
_ROUND_BYTES = 32 << 20


class Owner(NamedTuple):
    tenant: int = 1
    id: int = 1


OWNER = Owner()


class Keeper:
    """Appends and commits what has come, a round at a time, and then answers. As many rounds are under way at
    a time as the store takes."""

    def __init__(self, folder: Path, cluster: list[str] | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        database, store = cluster or (None, None)
        self._database = open_database(folder, database)
        self._store: Store = ObjectStore(store, folder) if store else FolderStore(folder)
        key = "BIGINT GENERATED ALWAYS AS IDENTITY" if database else "INTEGER"
        with self._database.writing() as connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS kept (id {key} PRIMARY KEY, extent TEXT)")
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[bytes]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._rounds = ThreadPoolExecutor(self._store.most_in_flight)
        self._free = threading.Semaphore(self._store.most_in_flight)
        threading.Thread(target=self._run, daemon=True).start()

    async def take(self, data: bytes) -> bytes:
        future = self._loop.create_future()
        self._queue.put((data, future))
        return await future

    def _run(self) -> None:
        while True:
            self._free.acquire()
            taken = [self._queue.get()]
            size = len(taken[0][0])
            with contextlib.suppress(queue.Empty):
                while len(taken) < _ROUND and size < _ROUND_BYTES:
                    taken.append(self._queue.get_nowait())
                    size += len(taken[-1][0])
            if self._store.most_in_flight > 1:
                self._rounds.submit(self._keep, taken)
            else:
                self._keep(taken)
            time.sleep(GATHERING_SECONDS)

    def _keep(self, taken: list[tuple[bytes, asyncio.Future[bytes]]]) -> None:
        pieces = [data for data, _ in taken]
        extents = self._store.append(pieces, [OWNER] * len(pieces), time.time())
        with self._database.writing(beside=True) as database:
            rows = [(str(extent),) for extent in extents]
            write_values(database, "INSERT INTO kept (extent) VALUES", rows, "")
        self._free.release()
        self._loop.call_soon_threadsafe(self._answer, [future for _, future in taken])

    @staticmethod
    def _answer(futures: list[asyncio.Future[bytes]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(ANSWER)


async def subscribe(keeper: Keeper, subscribed: asyncio.Event, port: int, ca: str, gateway: str) -> None:
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
        answer = await keeper.take(message.payload)
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
    parser = argparse.ArgumentParser()
    for name in ("folder", "port", "certificate", "key"):
        parser.add_argument(name)
    parser.add_argument("--broker", nargs=3)
    parser.add_argument("--cluster", nargs=2)
    options = parser.parse_args()
    keeper = Keeper(Path(options.folder), options.cluster)

    async def deliver(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/deliveries":
            return
        data = await read_body(receive, stated_length(headers_of(scope), MOST_DELIVERY_BYTES))
        await send_octets(send, await keeper.take(data))

    certificate, key = Path(options.certificate), Path(options.key)
    server = https_server(deliver, "127.0.0.1", int(options.port), certificate, key)
    tasks = [asyncio.create_task(server.serve())]
    if options.broker:
        port, ca, gateway = options.broker
        subscribed = asyncio.Event()
        subscriber = subscribe(keeper, subscribed, int(port), ca, gateway)
        tasks.append(asyncio.create_task(subscriber))
        await subscribed.wait()
    await server.started.wait()
    print("ready", flush=True)
    await tasks[0]
    for task in tasks[1:]:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(main())

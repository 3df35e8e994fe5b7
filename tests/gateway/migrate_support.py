# SPDX-License-Identifier: Apache-2.0
"""A gateway that has something of everything, the content of its database and store, and moves of it."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ciphermote import Owner
from ciphermote.cli import app
from ciphermote.formats.receipts import Verdict
from ciphermote.gateway.audit import Actor
from ciphermote.gateway.database.opening import open_database
from ciphermote.gateway.deletions import Target
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.moving.bulk import last_number, newest_schema
from ciphermote.gateway.quotas import book_object, put_object
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.extents import parse_extents
from ciphermote.gateway.store.opening import open_store
from ciphermote.owner.rotation import rotation_key
from ciphermote.rest.requests import AnswerForm, JobRequest, StreamRequest, TenantRequest
from gateway_support import SET, FullDevice, frames_of, full_owner
from postgres_support import BackEnd, back_end
from site_support import Site
from typer.testing import CliRunner, Result

LOCAL = Actor("local", "local")
SCHEMA = newest_schema()


@contextlib.contextmanager
def over(name: BackEnd) -> Iterator[None]:
    """Gateways that are started in the block use this kind of database."""
    before, back_end.now = back_end.now, name
    try:
        yield
    finally:
        back_end.now = before


@dataclass
class History:
    """Deliveries of devices to a gateway, and its answers."""

    devices: list[FullDevice] = field(default_factory=list)
    receipts: dict[bytes, bytes] = field(default_factory=dict)
    sum: float = 0.0
    windows: int = 0
    results: dict[int, bytes] = field(default_factory=dict)
    """Results of jobs."""
    open_frames: list[bytes] = field(default_factory=list)
    """The frames that an attempt lacks."""
    answer: bytes = b""
    """The result for the first device's first window."""
    queued: int = 0
    begins: float = 0.0

    async def send(self, site: Site, device: FullDevice, value: float) -> None:
        """Have a device send a window that counts."""
        data = device.encrypt([value])
        outcome = await site.send(site.gateway.registry.fleet(site.tenant, "fleet"), data)
        assert outcome.verdict is Verdict.COUNTS and outcome.receipt is not None
        self.receipts[data] = outcome.receipt
        self.sum += value
        self.windows += 1


async def populate(site: Site) -> History:
    """Have rows in every table."""
    history, gateway = History(begins=time.time() - 10), site.gateway
    fleet, database = site.fleet("fleet"), gateway.database
    history.devices = [site.device(fleet, number) for number in (1, 2, 3)]
    for value in range(3):
        for device in history.devices:
            await history.send(site, device, value + device.number)
    _add_rotation(site)
    await _add_jobs(site, fleet, history)
    await _add_unfinished(site, fleet, history)
    stream = {"name": "hourly", "spec": {"job": {"per_device": 7}, "every": 3600, "begins": time.time()}}
    gateway.jobs.add_stream(fleet, StreamRequest.model_validate(stream))
    gateway.idempotency.once(
        site.tenant, "a key", "job", JobRequest.model_validate({"spec": {}}), lambda: "job"
    )
    content = b"an evaluation key" * 1000
    digest = put_object(database.connection, gateway.store, site.tenant, content)
    keyed = site.fleet("keyed").id  # its keys are none that a job could use
    with database.writing() as connection:
        book_object(connection, site.tenant, digest, len(content))
        connection.execute("INSERT INTO evaluation_keys VALUES (?, 'galois', ?)", (keyed, digest))
    other = gateway.registry.add_tenant(TenantRequest(name="other"))
    theirs = site.fleet("theirs", tenant=other)
    await site.send(theirs, site.device(theirs, 9).encrypt([1.0]))
    with gateway.audit.recording(LOCAL, "delete", {"tenant": "other"}) as connection:
        gateway.deletions.begin(connection, Target(other, theirs.id, 9))  # nothing is removed yet
    token = gateway.access.make("owner", tenant=site.tenant, note="revoked")
    gateway.access.revoke(gateway.access.of_token(token).token, site.tenant)
    # Ids that were given, and whose rows are gone.
    with database.writing() as connection:
        for table in ("jobs", "deletions"):
            (last,) = connection.execute(f"SELECT max(id) FROM {table}").fetchone()
            columns = "tenant, requested" if table == "deletions" else "fleet, begins, ends, state, created"
            values = f"{site.tenant}, 0" if table == "deletions" else f"{fleet.id}, 0, 0, 'done', 0"
            connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})")
            connection.execute(f"DELETE FROM {table} WHERE id > ?", (last,))
    return history


def _add_rotation(site: Site) -> None:
    """A fleet with a new owner key."""
    fleet = site.fleet("turned")
    site.device(fleet, 1)
    new = Owner.generate(SET)
    site.gateway.rotations.start(fleet, new.key_id, rotation_key(full_owner().secret_key, new.secret_key))


async def _add_jobs(site: Site, fleet: Fleet, history: History) -> None:
    gateway = site.gateway
    done = site.add(fleet, begins=history.begins)
    assert site.work(fleet, done)["state"] == "done"
    history.results[done] = gateway.jobs.result(fleet.id, done, 0)
    first = next(iter(history.receipts))
    counter = int.from_bytes(frames_of(first)[0][48:56], "little")
    gateway.mailbox.put(fleet, 1, counter, history.results[done], AnswerForm(largest=100.0))
    history.answer = gateway.mailbox.get(fleet, 1, counter)
    gateway.jobs.change(fleet, site.add(fleet), "cancel")
    site.work(fleet, site.add(fleet, begins=1.0, ends=2.0))
    gateway.registry.set_state(fleet, 3, "quarantined")
    history.queued = site.add(fleet, begins=history.begins)
    gateway.registry.set_state(fleet, 3, "active")


async def _add_unfinished(site: Site, fleet: Fleet, history: History) -> None:
    """An attempt that lacks frames, and a delivery that waits for the operator."""
    first, *history.open_frames = frames_of(history.devices[0].encrypt([5.0]))
    assert (await site.send(fleet, first)).verdict is None
    jumping = FullDevice(history.devices[1].keys, 2)
    jumping.secret, jumping.tag_keys = history.devices[1].secret, history.devices[1].tag_keys
    jumping.boot(1 << 40)
    with contextlib.suppress(Refusal):
        await site.send(fleet, jumping.encrypt([1.0]))


def content(folder: Path, url: str | None) -> dict[str, list[Any]]:
    """All rows of a gateway's database by table, with a digest of the bytes instead of their places, and the
    objects of its store."""
    database = open_database(folder, url)
    store = open_store(folder, database.connection)
    reader, found = store.reader(), dict[str, list[Any]]()
    for table in SCHEMA.tables:
        rows = []
        for row in table.rows_after(database.connection, None, 1_000_000):
            fields = {column: row[column] for column in table.columns}
            if fields.get("extents"):
                data = reader.read(parse_extents(row["extents"]))
                sizes = [extent.size for extent in parse_extents(row["extents"])]
                fields["extents"] = blake2b(data).hexdigest(), sizes
            rows.append(fields)
        found[table.name] = rows
        if table.never_reuses:
            found[f"last of {table.name}"] = [last_number(database, table)]
    sums: dict[int, int] = {}
    for row in found["place_bytes"]:
        sums[row["tenant"]] = sums.get(row["tenant"], 0) + row["bytes"]
    found["place_bytes"] = sorted(sums.items())
    del found["store"]
    found["objects in the store"] = sorted((each.name, each.size) for each in store.objects())
    for name, _ in found["objects in the store"]:
        store.get(name)
    store.close()
    database.close()
    return found


def migrate(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["gateway", "migrate", *map(str, arguments)])


def migrated(*arguments: object) -> str:
    done = migrate(*arguments)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments: object) -> str:
    """Why a move is refused, on one line."""
    done = migrate(*arguments)
    assert done.exit_code == 1, done.output
    return " ".join(done.output.split())


_KILLED = """
import os, random, signal, sys

from ciphermote.cli import app
from ciphermote.gateway.database.postgres import PostgresDatabase
from ciphermote.gateway.database.sqlite import SqliteDatabase
from ciphermote.gateway.moving import bulk, comparing, copying, move
from ciphermote.gateway.store.folder import FolderStore
from ciphermote.gateway.store.object_store import ObjectStore

source, chance = random.Random(int(sys.argv[1])), float(sys.argv[2])


def mortal(owner, name):
    inner = getattr(owner, name)

    def call(*arguments, **options):
        for act in (lambda: None, lambda: inner(*arguments, **options)):
            found = act()
            if source.random() < chance:
                os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, call)


for owner in (SqliteDatabase, PostgresDatabase):
    mortal(owner, "_commit")
for owner in (FolderStore, ObjectStore):
    mortal(owner, "append")
    mortal(owner, "put")
mortal(bulk.Table, "rows_after")
mortal(move, "copy_secrets")
copying.ROWS = comparing.ROWS = 2
comparing.SAVE_SECONDS = 0.0
app(["gateway", "migrate", *sys.argv[3:]])
"""


def migrated_among_kills(seed: int, *arguments: object) -> int:
    """Move, with processes that are killed at random points, each less probably than the one before, and
    return the number of kills."""
    for number in itertools.count():
        run = (sys.executable, "-c", _KILLED, str(seed + number), str(0.3 / (1 + number * number)))
        done = subprocess.run((*run, *map(str, arguments)), capture_output=True, text=True)
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, (seed, number, done.stdout, done.stderr)
            return number
    raise AssertionError

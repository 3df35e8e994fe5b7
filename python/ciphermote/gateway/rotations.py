# SPDX-License-Identifier: Apache-2.0
"""Rotations of a fleet's owner key: the fleet's definition names a new key, and the gateway gets a public key
that switches ciphertexts from the old one to it.

From then on every result is under the new key. What is under the old one is switched: windows where they are
stored, by a job (rekeying.py); and, in every other job, the sums of windows that are still as their devices
sent them (switching.py). The old key is retired once nothing stored is under it and no device encrypts under
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from ciphermote.base.errors import Error
from ciphermote.base.words import count_of
from ciphermote.formats.rekey_keys import read_rekey_key
from ciphermote.gateway.database.interface import Connection, Database, Row
from ciphermote.gateway.devices import signed, unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.quotas import book_object, put_object
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.registry import Registry
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.switching import IS_UNDER, check_switchable, why_fixed

MOST_EARLIER_KEYS = 16
"""The most keys of a fleet that were rotated and are not retired."""
Recorded = Callable[[], AbstractContextManager[object]]


class Rotations:
    """Rotations of the fleets of one gateway."""

    def __init__(self, database: Database, store: Store, registry: Registry) -> None:
        self._database = database
        self._store = store
        self._registry = registry

    def start(self, fleet: Fleet, key_id: int, data: bytes, recorded: Recorded = nullcontext) -> None:
        """Give a fleet a new owner key. data: the public key that switches from the present one to it.
        Repeating the call changes nothing. recorded: makes the context in which the change is recorded.
        Raises Refusal."""
        self._registry.refuse_secrets(data, fleet)
        fleet = self._registry.fleet_by_id(fleet.id)
        check_switchable(fleet)
        try:
            found = read_rekey_key(data, fleet.parameters, key_id)
        except Error as error:
            raise Refusal(422, "bad-keys", str(error)) from None
        if fleet.key_id == key_id and self._row(self._database.connection, fleet, found.source_id, key_id):
            return
        if found.source_id != fleet.key_id:
            raise Refusal(
                422,
                "other-key",
                f"The rekey key leads from key {found.source_id:016x}, and fleet {fleet.name} is of "
                f"{fleet.key_id:016x}: make one from the fleet's present key.",
            )
        self._check_new(self._database.connection, fleet, key_id)
        digest = put_object(self._database.connection, self._store, fleet.tenant, data)
        with recorded(), self._database.writing() as database:
            self._registry.check_present(fleet)
            self._check_new(database, fleet, key_id)
            book_object(database, fleet.tenant, digest, len(data))
            self._write(database, fleet, key_id, digest)

    def _row(self, database: Connection, fleet: Fleet, source: int, target: int) -> Row | None:
        row: Row | None = database.execute(
            "SELECT id FROM rotations WHERE fleet = ? AND source = ? AND target = ?",
            (fleet.id, signed(source), signed(target)),
        ).fetchone()
        return row

    @staticmethod
    def _check_new(database: Connection, fleet: Fleet, key_id: int) -> None:
        known = database.execute(
            "SELECT 1 FROM rotations WHERE fleet = ? AND source = ?", (fleet.id, signed(key_id))
        ).fetchone()
        if known is not None or key_id == fleet.key_id:
            raise Refusal(
                409,
                "old-key",
                f"Key {key_id:016x} was the key of fleet {fleet.name} before, and what is switched to it is "
                "no safer than it was: make a new one (`ciphermote keygen`).",
            )
        (earlier,) = database.execute(
            "SELECT count(*) FROM rotations WHERE fleet = ? AND retired IS NULL", (fleet.id,)
        ).fetchone()
        if earlier >= MOST_EARLIER_KEYS:
            raise Refusal(
                409,
                "too-many-keys",
                f"Fleet {fleet.name} has {earlier} earlier keys, and each of them costs every sum a switch: "
                "retire some first (`ciphermote owner key retire`).",
            )

    def _write(self, database: Connection, fleet: Fleet, key_id: int, digest: str) -> None:
        old = signed(fleet.key_id)
        database.execute(
            "INSERT INTO rotations (fleet, source, target, rekey, created) VALUES (?, ?, ?, ?, ?)",
            (fleet.id, old, signed(key_id), digest, time.time()),
        )
        database.execute(
            "UPDATE devices SET owner_key = ? WHERE fleet = ? AND owner_key IS NULL", (old, fleet.id)
        )
        definition = fleet.definition.model_copy(update={"key_id": f"{key_id:016x}"})
        database.execute(
            "UPDATE fleets SET definition = ? WHERE id = ?", (definition.model_dump_json(), fleet.id)
        )
        database.execute("DELETE FROM evaluation_keys WHERE fleet = ?", (fleet.id,))
        # Running jobs began under the old key: they begin anew, and their workers' leases are void.
        database.execute(
            "UPDATE jobs SET state = 'queued', tries = tries - 1, fence = fence + 1, done = 0 "
            "WHERE fleet = ? AND state = 'running'",
            (fleet.id,),
        )
        self._database.once_stored(self._registry.forget)

    # --- what is under which key ----------------------------------------------------------------------------

    def listed(self, fleet: Fleet) -> dict[str, Any]:
        """Return a fleet's keys, the present one first, as OwnerKeyList's fields."""
        database = self._database.connection
        fleet = self._registry.fleet_by_id(fleet.id)
        rows = database.execute(
            "SELECT source, created, retired FROM rotations WHERE fleet = ? ORDER BY id DESC", (fleet.id,)
        ).fetchall()
        windows = _windows(database, fleet)
        devices = _devices(database, fleet)
        waiting = _waiting(database, fleet)

        def key(key_id: int, replaced: float | None, retired: float | None) -> dict[str, Any]:
            return {
                "key_id": f"{key_id:016x}",
                "windows": windows.get(key_id, 0),
                "devices": devices.get(key_id, 0),
                "waiting": waiting.get(key_id, 0),
                "replaced": replaced,
                "retired": retired,
            }

        earlier = [key(unsigned(row["source"]), row["created"], row["retired"]) for row in rows]
        return {
            "fleet": fleet.name,
            "fixed": why_fixed(fleet),
            "keys": [key(fleet.key_id, None, None), *earlier],
        }

    def retire(self, fleet: Fleet, key_id: int, recorded: Recorded = nullcontext) -> None:
        """Retire an earlier key of a fleet: what switches from it is deleted. Repeating the call changes
        nothing. Raises Refusal while anything is under it."""
        fleet = self._registry.fleet_by_id(fleet.id)
        # Once no device sends under it, no window is added: so they are counted after that, and in peace.
        self._check_unused(self._database.connection, fleet, key_id, *_OF_SENDERS)
        self._check_unused(self._database.connection, fleet, key_id, _OF_WINDOWS)
        with recorded(), self._database.writing() as database:
            row = database.execute(
                "SELECT id, retired FROM rotations WHERE fleet = ? AND source = ?", (fleet.id, signed(key_id))
            ).fetchone()
            if row is None:
                raise Refusal(
                    404,
                    "no-such-key",
                    f"Key {key_id:016x} is no earlier key of fleet {fleet.name}: list those that are.",
                )
            if row["retired"] is not None:
                return
            self._check_unused(database, fleet, key_id, *_OF_SENDERS)
            before = database.execute(
                "SELECT count(*) AS n FROM rotations WHERE fleet = ? AND id < ? AND retired IS NULL",
                (fleet.id, row["id"]),
            ).fetchone()
            if before["n"]:
                raise Refusal(
                    409,
                    "key-in-use",
                    f"What is under an earlier key of fleet {fleet.name} is switched by way of "
                    f"{key_id:016x}: retire the earlier one first.",
                )
            database.execute(
                "UPDATE rotations SET rekey = NULL, retired = ? WHERE id = ?", (time.time(), row["id"])
            )

    @staticmethod
    def _check_unused(database: Connection, fleet: Fleet, key_id: int, *uses: _Use) -> None:
        """Raises Refusal if anything of these uses is under an earlier key."""
        if key_id == fleet.key_id:
            raise Refusal(
                409,
                "key-in-use",
                f"Key {key_id:016x} is the present key of fleet {fleet.name}: give it another one first "
                "(`ciphermote owner key rotate`).",
            )
        for use in uses:
            found = use.count(database, fleet).get(key_id, 0)
            if found:
                raise Refusal(
                    409,
                    "key-in-use",
                    f"{count_of(found, use.noun)} of fleet {fleet.name} {'is' if found == 1 else 'are'} "
                    f"under key {key_id:016x}: {use.advice}.",
                )


def _by_key(fleet: Fleet, rows: Iterable[Row]) -> dict[int, int]:
    found: dict[int, int] = {}
    for row in rows:
        key_id = fleet.key_id if row["key_id"] is None else unsigned(row["key_id"])
        found[key_id] = found.get(key_id, 0) + row["n"]
    return found


def _windows(database: Connection, fleet: Fleet) -> dict[int, int]:
    """Return the number of stored windows by key."""
    rows = database.execute(
        f"SELECT {IS_UNDER} AS key_id, count(*) AS n FROM windows w JOIN devices d ON d.id = w.device "
        f"WHERE d.fleet = ? AND w.extents != '' GROUP BY {IS_UNDER}",
        (fleet.id,),
    )
    return _by_key(fleet, rows)


def _devices(database: Connection, fleet: Fleet) -> dict[int, int]:
    """Return the number of devices that may send, by key."""
    rows = database.execute(
        "SELECT owner_key AS key_id, count(*) AS n FROM devices "
        "WHERE fleet = ? AND state IN ('active', 'quarantined') AND deleted IS NULL GROUP BY owner_key",
        (fleet.id,),
    )
    return _by_key(fleet, rows)


def _waiting(database: Connection, fleet: Fleet) -> dict[int, int]:
    """Return the number of deliveries that wait for the operator, by key."""
    rows = database.execute(
        "SELECT d.owner_key AS key_id, count(*) AS n FROM quarantine q JOIN devices d ON d.id = q.device "
        "WHERE d.fleet = ? AND q.extents != '' GROUP BY d.owner_key",
        (fleet.id,),
    )
    return _by_key(fleet, rows)


@dataclass(frozen=True)
class _Use:
    """A use of a key. count: counts it by key; noun: in words; advice: how to end it."""

    count: Callable[[Connection, Fleet], dict[int, int]]
    noun: str
    advice: str


_OF_WINDOWS = _Use(
    _windows, "window", "have them switched (`ciphermote owner key rotate`), or deleted by the retention"
)
_OF_SENDERS = (
    _Use(_devices, "device", "enroll each anew under the present key, or revoke it"),
    _Use(_waiting, "quarantined attempt", "have the operator accept or discard what waits"),
)

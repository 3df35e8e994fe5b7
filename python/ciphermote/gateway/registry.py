# SPDX-License-Identifier: Apache-2.0
"""Tenants, fleets, devices and their public keys, on which the intake and jobs rely."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

from ciphermote.base.errors import Error
from ciphermote.evaluate.evaluation_keys import EvaluationKeys
from ciphermote.formats.rekey_keys import read_rekey_key
from ciphermote.formats.seal import read_secret_key
from ciphermote.formats.tags import TagKeys
from ciphermote.gateway.access import Access
from ciphermote.gateway.database.interface import ERRORS, Database, fault_of
from ciphermote.gateway.devices import signed
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.intake import Intake
from ciphermote.gateway.pages import page
from ciphermote.gateway.quotas import ROW_BYTES, book_object, check_bytes, check_number, put_object
from ciphermote.gateway.refusals import Refusal, looks_secret, secret_key
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.wrapping import Wrapper
from ciphermote.rest.requests import CompactFleet, Enrolment, FullFleet, TenantRequest

MOST_KEYS_BYTES = 256 << 20
"""The largest upload of evaluation keys."""
_OF_TENANT = "name, created, most_devices, most_bytes, most_fleets, most_streams, most_jobs, bytes"

LATEST = (
    "(state != 'replaced' OR deleted IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM devices n WHERE n.fleet = d.fleet AND n.number = d.number AND n.epoch > d.epoch))"
)
"""Selects the row of a device's latest epoch, deleted or not, among its rows d."""
SHOWN_STATE = "CASE WHEN deleted IS NULL THEN state ELSE 'deleted' END AS state"
"""A column of devices: the state that is shown."""


class Registry:
    """Tenants, fleets and devices of one gateway. A method that raises a Refusal has changed nothing."""

    def __init__(
        self, database: Database, store: Store, wrapper: Wrapper, access: Access, intake: Intake
    ) -> None:
        self._database = database
        self._store = store
        self._wrapper = wrapper
        self._access = access
        self._intake = intake
        self._fleets: dict[tuple[int, str], Fleet] = {}
        self._tenants: dict[str, int] = {}
        self._changes = 0
        """Counts deletions: rows that were looked up earlier may be gone."""
        self._since = time.monotonic()

    def forget(self) -> None:
        """Drop cached tenants and fleets."""
        self._changes += 1
        self._fleets.clear()
        self._tenants.clear()
        self._since = time.monotonic()

    def _forget_outdated(self) -> None:
        if self._database.is_outdated(self._since):
            self.forget()

    # --- tenants --------------------------------------------------------------------------------------------

    def add_tenant(self, request: TenantRequest) -> int:
        try:
            with self._database.writing() as database:
                (number,) = database.execute(
                    "INSERT INTO tenants (name, created, most_devices, most_bytes, most_fleets, "
                    "most_streams, most_jobs) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
                    (
                        *(request.name, time.time(), request.most_devices, request.most_bytes),
                        *(request.most_fleets, request.most_streams, request.most_jobs),
                    ),
                ).fetchone()
                return int(number)
        except ERRORS as error:
            if fault_of(error) != "integrity":
                raise
            raise Refusal(
                409,
                "exists",
                f"There is, or was, a tenant {request.name}, and a name is never given again: take another.",
            ) from None

    def tenant(self, name: str) -> int:
        """Return a tenant's id."""
        self._forget_outdated()
        known, changes = self._tenants.get(name), self._changes
        if known is not None:
            return known
        row = self._database.connection.execute(
            "SELECT id FROM tenants WHERE name = ? AND deleted IS NULL", (name,)
        ).fetchone()
        if row is None:
            raise Refusal(404, "no-such-tenant", f"There is no tenant {name[:40]}.")
        if changes == self._changes:
            self._tenants[name] = int(row["id"])
        return int(row["id"])

    def tenant_of(self, identifier: int) -> dict[str, Any]:
        """Return an existing tenant for its owner."""
        row = self._database.connection.execute(
            f"SELECT {_OF_TENANT} FROM tenants WHERE id = ?", (identifier,)
        ).fetchone()
        return dict(row)

    # --- fleets ---------------------------------------------------------------------------------------------

    def put_fleet(self, tenant: int, name: str, definition: FullFleet | CompactFleet) -> None:
        """Define a fleet; repeating the same definition has no effect."""
        with self._database.writing() as database:
            row = database.execute(
                "SELECT definition, deleted FROM fleets WHERE tenant = ? AND name = ?", (tenant, name)
            ).fetchone()
            text = definition.model_dump_json()
            if row is None:
                check_number(database, tenant, "fleets")
                check_bytes(database, tenant, len(text))
                database.execute(
                    "INSERT INTO fleets (tenant, name, definition, created) VALUES (?, ?, ?, ?)",
                    (tenant, name, text, time.time()),
                )
            elif row["deleted"] is not None:
                raise Refusal(
                    409,
                    "exists",
                    f"Fleet {name} was deleted, and its name is never given again: take another.",
                )
            elif row["definition"] != text:
                raise Refusal(
                    409,
                    "exists",
                    f"Fleet {name} is defined otherwise (in its scale, say), and its windows fit only "
                    "that: name another fleet.",
                )

    def fleet(self, tenant: int | None, name: str) -> Fleet:
        assert tenant is not None
        self._forget_outdated()
        found, changes = self._fleets.get((tenant, name)), self._changes
        if found is None:
            row = self._database.connection.execute(
                "SELECT id, tenant, name, definition FROM fleets "
                "WHERE tenant = ? AND name = ? AND deleted IS NULL",
                (tenant, name),
            ).fetchone()
            if row is None:
                raise Refusal(404, "no-such-fleet", f"There is no fleet {name[:40]} here.")
            found = Fleet.from_row(*row)
            if changes == self._changes:
                self._fleets[tenant, name] = found
        return found

    def fleet_by_id(self, identifier: int) -> Fleet:
        """Return an existing fleet."""
        row = self._database.connection.execute(
            "SELECT id, tenant, name, definition FROM fleets WHERE id = ?", (identifier,)
        ).fetchone()
        return Fleet.from_row(*row)

    def check_present(self, fleet: Fleet) -> None:
        """Raises Refusal, in a transaction that nobody writes beside, if a fleet's key is no longer what was
        looked up before it."""
        if self.fleet_by_id(fleet.id) != fleet:
            raise Refusal(
                409,
                "rotated",
                f"Fleet {fleet.name} got another key meanwhile: list its keys, and ask again.",
            )

    def fleets(self, tenant: int, after: str = "") -> list[dict[str, Any]]:
        rows = self._database.connection.execute(
            "SELECT name, definition, created FROM fleets WHERE tenant = ? AND name > ? AND deleted IS NULL "
            "ORDER BY name",
            (tenant, after),
        )
        return [{**dict(row), "definition": json.loads(row["definition"])} for row in page(rows)]

    def retention(self, fleet: Fleet) -> dict[str, Any]:
        """Return a fleet's retention, as Retention's fields."""
        row = self._database.connection.execute(
            "SELECT CAST(retain_days AS INTEGER) AS retain_days, deleted_to FROM fleets WHERE id = ?",
            (fleet.id,),
        ).fetchone()
        deleted_to = None if row["deleted_to"] < 0 else row["deleted_to"]
        return {"retain_days": row["retain_days"], "deleted_to": deleted_to}

    def set_retention(self, fleet: Fleet, days: int | None) -> None:
        """Set a fleet's retention; None for indefinitely. Deleted windows are not restored."""
        with self._database.writing() as database:
            database.execute("UPDATE fleets SET retain_days = ? WHERE id = ?", (days, fleet.id))

    def progress(self, fleet: Fleet) -> dict[str, Any]:
        """Return a fleet's progress, with the numbers that watch shows."""
        row = self._database.connection.execute(
            "SELECT * FROM fleet_counts WHERE fleet = ?", (fleet.id,)
        ).fetchone()
        jobs = {state: row[state] for state in ("cancelled", "done", "failed", "queued", "running")}
        return {
            "fleet": fleet.name,
            "time": time.time(),
            "devices": row["devices"],
            "heard": row["heard"],
            "last_seen": row["last_seen"],
            "windows": row["windows"],
            "quarantined": row["waiting"],
            "jobs": {state: number for state, number in jobs.items() if number},
        }

    # --- public keys ----------------------------------------------------------------------------------------

    def put_evaluation_keys(self, fleet: Fleet, kind: str, data: bytes) -> None:
        """Store evaluation keys. kind: galois or relin, in the bytes that keygen wrote."""
        self.refuse_secrets(data, fleet)
        fleet = self.fleet_by_id(fleet.id)  # whose key may have changed
        definition = fleet.definition
        if not isinstance(definition, FullFleet):
            raise Refusal(422, "no-keys", "The compact lane computes sums, which take no keys.")
        parameters = definition.parameter_set
        try:
            keys = EvaluationKeys(parameters, **{kind: data})
            with keys.engine(definition.scheme) as engine:
                key_id = engine.key_id
        except Error as error:
            raise Refusal(422, "bad-keys", str(error)) from None
        if key_id != fleet.key_id:
            raise Refusal(
                422,
                "other-key",
                f"These keys are of key {key_id or 0:016x}, and fleet {fleet.name} of {fleet.key_id:016x}: "
                "send those of the fleet's owner.",
            )
        digest = put_object(self._database.connection, self._store, fleet.tenant, data)
        with self._database.writing() as database:
            self.check_present(fleet)
            book_object(database, fleet.tenant, digest, len(data))
            database.execute(
                "INSERT INTO evaluation_keys VALUES (?, ?, ?) "
                "ON CONFLICT (fleet, kind) DO UPDATE SET digest = excluded.digest",
                (fleet.id, kind, digest),
            )

    def refuse_secrets(self, data: bytes, fleet: Fleet) -> None:
        """Raises Refusal for bytes that may be a secret key."""
        definition = fleet.definition
        is_secret = looks_secret(data)
        if isinstance(definition, FullFleet) and not is_secret:
            try:
                read_secret_key(data, definition.parameter_set)
                is_secret = True
            except Error:
                pass
        if is_secret:
            raise secret_key()

    # --- devices --------------------------------------------------------------------------------------------

    def enroll(self, fleet: Fleet, number: int, enrolment: Enrolment) -> None:
        """Enroll a device, or its next epoch, which replaces the previous one."""
        fleet = self.fleet_by_id(fleet.id)  # whose key may have changed
        definition = fleet.definition
        compact = isinstance(definition, CompactFleet)
        key_id = int(enrolment.key_id, 16)
        own_keys = isinstance(definition, FullFleet) and definition.own_keys
        if not own_keys and key_id != fleet.key_id:
            raise Refusal(
                422,
                "other-key",
                f"The device was enrolled with key {enrolment.key_id}, and fleet {fleet.name} is of "
                f"{fleet.key_id:016x}: enroll it with the fleet's owner's keys.",
            )
        if compact and not (
            enrolment.largest_value.is_integer()
            and 1 <= enrolment.largest_value <= fleet.compact_set.largest_value
        ):
            raise Refusal(
                422,
                "largest-value",
                f"largest_value is {enrolment.largest_value:g}, and in the compact lane it is a whole number "
                f"from 1 to {fleet.compact_set.largest_value}, what set {fleet.compact_set.name} takes.",
            )
        keys = TagKeys(*map(bytes.fromhex, _tag_keys(enrolment)))
        wrapped = self._wrapper.wrap(keys, fleet.id, number, enrolment.epoch)
        with self._database.writing() as database:
            self.check_present(fleet)
            rows = database.execute(
                "SELECT id, epoch, deleted, keys FROM devices WHERE fleet = ? AND number = ? ORDER BY epoch",
                (fleet.id, number),
            ).fetchall()
            is_gone = not rows or rows[-1]["deleted"] is not None
            if rows and rows[-1]["epoch"] >= enrolment.epoch:
                if rows[-1]["epoch"] == enrolment.epoch and not is_gone:
                    known = self._wrapper.unwrap(rows[-1]["keys"], fleet.id, number, enrolment.epoch)
                    if known == keys:
                        return
                raise Refusal(
                    409,
                    "old-epoch",
                    f"Device {number} {'was deleted' if is_gone else 'is'} in epoch {rows[-1]['epoch']}, and "
                    "epochs only go up: enroll it anew.",
                )
            if is_gone:
                check_number(database, fleet.tenant, "devices")
            else:
                check_bytes(database, fleet.tenant, ROW_BYTES)
            database.execute(
                "UPDATE devices SET state = 'replaced', version = version + 1 WHERE fleet = ? AND number = ?",
                (fleet.id, number),
            )
            database.execute(
                "INSERT INTO devices "
                "(fleet, number, epoch, key_id, owner_key, largest_value, keys, state, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?)",
                (
                    *(fleet.id, number, enrolment.epoch, signed(key_id), signed(fleet.key_id)),
                    *(enrolment.largest_value, wrapped, time.time()),
                ),
            )
            self._database.once_stored(partial(self._intake.forget, fleet.id, number))

    def put_rekey_key(self, fleet: Fleet, number: int, data: bytes) -> None:
        """Store a public key that converts a device's ciphertexts to the owner's key, and not the other
        way."""
        self.refuse_secrets(data, fleet)
        fleet = self.fleet_by_id(fleet.id)  # whose key may have changed
        definition = fleet.definition
        if not isinstance(definition, FullFleet) or not definition.own_keys:
            raise Refusal(422, "no-keys", f"The devices of fleet {fleet.name} have no keys of their own.")
        try:
            found = read_rekey_key(data, definition.parameter_set, fleet.key_id)
        except Error as error:
            raise Refusal(422, "bad-keys", str(error)) from None
        enrolled = "fleet = ? AND number = ? AND state != 'replaced' AND key_id = ?"
        device = fleet.id, number, signed(found.source_id)
        other = Refusal(
            422,
            "other-key",
            f"The rekey key leads from key {found.source_id:016x}, which device {number} was not "
            "enrolled with: send the one that was made with the device's keys.",
        )
        known = self._database.connection.execute(f"SELECT 1 FROM devices WHERE {enrolled}", device)
        if known.fetchone() is None:  # before anything is stored, which nobody would pay for
            raise other
        digest = put_object(self._database.connection, self._store, fleet.tenant, data)
        with self._database.writing() as database:
            self.check_present(fleet)
            book_object(database, fleet.tenant, digest, len(data))
            done = database.execute(
                f"UPDATE devices SET rekey = ?, owner_key = ? WHERE {enrolled}",
                (digest, signed(fleet.key_id), *device),
            )
            if not done.rowcount:
                raise other

    def set_state(self, fleet: Fleet, number: int, state: str) -> None:
        """Change a device's state to "quarantined", which refuses it in every epoch and leaves its windows
        out of new jobs, also if it is revoked; to "active", which undoes that; or to "revoked", which refuses
        it permanently, while windows that it has sent still count."""
        with self._database.writing() as database:
            row = database.execute(
                "SELECT id, state, excluded FROM devices "
                "WHERE fleet = ? AND number = ? AND state != 'replaced'",
                (fleet.id, number),
            ).fetchone()
            if row is None:
                raise Refusal(404, "no-such-device", f"Device {number} is not enrolled here.")
            revoked = row["state"] == "revoked"
            if revoked and (state == "revoked" or (state == "active" and not row["excluded"])):
                raise Refusal(
                    404, "no-such-device", f"Device {number} is revoked for good: have it enrolled anew."
                )
            if not revoked:
                database.execute(
                    "UPDATE devices SET state = ?, version = version + 1 WHERE id = ?", (state, row["id"])
                )
            if state == "revoked":
                self._access.revoke_of_device(database, fleet.id, number)
            else:
                database.execute(
                    "UPDATE devices SET excluded = ? WHERE fleet = ? AND number = ?",
                    (state == "quarantined", fleet.id, number),
                )
            self._database.once_stored(partial(self._intake.forget, fleet.id, number))

    def devices(self, fleet: Fleet, after: int = -1) -> list[dict[str, Any]]:
        """Return a page of devices, as rows of DeviceView."""
        rows = self._database.connection.execute(
            f"SELECT number, epoch, key_id, largest_value, {SHOWN_STATE}, "
            "newest, last_seen, created, rekey IS NOT NULL AS has_rekey_key, windows, excluded "
            f"FROM devices d WHERE fleet = ? AND {LATEST} AND number > ? ORDER BY number",
            (fleet.id, after),
        )
        return [
            {
                **dict(row),
                "key_id": f"{row['key_id'] % 2**64:016x}",
                "excluded": bool(row["excluded"]),
                "has_rekey_key": bool(row["has_rekey_key"]),
            }
            for row in page(rows)
        ]

    def windows(self, fleet: Fleet, after: int = 0, device: int | None = None) -> list[dict[str, Any]]:
        """Return the windows that count, in the order of their completion."""
        rows = self._database.connection.execute(
            "SELECT w.sequence, d.number AS device, d.epoch, w.number, w.counter, w.measured, w.arrived, "
            "w.extents = '' AS deleted FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND w.sequence > ? AND (CAST(? AS BIGINT) IS NULL OR d.number = ?) "
            "ORDER BY w.sequence",
            (fleet.id, after, device, device),
        )
        return [{**dict(row), "deleted": bool(row["deleted"])} for row in page(rows)]


def _tag_keys(enrolment: Enrolment) -> tuple[str, str, str]:
    return enrolment.frames_key, enrolment.receipts_key, enrolment.results_key

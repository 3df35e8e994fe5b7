# SPDX-License-Identifier: Apache-2.0
"""Results for devices: a ciphertext that answers an attempt becomes tagged frames, which the device fetches.

They are tagged under the device's result key and name the attempt, so a device accepts them only as the
answer to its last attempt. An attempt has one result.
"""

from __future__ import annotations

import hashlib
import time

from ciphermote.base.errors import Error
from ciphermote.formats.device_results import ResultTag, device_frames
from ciphermote.formats.seal import read_ciphertext
from ciphermote.gateway.database.interface import Database, Row
from ciphermote.gateway.devices import unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.quotas import book_object, put_object
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.interface import Store
from ciphermote.gateway.wrapping import Wrapper
from ciphermote.rest.requests import AnswerForm, FullFleet

NO_ATTEMPT = "no-such-attempt"
"""The refusal's name if no active device has the window."""


class Mailbox:
    """Results waiting for the devices of one gateway."""

    def __init__(self, database: Database, store: Store, wrapper: Wrapper) -> None:
        self._database = database
        self._store = store
        self._wrapper = wrapper

    def put(
        self,
        fleet: Fleet,
        number: int,
        counter: int,
        data: bytes,
        form: AnswerForm,
        *,
        epoch: int | None = None,
    ) -> None:
        """Answer the attempt by which a device's window counts. data: a ciphertext in SEAL's bytes with its
        label, under the device's key. epoch: the window's; None for the device's present one. Raises
        Refusal."""
        row = self._attempt(fleet, number, counter, epoch)
        source = hashlib.blake2b(data + form.model_dump_json().encode(), digest_size=20).hexdigest()
        known = self._row(row["id"], counter)
        if known is not None:
            if known["source"] == source:
                return
            raise Refusal(
                409,
                "answered",
                f"Counter {counter} of device {number} is answered already, and an attempt has one result.",
            )
        frames = self._frames(fleet, row, counter, data, form)
        digest = put_object(self._database.connection, self._store, fleet.tenant, frames)
        with self._database.writing() as database:
            book_object(database, fleet.tenant, digest, len(frames))
            database.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?) ON CONFLICT (device, counter) DO NOTHING",
                (row["id"], counter, digest, source, time.time()),
            )

    def _attempt(self, fleet: Fleet, number: int, counter: int, epoch: int | None) -> Row:
        row: Row | None = self._database.connection.execute(
            "SELECT d.*, w.number AS window, w.random FROM windows w JOIN devices d ON d.id = w.device "
            "WHERE d.fleet = ? AND d.number = ? AND d.state = 'active' AND w.counter = ? "
            "AND d.epoch = coalesce(?, d.epoch)",
            (fleet.id, number, counter, epoch),
        ).fetchone()
        if row is None:
            raise Refusal(
                404,
                NO_ATTEMPT,
                f"No window of device {number} counts by counter {counter}: answer one that does.",
            )
        return row

    def _frames(self, fleet: Fleet, row: Row, counter: int, data: bytes, form: AnswerForm) -> bytes:
        definition = fleet.definition
        if not isinstance(definition, FullFleet):
            raise Refusal(422, "not-full", "Devices of the compact lane decrypt nothing.")
        keys = self._wrapper.unwrap(row["keys"], row["fleet"], row["number"], row["epoch"])
        random = unsigned(row["random"]).to_bytes(8, "little")
        try:
            ciphertext = read_ciphertext(data, fleet.parameters, scheme=definition.scheme)
            tag = ResultTag(keys.results, row["number"], row["epoch"], row["window"], random)
            frames = device_frames(
                ciphertext,
                unsigned(row["key_id"]),
                counter,
                largest=form.largest,
                log2_tiles=form.log2_tiles,
                tag=tag,
            )
            return b"".join(frames)
        except Error as error:
            raise Refusal(422, "bad-result", str(error)) from None

    def get(self, fleet: Fleet, number: int, counter: int) -> bytes:
        """Return the frames for a device. Raises Refusal if there are none (yet)."""
        row = self._database.connection.execute(
            "SELECT id FROM devices WHERE fleet = ? AND number = ? AND state = 'active'", (fleet.id, number)
        ).fetchone()
        found = None if row is None else self._row(row["id"], counter)
        if found is None:
            raise Refusal(404, "no-result", f"There is no result for counter {counter}: ask again later.")
        if not found["digest"]:
            raise Refusal(
                410,
                "deleted",
                f"The result for counter {counter} is deleted: it is older than results are kept.",
            )
        return self._store.get(found["digest"])

    def _row(self, device: int, counter: int) -> Row | None:
        row: Row | None = self._database.connection.execute(
            "SELECT digest, source FROM results WHERE device = ? AND counter = ?", (device, counter)
        ).fetchone()
        return row

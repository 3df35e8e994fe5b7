# SPDX-License-Identifier: Apache-2.0
"""Requests that are sent twice and make one thing: a client that heard no answer repeats its request with the
same Idempotency-Key, within a day, and gets the first one's answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic import BaseModel

from ciphermote.gateway.database import Database, text_digest
from ciphermote.gateway.refusals import Refusal

KEPT_SECONDS = 86_400.0
MOST_KEYS = 1000
"""Per tenant: when one more comes, the oldest is forgotten."""


class Idempotency:
    """What each tenant's recent keys have made."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def once(
        self, tenant: int, key: str | None, what: str, request: BaseModel, make: Callable[[], str]
    ) -> tuple[str, bool]:
        """What the request with this key made, now or before, and whether it was now.

        what: names the kind and place of what is made, such as jobs of a fleet. key: None: make it without
        one. Refusal if the key was used for another request.
        """
        if key is None:
            return make(), True
        asked = text_digest(f"{what}\n{request.model_dump_json()}")
        with self._database.writing() as database:
            now = time.time()
            row = database.execute(
                "SELECT request, made FROM idempotency_keys WHERE tenant = ? AND key = ? AND created >= ?",
                (tenant, key, now - KEPT_SECONDS),
            ).fetchone()
            if row is not None and row["request"] != asked:
                raise Refusal(
                    422,
                    "key-reused",
                    "This Idempotency-Key was sent with another request: give each request a key of its own, "
                    "and repeat a request without changes.",
                )
            if row is not None:
                return str(row["made"]), False
            made = make()
            database.execute(
                "DELETE FROM idempotency_keys WHERE tenant = ?1 AND (created < ?2 OR key IN (SELECT key FROM "
                "idempotency_keys WHERE tenant = ?1 ORDER BY created DESC LIMIT -1 OFFSET ?3))",
                (tenant, now - KEPT_SECONDS, MOST_KEYS - 1),
            )
            database.execute(
                "INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)", (tenant, key, asked, made, now)
            )
            return made, True

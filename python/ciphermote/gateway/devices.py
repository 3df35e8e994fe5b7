# SPDX-License-Identifier: Apache-2.0
"""What the intake knows of a device: its keys, its counters, its open attempts, and the windows that count.

The rules: only authenticated frames change anything. A window counts once, by the first attempt that is
complete, whatever its counter. Frames are put together only if they share counter, window and random bytes.
The same counter with other bytes means that the device has lost its counter, and is quarantined.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from typing import NamedTuple

from ciphermote import _evaluator
from ciphermote.formats.tags import TagKeys
from ciphermote.gateway.blobs import Extent, parse_extents
from ciphermote.gateway.fleets import Fleet, Part

MOST_ATTEMPTS = 16
"""Attempts of a device that are remembered: when one more begins, the one of the lowest counter is
forgotten."""
MOST_JUMP = 1 << 31
"""A counter further ahead waits for the operator."""
_REMEMBERED = 8
_SIGN = 1 << 63


def signed(word: int) -> int:
    """64 bits as SQLite keeps them."""
    return word - (word & _SIGN) * 2


def unsigned(number: int) -> int:
    """The word that was kept."""
    return number % (1 << 64)


def parts_text(parts: dict[int, tuple[int, int]], places: int | None = None) -> str:
    """As the database has them. Tags are text: JSON's numbers end at 2^53 for some readers, SQLite's at
    2^63."""
    found = [(place, count, str(tag)) for place, (count, tag) in parts.items()]
    return json.dumps({"places": places, "parts": found})


def deleted_parts(text: str | None) -> dict[int, tuple[int, int]] | None:
    """The parts of a deleted window, by place, as (places, tag), from what Retention stored. Empty: it has
    one, whose tag is the window's; None: nobody knows."""
    if text is None:
        return {}
    return {place: (count, int(tag)) for place, count, tag in json.loads(text)["parts"]} if text else None


@dataclass
class Attempt:
    """What has come under one counter. parts: by place, (places, tag); state: open, surplus,
    quarantined; is_stored: whether the database has a row of it."""

    number: int
    random: int
    agreed: bytes
    measured: float
    parts: dict[int, tuple[int, int]] = field(default_factory=dict)
    extents: list[Extent] = field(default_factory=list)
    state: str = "open"
    places: int | None = None
    is_stored: bool = False

    @property
    def complete(self) -> bool:
        return self.places is not None and sum(count for count, _ in self.parts.values()) == self.places

    @property
    def tags(self) -> int:
        return sum(tag for _, tag in self.parts.values()) % (1 << 64)

    def agrees(self, delivery: _evaluator.Delivery, parts: list[Part], random: int) -> bool:
        """Whether a delivery under this counter is of this attempt."""
        if (self.number, self.random) != (delivery.window, random):
            return False
        mine, theirs = self.agreed, delivery.agreed
        if mine[:5] + mine[6:] != theirs[:5] + theirs[6:]:
            return False
        tells = not delivery.seeded or any(place > 0 for place, *_ in parts)
        return not (self.has_residues and tells) or mine[5] == theirs[5]

    @property
    def has_residues(self) -> bool:
        return any(place > 0 for place in self.parts)

    def contradicts(self, parts: list[Part]) -> bool:
        """Whether a place came before with another tag, or overlaps another one."""
        covered = {p: place for place, (count, _) in self.parts.items() for p in range(place, place + count)}
        for place, count, tag, _, _ in parts:
            known = self.parts.get(place)
            if known is not None:
                if known != (count, tag):
                    return True
            elif any(p in covered for p in range(place, place + count)):
                return True
        return False


class Counted(NamedTuple):
    """The attempt by which a window counts."""

    counter: int
    random: int
    tags: int
    extents: str


@dataclass
class DeviceState:
    """A device in its epoch."""

    id: int
    fleet: Fleet
    number: int
    epoch: int
    key_id: int
    keys: TagKeys
    newest: int
    newest_window: int
    oldest: int
    attempts: dict[int, Attempt] = field(default_factory=dict)
    counted: dict[int, Counted] = field(default_factory=dict)
    """The latest ones; the database has all."""
    allowance: float = 0.0
    allowed_at: float = 0.0

    def jumps(self, counter: int) -> bool:
        return counter > max(self.newest, 0) + MOST_JUMP

    def spend(self, now: float) -> float:
        """One more attempt: 0, or after how many seconds it is allowed (a leaking bucket of an hour)."""
        rate = self.fleet.definition.windows_per_hour / 3600
        full = max(60.0, self.fleet.definition.windows_per_hour)
        if not self.allowed_at:
            self.allowance = full
        else:
            self.allowance = min(full, self.allowance + max(0.0, now - self.allowed_at) * rate)
        self.allowed_at = now
        if self.allowance < 1:
            return (1 - self.allowance) / rate
        self.allowance -= 1
        return 0.0

    def find_counted(self, number: int, database: sqlite3.Connection) -> Counted | None:
        """By which attempt a window counts, if it does."""
        found = self.counted.get(number)
        if found is not None or number > self.newest_window:
            return found
        row = database.execute(
            "SELECT counter, random, tags, extents FROM windows WHERE device = ? AND number = ?",
            (self.id, number),
        ).fetchone()
        return row and Counted(row["counter"], unsigned(row["random"]), unsigned(row["tags"]), row["extents"])

    def trim(self) -> None:
        """Forget what the database has."""
        while len(self.counted) > _REMEMBERED:
            del self.counted[next(iter(self.counted))]

    @classmethod
    def load(cls, row: sqlite3.Row, fleet: Fleet, keys: TagKeys, database: sqlite3.Connection) -> DeviceState:
        """row: of devices."""
        state = cls(
            row["id"],
            fleet,
            row["number"],
            row["epoch"],
            unsigned(row["key_id"]),
            keys,
            row["newest"],
            row["newest_window"],
            row["oldest"],
        )
        for found in database.execute("SELECT * FROM attempts WHERE device = ?", (state.id,)):
            attempt = Attempt(
                found["number"],
                unsigned(found["random"]),
                bytes.fromhex(found["agreed"]),
                found["measured"],
                {place: (count, int(tag)) for place, count, tag in json.loads(found["parts"])["parts"]},
                parse_extents(found["extents"]),
                found["state"],
                json.loads(found["parts"])["places"],
                is_stored=True,
            )
            state.attempts[found["counter"]] = attempt
        return state

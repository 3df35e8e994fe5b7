# SPDX-License-Identifier: Apache-2.0
"""The intake's state of a device: its keys, counters, open attempts, and the windows that count.

Only authenticated frames change it. A window counts once, by its first complete attempt, whatever its
counter. Frames are combined only if they share counter, window and random bytes. If a counter returns with
other bytes, the device has lost its counter, and is quarantined.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from ciphermote import _evaluator
from ciphermote.formats.tags import TagKeys
from ciphermote.gateway.database.interface import Connection, Row
from ciphermote.gateway.fleets import Fleet, Part
from ciphermote.gateway.store.extents import Extent, parse_extents

MOST_ATTEMPTS = 16
"""The most attempts of a device in memory: when one more begins, the one with the lowest counter is
dropped."""
MOST_JUMP = 1 << 31
"""A counter further ahead than this waits for the operator."""
_REMEMBERED = 8
_SIGN = 1 << 63


def signed(word: int) -> int:
    """Convert a word of 64 bits to SQLite's signed integers."""
    return word - (word & _SIGN) * 2


def unsigned(number: int) -> int:
    """Convert SQLite's integer back to the word."""
    return number % (1 << 64)


def parts_text(parts: dict[int, tuple[int, int]], places: int | None = None) -> str:
    """Write parts as the database stores them. Tags are text, because numbers end at 2^53 for some readers of
    JSON, and at 2^63 in SQLite."""
    found = [(place, count, str(tag)) for place, (count, tag) in parts.items()]
    return json.dumps({"places": places, "parts": found})


def deleted_parts(text: str | None) -> dict[int, tuple[int, int]] | None:
    """Read the parts of a deleted window that Retention stored, by place, as (places, tag). Empty for a
    single part, whose tag is the window's; None if unknown."""
    if text is None:
        return {}
    return {place: (count, int(tag)) for place, count, tag in json.loads(text)["parts"]} if text else None


@dataclass
class Attempt:
    """The data received under one counter. parts: by place, (places, tag); state: open, surplus, quarantined;
    is_stored: whether the database has its row."""

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
        """Whether a delivery under this counter belongs to this attempt."""
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
        """Whether a place was received before with another tag, or overlaps another one."""
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
    version: int
    allowance: float
    allowed_at: float
    attempts: dict[int, Attempt] = field(default_factory=dict)
    counted: dict[int, Counted] = field(default_factory=dict)
    """The latest windows that count; the database has all."""

    def jumps(self, counter: int) -> bool:
        return counter > max(self.newest, 0) + MOST_JUMP

    def spend(self, now: float) -> float:
        """Count one more attempt: return 0 if it is allowed, or the seconds until one is (a leaky bucket of
        an hour)."""
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

    def find_counted(self, number: int, database: Connection) -> Counted | None:
        """Return the attempt by which a window counts, if it does."""
        found = self.counted.get(number)
        if found is not None or number > self.newest_window:
            return found
        row = database.execute(
            "SELECT counter, random, tags, extents FROM windows WHERE device = ? AND number = ?",
            (self.id, number),
        ).fetchone()
        return row and Counted(row["counter"], unsigned(row["random"]), unsigned(row["tags"]), row["extents"])

    def trim(self) -> None:
        """Drop entries that the database has."""
        while len(self.counted) > _REMEMBERED:
            del self.counted[next(iter(self.counted))]

    @classmethod
    def load(cls, row: Row, fleet: Fleet, keys: TagKeys) -> DeviceState:
        """Make a device's state from its row, without its attempts."""
        return cls(
            row["id"],
            fleet,
            row["number"],
            row["epoch"],
            unsigned(row["key_id"]),
            keys,
            row["newest"],
            row["newest_window"],
            row["oldest"],
            row["version"],
            row["allowance"],
            row["allowed_at"],
        )

    def add_attempt(self, row: Row) -> None:
        """Add one of its stored attempts."""
        self.attempts[row["counter"]] = Attempt(
            row["number"],
            unsigned(row["random"]),
            bytes.fromhex(row["agreed"]),
            row["measured"],
            {place: (count, int(tag)) for place, count, tag in json.loads(row["parts"])["parts"]},
            parse_extents(row["extents"]),
            row["state"],
            json.loads(row["parts"])["places"],
            is_stored=True,
        )

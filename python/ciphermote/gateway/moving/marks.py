# SPDX-License-Identifier: Apache-2.0
"""Records of moves in databases: a row in each of the two that take part, with the same id.

The source is `leaving` from the first step on and `left` in the end, the target `arriving` and then
`arrived`. Only the last of these starts a gateway.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ciphermote.base.errors import KeyFileError
from ciphermote.gateway.database.interface import Connection

State = Literal["leaving", "left", "arriving", "arrived"]


class Mark(NamedTuple):
    """other: the other end, for people."""

    id: str
    state: State
    other: str


def mark_of(database: Connection, *states: State) -> Mark | None:
    """Return a move in one of these states, of which a database has at most one unless it arrived."""
    for row in database.execute("SELECT id, state, other FROM moves"):
        found = Mark(*row)
        if found.state in states:
            return found
    return None


def put_mark(database: Connection, mark: Mark) -> None:
    database.execute(
        "INSERT INTO moves (id, state, other) VALUES (?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET state = excluded.state, other = excluded.other",
        mark,
    )


def compared_to(database: Connection, identifier: str) -> tuple[str, list[Any]] | None:
    """Return how far an arriving move is compared: a stage, and the key of the last row or object in it."""
    row = database.execute("SELECT compared FROM moves WHERE id = ?", (identifier,)).fetchone()
    if row["compared"] is None:
        return None
    stage, *key = json.loads(row["compared"])
    return stage, key


def put_compared(database: Connection, identifier: str, stage: str, key: Sequence[Any]) -> None:
    database.execute("UPDATE moves SET compared = ? WHERE id = ?", (json.dumps([stage, *key]), identifier))


def check_is_here(database: Connection, where: str) -> None:
    """Raises KeyFileError if the data of a database have moved, or are being moved. where: names it."""
    mark = mark_of(database, "leaving", "left", "arriving")
    if mark is None:
        return
    if mark.state == "arriving":
        raise KeyFileError(
            f"The data of {mark.other} are not all in {where} yet: run `ciphermote gateway migrate` again, "
            "which goes on where it stopped."
        )
    if mark.state == "leaving":
        raise KeyFileError(
            f"The data of {where} are being moved to {mark.other}: run `ciphermote gateway migrate` again, "
            "which goes on where it stopped, or give it up (`ciphermote gateway reopen`)."
        )
    raise KeyFileError(
        f"The data of {where} were moved to {mark.other}: start the gateway there, or return to the state "
        "before the move (`ciphermote gateway reopen`)."
    )

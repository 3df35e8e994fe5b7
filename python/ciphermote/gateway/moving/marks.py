# SPDX-License-Identifier: Apache-2.0
"""What a database records of moves: a row in each of the two that take part, with the same id.

The source is `leaving` from the first step on and `left` in the end, the target `arriving` and then
`arrived`. Only the last of these starts a gateway.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

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

# SPDX-License-Identifier: Apache-2.0
"""Listings come in pages, which are bounded in rows and in bytes: whoever lists is answered from little
memory, and asks on after the last row that has come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice

MOST_ROWS = 1000
MOST_BYTES = 1 << 20


def page(rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
    """The first rows, and at least one if there is any; no more are taken from the database."""
    found: list[sqlite3.Row] = []
    size = 0
    for row in islice(rows, MOST_ROWS):
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if found and size > MOST_BYTES:
            break
        found.append(row)
    return found

# SPDX-License-Identifier: Apache-2.0
"""Lists are returned in pages bounded in rows and bytes, which need little memory; a client continues after
the last row of a page.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ciphermote.gateway.database.interface import Row

MOST_ROWS = 1000
MOST_BYTES = 1 << 20


def page(rows: Iterable[Row]) -> list[Row]:
    """Return the first rows that fit a page, at least one if there is any; no further rows are read from the
    database."""
    found: list[Row] = []
    size = 0
    for row in islice(rows, MOST_ROWS):
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if found and size > MOST_BYTES:
            break
        found.append(row)
    return found

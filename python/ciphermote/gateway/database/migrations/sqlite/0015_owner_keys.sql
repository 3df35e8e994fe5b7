-- SPDX-License-Identifier: Apache-2.0
-- Rotations of a fleet's owner key. fleets.definition names the present one.

-- The key that a device's windows are under, or that its rekey key leads to; NULL: the fleet's present one.
ALTER TABLE devices ADD COLUMN owner_key INTEGER;
-- The key that a window was switched to; NULL: its bytes are as the device sent them.
ALTER TABLE windows ADD COLUMN owner_key INTEGER;

-- rekey: the object that switches from the key `source` to `target`; NULL once the source is retired.
CREATE TABLE rotations (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    source  INTEGER NOT NULL,
    target  INTEGER NOT NULL,
    rekey   TEXT,
    created REAL NOT NULL,
    retired REAL,
    UNIQUE (fleet, source)
) STRICT;

-- Extents of windows that were switched, which jobs that ran at that time may still read: leases has their
-- [job, fence] as JSON.
CREATE TABLE replaced (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    extents TEXT NOT NULL,
    leases  TEXT NOT NULL
) STRICT;

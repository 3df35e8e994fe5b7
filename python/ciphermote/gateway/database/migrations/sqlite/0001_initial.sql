-- SPDX-License-Identifier: Apache-2.0
-- Times are seconds since 1970. Numbers of 64 bits that are not counters (random bytes, sums of tags) are
-- kept as the signed integers of the same bits. Extents are "segment:offset:bytes", joined by commas.

CREATE TABLE tenants (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    created REAL NOT NULL,
    most_devices INTEGER NOT NULL,
    most_bytes   INTEGER NOT NULL,
    bytes        INTEGER NOT NULL DEFAULT 0   -- kept for it
) STRICT;

CREATE TABLE fleets (
    id         INTEGER PRIMARY KEY,
    tenant     INTEGER NOT NULL REFERENCES tenants,
    name       TEXT NOT NULL,
    definition TEXT NOT NULL,                 -- JSON: definitions.Definition
    created    REAL NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- Public keys that the owner uploaded: galois, relin.
CREATE TABLE evaluation_keys (
    fleet   INTEGER NOT NULL REFERENCES fleets,
    kind    TEXT NOT NULL,
    digest  TEXT NOT NULL,                    -- of the file objects/DIGEST
    PRIMARY KEY (fleet, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE devices (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    number  INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    key_id  INTEGER NOT NULL,                 -- signed; of the key that it encrypts under
    largest_value INTEGER NOT NULL,           -- compact lane; else 0
    keys    BLOB NOT NULL,                    -- tag, receipt and result key, wrapped
    rekey   TEXT,                             -- digest of the rekey key's file objects/DIGEST
    state   TEXT NOT NULL CHECK (state IN ('active', 'revoked', 'replaced', 'quarantined')),
    newest  INTEGER NOT NULL DEFAULT -1,      -- highest authenticated counter
    newest_window INTEGER NOT NULL DEFAULT -1,
    oldest  INTEGER NOT NULL DEFAULT 0,       -- windows below count as seen
    last_seen REAL,
    created REAL NOT NULL,
    UNIQUE (fleet, number, epoch)
) STRICT;

CREATE TABLE tokens (
    id      TEXT PRIMARY KEY,
    hash    BLOB NOT NULL,                    -- SHA-256 of the secret part
    scope   TEXT NOT NULL CHECK (scope IN ('device', 'owner', 'operator')),
    tenant  INTEGER REFERENCES tenants,       -- null: operator
    fleet   INTEGER REFERENCES fleets,        -- device: its fleet
    device  INTEGER,                          -- device: its number; null: an uplink for the whole fleet
    note    TEXT NOT NULL,
    created REAL NOT NULL,
    revoked REAL,
    broker  TEXT                              -- device: the token as a Mosquitto password, hashed
) STRICT, WITHOUT ROWID;

-- Windows that count, in the order in which they became complete.
CREATE TABLE windows (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    device   INTEGER NOT NULL REFERENCES devices,
    number   INTEGER NOT NULL,
    counter  INTEGER NOT NULL,                -- of the attempt that counts
    random   INTEGER NOT NULL,
    tags     INTEGER NOT NULL,
    measured REAL NOT NULL,
    arrived  REAL NOT NULL,
    extents  TEXT NOT NULL,
    UNIQUE (device, number)
) STRICT;
CREATE INDEX windows_measured ON windows (device, measured);

-- Attempts that are not complete, or were when another one of their window counted already, or are
-- quarantined.
CREATE TABLE attempts (
    device  INTEGER NOT NULL REFERENCES devices,
    counter INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    random  INTEGER NOT NULL,
    agreed  TEXT NOT NULL,                    -- what all of its frames share, in hexadecimal
    parts   TEXT NOT NULL,                    -- JSON: [[place, places, tag], ..]
    measured REAL NOT NULL,
    extents TEXT NOT NULL,
    state   TEXT NOT NULL CHECK (state IN ('open', 'surplus', 'quarantined')),
    arrived REAL NOT NULL,
    PRIMARY KEY (device, counter)
) STRICT, WITHOUT ROWID;

-- What waits for the operator: bytes with a right tag that contradict others, or jump.
CREATE TABLE quarantine (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    device  INTEGER NOT NULL REFERENCES devices,
    counter INTEGER NOT NULL,
    reason  TEXT NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('jump', 'mixed')),
    extents TEXT NOT NULL,
    arrived REAL NOT NULL
) STRICT;
CREATE INDEX quarantine_device ON quarantine (device);

CREATE TABLE streams (
    id      INTEGER PRIMARY KEY,
    fleet   INTEGER NOT NULL REFERENCES fleets,
    name    TEXT NOT NULL,
    spec    TEXT NOT NULL,                    -- JSON: definitions.StreamSpec
    begins  REAL NOT NULL,                    -- the first interval's
    next    REAL NOT NULL,                    -- the next interval to be computed begins
    created REAL NOT NULL,
    UNIQUE (fleet, name)
) STRICT;

CREATE TABLE jobs (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    fleet    INTEGER NOT NULL REFERENCES fleets,
    stream   INTEGER REFERENCES streams,
    spec     TEXT NOT NULL,                   -- JSON: definitions.JobSpec
    begins   REAL NOT NULL,                   -- windows measured from here
    ends     REAL NOT NULL,                   -- to before here
    cut      INTEGER,                         -- windows of a sequence up to this one
    replay   INTEGER NOT NULL DEFAULT 0,      -- 1, 2 .. for another run of the same interval
    state    TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    tries    INTEGER NOT NULL DEFAULT 0,
    lease    TEXT,                            -- of the worker that runs it
    lease_ends REAL,                          -- by the clock that no one sets, since this boot
    done     INTEGER NOT NULL DEFAULT 0,      -- windows
    total    INTEGER NOT NULL DEFAULT 0,
    error    TEXT,
    result   TEXT,                            -- JSON: what the owner is told, and digests of objects
    created  REAL NOT NULL,
    finished REAL,
    UNIQUE (stream, begins, replay)
) STRICT;
CREATE INDEX jobs_state ON jobs (state, id);

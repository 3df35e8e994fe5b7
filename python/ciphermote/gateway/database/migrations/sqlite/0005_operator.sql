-- SPDX-License-Identifier: Apache-2.0
-- What operators change after the first day. A deleted tenant, fleet or device leaves its row behind, so that
-- its id, its name, and its number and epoch never come again.

ALTER TABLE tenants ADD COLUMN deleted REAL;
ALTER TABLE fleets ADD COLUMN deleted REAL;
ALTER TABLE devices ADD COLUMN deleted REAL;

ALTER TABLE tokens ADD COLUMN expires REAL;             -- null: never
CREATE INDEX tokens_place ON tokens (tenant, fleet, device);

-- Rows of deleted tenants, fleets (device is null) and devices (a number) are removed in the background.
CREATE TABLE deletions (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant    INTEGER NOT NULL REFERENCES tenants,
    fleet     INTEGER REFERENCES fleets,                -- null: all of the tenant's
    device    INTEGER,                                  -- its number; null: all of the fleet's
    requested REAL NOT NULL,
    finished  REAL,
    rows      INTEGER NOT NULL DEFAULT 0                -- removed so far
) STRICT;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    time    REAL NOT NULL,
    actor   TEXT NOT NULL,
    address TEXT NOT NULL,
    tenant  INTEGER,                                    -- whose owner acted; null: an operator
    action  TEXT NOT NULL,
    details TEXT NOT NULL,                              -- JSON
    outcome TEXT NOT NULL
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, id);
CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'entries of the audit log never change');
END;

-- A request that began before the deletion adds nothing after it.
CREATE TRIGGER fleet_of_deleted BEFORE INSERT ON fleets
WHEN (SELECT deleted FROM tenants WHERE id = NEW.tenant) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER device_of_deleted BEFORE INSERT ON devices
WHEN (SELECT deleted FROM fleets WHERE id = NEW.fleet) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER keys_of_deleted BEFORE INSERT ON evaluation_keys
WHEN (SELECT deleted FROM fleets WHERE id = NEW.fleet) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER stream_of_deleted BEFORE INSERT ON streams
WHEN (SELECT deleted FROM fleets WHERE id = NEW.fleet) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER job_of_deleted BEFORE INSERT ON jobs
WHEN (SELECT deleted FROM fleets WHERE id = NEW.fleet) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER token_of_deleted BEFORE INSERT ON tokens
WHEN (SELECT deleted FROM tenants WHERE id = NEW.tenant) IS NOT NULL
    OR (SELECT deleted FROM fleets WHERE id = NEW.fleet) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;
CREATE TRIGGER result_of_deleted BEFORE INSERT ON results
WHEN (SELECT coalesce(d.deleted, f.deleted) FROM devices d JOIN fleets f ON f.id = d.fleet
    WHERE d.id = NEW.device) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'deleted'); END;

-- SPDX-License-Identifier: Apache-2.0
-- Extents are "place:offset:bytes", joined by commas. A place is a segment's number, or the name of an object in
-- an object store; there ":check" follows, the CRC-32 of the bytes in hexadecimal.

-- What each tenant has in a place: so much is its own again when the place goes.
CREATE TABLE place_bytes (
    place  TEXT NOT NULL,
    tenant INTEGER NOT NULL REFERENCES tenants,
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (place, tenant)
) STRICT, WITHOUT ROWID;
INSERT INTO place_bytes SELECT CAST(segment AS TEXT), tenant, bytes FROM segment_bytes;
DROP TABLE segment_bytes;

-- What has the bytes: an object store, or, without a URL, the directory that has this identity in a file. No row:
-- the gateway's directory, which has the database too.
CREATE TABLE store (
    identity TEXT PRIMARY KEY,
    url      TEXT
) STRICT, WITHOUT ROWID;

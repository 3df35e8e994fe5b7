-- SPDX-License-Identifier: Apache-2.0
-- How long a fleet's ciphertexts are kept. A window whose bytes are deleted stays, with empty extents: it
-- counts once, for ever.

ALTER TABLE fleets ADD COLUMN retain_days REAL;         -- null: for ever
ALTER TABLE fleets ADD COLUMN deleted_to REAL NOT NULL DEFAULT -1;  -- of deleted windows, the newest's measured

ALTER TABLE windows ADD COLUMN parts TEXT;              -- of a deleted one of several: as attempts.parts

-- What each tenant has in a segment: so much is its own again when the segment goes.
CREATE TABLE segment_bytes (
    segment INTEGER NOT NULL,
    tenant  INTEGER NOT NULL REFERENCES tenants,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (segment, tenant)
) STRICT, WITHOUT ROWID;

INSERT INTO segment_bytes (segment, tenant, bytes)
SELECT
    CAST(e.value AS INTEGER),
    f.tenant,
    sum(CAST(substr(e.value, instr(e.value, ':') + 1 + instr(substr(e.value, instr(e.value, ':') + 1), ':'))
        AS INTEGER))
FROM (
    SELECT device, extents FROM windows
    UNION ALL SELECT device, extents FROM attempts
    UNION ALL SELECT device, extents FROM quarantine
) AS kept
JOIN devices d ON d.id = kept.device
JOIN fleets f ON f.id = d.fleet
JOIN json_each('["' || replace(kept.extents, ',', '","') || '"]') AS e
WHERE kept.extents != ''
GROUP BY 1, 2;

-- Windows up to this one have been looked at for intervals that had none, and so no job.
ALTER TABLE streams ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
UPDATE streams SET seen = (SELECT coalesce(max(sequence), 0) FROM windows);

-- SPDX-License-Identifier: Apache-2.0
-- What requests with an Idempotency-Key have made, for a day: a client that heard no answer asks again.
CREATE TABLE idempotency_keys (
    tenant  INTEGER NOT NULL REFERENCES tenants,
    key     TEXT NOT NULL,
    request TEXT NOT NULL,                    -- digest of what was asked
    made    TEXT NOT NULL,                    -- the number of a job or stream, or a token's id
    created REAL NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

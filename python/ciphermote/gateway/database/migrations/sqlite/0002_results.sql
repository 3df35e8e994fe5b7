-- SPDX-License-Identifier: Apache-2.0
-- Results for devices: the tagged frames that answer an attempt, which has one result.

CREATE TABLE results (
    device  INTEGER NOT NULL REFERENCES devices,
    counter INTEGER NOT NULL,                 -- of the attempt that is answered
    digest  TEXT NOT NULL,                    -- of the frames' file objects/DIGEST
    source  TEXT NOT NULL,                    -- of the ciphertext's bytes and the form that they were put in
    created REAL NOT NULL,
    PRIMARY KEY (device, counter)
) STRICT, WITHOUT ROWID;

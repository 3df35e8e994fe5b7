-- SPDX-License-Identifier: Apache-2.0
-- SQLite's step 14, whose comments describe it.

CREATE TABLE moves (
    id    TEXT COLLATE "C" PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('leaving', 'left', 'arriving', 'arrived')),
    other TEXT NOT NULL,
    compared TEXT
);

-- While data leave, and once they have left, nobody changes what stays here: not even a gateway that was cut off
-- and comes back. The triggers that call it are made then.
CREATE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the data were moved to another database' USING ERRCODE = 'CM002';
END $$;

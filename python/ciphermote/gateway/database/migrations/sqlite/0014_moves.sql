-- SPDX-License-Identifier: Apache-2.0
-- Moves of a gateway's data from or to this database (gateway/moving). A gateway starts only on a database that has
-- no row but those of moves which arrived.
CREATE TABLE moves (
    id    TEXT PRIMARY KEY,                   -- the same in both databases
    state TEXT NOT NULL CHECK (state IN ('leaving', 'left', 'arriving', 'arrived')),
    other TEXT NOT NULL,                      -- the other end, for people
    compared TEXT                             -- JSON, of one that arrives: how far both ends are compared
) STRICT, WITHOUT ROWID;

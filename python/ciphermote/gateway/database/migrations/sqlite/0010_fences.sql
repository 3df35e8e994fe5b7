-- SPDX-License-Identifier: Apache-2.0
-- A lease is known by a number that grows with each lease of its job, and lasts by a clock that has a name:
-- this boot's, or the database server's.
ALTER TABLE jobs ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN worker TEXT;
ALTER TABLE jobs ADD COLUMN clock TEXT;
ALTER TABLE jobs DROP COLUMN lease;

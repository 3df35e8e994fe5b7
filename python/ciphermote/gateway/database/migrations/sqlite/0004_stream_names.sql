-- SPDX-License-Identifier: Apache-2.0
-- A job keeps the name of the stream that made it, also when the stream has ended.

ALTER TABLE jobs ADD COLUMN stream_name TEXT;
UPDATE jobs SET stream_name = (SELECT name FROM streams WHERE id = jobs.stream);

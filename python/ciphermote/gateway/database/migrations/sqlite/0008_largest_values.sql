-- SPDX-License-Identifier: Apache-2.0
-- A full frame's largest |value| need not be whole: 21.5 could not be stored, and its enrolment failed.
ALTER TABLE devices ADD COLUMN largest REAL NOT NULL DEFAULT 0;
UPDATE devices SET largest = largest_value;
ALTER TABLE devices DROP COLUMN largest_value;
ALTER TABLE devices RENAME COLUMN largest TO largest_value;

-- SPDX-License-Identifier: Apache-2.0
-- What several gateways must agree on about a device. Each change of what a gateway remembers of it raises its
-- version, by which a gateway finds out that it remembers something else.
ALTER TABLE devices ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE devices ADD COLUMN allowance REAL NOT NULL DEFAULT 0;      -- windows that it may send at once
ALTER TABLE devices ADD COLUMN allowed_at REAL NOT NULL DEFAULT 0;     -- when that was so; 0: never yet

-- SPDX-License-Identifier: Apache-2.0
-- The broker asks the gateway whom to let in, and several times a second whose tokens have ended.

ALTER TABLE tokens DROP COLUMN broker;
CREATE INDEX tokens_revoked ON tokens (revoked) WHERE revoked IS NOT NULL;
CREATE INDEX tokens_expires ON tokens (expires) WHERE expires IS NOT NULL;

-- SPDX-License-Identifier: Apache-2.0
-- One row, by which a gateway finds out that it has another wrapping key: a keyed digest that tells nothing of it.
CREATE TABLE wrapping (
    key_check TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

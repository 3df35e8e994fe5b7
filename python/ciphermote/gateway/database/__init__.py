# SPDX-License-Identifier: Apache-2.0
"""The gateway's state in a database: SQLite in its directory, or PostgreSQL, which several gateways share.

interface.py says what the gateway's other parts may use; sqlite.py and postgres.py provide it. Statements are
written once, in the SQL that both have in common; postgres.py says where PostgreSQL is made to follow.
"""

# SPDX-License-Identifier: Apache-2.0
"""Moving all of a stopped gateway's data to another database and another store (`ciphermote gateway
migrate`).

marks.py: what both databases record of it, by which a gateway refuses to start on either. ends.py: the two
ends, each opened and locked. copying.py and comparing.py: rows in the order of their keys, with the bytes
that they refer to (bytes.py). bulk.py: where SQLite and PostgreSQL differ. move.py: the steps, in order.
"""

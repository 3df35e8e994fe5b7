# SPDX-License-Identifier: Apache-2.0
"""The names in a gateway's directory.

gateway.db      who and what there is, every window and job
segments/       what devices sent
objects/        public keys that were uploaded, results
lock            held by the one gateway that uses the directory
wrap.key        what tag keys are encrypted under
operator.token, owner.token    made at the first start, the second for the one tenant that there is then
tls/            a certificate authority and certificate of its own, if none is given
mosquitto/      configuration, passwords and rules for a broker
"""

DATABASE_FILE = "gateway.db"
LOCK_FILE = "lock"
SEGMENTS = "segments"
OBJECTS = "objects"
WRAP_KEY_FILE = "wrap.key"
OPERATOR_TOKEN_FILE = "operator.token"
OWNER_TOKEN_FILE = "owner.token"
TLS = "tls"
BROKER = "mosquitto"

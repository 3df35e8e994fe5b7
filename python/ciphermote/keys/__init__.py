# SPDX-License-Identifier: Apache-2.0
"""The owner's keys: made by our own arithmetic (making), kept in memory or in a directory of SEAL's bytes
(store), which a manifest describes (manifest)."""

from ciphermote.keys.making import (
    SecretKey,
    galois_keys_for_bfv,
    key_id_of,
    make_galois_key,
    make_public_key,
    make_relin_key,
    relin_keys_for_bfv,
    seal_has_keys,
)
from ciphermote.keys.manifest import GALOIS_FILE, PARAMETERS_FILE, PUBLIC_FILE, RELIN_FILE, Manifest
from ciphermote.keys.store import (
    MANIFEST_FILE,
    SECRET_FILE,
    KeyContents,
    KeyPair,
    KeyStore,
    Progress,
    holds_keys,
    refuse_occupied,
)

__all__ = [
    "GALOIS_FILE",
    "MANIFEST_FILE",
    "PARAMETERS_FILE",
    "PUBLIC_FILE",
    "RELIN_FILE",
    "SECRET_FILE",
    "KeyContents",
    "KeyPair",
    "KeyStore",
    "Manifest",
    "Progress",
    "SecretKey",
    "galois_keys_for_bfv",
    "holds_keys",
    "key_id_of",
    "make_galois_key",
    "make_public_key",
    "make_relin_key",
    "refuse_occupied",
    "relin_keys_for_bfv",
    "seal_has_keys",
]

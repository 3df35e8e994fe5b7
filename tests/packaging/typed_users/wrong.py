# SPDX-License-Identifier: Apache-2.0
"""A program that type checkers refuse: each comment names the error that its line must have."""

from pathlib import Path

import ciphermote
from ciphermote import _core
from ciphermote.evaluate.engine import open_engine
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.formats.frames import adapt
from ciphermote.owner.key_store import KeyStore
from ciphermote.parameters import by_name


def use(keys: KeyStore, model: LinearModel, frames: bytes) -> str:
    print(ciphermote.encrpyt)  # error: attr-defined
    owner = ciphermote.Owner.generate(4096)  # error: arg-type
    ciphermote.encrypt([1.0], owner)  # error: arg-type
    ciphermote.encrypt([1.0], owner.public_key, xof="sha3")  # error: arg-type
    ciphermote.compute("sum", [frames])  # error: arg-type
    by_name(4096)  # error: arg-type
    adapt(Path("frames.bin"), keys.parameters, keys.key_id)  # error: arg-type
    adapt(frames, keys.key_id, keys.parameters)  # error: arg-type
    with open_engine(keys.parameters, galios_keys=frames) as engine:  # error: call-arg
        engine.linear(frames)  # error: call-arg
    _core.crc32c("frames")  # error: arg-type
    return ciphermote.decrypt(frames, keys.secret())  # error: return-value

# SPDX-License-Identifier: Apache-2.0
"""Give a fleet at a gateway a new owner key, and have what is stored switched to it.

1. The gateway gets the public key that switches from the old key to the new one. Results are under the new
   key from then on.
2. The new keys are attached to the fleet, with the models of the old ones, and their evaluation keys are
   sent.
3. A job switches the stored windows (kind rekey).
4. Devices are enrolled anew with the new keys (`--again`); until then, what they send is under the old key,
   and is switched in each result, and where it is stored by the next such job.
5. The old key is retired, once nothing is under it.

Steps 1 and 2 can be repeated after any failure.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ciphermote.base.errors import MismatchError, ParameterError
from ciphermote.fleet.attachments import (
    Attachment,
    about_writing,
    load_keys,
    make_folder,
    put_evaluation_keys,
)
from ciphermote.owner.key_store import KeyStore
from ciphermote.owner.rotation import rotation_key


def rotate(attachment: Attachment, new_keys: str | Path) -> Attachment:
    """Give an attached fleet the key of another directory of keys, attach that to it, and return the new
    attachment. What is stored stays as it is until a job switches it (Computation("rekey")).

    Raises ParameterError for compact keys, and those without key switching; KeyFileError, MismatchError or
    GatewayError.
    """
    old, new = load_keys(attachment.keys), load_keys(Path(new_keys))
    if not isinstance(old, KeyStore) or not isinstance(new, KeyStore):
        raise ParameterError(
            f"Compact windows have no key switching: sum what fleet {attachment.fleet} has with its present "
            "keys, or have its retention delete it, and attach the new keys to another fleet."
        )
    with attachment.client() as client:
        definition = client.definition(attachment.fleet)
        if definition["key_id"] != f"{new.checked_key_id():016x}":
            if definition["key_id"] != f"{old.checked_key_id():016x}":
                raise MismatchError(
                    f"Fleet {attachment.fleet} is of key {definition['key_id']}, and {attachment.keys} is "
                    f"{old.key_id:016x}: give the fleet's present keys, and new ones."
                )
            key = rotation_key(old.secret(), new.secret())
            client.rotate_owner_key(attachment.fleet, new.checked_key_id(), key)
            definition = client.definition(attachment.fleet)
        found = Attachment(
            Path(new_keys), attachment.fleet, attachment.gateway, attachment.token, attachment.ca, definition
        )
        found.save()
        _copy_models(attachment, found)
        put_evaluation_keys(client, found.fleet, new)
    return found


def _copy_models(old: Attachment, new: Attachment) -> None:
    source = old.folder / "models"
    if source.is_dir():
        with about_writing(new.folder):
            make_folder(new.folder / "models")
            for path in source.iterdir():
                shutil.copy(path, new.folder / "models" / path.name)


__all__ = ["rotate"]

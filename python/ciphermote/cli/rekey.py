# SPDX-License-Identifier: Apache-2.0
"""`ciphermote rekey`: convert ciphertexts under a device's own key to the owner's key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import about
from ciphermote.base.files import MOST_FRAMES_BYTES
from ciphermote.cli.files import ciphertext_of, read
from ciphermote.cli.options import KeysArgument, ModulusOption, stated_scheme
from ciphermote.cli.readings import (
    AgainOption,
    AheadOption,
    LedgerOption,
    OutputOption,
    in_order,
    sets_of,
    take_in,
)
from ciphermote.parameters import CKKS

if TYPE_CHECKING:
    from ciphermote.formats.frames import FrameSet


def rekey(
    keys: KeysArgument,
    rekey_key: Annotated[
        Path, typer.Argument(metavar="REKEY_KEY", help="From `ciphermote provision --own-key`.")
    ],
    frames: Annotated[
        list[Path],
        typer.Argument(
            metavar="FRAMES",
            help="Files of what the device sent, whole readings in any order, parts of one in theirs.",
        ),
    ],
    output: OutputOption,
    plain_modulus: ModulusOption = 0,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The device's name, for the names of files in a directory (default: the id of its key).",
        ),
    ] = "",
    ledger: LedgerOption = None,
    again: AgainOption = False,
    ahead: AheadOption = False,
) -> None:
    """Convert a device's readings to the owner's key, without any secret.

    **In:** the *public* part of the owner's keys, the device's rekey key (public), and the frames that the
    device sent under a secret key of its own. **Out:** for each reading a ciphertext of the same content
    under the owner's key, in Microsoft SEAL's bytes with a label: `add`, `infer` and `decrypt` take it.
    Frames are checked as `adapt` checks them, and readings that were taken in before are refused by the same
    ledger. `ciphermote provision keys --own-key device7.rekey` gave the device its key.

    Example:

        ciphermote rekey keys-public device7.rekey device7.bin -o reading7.ct
    """
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.evaluate.evaluation_keys import EvaluationKeys
    from ciphermote.evaluate.evaluator import Evaluator
    from ciphermote.formats.frames import stated_header
    from ciphermote.formats.ledger import LEDGER_FILE, check_device
    from ciphermote.owner.key_store import KeyStore

    check_device(device)
    store = KeyStore.open(keys)
    with about(frames[0]):
        head = stated_header(read(frames[0], MOST_FRAMES_BYTES), store.parameters)
        scheme = stated_scheme(plain_modulus) or head.scheme or CKKS
    evaluator = Evaluator(EvaluationKeys(store.parameters), scheme)
    with about(rekey_key):
        key = evaluator.rekey_key(read(rekey_key), owner_id=store.checked_key_id())
    sets = in_order(sets_of(frames, store.parameters, key.source_id, scheme))

    def content(found: FrameSet) -> bytes:
        return evaluator.rekey(Ciphertext.of_seal(found.seal_ciphertext()), key).to_seal()

    take_in(
        sets,
        ledger or keys / LEDGER_FILE,
        device,
        again=again,
        ahead=ahead,
        to=output,
        prefix=f"{device or f'{key.source_id:016x}'}-",
        kind=ciphertext_of(store.parameters),
        content=content,
    )

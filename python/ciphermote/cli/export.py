# SPDX-License-Identifier: Apache-2.0
"""`ciphermote export`: a result back to the chain that SEAL uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import about
from ciphermote.base.words import count_of, scale_name
from ciphermote.cli.console import say
from ciphermote.cli.files import FileKind, check_not_given, check_target, read_ciphertext, write
from ciphermote.cli.options import BareOption, KeysArgument, LevelOption
from ciphermote.parameters.seal_chain import SealChain


def export(
    keys: KeysArgument,
    ciphertext: Annotated[
        Path, typer.Argument(metavar="CIPHERTEXT", help="From `ciphermote import`, `add` or `infer`.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    primes: LevelOption = None,
    bare: BareOption = False,
) -> None:
    """Bring a result back to SEAL's chain, so that SEAL decrypts it with its own key.

    **In:** keys that `ciphermote keygen --import-secret --seal-parameters` made for SEAL's secret key (their
    public part is enough), and a ciphertext under them. **Out:** a Ciphertext in SEAL's bytes, which SEAL 3.6
    to 4.x load with their own parameters. The modulus is switched as `import` does it, the other way round.

    Example:

        ciphermote export keys-seal imported.ct -o result.seal
    """
    from ciphermote.evaluate.seal_door import exported_to_seal
    from ciphermote.owner.key_store import KeyStore

    store = KeyStore.open(keys)
    chain = store.seal_chain()
    kind = _bytes_of(chain)
    check_target(output, kind)
    check_not_given(output, [ciphertext])
    with about(ciphertext):
        data = read_ciphertext(ciphertext)
        found = exported_to_seal(chain, store.parameters, store.checked_key_id(), data, primes, bare=bare)
    write(output, found.data, kind)
    assert chain is not None
    level = count_of(found.primes, "prime")
    scale = "" if chain.scheme.is_bfv else f", scale {scale_name(found.scale)}"
    error = found.known.error
    off = "" if error is None else f"; its values may be off by {error.stated:.2g}"
    say(f"SEAL's bytes of the ciphertext are in {output}: {chain.name}, {level}{scale}{off}.")


def _bytes_of(chain: SealChain | None) -> FileKind:
    """The kind of ciphertexts of a chain of SEAL's own."""

    def has(data: bytes) -> bool:
        from ciphermote.base.errors import FrameError
        from ciphermote.formats.seal import read_wide_ciphertext

        try:
            return chain is not None and bool(read_wide_ciphertext(data, chain))
        except FrameError:
            return False

    return FileKind("ciphertext of SEAL's chain", has)

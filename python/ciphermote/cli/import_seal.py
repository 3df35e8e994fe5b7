# SPDX-License-Identifier: Apache-2.0
"""`ciphermote import`: a ciphertext that SEAL saved under a chain of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ciphermote.base.errors import ParameterError, about
from ciphermote.base.words import count_of, scale_name
from ciphermote.cli.console import note, say
from ciphermote.cli.files import check_not_given, check_target, ciphertext_of, read, write
from ciphermote.cli.options import KeysArgument, LevelOption
from ciphermote.parameters.noise import rounding_noise
from ciphermote.parameters.uncertainty import Uncertainty

if TYPE_CHECKING:
    from ciphermote.ciphertext import Ciphertext


def import_seal(
    keys: KeysArgument,
    ciphertext: Annotated[
        Path, typer.Argument(metavar="CIPHERTEXT", help="What SEAL saved: a Ciphertext, seeded or in full.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    primes: LevelOption = None,
    largest: Annotated[
        float | None,
        typer.Option(
            "--largest",
            help="The largest |value| that it may hold; without it, nothing refuses what outgrows the "
            "modulus later.",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option("--error", help="CKKS: how far a value may be off already; needs --largest."),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="CKKS: it is as SEAL's public key encrypted it; needs --largest."),
    ] = False,
) -> None:
    """Bring in a ciphertext that SEAL encrypted under a chain of its own.

    **In:** keys that `ciphermote keygen --import-secret --seal-parameters` made for SEAL's secret key (their
    public part is enough), and bytes of SEAL's under that key. SEAL's bytes name no key: with the secret key
    in KEYS they are decrypted once, to see that they are under it; with the public part, you vouch for that.
    **Out:** a ciphertext of the same values under the same key, which `add`, `infer` and `decrypt` take.

    The modulus is switched from SEAL's P to Q of the keys' set, with exact rounding. BFV's integers stay as
    they are, at a cost of at most 1 bit of noise budget, and of log2(P/Q) more if Q is smaller. CKKS's scale
    is multiplied by Q/P; how far the rounding puts each value off is printed, and is part of the error that
    `decrypt` states if --largest and the error before are known. A seeded ciphertext is known to be fresh.
    A product that SEAL did not relinearize is relinearized, if KEYS has relin.keys.

    Example:

        ciphermote import keys-seal encrypted.seal --largest 100 -o imported.ct
    """
    from ciphermote.evaluate.evaluation_keys import EvaluationKeys
    from ciphermote.evaluate.evaluator import Evaluator
    from ciphermote.evaluate.seal_door import imported_from_seal
    from ciphermote.formats.key_directory import RELIN_FILE
    from ciphermote.owner.decryption import check_under
    from ciphermote.owner.key_store import KeyStore

    if fresh and error is not None:
        raise ParameterError("--fresh and --error are two answers to one question: give one of them.")
    if (fresh or error is not None) and largest is None:
        raise ParameterError("An error (--error, --fresh) is stated beside a bound: give --largest too.")
    store = KeyStore.open(keys)
    kind = ciphertext_of(store.parameters)
    check_target(output, kind)
    check_not_given(output, [ciphertext])
    with about(ciphertext):
        found = imported_from_seal(
            store.seal_chain(),
            store.parameters,
            read(ciphertext),
            store.checked_key_id(),
            primes,
            largest,
            "asymmetric" if fresh else error,
        )
        if store.has_secret:
            check_under(found, store.secret())
        if RELIN_FILE in store.manifest.digests:
            found = Evaluator(EvaluationKeys.load(keys), found.scheme).relinearize(found)
    write(output, found.to_seal(), kind)
    say(f"The ciphertext of {store.parameters.name} is in {output}: {_level(found)}.")
    if not store.has_secret:
        note("KEYS has no secret key, so nothing has checked that the ciphertext is under it.")


def _level(found: Ciphertext) -> str:
    level = count_of(found.primes, "prime")
    if found.scheme.is_bfv:
        return f"{found.scheme}, {level}"
    noise = rounding_noise(found.parameters.n, found.hosted.components)
    off = Uncertainty.of(noise, found.parameters.n, found.scale).stated
    return f"{level}, scale {scale_name(found.scale)}; the rounding puts values off by up to {off:.2g}"

# SPDX-License-Identifier: Apache-2.0
"""`ciphermote keygen`: the owner's keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import ParameterError, about
from ciphermote.cli.console import note, progress_bar, say
from ciphermote.cli.files import parameter_set, read
from ciphermote.cli.options import (
    ConjugationOption,
    LargestOption,
    ModelKeysOption,
    RotationsOption,
    numbers,
    steps_of,
)
from ciphermote.cli.precision import WANTED_DIGITS, say_precision
from ciphermote.parameters import DEFAULT_SET, SECURITY_BOUNDS, ParameterSet, by_name
from ciphermote.parameters.bounds import DEFAULT_LARGEST, DEFAULT_SUMMED, Readings
from ciphermote.parameters.seal_chain import SealChain


def keygen(
    keys: Annotated[
        Path,
        typer.Argument(metavar="KEYS", help="The directory to make; it must not exist, or be empty."),
    ],
    params: Annotated[
        str | None,
        typer.Option(
            "--params",
            help="A built-in set's name, or a .json file from `ciphermote params -o` (default: "
            f"{DEFAULT_SET}, or a larger one if --largest and --summed need it).",
        ),
    ] = None,
    largest: LargestOption = DEFAULT_LARGEST,
    summed: Annotated[
        int,
        typer.Option("--summed", min=1, help="How many readings a sum or a mean must have room for."),
    ] = DEFAULT_SUMMED,
    model: ModelKeysOption = None,
    rotations: RotationsOption = "",
    conjugation: ConjugationOption = False,
    relin: Annotated[
        bool | None,
        typer.Option(
            help="Make a relinearization key, for products of ciphertexts (default: if the set allows)."
        ),
    ] = None,
    import_secret: Annotated[
        Path | None,
        typer.Option(
            help="Use this secret key, saved by SEAL for the same parameters, instead of a fresh one."
        ),
    ] = None,
    seal_parameters: Annotated[
        Path | None,
        typer.Option(
            help="The parameters (EncryptionParameters, saved by SEAL) that SEAL used the imported secret "
            "key with, if they are not a set of ours: `import` and `export` then convert its ciphertexts."
        ),
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option(
            help="The security table that --seal-parameters are to pass: 2024, or 2018, which SEAL's default "
            "chains need.",
            show_default="2024",
        ),
    ] = None,
    public_to: Annotated[
        Path | None,
        typer.Option(
            help="Also write all but the secret key to this directory, for whoever encrypts or computes."
        ),
    ] = None,
) -> None:
    """Make the owner's keys.

    **In:** nothing but the system's randomness. **Out:** a directory with `secret.key` (**secret**: mode
    0600, never overwritten) and what is public: public.key, relin.keys and parameters.seal, in Microsoft
    SEAL's bytes, galois.keys if --model, --rotations or --conjugation asks for it, and manifest.json.

    What readings may hold is declared here, and is public: values beyond --largest are refused when they are
    encrypted, and results that could outgrow the modulus by it when they are computed.

    Examples:

        ciphermote keygen keys --model model.json --public-to keys-public

        ciphermote keygen keys-wide --largest 5000 --summed 10000

        ciphermote keygen keys-seal --import-secret secret.seal \\
            --seal-parameters parms.seal --standard 2018
    """
    from ciphermote.owner.key_store import KeyStore, refuse_occupied
    from ciphermote.owner.keys import SecretKey

    readings = Readings(largest, summed)
    chain = _seal_chain(seal_parameters, standard)
    nearest = chain.nearest_set if chain else _smallest_set(readings)
    parameters = parameter_set(params) if params else nearest
    steps = [*numbers(rotations, "--rotations"), *steps_of(model, parameters)]
    secret = None
    if import_secret and chain:
        secret = SecretKey.from_seal_chain(read(import_secret), chain, parameters)
    elif import_secret:
        secret = SecretKey.from_seal(read(import_secret), parameters)
    if public_to is not None:
        if public_to.absolute() == keys.absolute():
            raise ParameterError(f"{keys} cannot be both KEYS and --public-to: name two directories.")
        refuse_occupied(public_to)
    with progress_bar("Making keys") as progress:
        store = KeyStore.create(
            keys,
            parameters,
            galois_steps=steps,
            conjugation=conjugation,
            relin=relin,
            secret=secret,
            seal_chain=chain,
            readings=readings,
            progress=progress,
        )
    say(f"Key {store.key_id:016x} of {parameters.name} is in {keys}; keep {keys / 'secret.key'} to yourself.")
    if chain is None:
        say_precision(store)
    else:
        _say_chain(chain, parameters)
    if public_to is not None:
        store.export_public(public_to)
        say(f"The public part is in {public_to}: give that to whoever encrypts or computes.")
    if model is None and not steps:
        note("these keys are enough for adding; scoring needs `ciphermote extend --model`.")


def _seal_chain(path: Path | None, standard: str | None) -> SealChain | None:
    if path is None:
        if standard is not None:
            raise ParameterError(
                "--standard is for the parameters of SEAL's: give --seal-parameters too, or a set (--params) "
                "whose name says the standard."
            )
        return None
    from ciphermote.formats.seal import read_seal_chain

    with about(path):
        return read_seal_chain(read(path), standard or "2024")


def _say_chain(chain: SealChain, parameters: ParameterSet) -> None:
    say(
        f"SEAL's chain is {chain.name}, {chain.scheme}: `ciphermote import` brings its ciphertexts to "
        f"{parameters.name}, and `ciphermote export` brings results back."
    )
    if chain.is_older:
        note(
            f"SEAL's chain is of the 2018 table: its {chain.log2_q:.0f} bits at n = {chain.n} are more than "
            f"the 2024 guidelines allow for 128-bit security ({SECURITY_BOUNDS['2024'][chain.n]}), and leave "
            f"this key about {int(chain.security_bits)} bits. New keys have 128 bits with a set of ours."
        )


def _smallest_set(readings: Readings) -> ParameterSet:
    """Return the default set, or the smallest larger one whose public-key noise leaves such readings enough
    digits. Raises ParameterError if there is none."""
    default = by_name(DEFAULT_SET)
    found = readings.smallest_set(default, "asymmetric")
    if found is None:
        raise ParameterError(
            f"No built-in set has room for sums of {readings.summed:,} readings of up to "
            f"{readings.largest:g} and leaves {WANTED_DIGITS} digits of one: declare fewer (--summed), or "
            "name a set (--params)."
        )
    return found

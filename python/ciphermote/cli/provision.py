# SPDX-License-Identifier: Apache-2.0
"""`ciphermote provision`: one device's keys."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ciphermote.base.errors import KeyFileError, ParameterError
from ciphermote.cli.console import say
from ciphermote.cli.files import REKEY_KEY, FileKind, check_target, write
from ciphermote.cli.options import KeysArgument


class BlobFormat(StrEnum):
    """The form of the output."""

    HEADER = "header"
    BLOB = "blob"
    PRIMES = "primes"


class DeviceKey(StrEnum):
    """The keys that a device gets."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"
    BOTH = "both"


def _is_provision(data: bytes) -> bool:
    from ciphermote.owner.provisioning import is_blob, is_header

    return is_blob(data) or is_header(data)


_PROVISION = FileKind("device's keys", _is_provision)


def provision(
    keys: KeysArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; with --format primes, a directory.")
    ],
    key: Annotated[
        DeviceKey,
        typer.Option(
            help="symmetric: the secret key, for the smallest frames; asymmetric: the public key; or both."
        ),
    ] = DeviceKey.SYMMETRIC,
    form: Annotated[
        BlobFormat,
        typer.Option(
            "--format",
            help="header: C to compile in; blob: one binary file; primes: the public key, in a file for each "
            "prime.",
        ),
    ] = BlobFormat.HEADER,
    plain_modulus: Annotated[
        list[int] | None,
        typer.Option(
            metavar="T",
            min=2,
            help="A plain modulus that the device batches BFV's integers with: its roots go into the header "
            "too, for CM_CONFIG_NTT_ROOTS. May be repeated.",
        ),
    ] = None,
    largest: Annotated[
        float | None,
        typer.Option(
            help="A smaller bound on |value| than the keys declare: the device refuses values beyond it "
            "(default: the keys'). CM_PROVISIONED_LARGEST in the header."
        ),
    ] = None,
    log2_scale: Annotated[
        int | None,
        typer.Option(
            help="CKKS: log2 of the scale that the device encrypts at (default: what suits the readings that "
            "the keys declare). CM_PROVISIONED_LOG2_SCALE in the header."
        ),
    ] = None,
    stream_public_key: Annotated[
        bool,
        typer.Option(
            "--stream-public-key",
            help="For a device without room for the public key: write digests of its polynomials into the "
            "header, 64 bytes a prime, instead of the key. While the device encrypts, it asks its host for "
            "them, one prime's at a time, and keeps them in 8n bytes of memory. Anybody may send them: it "
            "uses only what matches.",
        ),
    ] = False,
    client_engine: Annotated[
        int | None,
        typer.Option(
            "--client-engine",
            metavar="LOG2_R",
            help="For a chip with the client engine: write the public key in the form of an engine with this "
            "LOG2_R (field of its register SHAPE), which loads it without a conversion. The engine alone can "
            "use it.",
        ),
    ] = None,
    own_key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Give the device a secret key of its own, and write FILE (public) for the server, which "
            "brings what the device sends under your key (`ciphermote rekey`); n = 2048 and up.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace what an earlier run wrote, and lose that device's secret."),
    ] = False,
) -> None:
    """Write one device's keys. Run it once for each device, because every run draws a new device secret.

    **In:** a directory of keys. **Out:** a C header or a binary blob, **secret** (mode 0600): it holds the
    device's own secret and, with a symmetric key, everything needed to decrypt. --format primes writes a
    directory: device.blob is secret; prime0.blob and so on hold the public key and are public. The output of
    an earlier run is replaced only with --force.

    Example:

        ciphermote provision keys -o provisioned_keys.h
    """
    from dataclasses import replace

    from ciphermote.owner import provisioning as p
    from ciphermote.owner.device_keys import DeviceKeys
    from ciphermote.owner.key_store import KeyStore

    if log2_scale is not None and form is not BlobFormat.HEADER:
        raise ParameterError("--log2-scale is for --format header: blobs hold no scale.")
    if plain_modulus and form is not BlobFormat.HEADER:
        raise ParameterError("--plain-modulus is for --format header: blobs hold no roots.")
    if form is BlobFormat.PRIMES and key is DeviceKey.SYMMETRIC:
        raise ParameterError("Only a public key is split into primes: give --key asymmetric or both.")
    if stream_public_key and (form is not BlobFormat.HEADER or key is DeviceKey.SYMMETRIC):
        raise ParameterError(
            "--stream-public-key is for --format header and a device that has the public key: give --key "
            "asymmetric or both."
        )
    if client_engine is not None and (form is not BlobFormat.HEADER or key is DeviceKey.SYMMETRIC):
        raise ParameterError(
            "--client-engine is for --format header and a device that has the public key: give --key "
            "asymmetric or both."
        )
    if own_key is not None and key is not DeviceKey.SYMMETRIC:
        raise ParameterError("A device's own key is a secret key: give --key symmetric with --own-key.")
    primes = form is BlobFormat.PRIMES
    store = KeyStore.open(keys)
    count = len(store.parameters.data_primes)
    parts = [output / "device.blob", *(output / f"prime{i}.blob" for i in range(count))]
    targets = dict.fromkeys(parts if primes else [output], _PROVISION)
    if own_key is not None:
        if own_key.absolute() == output.absolute():
            raise ParameterError(f"{output} is named for both the device's keys and its rekey key: name two.")
        targets[own_key] = REKEY_KEY
    for path, kind in targets.items():
        check_target(path, kind)
        if path.exists() and not force:
            raise KeyFileError(
                f"{path} exists, and may be all there is of a device's keys: name another file for this "
                "device, or give --force to replace it."
            )
    if own_key is None:
        given = p.provision(
            store,
            secret=key is not DeviceKey.ASYMMETRIC,
            public=key is not DeviceKey.SYMMETRIC,
            plain_moduli=plain_modulus or (),
            largest=largest,
            log2_scale=log2_scale,
        )
    else:
        device = DeviceKeys.make(store.secret())
        given = device.provision(plain_modulus or (), largest=largest, log2_scale=log2_scale)
        write(own_key, device.rekey_key, REKEY_KEY)
    if primes:
        output.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(parts[0], p.to_blob(replace(given, public_key=None)), _PROVISION, secret=True)
        for path, blob in zip(parts[1:], p.to_prime_blobs(given), strict=True):
            write(path, blob, _PROVISION)
    else:
        content = (
            p.to_c_header(given, stream_public_key=stream_public_key, engine_log2_r=client_engine).encode()
            if form is BlobFormat.HEADER
            else p.to_blob(given)
        )
        write(output, content, _PROVISION, secret=True)
    say(f"A new device's keys are in {output}: secret, and for one device only.")
    if stream_public_key:
        say("Instead of the public key it has digests: send the device the key itself while it encrypts.")
    if own_key is not None:
        say(f"Its rekey key is in {own_key}: public, for the server that runs `ciphermote rekey`.")

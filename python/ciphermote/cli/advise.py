# SPDX-License-Identifier: Apache-2.0
"""`ciphermote advise`: the parameter set that a computation needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ciphermote.base.errors import ParameterError
from ciphermote.cli.console import print_rows, say
from ciphermote.cli.options import KeyKind
from ciphermote.parameters.adviser import Advice, Computation
from ciphermote.parameters.adviser import advise as advise_real
from ciphermote.parameters.exact_adviser import ExactAdvice, ExactComputation, advise_exact
from ciphermote.parameters.noise import Key


def advise(
    magnitude: Annotated[float, typer.Option(help="The largest |value| that a device encrypts.")],
    max_error: Annotated[
        float,
        typer.Option(
            help="The absolute error that the result may have. 0: integers, computed exactly by BFV."
        ),
    ],
    slots: Annotated[
        int, typer.Option(help="Numbers in one ciphertext; BFV with --rotations: those added up.")
    ] = 1,
    summed: Annotated[int, typer.Option(help="How many fresh ciphertexts are added up.")] = 1,
    rotations: Annotated[bool, typer.Option(help="Slots are moved or added up.")] = False,
    plain_products: Annotated[
        int, typer.Option(help="CKKS: products with plaintexts, one after the other (a linear model: 1).")
    ] = 0,
    ciphertext_products: Annotated[
        int, typer.Option(help="CKKS: products of ciphertexts, one after the other (a square: 1).")
    ] = 0,
    weight_norm: Annotated[
        float | None,
        typer.Option(help="CKKS: the l2 norm (Euclidean length) of the last product's weights."),
    ] = None,
    largest_weight: Annotated[
        int | None,
        typer.Option(
            help="BFV: the largest |weight|, of each ciphertext in a sum or, with --rotations, of each slot."
        ),
    ] = None,
    largest_result: Annotated[
        int | None,
        typer.Option(help="BFV: the largest |result|, if you know it (default: what all this can make)."),
    ] = None,
    plain_modulus: Annotated[
        int,
        typer.Option(
            metavar="T", min=0, help="BFV: check whether this plain modulus serves (0: advise one)."
        ),
    ] = 0,
    key: Annotated[
        KeyKind, typer.Option(help="What encrypts: the secret key (symmetric) or the public key.")
    ] = KeyKind.ASYMMETRIC,
    standard: Annotated[str, typer.Option(help="The security table: 2024 or 2018.")] = "2024",
) -> None:
    """Recommend a parameter set for a computation, with its scale and precision or its plain modulus.

    **In:** what is to be computed, in numbers. **Out:** the smallest set that can, the error to expect (CKKS)
    or the noise budget that is left (BFV), and sizes; and the commands that make such keys and use them. No
    keys.

    Examples: the sum of a ciphertext's 1200 real numbers, and the exact sum over 100 meters, each with 24
    hourly counts of up to 60 (a linear model takes --plain-products 1 besides, or --largest-weight):

        ciphermote advise --magnitude 8 --max-error 0.1 --slots 1200 --rotations
        ciphermote advise --magnitude 60 --max-error 0 --slots 24 --summed 100
    """
    if max_error < 0:
        raise ParameterError(
            f"--max-error is {max_error}: give 0 for exact integers, or a finite number above it."
        )
    kind: Key = "asymmetric" if key is KeyKind.ASYMMETRIC else "symmetric"
    if max_error:
        _refuse_given(
            {
                "--largest-weight": largest_weight,
                "--largest-result": largest_result,
                "--plain-modulus": plain_modulus,
            },
            "is for BFV, and --max-error 0 asks for that: leave it out, or allow no error",
        )
        computation = Computation(
            magnitude=magnitude,
            max_error=max_error,
            slots=slots,
            plain_products=plain_products,
            ciphertext_products=ciphertext_products,
            rotations=rotations,
            summed=summed,
            key=kind,
            weight_norm=weight_norm,
            standard=standard,
        )
        advice = advise_real(computation)
        _print_advice(advice)
        scale = f"--log2-scale {advice.log2_scale}"
        _print_commands(computation, advice.parameters.name, device=scale, numbers=scale)
        return
    _refuse_given(
        {
            "--plain-products": plain_products,
            "--ciphertext-products": ciphertext_products,
            "--weight-norm": weight_norm,
        },
        "is for CKKS, and --max-error 0 asks for BFV, whose sums and linear models this advises on: give "
        "--largest-weight for a product with weights, or allow an error",
    )
    if not magnitude.is_integer():
        raise ParameterError(
            f"--magnitude is {magnitude}, and --max-error 0 asks for integers: count in a smaller unit, or "
            "allow an error."
        )
    integers = ExactComputation(
        magnitude=int(magnitude),
        slots=slots,
        summed=summed,
        largest_weight=largest_weight,
        rotations=rotations,
        largest_result=largest_result,
        plain_modulus=plain_modulus,
        key=kind,
        standard=standard,
    )
    exact = advise_exact(integers)
    _print_exact(exact)
    places = "slots" if exact.batched else "coefficients"
    modulus = f"--plain-modulus {exact.plain_modulus}"
    _print_commands(
        integers,
        exact.parameters.name,
        device=modulus if exact.batched else "",
        numbers=f"{modulus} --as {places}",
    )
    _print_compact(integers, exact.frame_bytes)


def _print_compact(computation: ExactComputation, frame_bytes: int) -> None:
    """Print the compact set that does the same in fewer bytes, if there is one."""
    from ciphermote.compact.adviser import advise_compact

    if computation.rotations or computation.plain_modulus:
        return
    weight = computation.largest_weight or 1
    try:
        advice = advise_compact(
            int(computation.magnitude),
            computation.summed,
            values=computation.slots,
            largest_weight=weight,
        )
    except ParameterError:
        return
    if advice.bytes < frame_bytes:
        say(
            f"Or send sums of integers from 0 on in {advice.bytes:,} bytes a reading, by the compact lane; "
            "what it cannot do and how to begin:"
        )
        weights = f" --largest-weight {weight}" if weight > 1 else ""
        say(
            f"    ciphermote compact advise --largest-value {int(computation.magnitude)} --windows "
            f"{computation.summed} --values {computation.slots}{weights}"
        )


def _refuse_given(options: dict[str, float | None], why: str) -> None:
    """Raises ParameterError if one of them has a value."""
    for name, value in options.items():
        if value:
            raise ParameterError(f"{name} {why}.")


def _print_advice(advice: Advice) -> None:
    _print(
        (
            ("parameter set", advice.parameters.name),
            ("scale", f"2^{advice.log2_scale}"),
            ("precision on a device", f"CM_FIXED_{advice.precision}"),
            ("levels used", str(advice.levels_used)),
            ("error to expect", f"{advice.predicted_error:.2g}"),
        ),
        advice,
    )


def _print_exact(advice: ExactAdvice) -> None:
    _print(
        (
            ("parameter set", advice.parameters.name),
            ("plain modulus", str(advice.plain_modulus)),
            ("integers are in", "slots" if advice.batched else "coefficients"),
            ("largest result", str(advice.largest_result)),
            ("noise budget left", f"{advice.noise_budget:.1f} bits"),
        ),
        advice,
    )


def _print(rows: Sequence[tuple[str, str]], advice: Advice | ExactAdvice) -> None:
    sizes = (
        ("bytes per reading on the wire", f"{advice.frame_bytes:,}"),
        ("bytes of arena on a device", f"{advice.arena_bytes:,}, without a preset"),
    )
    print_rows((*rows, *sizes))
    for sentence in advice.explanation:
        say(f"- {sentence}")


def _print_commands(
    computation: Computation | ExactComputation, parameters: str, *, device: str, numbers: str
) -> None:
    """Print the commands, with options, that make such keys and encrypt with them: on a device, and from
    numbers."""
    key, steps = computation.key, ""
    if computation.rotations:
        steps = ",".join(str(1 << i) for i in range((computation.slots - 1).bit_length())) or "1"
        steps = f" --rotations {steps}"
    keys = "keys" if key == "symmetric" else "keys-public"
    for what, command in (
        (
            "The owner makes keys",
            f"keygen keys --params {parameters} --largest {computation.magnitude} --summed "
            f"{computation.summed}{steps} --public-to keys-public",
        ),
        ("A device gets them", f"provision keys -o provisioned_keys.h --key {key} {device}".rstrip()),
        (
            "Or numbers in a file are encrypted",
            f"encrypt {keys} values.txt -o frames.bin --key {key} {numbers}",
        ),
    ):
        say(f"{what}:")
        say(f"    ciphermote {command}")

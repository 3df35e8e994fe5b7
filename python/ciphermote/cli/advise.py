# SPDX-License-Identifier: Apache-2.0
"""`ciphermote advise`: the parameter set that a computation needs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ciphermote.cli.console import add_row, say
from ciphermote.cli.options import KeyKind


def advise(
    magnitude: Annotated[float, typer.Option(help="The largest |value| that a device encrypts.")],
    max_error: Annotated[float, typer.Option(help="The absolute error the result may have.")],
    slots: Annotated[int, typer.Option(help="Numbers in one ciphertext.")] = 1,
    plain_products: Annotated[
        int, typer.Option(help="Products with plaintexts, one after the other (a linear layer: 1).")
    ] = 0,
    ciphertext_products: Annotated[
        int, typer.Option(help="Products of ciphertexts, one after the other (a square: 1).")
    ] = 0,
    rotations: Annotated[bool, typer.Option(help="Slots are moved or added up.")] = False,
    summed: Annotated[int, typer.Option(help="How many fresh ciphertexts are added up.")] = 1,
    key: Annotated[
        KeyKind, typer.Option(help="What devices encrypt with: symmetric or asymmetric.")
    ] = KeyKind.SYMMETRIC,
    weight_norm: Annotated[
        float | None, typer.Option(help="The l2 norm (Euclidean length) of the last product's weights.")
    ] = None,
    standard: Annotated[str, typer.Option(help="The security table: 2024 or 2018.")] = "2024",
) -> None:
    """Say which parameter set, scale and precision a computation needs.

    **In:** what is to be computed, in numbers. **Out:** the smallest set that can, the error to expect,
    and sizes. No keys.

    Example: `ciphermote advise --magnitude 8 --max-error 0.01 --slots 1200 --plain-products 1 --rotations`
    """
    from ciphermote import adviser

    advice = adviser.advise(
        adviser.Computation(
            magnitude=magnitude,
            max_error=max_error,
            slots=slots,
            plain_products=plain_products,
            ciphertext_products=ciphertext_products,
            rotations=rotations,
            summed=summed,
            key="asymmetric" if key is KeyKind.ASYMMETRIC else "symmetric",
            weight_norm=weight_norm,
            standard=standard,
        )
    )
    table = Table("field", "value", show_header=False)
    for name, value in (
        ("parameter set", advice.parameters.name),
        ("scale", f"2^{advice.log2_scale}"),
        ("precision", f"{advice.precision} bits"),
        ("levels used", str(advice.levels_used)),
        ("error to expect", f"{advice.predicted_error:.2g}"),
        ("bytes per reading on the wire", f"{advice.frame_bytes:,}"),
        ("bytes of arena on the device", f"{advice.arena_bytes:,}"),
    ):
        add_row(table, name, value)
    Console().print(table)
    for sentence in advice.explanation:
        say(f"- {sentence}")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that a client does on a Cortex-M4, by phase: encode, encrypt, decrypt, decode; BFV and CKKS.

`make bench-client` runs everything and writes bench/results/client.json: cycles (modelled) and RAM with the
fast and tiny presets, and the shares of zero encryption and of decryption before scaling, compared with those
quoted for a Cortex-A7. It fails unless BFV encryptions, decryptions and key generations that differ only in
secrets take the same instructions, cycles and addresses.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from baselines import CLIENT_SHARES
from configurations import CLIENT_CONFIGURATIONS, KINDS, Configuration
from keys import ciphertexts
from measure import (
    COUNTED,
    MODEL_ERROR_PERCENT,
    MODELLED,
    PARTS,
    REST,
    check_model,
    cycles_by_part,
    encryption_rows,
    flash_rows,
    one_of_many,
    profile_rows,
)
from rich.console import Console
from rich.table import Table
from simulate import ROOT, BenchError, Run, build_firmware, build_plugin, simulate

from bench.rows import Row, compiler_version, write_results

ENCRYPTIONS = {
    "symmetric": ("ckks", "symmetric"),
    "asymmetric": ("ckks", "asymmetric"),
    "bfv_symmetric": ("bfv", "symmetric"),
    "bfv_asymmetric": ("bfv", "asymmetric"),
}
"""By image: scheme, kind of key."""
SCHEMES = ("bfv", "ckks")

ARRIVAL, END = 0, 1
"""Regions of firmware/decrypt.c."""
ARRIVAL_PARTS = {
    "input": r"^core/src/wire/|^core/src/backends/armv7em_unpack",
    "products": r"^core/.*(multiply|take_off|take_residues)",
    "scale": r"^core/src/(scheme|arch|backends)/.*sums",
    "transform": r"^core/src/(ring|arch|backends)/(?!prime)",
}
END_PARTS = {
    "scale": r"^core/src/(scheme|arch|backends)/.*sums",
    "decode": r"^core/src/(encode|ring|arch|backends)/",
}
DECRYPTION_PARTS = ("input", "products", "transform", "scale", "decode", REST)
"""input: unpacking and checking frames. scale: from residues to what is decoded, with rounding."""

# Folding adds message and noise in one sum; its small share counts here.
ZERO_ENCRYPTION = tuple(part for part in PARTS if part not in ("encode", "output"))
DELTA_M = ("products", "transform")

CONSTANT_TIME = "client_constant_time"
COUNTED_REGIONS = {
    "bfv_encrypt_symmetric": (0, 4),
    "bfv_encrypt_asymmetric": (1, 5),
    "bfv_decrypt": (2, 6),
    "ckks_decrypt": (3, 7),
    "make_secret_key": (None, 8),
    "emit_public_key": (None, 9),
}
"""Regions of firmware/client_constant_time.c, with frames and without."""


# --- what is measured -----------------------------------------------------------------------------


def measure_client(name: str, configuration: Configuration, build: Path, plugin: Path) -> Iterator[Row]:
    """All rows of one configuration."""
    for scheme in SCHEMES:
        own = replace(configuration, workload=replace(configuration.workload, batching=scheme == "bfv"))
        encryptions = {image: kind for image, (of, kind) in ENCRYPTIONS.items() if of == scheme}
        decryption = f"{scheme}_decrypt"
        counted = [CONSTANT_TIME] if scheme == "bfv" else []
        folder = build / f"client.{name}.{scheme}"
        images = build_firmware(folder, own, [*encryptions, decryption, *counted])
        for image, kind in encryptions.items():
            yield from _encryption(name, own, scheme, kind, images[image], plugin)
        yield from _decryption(name, own, scheme, images[decryption], plugin)
        for image in counted:
            yield from _constant_time(name, own, simulate(images[image], plugin))


def _encryption(
    name: str, configuration: Configuration, scheme: str, kind: str, image: Path, plugin: Path
) -> Iterator[Row]:
    cycles, *others = encryption_rows(name, configuration, kind, image, plugin, scheme)
    yield cycles
    yield from others
    parts = list(profile_rows(name, configuration, kind, image, plugin, cycles.value, scheme))
    yield from parts
    if kind == "asymmetric":
        spent = Counter({row.name.split(".")[-2]: row.value for row in parts})
        params = {**parts[0].params, "part_of": cycles.name}
        yield Row(f"{scheme}_encode.{name}.cycles", spent["encode"], "cycles", params)
        prefix = f"{scheme}_encrypt_{kind}.{name}"
        yield _share(prefix, "zero_encryption", ZERO_ENCRYPTION, "output", spent, params)


def _decryption(
    name: str, configuration: Configuration, scheme: str, image: Path, plugin: Path
) -> Iterator[Row]:
    workload = configuration.workload
    run = simulate(image, plugin)
    reported = run.reported
    expected = ciphertexts(workload.parameters, workload.log2_frame_tiles)[scheme]
    if reported["values_crc"] != expected.values_crc:
        raise BenchError(f"{image} decrypts to other values than the library on this machine.")
    primes = len(workload.parameters.data_primes) if scheme == "bfv" else 1
    of_scheme = {"sums": workload.sums} if scheme == "bfv" else {}
    params = {
        **workload.described_message(scheme, primes),
        **of_scheme,
        "tiles": 1 << workload.log2_frame_tiles,
        "configuration": name,
        "flags": configuration.flags,
    }
    prefix = f"{scheme}_decrypt.{name}"
    total = run.cycles(ARRIVAL) + run.cycles(END)
    received = {"received_bytes": reported["received"]}
    yield Row(f"{prefix}.cycles", total, "cycles", {**params, **MODELLED, **received})
    yield Row(
        f"{prefix}.ram_bytes",
        reported["static"] + reported["stack"],
        "bytes",
        {
            **params,
            **COUNTED,
            "arena_with_values": reported["arena"],
            "piece": workload.piece_bytes,
            "other_static": reported["static"] - reported["arena"] - workload.piece_bytes,
            "stack": reported["stack"],
        },
    )
    yield from flash_rows(prefix, image, params)
    spent = cycles_by_part(image, plugin, ARRIVAL, ARRIVAL_PARTS)
    spent += cycles_by_part(image, plugin, END, END_PARTS)
    spent[REST] = total - sum(spent[part] for part in DECRYPTION_PARTS if part != REST)
    for part in DECRYPTION_PARTS:
        yield Row(f"{prefix}.profile.{part}.cycles", spent[part], "cycles", {**params, **MODELLED})
    of_all = {**params, **MODELLED, "part_of": f"{prefix}.cycles"}
    yield Row(f"{scheme}_decode.{name}.cycles", spent["decode"], "cycles", of_all)
    yield _share(prefix, "delta_m", DELTA_M, "input", spent, of_all)


def _share(
    prefix: str, what: str, parts: Sequence[str], transport: str, spent: Counter[str], params: dict[str, Any]
) -> Row:
    """The parts' share of an encryption or decryption without packing and unpacking frames, as in the quoted
    shares."""
    base = sum(spent.values()) - spent[transport]
    quoted = {"quoted_percent": CLIENT_SHARES[what].percent} if prefix.startswith("bfv") else {}
    return Row(
        f"{prefix}.{what}.percent",
        round(100 * sum(spent[part] for part in parts) / base, 1),
        "%",
        {**params, "parts": list(parts), "left_out": transport, **quoted},
    )


def _constant_time(name: str, configuration: Configuration, run: Run) -> Iterator[Row]:
    """Return the number of runs with different secrets that took the same path; raises BenchError unless all
    did."""
    for call, (framed_region, bare_region) in COUNTED_REGIONS.items():
        what = f"{call}, configuration {name}"
        exact = ("instructions", "cycles", "path")
        bare = one_of_many(run, bare_region, f"{what}, without frames", (*exact, "addresses"))
        framed = bare if framed_region is None else one_of_many(run, framed_region, what, exact)
        yield Row(
            f"constant_time.{call}.{name}.runs",
            run.reported["runs"],
            "runs",
            {
                "parameters": configuration.workload.parameters.name,
                "configuration": name,
                "kind": "counted",
                "instructions": framed.instructions,
                "modelled_cycles": framed.cycles,
                "divisions": framed.divisions,
                "path": framed.path,
                "addresses_without_frames": bare.addresses,
            },
        )


# --- what is shown --------------------------------------------------------------------------------


def phase_table(
    rows: dict[str, Row], name: str, what: str, calls: dict[str, str], parts: Iterable[str]
) -> Table:
    """calls: the rows' names, by column."""
    table = Table(title=f"{name}: {what}; n = 4096; cycles are modelled", title_justify="left")
    table.add_column("")
    for column in calls:
        table.add_column(column, justify="right")
    figures = {"cycles": "cycles", **{f"  {part}": f"profile.{part}.cycles" for part in parts}}
    for label, figure in {**figures, "RAM, bytes": "ram_bytes", "code, bytes": "code_bytes"}.items():
        table.add_row(label, *(f"{rows[f'{call}.{name}.{figure}'].value:,}" for call in calls.values()))
    return table


def show(rows: Sequence[Row], console: Console) -> None:
    """A table for each configuration, and sentences about shares and constant time."""
    by_name = {row.name: row for row in rows}

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    for name in CLIENT_CONFIGURATIONS:
        encryptions = {
            f"{scheme.upper()}, {kind}": f"{scheme}_encrypt_{kind}" for scheme in SCHEMES for kind in KINDS
        }
        decryptions = {"BFV, three primes": "bfv_decrypt", "CKKS, one prime": "ckks_decrypt"}
        console.print(phase_table(by_name, name, "encryption", encryptions, (*PARTS, REST)))
        console.print(phase_table(by_name, name, "decryption", decryptions, DECRYPTION_PARTS))
        for row in rows:
            if row.params["configuration"] != name:
                continue
            if "quoted_percent" in row.params:
                say(f"{row.name}: {row.value} %; quoted for a Cortex-A7: {row.params['quoted_percent']} %")
            if row.name.startswith("constant_time."):
                say(
                    f"{row.name}: {row.value} with different secrets took the same "
                    f"{row.params['instructions']:,} instructions, without a division"
                )
    say(f"Quoted: {CLIENT_SHARES['delta_m'].source}.")
    say(
        "Cycles are modelled (Cortex-M4, no wait states; the model errs by "
        f"{MODEL_ERROR_PERCENT['assembly']} % on assembly and {MODEL_ERROR_PERCENT['C']} % on C)."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench-m4", help="where to build")
    parser.add_argument("--results", type=Path, default=ROOT / "bench/results/client.json")
    options = parser.parse_args(arguments)
    build = options.build.resolve()
    console = Console()
    try:
        plugin = build_plugin(build)
        check_model(build, plugin)
        rows = [
            row
            for name, configuration in CLIENT_CONFIGURATIONS.items()
            for row in measure_client(name, configuration, build, plugin)
        ]
        show(rows, console)
        write_results(options.results, "make bench-client", compiler_version("arm-none-eabi-gcc"), rows)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

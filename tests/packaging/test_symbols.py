# SPDX-License-Identifier: Apache-2.0
"""The C library's symbols are its public names; internal ones, with cmi_ and the options, are hidden."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging_support import REPOSITORY, run

CORE = REPOSITORY / "core"
SUFFIX = re.compile(r"__small_\d\w*?__enum_bytes_\d+$")
PUBLIC = {
    word
    for path in (CORE / "include/ciphermote").glob("*.h")
    for word in re.findall(r"\bcm_\w+", path.read_text())
}
TARGETS = {
    "host": ("gcc", None, ()),
    "armv7em": (
        "arm-none-eabi-gcc",
        "armv7em",
        ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    ),
    "helium": ("arm-none-eabi-gcc", "armv7em", ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard")),
    "armv6m": ("arm-none-eabi-gcc", "armv6m", ("-mcpu=cortex-m0", "-mthumb")),
    "rv32": ("riscv64-unknown-elf-gcc", None, ("-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs")),
    "avr": ("avr-gcc", "avr", ("-mmcu=atmega328p", "-DCM_CONFIG_MAX_LOG2_N=10")),
}
"""Compiler, folder of assembly, flags."""
OPTIONS = {
    "default": (),
    "fast": ("-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST", "-DCM_CONFIG_NTT_ROOTS=0"),
    "computed": ("-DCM_CONFIG_ENCODER_ROOTS=CM_CONFIG_ENCODER_ROOTS_COMPUTED", "-DCM_CONFIG_STORE_NOISE=1"),
}


def defined(*files: object, table: str = "--syms") -> dict[str, str]:
    """The visibility of each global symbol that is defined, by name."""
    fields = [line.split() for line in run("readelf", table, "--wide", *files).splitlines()]
    return {
        words[7]: words[5]
        for words in fields
        if len(words) == 8 and words[4] in ("GLOBAL", "WEAK") and words[6] != "UND"
    }


def check(symbols: dict[str, str]) -> None:
    """Visible names are public ones; the others are the library's own."""
    visible = {SUFFIX.sub("", name) for name, visibility in symbols.items() if visibility == "DEFAULT"}
    hidden = {name for name, visibility in symbols.items() if visibility == "HIDDEN"}
    assert len(visible) + len(hidden) == len(symbols)
    assert not visible - PUBLIC
    assert not {name for name in hidden if not name.startswith("cmi_") or not SUFFIX.search(name)}
    assert visible
    assert hidden


def test_an_installed_library_shows_public_names_alone(prefix: Path) -> None:
    shared = prefix / "lib/libciphermote.so"
    if shared.exists():
        exported = {SUFFIX.sub("", name) for name in defined(shared, table="--dyn-syms")}
        assert exported
        assert not exported - PUBLIC
    else:
        check(defined(prefix / "lib/libciphermote.a"))


def test_an_application_may_have_functions_of_any_other_name(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "application.c"
    source.write_text(
        '#include "ciphermote/ciphermote.h"\n'
        "int cmi_add(void); int cmi_add(void) { return 1; }\n"
        "int cmi_multiply(void); int cmi_multiply(void) { return 2; }\n"
        "int cmi_encrypt(void); int cmi_encrypt(void) { return 3; }\n"
        "int main(void) { return cm_params_by_id(0) != 0 || cmi_add() + cmi_multiply() != cmi_encrypt(); }\n"
    )
    library = ("-L", prefix / "lib", "-Wl,--whole-archive", "-lciphermote", "-Wl,--no-whole-archive")
    path = f"-Wl,-rpath,{prefix / 'lib'}"
    run("gcc", "-std=c11", "-I", prefix / "include", source, *library, path, "-o", tmp_path / "application")
    run(tmp_path / "application")


def sources_apart(sources: Iterable[Path], folder: Path) -> list[Path]:
    """Copies with distinct names, because the compiler puts all objects into one folder."""
    copies = []
    for source in sources:
        copy = folder / "_".join(source.relative_to(CORE / "src").parts)
        copy.write_bytes(source.read_bytes())
        copies.append(copy)
    return copies


def compiled(target: str, options: Iterable[str], folder: Path) -> list[Path]:
    """The library's objects."""
    compiler, assembly, flags = TARGETS[target]
    sources = [
        *sorted((CORE / "src").glob("*/*.c")),
        *sorted((CORE / "src/backends").glob(f"{assembly}_*.S")),
    ]
    include = (f"-I{CORE / 'include'}", f"-I{CORE / 'src'}")
    run(
        compiler,
        "-std=c11",
        "-O1",
        "-c",
        *flags,
        *options,
        *include,
        *sources_apart(sources, folder),
        cwd=folder,
    )
    return sorted(folder.glob("*.o"))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_names_of_its_own_are_hidden_on_every_target(target: str, options: str, tmp_path: Path) -> None:
    check(defined(*compiled(target, OPTIONS[options], tmp_path)))


def test_the_list_of_names_has_no_others() -> None:
    """core/src/common/names.h: each is declared somewhere."""
    names = re.findall(
        r"^#define (cmi_\w+) CM_SYMBOL\(\1\)$", (CORE / "src/common/names.h").read_text(), re.M
    )
    text = "".join(
        path.read_text()
        for path in (CORE / "src").rglob("*")
        if path.suffix in (".c", ".h", ".S") and path.name != "names.h"
    )
    assert len(names) > 100
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]


READER = """
#include "ciphermote/ciphermote.h"
static uint64_t arena[4096];
static cm_decryptor decryptor;
static cm_seed_expander expander;
int main(int count, char **arguments)
{
    cm_decryptor_setup setup = {.arena = arena, .arena_bytes = sizeof arena};
    const cm_bfv_expected expected = {.plain_modulus = 65537};
    static cm_secret_key key;
    key.params = cm_params_by_id((uint32_t)count);
    SET_UP;
    cm_status status = cm_decryptor_init(&decryptor, &key, &setup);
    if (status == CM_OK) {
        status = cm_bfv_expect(&decryptor, &expected);
    }
    if (status == CM_OK) {
        status = cm_decryptor_feed(&decryptor, (const uint8_t *)arguments[0], 1);
    }
    return status == CM_OK ? (int)cm_bfv_decrypt(&decryptor) : (int)status;
}
"""


@pytest.mark.parametrize(
    ("set_up", "expands"),
    [("(void)expander", False), ("cm_seed_expander_init(&expander); setup.expander = &expander", True)],
)
def test_seeds_are_expanded_by_code_of_those_alone_who_ask_for_it(
    set_up: str, *, expands: bool, tmp_path: Path
) -> None:
    source = tmp_path / "reader.c"
    source.write_text(READER.replace("SET_UP", set_up))
    program = tmp_path / "reader"
    flags = ("-std=c11", "-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
    includes = ("-I", CORE / "include", "-I", CORE / "src")
    run("gcc", *flags, *includes, source, *sorted((CORE / "src").glob("*/*.c")), "-o", program)
    linked = {SUFFIX.sub("", line.split()[-1]) for line in run("nm", program).splitlines()}
    assert "cm_bfv_decrypt" in linked
    expanding = {"cm_seed_expander_begin", "cmi_uniform_init", "cmi_uniform_values"}
    assert linked & expanding == (expanding if expands else set())

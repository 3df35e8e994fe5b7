# SPDX-License-Identifier: Apache-2.0
"""An application and its library share their options, or they do not link.

Each option is set for the library alone, and for the application alone, in a build from source. Then the link
fails and names the options, or the program is right: examples/round_trip, under AddressSanitizer.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import test_configurations as configurations
from packaging_support import REPOSITORY, run

EXAMPLE = REPOSITORY / "examples" / "round_trip"
COMPILE = ("gcc", "-std=c11", "-fsanitize=address")
CORTEX_M4 = "CMAKE_C_FLAGS=-mcpu=cortex-m4 -mthumb"
RIGHT = ("21.000 21.100 21.200 ... degrees", "100 101 102 ... counts")

OTHER_VALUES = {
    option.name: next(value for value in option.values if value not in ("16", option.values[0]))
    for option in configurations.OPTIONS
    if option.name not in ("CM_CONFIG_PRECISION_63", "CM_KEPT_NOISE", "CM_TEST_LOG2_TILES")
} | {
    "CM_CONFIG_PRECISION_63": "0",
    "CM_CONFIG_MAX_LOG2_N": "12",
    "CM_CONFIG_PRESET": "CM_CONFIG_PRESET_FAST",
}
"""A value of each option that is not its default and that the example's set allows."""

IN_SYMBOLS = (
    *("STORE_NOISE", "TRANSFORMED_SECRET", "MAX_LOG2_N", "SEAL_XOFS", "SMALL", "NTT_ROOTS"),
    "PRESET",
)
"""Those that change structs or arenas, or bring others that do."""

STRUCTS = """\
#include "ciphermote/ciphermote.h"
#include <stdio.h>
#define SHOW(type) printf(#type " %zu\\n", sizeof(type))
int main(void)
{
    SHOW(cm_device); SHOW(cm_platform); SHOW(cm_secret_key); SHOW(cm_public_key); SHOW(cm_ciphertext_info);
    SHOW(cm_emitter); SHOW(cm_frame_writer); SHOW(cm_seal_writer); SHOW(cm_frame); SHOW(cm_frame_reader);
    SHOW(cm_seed_expander); SHOW(cm_decryption); SHOW(cm_aided); SHOW(cm_aided_plan); SHOW(cm_ckks_values);
    SHOW(cm_ckks_expected); SHOW(cm_bfv_values); SHOW(cm_bfv_expected); SHOW(cm_bfv_reader); SHOW(cm_params);
    SHOW(cm_prime); SHOW(cm_accelerator); SHOW(cm_accelerator_bus); SHOW(cm_sink);
    SHOW(cm_encryptor); SHOW(cm_encryptor_setup);
}
"""


def defined(name: str) -> str:
    return f"-D{name}={OTHER_VALUES[name]}"


@pytest.fixture(scope="session")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one-file")
    run(sys.executable, REPOSITORY / "tools" / "amalgamate.py", "--output", folder)
    return folder


def compiled(one_file: Path, source: Path, output: Path, *flags: str) -> Path:
    run(*COMPILE, *flags, "-I", one_file / "include", "-c", source, "-o", output)
    return output


@pytest.fixture(scope="session")
def plain_library(one_file: Path) -> Path:
    return compiled(one_file, one_file / "ciphermote.c", one_file / "library.o")


@pytest.fixture(scope="session")
def plain_application(one_file: Path) -> Path:
    return compiled(one_file, EXAMPLE / "round_trip.c", one_file / "application.o")


def linked(*objects: Path, output: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMPILE, *map(str, objects), "-o", str(output)], capture_output=True, text=True)


def check_together(application: Path, library: Path, name: str, program: Path) -> None:
    """The two, of which one was built with another value of this option."""
    done = linked(application, library, output=program)
    if name.removeprefix("CM_CONFIG_") in IN_SYMBOLS:
        assert done.returncode != 0
        assert re.search(r"undefined reference to `cm_device_init__small_\d__max_log2_n_\d+__", done.stderr)
        return
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    if ran.returncode == 0:
        assert all(ran.stdout.count(line) == 2 for line in RIGHT), ran.stdout
    else:
        assert ran.returncode == 1, ran.stderr
        assert re.search(r"This build leaves that out|The arena is too small", ran.stderr), ran.stderr


def test_the_example_is_right_where_both_are_built_alike(
    plain_application: Path, plain_library: Path, tmp_path: Path
) -> None:
    assert linked(plain_application, plain_library, output=tmp_path / "program").returncode == 0
    printed = run(tmp_path / "program")
    assert all(printed.count(line) == 2 for line in RIGHT), printed


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_an_option_that_the_library_alone_has_breaks_nothing_in_silence(
    name: str, one_file: Path, plain_application: Path, tmp_path: Path
) -> None:
    library = compiled(one_file, one_file / "ciphermote.c", tmp_path / "library.o", defined(name))
    check_together(plain_application, library, name, tmp_path / "program")


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_an_option_that_the_application_alone_has_breaks_nothing_in_silence(
    name: str, one_file: Path, plain_library: Path, tmp_path: Path
) -> None:
    application = compiled(one_file, EXAMPLE / "round_trip.c", tmp_path / "application.o", defined(name))
    check_together(application, plain_library, name, tmp_path / "program")


def test_every_option_is_tried() -> None:
    config = (REPOSITORY / "core/include/ciphermote/config.h").read_text()
    options = set(re.findall(r"^#(?:ifndef|if !defined\() ?(CM_CONFIG_\w+)", config, re.MULTILINE))
    targets_own = {"CM_CONFIG_ASM", "CM_CONFIG_ACCELERATOR"}
    assert options - set(OTHER_VALUES) == targets_own


def test_structs_depend_on_the_small_profile_alone(tmp_path: Path) -> None:
    source = tmp_path / "structs.c"
    source.write_text(STRUCTS)

    def sizes(*flags: str) -> str:
        program = tmp_path / "structs"
        run("gcc", "-std=c11", *flags, "-I", REPOSITORY / "core/include", source, "-o", program)
        return run(program)

    usual = sizes()
    for name in sorted(set(OTHER_VALUES) - {"CM_CONFIG_SMALL"}):
        assert sizes(defined(name)) == usual, name
    assert sizes("-DCM_CONFIG_SEAL_XOFS=0") == usual
    assert sizes("-DCM_CONFIG_ACCELERATOR=1") == usual
    small = sizes("-DCM_CONFIG_SMALL=1")
    assert small != usual
    assert sizes("-DCM_CONFIG_PRESET=CM_CONFIG_PRESET_TINY") == small


# ---- objects of one library ----

SUFFIX = re.compile(r"__small_\d\w*?__enum_bytes_\d+")


@pytest.mark.parametrize(
    "source",
    # crc32c.c has a public function, and a table that no other file in C knows.
    [path for path in sorted((REPOSITORY / "core/src").glob("*/*.c")) if path.name != "crc32c.c"],
    ids=lambda path: path.name,
)
def test_an_object_that_an_option_changes_links_with_no_objects_of_other_options(
    source: Path, tmp_path: Path
) -> None:
    """Such as a stale one that a makefile kept when the flags changed: a name in each carries the options."""
    command = ("gcc", "-std=c11", *(f"-I{REPOSITORY / 'core' / folder}" for folder in ("include", "src")))

    def without_suffixes(*flags: str) -> str:
        return SUFFIX.sub("", run(*command, *flags, "-E", "-P", source))

    usual = without_suffixes()
    names = [name for name in OTHER_VALUES if name.removeprefix("CM_CONFIG_") in IN_SYMBOLS]
    if any(without_suffixes(defined(name)) != usual for name in names):
        run(*command, "-c", source, "-o", tmp_path / "object.o")
        symbols = run("nm", tmp_path / "object.o")
        assert not symbols or SUFFIX.search(symbols)


# ---- installed ----

FAST = "-DCIPHERMOTE_OPTIONS=CM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST;CM_CONFIG_MAX_LOG2_N=12"
FLAGS = "-DCMAKE_C_FLAGS=-DCM_CONFIG_COUNTER_RESERVE=4 -DCM_CONFIG_STORE_NOISE=1 -DCM_CONFIG_SEAL_XOFS=0"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(FAST, id="by CIPHERMOTE_OPTIONS"),
        pytest.param(FLAGS, id="by compiler flags", marks=pytest.mark.slow),
    ],
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    general = ("-DCIPHERMOTE_BUILD_TESTS=OFF", "-DCMAKE_INSTALL_LIBDIR=lib")
    run("cmake", "-S", REPOSITORY, "-B", folder / "build", "-G", "Ninja", *general, request.param)
    run("cmake", "--build", folder / "build")
    run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


def pkg_config(prefix: Path) -> list[str]:
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    return shlex.split(run("pkg-config", "--cflags", "--libs", "ciphermote", env=environment))


def test_an_installed_library_gives_its_options_to_programs_that_name_none(
    installed: Path, tmp_path: Path
) -> None:
    source = EXAMPLE / "round_trip.c"
    run("gcc", "-std=c11", source, "-o", tmp_path / "program", *pkg_config(installed))
    printed = run(tmp_path / "program")
    assert all(printed.count(line) == 2 for line in RIGHT), printed
    run("cmake", "-S", EXAMPLE, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "round_trip") == printed


def test_a_program_that_asks_an_installed_library_for_other_options_is_refused(
    installed: Path, tmp_path: Path
) -> None:
    for option in (
        "CM_CONFIG_STORE_NOISE=0",
        "CM_CONFIG_PRESET=CM_CONFIG_PRESET_BALANCED",
        "CM_CONFIG_COMPLEX=0",
    ):
        command = ["gcc", "-std=c11", f"-D{option}", "-fsyntax-only", EXAMPLE / "round_trip.c"]
        done = subprocess.run(
            [*map(str, command), *pkg_config(installed)], capture_output=True, text=True, timeout=60
        )
        name = option.split("=")[0]
        assert done.returncode != 0
        found = re.search(r"This library was built with (\w+) = (\w+): leave the option out", done.stderr)
        assert found and found[1] == name
        assert name != "CM_CONFIG_PRESET" or found[2] in ("CM_CONFIG_PRESET_FAST", "CM_CONFIG_PRESET_NONE")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            "-DCIPHERMOTE_OPTIONS=CM_CONFIG_PRESSET=CM_CONFIG_PRESET_FAST",
            "CM_CONFIG_PRESSET is not an option",
        ),
        ("-DCMAKE_C_FLAGS=-DCM_CONFIG_MAX_LOG2=12", "CM_CONFIG_MAX_LOG2 is not an option"),
        ("-DCIPHERMOTE_OPTIONS=PRESET=CM_CONFIG_PRESET_FAST", 'contains "PRESET=CM_CONFIG_PRESET_FAST".'),
        ("-DCIPHERMOTE_OPTIONS=-DCM_CONFIG_ASM=1", 'without -D; it contains "-DCM_CONFIG_ASM=1".'),
        ("-DCIPHERMOTE_OPTIONS=CM_CONFIG_ASM=1 CM_CONFIG_COMPLEX=0", "separated by semicolons"),
        ("-DCIPHERMOTE_OPTIONS=CM_CONFIG_PRESET=FAST", "CM_CONFIG_PRESET must be CM_CONFIG_PRESET_NONE,"),
        (
            "-DCIPHERMOTE_OPTIONS=CM_CONFIG_WIPE_STACK_BYTES=ALL",
            "CM_CONFIG_WIPE_STACK_BYTES is ALL, which is neither",
        ),
        (
            "-DCMAKE_C_FLAGS=-DCM_CONFIG_WIPE_STACK_BYTES=NONE",
            "CM_CONFIG_WIPE_STACK_BYTES is NONE, which is neither",
        ),
    ],
)
def test_a_configuration_with_a_misspelt_option_is_refused(
    given: str, complaint: str, tmp_path: Path
) -> None:
    command = ("cmake", "-S", str(REPOSITORY), "-B", str(tmp_path), "-DCIPHERMOTE_BUILD_TESTS=OFF", given)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert complaint in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("setting", "present"),
    [
        ("CIPHERMOTE_ONE_FILE=OFF", True),
        pytest.param("CIPHERMOTE_ONE_FILE=ON", True, marks=pytest.mark.slow),
        ("CIPHERMOTE_OPTIONS=CM_CONFIG_ASM=0", False),
        pytest.param(f"{CORTEX_M4} -DCM_CONFIG_ASM=0", False, marks=pytest.mark.slow),
    ],
)
def test_assembly_is_built_unless_it_is_turned_off(setting: str, *, present: bool, tmp_path: Path) -> None:
    settings = (
        *("CMAKE_SYSTEM_NAME=Generic", "CMAKE_C_COMPILER=arm-none-eabi-gcc", "CIPHERMOTE_BUILD_TESTS=OFF"),
        *("CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", CORTEX_M4, setting),
    )
    run("cmake", "-S", REPOSITORY, "-B", tmp_path, "-G", "Ninja", *(f"-D{setting}" for setting in settings))
    run("cmake", "--build", tmp_path)
    symbols = run("arm-none-eabi-nm", *tmp_path.glob("**/libciphermote.a"))
    assert (" T cmi_armv7em_take_off" in symbols) == present
    assert (" U cmi_armv7em_take_off" in symbols) == present


def test_short_enums_are_refused_where_no_abi_has_them() -> None:
    header = REPOSITORY / "core/include/ciphermote/ciphermote.h"
    command = ["gcc", "-std=c11", "-fsyntax-only", f"-I{REPOSITORY / 'core/include'}", "-x", "c", str(header)]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    refused = subprocess.run([*command, "-fshort-enums"], capture_output=True, text=True, timeout=60)
    assert "build without -fshort-enums" in refused.stderr


HEADERS = sorted((REPOSITORY / "core/include/ciphermote").glob("*.h"))
WITH_STRUCTS = [path.stem for path in HEADERS if re.search(r"^(typedef )?struct cm_", path.read_text(), re.M)]


@pytest.mark.parametrize("alignment", [1, 2, 4])
@pytest.mark.parametrize("name", WITH_STRUCTS)
def test_packed_structs_are_refused_by_each_header(name: str, alignment: int, tmp_path: Path) -> None:
    """Also if another header, which is not packed, was included before."""
    source = tmp_path / "packed.c"
    source.write_text(
        f'#include "ciphermote/status.h"\n#pragma pack(push, {alignment})\n'
        f'#include "ciphermote/{name}.h"\n#pragma pack(pop)\n'
    )
    command = ["gcc", "-std=c11", "-fsyntax-only", f"-I{REPOSITORY / 'core/include'}", str(source)]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert f"include ciphermote/{name}.h without packing" in "".join(refused.stderr.split('" "'))

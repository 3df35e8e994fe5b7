#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Resolve pyproject.toml's dependencies again and pin the result: requirements/lock.txt has every extra except
# rtl, requirements/demo-lock.txt the subset that the demos need, and requirements/rtl-lock.txt the hardware
# tools.
set -euo pipefail
cd "$(dirname "$0")/.."

# direct all|demo|rtl: the dependencies that pyproject.toml names.
direct()
{
    /usr/bin/python3 - "$1" <<'PY'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
project = content["project"]
extras = project["optional-dependencies"]
if sys.argv[1] == "rtl":
    print(*extras["rtl"], sep="\n")
elif sys.argv[1] == "demo":
    print(*project["dependencies"], *extras["demo"], *content["build-system"]["requires"], sep="\n")
else:
    others = (extras[extra] for extra in extras if extra != "rtl")
    print(*project["dependencies"], *sum(others, []), sep="\n")
PY
}

# lock all|demo|rtl FILE WHAT [CONSTRAINTS]
lock()
{
    local venv packages
    mkdir -p build
    venv=$(mktemp -d build/lock.XXXXXX)
    mapfile -t packages < <(direct "$1")
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check ${4:+-c "$4"} "${packages[@]}"
    "$venv/bin/python" -m pip check
    {
        echo "# $3. Written by \`make lock\` from pyproject.toml."
        "$venv/bin/python" -m pip freeze
    } >"$2"
    rm -rf "$venv"
}

lock_demo()
{
    lock demo requirements/demo-lock.txt "Those of lock.txt's packages that the demos run with" \
        requirements/lock.txt
}

lock_rtl()
{
    lock rtl requirements/rtl-lock.txt "Every Python package that the hardware's tests and benches run with"
}

case ${1-all} in
all)
    lock all requirements/lock.txt "Every Python package that the tests and the demo run with"
    lock_demo
    lock_rtl
    ;;
demo) lock_demo ;;
rtl) lock_rtl ;;
*)
    echo "usage: tools/lock_requirements.sh [demo|rtl]" >&2
    exit 1
    ;;
esac

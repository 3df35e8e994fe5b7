#!/usr/bin/env bash
# Resolve pyproject.toml's dependencies afresh and pin the outcome: in requirements/lock.txt with every extra but rtl,
# and in requirements/rtl-lock.txt that extra, the hardware tools.
set -euo pipefail
cd "$(dirname "$0")/.."

# direct all|rtl: the dependencies that pyproject.toml names.
direct()
{
    /usr/bin/python3 - "$1" <<'PY'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
if sys.argv[1] == "rtl":
    print(*extras["rtl"], sep="\n")
else:
    others = (extras[extra] for extra in extras if extra != "rtl")
    print(*project["dependencies"], *sum(others, []), sep="\n")
PY
}

# lock all|rtl FILE WHAT
lock()
{
    local venv packages
    mkdir -p build
    venv=$(mktemp -d build/lock.XXXXXX)
    mapfile -t packages < <(direct "$1")
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
    "$venv/bin/python" -m pip check
    {
        echo "# $3. Written by \`make lock\` from pyproject.toml."
        "$venv/bin/python" -m pip freeze
    } >"$2"
    rm -rf "$venv"
}

case ${1-both} in
both)
    lock all requirements/lock.txt "Every Python package that the tests and the demo run with"
    lock rtl requirements/rtl-lock.txt "Every Python package that the hardware's tests and benches run with"
    ;;
rtl) lock rtl requirements/rtl-lock.txt "Every Python package that the hardware's tests and benches run with" ;;
*)
    echo "usage: tools/lock_requirements.sh [rtl]" >&2
    exit 1
    ;;
esac

#!/usr/bin/env bash
# Resolve pyproject.toml's dependencies afresh, every extra included, and pin the outcome in requirements/lock.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
venv=$(mktemp -d build/lock.XXXXXX)
trap 'rm -rf "$venv"' EXIT
/usr/bin/python3 -m venv "$venv"
mapfile -t direct < <("$venv/bin/python" - <<'PY'
import tomllib

with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], *sum(project["optional-dependencies"].values(), []), sep="\n")
PY
)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${direct[@]}"
"$venv/bin/python" -m pip check
{
    echo "# Every Python package that the tests and the demo run with. Written by \`make lock\` from pyproject.toml."
    "$venv/bin/python" -m pip freeze
} >requirements/lock.txt

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which lines the tests reach: the C library's by its own tests, the Python package's by tests/python, or by
# what pytest is given here. HTML reports go to build/coverage.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly folder=build/coverage python=.venv/bin/python

mkdir -p "$folder/c" "$folder/python"
tools/quietly.sh "$folder/c/build.log" "compiling the C tests" bash -c "
    cmake -S . -B $folder/c/build -G Ninja -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS='-O0 -g --coverage' && cmake --build $folder/c/build"
find "$folder/c/build" -name '*.gcda' -delete # counts of earlier runs would add up
tools/quietly.sh "$folder/c/tests.log" "running the C tests" "$folder/c/build/tests/core/core_tests"
"$python" -m gcovr --root . --filter core/ --print-summary \
    --html-details "$folder/c/index.html" "$folder/c/build"

rm -f "$folder"/python/data*
status=0
"$python" -m coverage run -m pytest -n 2 -m "not slow" "${@:-tests/python}" || status=$?
"$python" -m coverage combine --quiet
"$python" -m coverage html --quiet --directory "$folder/python"
"$python" -m coverage report | tail -n 1
echo "[coverage] $folder/c/index.html, $folder/python/index.html"
exit "$status"

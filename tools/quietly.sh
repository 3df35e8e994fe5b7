#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a command whose output matters only if it fails: tools/quietly.sh LOG WHAT COMMAND...
# Its output goes to LOG; on failure the end of LOG is shown.
set -euo pipefail

readonly log=$1 what=$2
shift 2
mkdir -p "$(dirname "$log")"
echo "[build] $what"
status=0
"$@" </dev/null >"$log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
    tail -n 40 "$log" >&2
    echo "[build] error: $what: exit status $status (above is the end of $log)" >&2
fi
exit "$status"

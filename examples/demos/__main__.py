# SPDX-License-Identifier: Apache-2.0
"""python -m demos smartwatch | client-aided: a failure is one sentence and exit code 1."""

from __future__ import annotations

import sys

from ciphermote.errors import Error

from demos import client_aided, run

DEMOS = {"smartwatch": run.run, "client-aided": client_aided.run}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in DEMOS:
        print(f"usage: python -m demos {' | '.join(DEMOS)}", file=sys.stderr)
        return 2
    try:
        DEMOS[arguments[0]]()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

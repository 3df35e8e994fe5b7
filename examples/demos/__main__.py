# SPDX-License-Identifier: Apache-2.0
"""python -m demos smartwatch | client-aided | fleet [SECONDS] | cluster [SECONDS]

A failure is one sentence and exit code 1.
"""

from __future__ import annotations

import sys

from ciphermote.base.errors import Error

from demos import client_aided, run

DEMOS = {"smartwatch": run.run, "client-aided": client_aided.run}
SECONDS = range(10, 3601)
"""That a fleet may measure."""


def fleet(seconds: float) -> None:
    """Apart, for it needs simulated Arduinos and a broker."""
    from demos.fleet import run

    run.run(plan=run.Plan(seconds))


def cluster(seconds: float) -> None:
    """Apart, for it needs PostgreSQL, an object store and Ray."""
    from demos.cluster import run

    run.run(plan=run.Plan(seconds))


FLEETS = {"fleet": fleet, "cluster": cluster}


def main(arguments: list[str]) -> int:
    name, *more = arguments or [""]
    is_fleet = name in FLEETS and len(more) <= 1 and all(each.isdecimal() for each in more)
    if not is_fleet and (name not in DEMOS or more):
        demos = (*DEMOS, *(f"{each} [SECONDS]" for each in FLEETS))
        print(f"usage: python -m demos {' | '.join(demos)}", file=sys.stderr)
        return 2
    try:
        if not is_fleet:
            DEMOS[name]()
        elif (seconds := int(more[0]) if more else 60) in SECONDS:
            FLEETS[name](seconds)
        else:
            raise Error(f"The fleet cannot measure for {seconds} s: give {SECONDS[0]} to {SECONDS[-1]}.")
    except KeyboardInterrupt:
        print("error: it was stopped, and has stopped what it had started.", file=sys.stderr)
        return 1
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

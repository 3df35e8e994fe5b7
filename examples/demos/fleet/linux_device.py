# SPDX-License-Identifier: Apache-2.0
"""A Linux device of the fleet's demo, a process of its own: it measures, encrypts, and delivers until every
window has its receipt.

    python -m demos.fleet.linux_device FOLDER

FOLDER holds device.blob and connection.json, as the owner enrolled the device. It makes the file ready
and waits for plan.json: when it begins and how often it measures what. It makes the directory state, and
diary.jsonl: a line for each window, and at last one of what was sent.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from ciphermote.base.errors import Error
from ciphermote.fleet import FleetDevice

PLAN, READY = "plan.json", "ready"
PLAN_SECONDS = 300.0
DELIVER_SECONDS = 120.0


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    try:
        with (
            FleetDevice(folder / "state", folder / "device.blob", folder / "connection.json") as device,
            (folder / "diary.jsonl").open("a") as diary,
        ):
            device.start()
            (folder / READY).touch()
            plan = _plan(folder / PLAN)
            for index, values in enumerate(plan["readings"]):
                time.sleep(max(0.0, plan["begins"] + index * plan["every"] - time.time()))
                measured = time.time()
                if measured >= plan["ends"]:
                    break
                number = device.put(values, measured=measured)
                print(json.dumps({"window": number, "measured": measured, "values": values}), file=diary)
            end = time.monotonic() + DELIVER_SECONDS
            while device.waiting and time.monotonic() < end:
                time.sleep(0.1)
            print(json.dumps({"waiting": device.waiting, "tries": device.tries}), file=diary)
            if device.waiting or device.refused:
                missing = device.waiting + len(device.refused)
                raise Error(f"{missing} windows have no receipt: {device.last_error}")
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _plan(path: Path) -> dict[str, Any]:
    """Once it is there. Raises Error."""
    end = time.monotonic() + PLAN_SECONDS
    while not path.exists():
        if time.monotonic() > end:
            raise Error(f"There has been no plan for {PLAN_SECONDS:g} s.")
        time.sleep(0.05)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

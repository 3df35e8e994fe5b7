# SPDX-License-Identifier: Apache-2.0
"""The owner's side of the demos with a gateway: intervals computed as they end, and their results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ciphermote.base.errors import Error
from ciphermote.compact.keys import CompactKeys
from ciphermote.fleet import Attachment, Computation, GatewayClient, decrypt, fetch
from ciphermote.owner.key_store import KeyStore
from ciphermote.rest.words import CheckedKind

from demos.fleet.report import Result
from demos.run import Stage

STOP_SECONDS = 180.0
EVERYTHING = 1_000_000
"""Windows of a device that count in an interval."""


@dataclass
class Fleet:
    """The owner's state of one fleet."""

    attachment: Attachment
    keys: KeyStore | CompactKeys
    kind: CheckedKind
    columns: int
    tolerance: float


def add_streams(fleets: Mapping[str, Fleet], every: float, begins: float) -> None:
    """Have each fleet's intervals of so many seconds computed as they end."""
    for fleet in fleets.values():
        with fleet.attachment.client() as client:
            computation = Computation(fleet.kind, per_device=EVERYTHING)
            name = fleet.attachment.fleet
            client.add_stream(name, "each", computation, every=every, grace=1, begins=begins)


def await_streams(owner: GatewayClient, fleets: Mapping[str, Fleet], ends: float, stage: Stage) -> int:
    """Wait until every interval up to a time has its result. Return how many are computed anew, because
    windows came late."""
    replays = 0
    with stage.step("Gateway: the last intervals", len(fleets)) as done:
        for name in fleets:
            _await_intervals(owner, name, ends)
            for job in list(owner.jobs(name)):
                if job.begins < ends and owner.job(name, job.id).late:
                    owner.change_job(name, job.id, "replay")
                    replays += 1
            done()
    return replays


def _await_intervals(owner: GatewayClient, name: str, ends: float) -> None:
    end = time.monotonic() + STOP_SECONDS
    while True:
        (stream,) = owner.streams(name)
        if stream.next >= ends:
            return
        if time.monotonic() > end:
            raise Error(f"The gateway has not computed its intervals within {STOP_SECONDS:g} s.")
        time.sleep(0.3)


def fetch_results(
    owner: GatewayClient, fleets: Mapping[str, Fleet], ends: float, folder: Path, stage: Stage
) -> list[Result]:
    """Fetch and decrypt the results of all intervals up to a time."""
    wanted = [(name, job) for name in fleets for job in owner.jobs(name) if job.begins < ends]
    results = []
    with stage.step("Owner: fetch and decrypt results", len(wanted)) as done:
        for name, job in wanted:
            fleet = fleets[name]
            found = fetch(fleet.attachment, owner, job.id, folder, seconds=STOP_SECONDS)
            reading = decrypt(found, fleet.attachment.load_keys(), count=fleet.columns)
            results.append(
                Result(
                    name,
                    fleet.kind,
                    found.job.begins,
                    found.job.ends,
                    found.job.replay,
                    [(name, device, number) for device, _, number in found.contributors],
                    None if reading is None else reading.values[0],
                    fleet.tolerance,
                )
            )
            done()
    return results

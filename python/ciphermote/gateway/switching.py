# SPDX-License-Identifier: Apache-2.0
"""Switches windows to another owner key, and tells which can be (rotations.py)."""

from __future__ import annotations

from ciphermote.evaluate.evaluator import Evaluator
from ciphermote.gateway.database.interface import Connection
from ciphermote.gateway.devices import unsigned
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.key_path import KeyPath, RekeyKeys, Steps
from ciphermote.gateway.refusals import Refusal
from ciphermote.gateway.store.interface import Store
from ciphermote.rest.requests import FullFleet

IS_UNDER = "coalesce(w.owner_key, d.owner_key)"
"""The owner's key that a window w of a device d is under, or that its device's rekey key leads to; NULL for
the fleet's present one."""


def why_fixed(fleet: Fleet) -> str | None:
    """Return why a fleet's windows cannot be switched to another key; None if they can."""
    if fleet.is_compact:
        return "Compact windows have no key switching"
    if fleet.parameters.special_prime is None:
        return f"Set {fleet.parameters.name} has one prime, and so no key switching"
    return None


def check_switchable(fleet: Fleet) -> None:
    """Raises Refusal for a fleet whose windows cannot be switched to another key."""
    reason = why_fixed(fleet)
    if reason is not None:
        raise Refusal(
            422,
            "no-key-switching",
            f"{reason}: sum what fleet {fleet.name} has while its key {fleet.key_id:016x} is there, have its "
            "retention delete the windows, and let devices send to another fleet.",
        )


def steps_of(fleet: Fleet, database: Connection) -> Steps:
    """Return the steps from the fleet's earlier keys that are not retired."""
    rows = database.execute(
        "SELECT source, target, rekey FROM rotations WHERE fleet = ? AND rekey IS NOT NULL", (fleet.id,)
    )
    return {unsigned(row["source"]): (unsigned(row["target"]), row["rekey"]) for row in rows}


def path_of(fleet: Fleet, database: Connection, store: Store) -> KeyPath:
    """Return the way to a fleet's present key."""
    definition = fleet.definition
    assert isinstance(definition, FullFleet)
    evaluator = Evaluator(fleet.parameters, definition.scheme)

    keys = RekeyKeys(lambda: evaluator)
    return KeyPath(
        fleet.key_id,
        steps_of(fleet, database),
        evaluator,
        lambda digest, owner_id: keys.get(digest, owner_id, store.get),
    )

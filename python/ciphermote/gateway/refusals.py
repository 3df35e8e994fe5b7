# SPDX-License-Identifier: Apache-2.0
"""What the gateway says no to, in one form for HTTP and MQTT: a status, a short name, and one sentence."""

from __future__ import annotations


class Refusal(Exception):
    """status: HTTP's; name: for programs, in hyphens; sentence: for people. retry_after: seconds after which
    the same may be accepted."""

    def __init__(self, status: int, name: str, sentence: str, *, retry_after: float | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.name = name
        self.sentence = sentence
        self.retry_after = retry_after


def overloaded(what: str) -> Refusal:
    """Too much at once: the same is welcome in a moment."""
    return Refusal(503, "overloaded", f"{what}: send it again in a moment.", retry_after=1)


def disk_full(error: OSError | Exception) -> Refusal:
    """Nothing of it was kept."""
    return Refusal(
        507,
        "storage",
        f"The gateway cannot store anything now ({error}), and kept nothing of this: keep it and send it "
        "again; its operator has to make room.",
        retry_after=60,
    )

# SPDX-License-Identifier: Apache-2.0
"""A fleet as the intake and jobs see it: the consequences of its definition for a delivery."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from ciphermote import _core, _evaluator
from ciphermote.compact.sets import CompactSet, compact_set
from ciphermote.gateway.refusals import Refusal, looks_secret, secret_key
from ciphermote.parameters import ParameterSet
from ciphermote.parameters.native import core_params
from ciphermote.rest.requests import DEFINITION, CompactFleet, FullFleet

Part = tuple[int, int, int, int, int]
"""A part of a delivery: (place, places, tag, where it begins, bytes)."""

_VERSION_TAGGED = 2
_FRAME_MAGIC = b"CM"
_FRAME_HEADER_BYTES = 64
_PACKET_KIND = 0x21
_PACKET_HEADER_BYTES = 27


def address(data: bytes) -> tuple[bool, int, int]:
    """Return (whether they are compact packets, device, epoch) from the first frame or packet. Raises Refusal
    for anything but tagged frames and packets: version 1 is not accepted over a network."""
    if looks_secret(data):
        raise secret_key()
    if len(data) >= _PACKET_HEADER_BYTES and data[0] == _PACKET_KIND:
        epoch, device = struct.unpack_from("<HI", data, 2)
        return True, device, epoch
    if len(data) >= _FRAME_HEADER_BYTES and data[:2] == _FRAME_MAGIC and data[2] == _VERSION_TAGGED:
        device, epoch = struct.unpack_from("<IH", data, 44)
        return False, device, epoch
    if data[:2] == _FRAME_MAGIC and len(data) > 2 and data[2] != _VERSION_TAGGED:
        raise Refusal(
            400,
            "untagged",
            f"The frames are of version {data[2]}, and only tagged ones (version 2) are taken: give the "
            "device keys with a tag key (`ciphermote owner enroll`), and firmware that tags its frames with "
            "it (cm_frame_writer_tag).",
        )
    raise Refusal(
        400,
        "malformed",
        f"These {len(data)} bytes do not begin as a tagged frame or a compact packet does: send what the "
        "library wrote, and nothing else.",
    )


@dataclass(frozen=True)
class Fleet:
    """A fleet's row, and the values derived from it."""

    id: int
    tenant: int
    name: str
    definition: FullFleet | CompactFleet

    @classmethod
    def from_row(cls, id: int, tenant: int, name: str, definition: str) -> Fleet:
        return cls(id, tenant, name, DEFINITION.validate_json(definition))

    @cached_property
    def is_compact(self) -> bool:
        return isinstance(self.definition, CompactFleet)

    @cached_property
    def key_id(self) -> int:
        return int(self.definition.key_id, 16)

    @cached_property
    def parameters(self) -> ParameterSet:
        """The parameter set of full frames."""
        assert isinstance(self.definition, FullFleet)
        return self.definition.parameter_set

    @cached_property
    def params(self) -> _core.Params | None:
        """The C library's object of the set; None for the compact lane."""
        return None if self.is_compact else core_params(self.parameters)

    @cached_property
    def compact_set(self) -> CompactSet:
        assert isinstance(self.definition, CompactFleet)
        return compact_set(self.definition.set)

    @cached_property
    def positions(self) -> frozenset[int]:
        """The positions that a compact window holds."""
        assert isinstance(self.definition, CompactFleet)
        return frozenset(p for first, count in self.definition.positions for p in range(first, first + count))

    @cached_property
    def _runs(self) -> frozenset[tuple[int, int]]:
        """The runs of these, each of which most packets hold as a whole."""
        assert isinstance(self.definition, CompactFleet)
        return frozenset((first, count) for first, count in self.definition.positions)

    @cached_property
    def _agreed(self) -> tuple[bytes, bytes]:
        """Scheme, components, primes, and scale or modulus of full frames (Delivery.agreed)."""
        definition = self.definition
        assert isinstance(definition, FullFleet)
        scale_or_modulus = struct.pack("<Q", definition.plain_modulus)
        if definition.log2_scale is not None:
            scale_or_modulus = struct.pack("<d", 2.0**definition.log2_scale)
        return bytes((definition.scheme.code, 2, len(self.parameters.data_primes))), scale_or_modulus

    def check_content(self, delivery: _evaluator.Delivery, parts: list[Part], key_id: int) -> None:
        """Raises Refusal unless authentic frames fit this fleet's definition. key_id: the device's."""
        if self.is_compact:
            self._check_packets(delivery, parts)
            return
        said = delivery.agreed
        if said[8:16] != key_id.to_bytes(8, "little"):
            raise self._foreign(
                f"of key {delivery.key_id:016x}, and the device was enrolled with {key_id:016x}"
            )
        kind, scale_or_modulus = self._agreed
        if said[0] != kind[0] or said[16:] != scale_or_modulus:
            raise self._foreign("of another scheme, scale or plain modulus")
        if said[2:4] != kind[1:]:
            raise self._foreign(
                f"of {said[2]} components at {said[3]} primes, and fresh ciphertexts have 2 at {kind[2]}"
            )

    def _check_packets(self, delivery: _evaluator.Delivery, parts: list[Part]) -> None:
        if delivery.set != self.compact_set.id:
            raise self._foreign(f"of compact set {delivery.set}, and the fleet's is {self.compact_set.id}")
        for place, count, _, _, _ in parts:
            if (place, count) not in self._runs and not self.positions.issuperset(
                range(place, place + count)
            ):
                raise self._foreign(
                    f"of positions {place} to {place + count - 1}, which windows here have not"
                )

    def _foreign(self, what: str) -> Refusal:
        return Refusal(
            422,
            "foreign",
            f"The frames are {what}: provision the device as fleet {self.name} is defined, or send them to "
            "their own fleet.",
        )

    def places(self, delivery: _evaluator.Delivery, parts: list[Part]) -> int | None:
        """Return how many places an attempt has; None if this delivery, a seed, does not determine it."""
        if self.is_compact:
            return len(self.positions)
        if len(parts) == 1 and parts[0][0] == 0 and delivery.seeded:
            return None
        return delivery.places

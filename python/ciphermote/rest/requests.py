# SPDX-License-Identifier: Apache-2.0
"""Requests of owners and operators, as validated models. The gateway stores definitions and specs in the same
form."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
    TypeAdapter,
    model_validator,
)

from ciphermote.base import number_text
from ciphermote.base.errors import Error
from ciphermote.compact.sets import COMPACT_SETS
from ciphermote.evaluate.linear_model import LinearModel
from ciphermote.parameters import ParameterSet, Scheme
from ciphermote.parameters.files import parameters_from_dict
from ciphermote.rest.words import CHECKED_KINDS, ID, NAME, JobKind

NAME_PATTERN = f"^{NAME}$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""A name of a tenant, fleet or stream: lowercase letters, digits and hyphens."""
ID_PATTERN = f"^{ID}$"
KeyId = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
PATTERNS = {
    NAME_PATTERN: "take 1 to 40 lowercase letters, digits and hyphens, with no hyphen first or last",
    ID_PATTERN: "give 16 hexadecimal digits, in lowercase",
}
"""The sentences of refusals for text that does not match."""


def _digits(value: Any) -> Any:
    """Check text that stands for an integer, in names of JSON and parts of paths: each integer has a single
    spelling."""
    if not isinstance(value, str):
        return value
    if not (number_text.is_natural(value) and str(int(value)) == value):
        raise ValueError("write the number in digits, without leading zeros")
    return int(value)


def _ascii(value: Any) -> Any:
    """Check text in a query that stands for a number."""
    if isinstance(value, str):
        try:
            number_text.real(value)
        except ValueError:
            raise ValueError("write the number in the digits 0 to 9") from None
    return value


Digits = BeforeValidator(_digits)
Ascii = BeforeValidator(_ascii)
Device = Annotated[int, Digits, Field(ge=0, le=2**32 - 1)]
Seconds = Annotated[float, Field(gt=0, le=3.2e9, allow_inf_nan=False)]
Time = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
_TAG_KEY = r"^[0-9a-f]{96}$"
_SEED = r"^[0-9a-f]{32}$"


Run = Annotated[list[StrictInt], Field(min_length=2, max_length=2)]
"""The first position of a run, and its length."""


class Model(BaseModel):
    """Rejects unknown fields, and values of another type than the field's: true is not a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FullFleet(Model):
    """A fleet that sends full frames. Every ciphertext has this set, scheme and scale or modulus.

    key_id: ID of the owner's key. own_keys: each device has its own secret key, and its ciphertexts are
    converted to the owner's before anything is computed.
    """

    lane: Literal["full"] = "full"
    parameters: dict[str, Any]
    key_id: KeyId
    plain_modulus: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    log2_scale: Annotated[int, Field(ge=1, le=511)] | None = None
    own_keys: bool = False
    windows_per_hour: Annotated[int, Field(ge=1, le=3_600_000)] = 36_000

    @model_validator(mode="after")
    def _sound(self) -> FullFleet:
        try:
            found = self.parameter_set
        except Error as error:
            raise ValueError(str(error)) from None
        if (self.log2_scale is None) != self.scheme.is_bfv:
            raise ValueError("give log2_scale for CKKS or plain_modulus for BFV, and not both")
        if self.plain_modulus == 1:
            raise ValueError("plain_modulus is 1: give 2 or more, or 0 for CKKS")
        if self.own_keys and not found.special_primes:
            raise ValueError("devices' own keys need key switching, which this set has not")
        return self

    @property
    def parameter_set(self) -> ParameterSet:
        return parameters_from_dict(self.parameters, "parameters")

    @property
    def scheme(self) -> Scheme:
        return Scheme(self.plain_modulus)


class CompactFleet(Model):
    """A fleet of the compact lane. positions: the runs [first, number] that each window holds."""

    lane: Literal["compact"] = "compact"
    set: str
    key_id: KeyId
    positions: Annotated[list[Run], Field(min_length=1, max_length=4096)]
    windows_per_hour: Annotated[int, Field(ge=1, le=3_600_000)] = 36_000

    @model_validator(mode="after")
    def _sound(self) -> CompactFleet:
        found = next((s for s in COMPACT_SETS if s.name == self.set), None)
        if found is None:
            raise ValueError(f"there is no compact set {self.set[:20]!r}")
        end = 0
        for first, count in self.positions:
            if first < end or count < 1 or first + count > found.n:
                raise ValueError(
                    f"positions are runs [first, number], ascending and apart, within 0 to {found.n - 1}"
                )
            end = first + count
        return self


Definition = Annotated[FullFleet | CompactFleet, Field(discriminator="lane")]
DEFINITION: TypeAdapter[FullFleet | CompactFleet] = TypeAdapter(Definition)


class Enrolment(Model):
    """A device in an epoch, with the keys that authenticate its frames and the messages to it, which decrypt
    nothing.

    largest_value: a bound on every |value|, which the device enforces; jobs are refused if their results
    could exceed the modulus for such values. In the compact lane it is an integer.
    """

    epoch: Annotated[int, Field(ge=1, le=2**16 - 1)]
    key_id: KeyId
    largest_value: Annotated[float, Field(gt=0, le=2.0**100, allow_inf_nan=False)]
    frames_key: Annotated[str, StringConstraints(pattern=_TAG_KEY)] = Field(repr=False)
    receipts_key: Annotated[str, StringConstraints(pattern=_TAG_KEY)] = Field(repr=False)
    results_key: Annotated[str, StringConstraints(pattern=_TAG_KEY)] = Field(repr=False)


class AnswerForm(Model):
    """The form in which a device decrypts a result, as in its cm_ckks_expected or cm_bfv_expected. largest:
    CKKS's largest |slot|."""

    largest: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    log2_tiles: Annotated[int, Field(ge=0, le=4)] = 0


class Groups(Model):
    """The groups of devices whose sums a checked sum's result holds (rest/grouping.py).

    count: how many, at least one device in each; null for 32 in fleets of full frames, and for every device
    by itself in compact fleets. seed: 32 random hexadecimal digits, unknown to the devices, which with the
    job's number decide who is in which group.
    """

    count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    seed: Annotated[str, StringConstraints(pattern=_SEED)]


class JobSpec(Model):
    """A computation.

    kind: sum; mean: the sum, which the owner divides by the number of windows; variance: the sum, and that of
    the squares, which needs relinearization keys and full frames; weighted-sum: each device's windows times
    its weight; linear: the scores of each window, by a model in the clear. devices: only these. weights: by
    device; a device without one is left out. bound: the largest |value| of any window, for weights and models
    of full frames, if it is less than the devices' enrolled bounds. model: a linear one's JSON
    (LinearModel.to_json). answer: also return each score of full frames to the window's device, in this form.
    per_device: the most windows of each device that count, lowest numbers first, which limits the weight of
    one device. leave_out_damaged: leave out windows that are damaged in the gateway's store; otherwise the
    job fails, and names them. groups: of a sum or mean, return the sums of these groups of devices, not the
    whole one, for the owner to check and add up.

    kind rekey: switch all windows under earlier owner keys of the fleet to its present one where they are
    stored. It has no result, and takes leave_out_damaged only.
    """

    kind: JobKind = "sum"
    devices: Annotated[list[Device], Field(max_length=100_000)] | None = None
    per_device: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    weights: Annotated[dict[Device, float], Field(max_length=100_000)] | None = None
    bound: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    model: dict[str, Any] | None = None
    answer: AnswerForm | None = None
    leave_out_damaged: bool = False
    groups: Groups | None = None

    @model_validator(mode="after")
    def _complete(self) -> JobSpec:
        weighted, linear = self.kind == "weighted-sum", self.kind == "linear"
        if weighted != (self.weights is not None):
            raise ValueError("weights belong to a weighted-sum, which needs them")
        if linear != (self.model is not None):
            raise ValueError("a model belongs to kind linear, which needs it")
        if self.model is not None:
            try:
                LinearModel.from_fields(self.model)
            except Error as error:
                raise ValueError(str(error)) from None
        if self.answer is not None and not linear:
            raise ValueError("only scores (kind linear) answer devices: leave answer out")
        if self.groups is not None and self.kind not in CHECKED_KINDS:
            raise ValueError("groups belong to a sum or a mean")
        others = self.devices, self.bound, None if self.per_device == 1 else self.per_device
        if self.kind == "rekey" and any(other is not None for other in others):
            raise ValueError("kind rekey switches all windows: leave devices, per_device and bound out")
        if self.weights and not all(math.isfinite(w) for w in self.weights.values()):
            raise ValueError("weights are finite numbers")
        return self

    @property
    def wanted(self) -> Collection[int] | None:
        """The devices whose windows count; None for all."""
        return self.devices if self.weights is None else self.weights


def _weighing(spec: JobSpec) -> JobSpec:
    """Check a rule for requests only, because older stored specs may break it."""
    if spec.weights is not None and not any(spec.weights.values()):
        raise ValueError("all weights are 0: give at least one device another")
    return spec


class JobRequest(Model):
    """A computation over the windows that were measured from begins to before ends, in seconds since 1970."""

    spec: Annotated[JobSpec, AfterValidator(_weighing)]
    begins: Time = 0
    ends: Time = 1e11

    @model_validator(mode="after")
    def _ordered(self) -> JobRequest:
        if self.ends <= self.begins:
            raise ValueError("ends is not after begins")
        return self


class StreamSpec(Model):
    """A computation for each interval: tumbling, or sliding if span is more than every.

    every: seconds from the beginning of one interval to the next; span: the length of an interval in seconds.
    grace: seconds from the end of an interval until it is closed; windows that arrive later are stored, and
    count when the job is replayed.
    """

    job: JobSpec
    every: Seconds
    span: Seconds | None = None
    grace: Annotated[float, Field(ge=0, le=3.2e8, allow_inf_nan=False)] = 0
    begins: Time | None = None

    @model_validator(mode="after")
    def _bounded(self) -> StreamSpec:
        if self.span is not None and not self.every <= self.span <= 1000 * self.every:
            raise ValueError("span is from every to 1000 times that")
        if self.every < 1:
            raise ValueError("every is at least a second")
        return self


class RetentionRequest(Model):
    """retain_days: days to keep windows and results; null keeps them indefinitely."""

    retain_days: Annotated[int, Field(strict=True, ge=1, le=36_500)] | None


class StreamRequest(Model):
    name: Name
    spec: StreamSpec

    @model_validator(mode="after")
    def _weighing(self) -> StreamRequest:
        _weighing(self.spec.job)
        return self


class TokenRequest(Model):
    """A token to make. scope device: for one device, or (without device) for an uplink that forwards the
    frames of a whole fleet; owner: for everything of a tenant. expires: when it ends; never if left out."""

    scope: Literal["device", "owner"]
    fleet: Name | None = None
    device: Device | None = None
    note: Annotated[str, Field(max_length=200)] = ""
    expires: Time | None = None

    @model_validator(mode="after")
    def _placed(self) -> TokenRequest:
        if (self.scope == "device") != (self.fleet is not None):
            raise ValueError("a device's token names its fleet, an owner's does not")
        if self.device is not None and self.scope != "device":
            raise ValueError("only a device's token names a device")
        return self


class TenantRequest(Model):
    name: Name
    most_devices: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    most_bytes: Annotated[int, Field(ge=1, le=2**53)] = 1 << 40
    most_fleets: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    most_streams: Annotated[int, Field(ge=0, le=1_000_000)] = 1000
    most_jobs: Annotated[int, Field(ge=1, le=100_000_000)] = 100_000

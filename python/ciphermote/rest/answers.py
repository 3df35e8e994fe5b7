# SPDX-License-Identifier: Apache-2.0
"""A gateway's answers to owners and devices, as typed models.

Times are seconds since 1970. The gateway builds its answers from these models, and clients parse them with
the same ones. Types are strict: an answer with a number in place of text is an error, and not converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ciphermote.rest.requests import AnswerForm, Definition, Groups, KeyId
from ciphermote.rest.words import JobKind

Item = TypeVar("Item")
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
OVER: tuple[JobState, ...] = ("done", "failed", "cancelled")
"""Final states of a job."""


class Answer(BaseModel):
    """An answer of the gateway. Clients ignore fields that later versions add."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Page(Answer, Generic[Item]):
    """One page of a list. next: the value of "after" for the next page; null on the last one."""

    items: list[Item]
    next: str | None

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], key: str, *, is_last: bool | None = None) -> Self:
        """Make a page from rows of the database; key: the field that "after" refers to. is_last: None if only
        an empty page is the last."""
        last = not rows if is_last is None else is_last
        return cls.model_validate({"items": list(rows), "next": None if last else str(rows[-1][key])})


class Problem(Answer):
    """Why a request was refused (RFC 9457). type: identifies the kind of problem,
    urn:ciphermote:problem:NAME; title: the kind, for people; detail: one sentence about this one, and what to
    do."""

    type: str
    status: int
    title: str
    detail: str


# --- devices ------------------------------------------------------------------------------------------------


class DeliveryProgress(Answer):
    """An attempt that is stored in part. missing: the number of units still to come; null if only the seed
    has arrived, which does not tell. unit: frames, or the values in a compact fleet's packets."""

    missing: int | None
    unit: Literal["frames", "values"]


# --- fleets -------------------------------------------------------------------------------------------------


class TenantView(Answer):
    """The tenant of a token, its quotas, and the bytes that it has stored."""

    name: str
    created: float
    most_devices: int
    most_bytes: int
    most_fleets: int
    most_streams: int
    most_jobs: int
    bytes: int


class FleetView(Answer):
    """A fleet as its owner defined it, with defaults filled in."""

    name: str
    definition: Definition
    created: float


class FleetList(Page[FleetView]):
    """A tenant's fleets, by name."""


class Progress(Answer):
    """A fleet's progress. time: the gateway's clock. heard: number of devices that have sent anything;
    quarantined: number of deliveries in quarantine; jobs: their numbers, by state."""

    fleet: str
    time: float
    devices: int
    heard: int
    last_seen: float | None
    windows: int
    quarantined: int
    jobs: dict[JobState, int]


class Retention(Answer):
    """retain_days: days to keep windows and results; null keeps them indefinitely. deleted_to: windows
    measured up to then may be deleted; null if none are."""

    retain_days: int | None
    deleted_to: float | None


class OwnerKeyView(Answer):
    """An owner's key of a fleet, and what is under it: stored windows, devices that may send, and deliveries
    that wait for the operator. replaced: when it was replaced by another; null for the present key. retired:
    when it was retired, after which nothing is under it."""

    key_id: KeyId
    windows: int
    devices: int
    waiting: int
    replaced: float | None
    retired: float | None


class OwnerKeyList(Answer):
    """A fleet's owner keys, the present one first. fixed: why windows cannot be switched to another key, or
    null."""

    fleet: str
    fixed: str | None
    keys: list[OwnerKeyView]


# --- devices of a fleet -------------------------------------------------------------------------------------


class DeviceView(Answer):
    """A device in its latest epoch. newest: the number of its newest window; excluded: whether new jobs leave
    its windows out."""

    number: int
    epoch: int
    key_id: KeyId
    largest_value: float
    state: Literal["active", "quarantined", "revoked", "deleted"]
    newest: int | None
    last_seen: float | None
    created: float
    has_rekey_key: bool
    windows: int
    excluded: bool


class DeviceList(Page[DeviceView]):
    """A fleet's devices, by number."""


class WindowView(Answer):
    """A window that counts. sequence: its place in the order of completion; deleted: whether its frames are
    deleted."""

    sequence: int
    device: int
    epoch: int
    number: int
    counter: int
    measured: float
    arrived: float
    deleted: bool


class WindowList(Page[WindowView]):
    """Windows, in the order of their completion."""


# --- computations -------------------------------------------------------------------------------------------


class SpecView(Answer):
    """The computation of a job. Lists leave out devices, weights and the model, and no answer contains the
    model."""

    kind: JobKind
    devices: list[int] | None = None
    per_device: int = 1
    weights: dict[str, float] | None = None
    bound: float | None = None
    answer: AnswerForm | None = None
    leave_out_damaged: bool = False
    groups: Groups | None = None


class ResultView(Answer):
    """A job's result; of a rekey, the windows that are switched to the present key. parts: number of its
    ciphertexts. seconds: duration of its computation. unanswered:
    windows whose devices cannot fetch an answer; damaged: windows left out because they are damaged in the
    gateway's store."""

    kind: JobKind
    windows: int
    devices: int
    parts: int
    seconds: float | None = None
    unanswered: int | None = None
    damaged: int | None = None


class JobView(Answer):
    """A job. stream: the stream that made it. replay: 1, 2 .. for another run of the same interval. done,
    total: numbers of windows. late: number of windows that arrived too late, only in an answer about one
    job."""

    id: int
    stream: str | None
    spec: SpecView
    begins: float
    ends: float
    replay: int
    state: JobState
    done: int
    total: int
    tries: int
    error: str | None
    result: ResultView | None
    created: float
    finished: float | None
    late: int | None = None

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def kind(self) -> JobKind:
        return self.spec.kind

    @property
    def windows(self) -> int:
        """Windows in the result; 0 before there is one."""
        return 0 if self.result is None else self.result.windows

    @property
    def devices(self) -> int:
        """Devices in the result."""
        return 0 if self.result is None else self.result.devices

    @property
    def parts(self) -> int:
        """Ciphertexts of the result."""
        return 0 if self.result is None else self.result.parts


class JobList(Page[JobView]):
    """A fleet's jobs, by number."""


class StreamSpecView(Answer):
    """A stream's job, and its intervals in seconds."""

    job: SpecView
    every: float
    span: float | None
    grace: float
    begins: float | None


class StreamView(Answer):
    """A stream. next: when the next interval begins. stalled: why it makes no jobs at present, or null."""

    id: int
    name: str
    spec: StreamSpecView
    begins: float
    next: float
    created: float
    stalled: str | None


class StreamList(Page[StreamView]):
    """A fleet's streams, by name."""


class Created(Answer):
    """The number of the job or stream that was created, or that continues."""

    id: int


WindowId = Annotated[list[int], Field(min_length=3, max_length=3)]
"""Device, epoch and window number."""


class ContributorList(Page[WindowId]):
    """The windows in a result, in order, each as [device, epoch, window]."""


class LeftOut(Answer):
    """The requested windows of a job that did not count: their number, the number of their devices, and the
    first 1000 as [device, epoch, window]."""

    windows: int
    devices: int
    first: list[WindowId] = Field(repr=False)


# --- tokens and health --------------------------------------------------------------------------------------


class TokenView(Answer):
    """A token without its secret. fleet, device: of a device's token."""

    id: str
    scope: Literal["device", "owner", "operator"]
    note: str
    created: float
    expires: float | None
    revoked: float | None
    fleet: str | None
    device: int | None


class TokenList(Page[TokenView]):
    """Tokens, by id."""


class TokenSecret(Answer):
    """A new token, which is shown only once."""

    token: str = Field(repr=False)


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]
    version: str


class Readiness(Answer):
    """Whether the gateway accepts deliveries; reason: why not. jobs_wait: why it computes no jobs, which does
    not keep it from accepting any."""

    ready: bool
    reason: str | None
    jobs_wait: str | None

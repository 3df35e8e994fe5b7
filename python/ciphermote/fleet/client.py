# SPDX-License-Identifier: Apache-2.0
"""A gateway's HTTP API, from the side of owners and devices.

What goes over it is public or checks tags: nothing here takes a secret key. What the gateway refuses becomes
a GatewayError with its own sentence.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from ciphermote.base import json_text
from ciphermote.base.errors import FrameError, GatewayError, MismatchError, ParameterError
from ciphermote.base.forks import Opener
from ciphermote.formats import labels, seeded_keys
from ciphermote.formats.tags import TagKeys
from ciphermote.rest.http import checked_token, checked_url, refusal_of

Kind = Literal["sum", "mean", "variance", "weighted-sum", "linear"]
KINDS: tuple[Kind, ...] = ("sum", "mean", "variance", "weighted-sum", "linear")
OVER = ("done", "failed", "cancelled")
"""States of a job that changes no more."""

_OCTETS = {"Content-Type": "application/octet-stream"}
_SECONDS = 60.0
_UPLOAD_SECONDS = 600.0
_NAME = re.compile("[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_KEYS = {
    "relin": (labels.Kind.RELIN_KEYS, seeded_keys.KeyKind.RELINEARIZATION),
    "galois": (labels.Kind.GALOIS_KEYS, seeded_keys.KeyKind.GALOIS),
}


@dataclass(frozen=True)
class FleetProgress:
    """How far a fleet is. time: the gateway's, in seconds since 1970. heard: devices that have sent anything;
    quarantined: deliveries that wait for the operator; jobs: how many, by state."""

    fleet: str
    time: float
    devices: int
    heard: int
    last_seen: float | None
    windows: int
    quarantined: int
    jobs: Mapping[str, int]

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> FleetProgress:
        """Of what the gateway says, later versions' fields left out."""
        return cls(**{each.name: fields[each.name] for each in dataclass_fields(cls)})


@dataclass(frozen=True)
class Job:
    """A computation. begins, ends: of the windows in it, in seconds since 1970. replay: 1, 2 .. for another
    run of the same interval. done, total: windows. windows, parts: of the result; late: windows that came too
    late for it, as show alone tells. fields: all that the gateway says of it."""

    id: int
    stream: str | None
    kind: str
    begins: float
    ends: float
    replay: int
    state: str
    done: int
    total: int
    error: str | None
    windows: int
    devices: int
    parts: int
    late: int
    fields: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Job:
        result = fields["result"] or {"windows": 0, "devices": 0, "parts": 0}
        return cls(
            fields["id"],
            fields["stream"],
            fields["spec"]["kind"],
            fields["begins"],
            fields["ends"],
            fields["replay"],
            fields["state"],
            fields["done"],
            fields["total"],
            fields["error"],
            result["windows"],
            result["devices"],
            result["parts"],
            fields.get("late", 0),
            fields,
        )

    @property
    def is_over(self) -> bool:
        return self.state in OVER


@dataclass(frozen=True)
class LeftOut:
    """The windows that a job was asked for and that did not count: how many, of how many devices. first:
    [device, epoch, window] of the first 1000."""

    windows: int
    devices: int
    first: Sequence[Sequence[int]] = field(repr=False)


@dataclass(frozen=True)
class Computation:
    """What a gateway is to compute over the windows of an interval.

    kind: sum; mean; variance (full frames, with relinearization keys; of the population); weighted-sum, with
    weights by device; linear, with a model's fields (json.loads(LinearModel.to_json())): the scores of each
    window. devices: these alone. per_device: at most so many windows of each count. bound: how large a
    |value| of a window can be, which weights on full frames and models take. leave_out_damaged: count the
    others if windows are damaged in the gateway's store; otherwise the job fails, and names them.
    """

    kind: Kind = "sum"
    devices: tuple[int, ...] | None = None
    per_device: int = 1
    weights: Mapping[int, float] | None = None
    bound: float | None = None
    model: Mapping[str, Any] | None = field(default=None, repr=False)
    leave_out_damaged: bool = False

    def fields(self) -> dict[str, Any]:
        """As the API takes it."""
        found = {
            "kind": self.kind,
            "per_device": self.per_device,
            "devices": None if self.devices is None else list(self.devices),
            "weights": None if self.weights is None else {str(d): w for d, w in self.weights.items()},
            "bound": self.bound,
            "model": None if self.model is None else dict(self.model),
            "leave_out_damaged": self.leave_out_damaged or None,
        }
        return {name: value for name, value in found.items() if value is not None}


class GatewayClient:
    """A connection to a gateway, with the token of an owner (or, for deliver, a device's).

    url: https://HOST[:PORT]. ca: the PEM text of the authority that signed the gateway's certificate; None:
    those that the system trusts. ParameterError for what is no such URL or authority. Every method raises
    GatewayError for what the gateway refuses, and if it does not answer.
    """

    def __init__(self, url: str, token: str, *, ca: str | None = None, seconds: float = _SECONDS) -> None:
        self.url = checked_url(url)
        try:
            context = ssl.create_default_context(cadata=ca)
        except (ssl.SSLError, ValueError):
            raise ParameterError(
                "The authority (--ca) holds no PEM certificate: give the gateway's."
            ) from None
        self._opener = Opener("The connection to the gateway")
        headers = {"Authorization": f"Bearer {checked_token(token)}"}
        self._http = httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._opener.is_here:  # or it would end the opener's TLS sessions
            self._http.close()

    # --- fleets ---------------------------------------------------------------------------------------------

    def tenant(self) -> str:
        """The name of the tenant that the token is of."""
        return str(self._json("GET", "/v1/tenant")["name"])

    def define_fleet(self, fleet: str, definition: Mapping[str, Any]) -> None:
        """Define a fleet, once and for all; the same definition again changes nothing."""
        self._send("PUT", f"/v1/fleets/{_name(fleet)}", json=dict(definition))

    def fleets(self) -> list[dict[str, Any]]:
        """The tenant's: name, definition, created."""
        return list(self._pages("/v1/fleets", "name", ""))

    def definition(self, fleet: str) -> dict[str, Any]:
        """A fleet's, as the gateway keeps it, defaults filled in."""
        for found in self.fleets():
            if found["name"] == fleet:
                definition: dict[str, Any] = found["definition"]
                return definition
        raise GatewayError(f"There is no fleet {fleet} at {self.url}: attach it first.", "no-such-fleet", 404)

    def progress(self, fleet: str) -> FleetProgress:
        return FleetProgress.from_fields(self._json("GET", f"/v1/fleets/{_name(fleet)}"))

    def watch(self, fleet: str) -> Iterator[FleetProgress]:
        """The same as it changes, about once a second, until the gateway stops."""
        path = f"/v1/fleets/{_name(fleet)}/watch"
        self._opener.check()
        try:
            with self._http.stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    raise refusal_of(response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield FleetProgress.from_fields(json_text.parse_large(line.removeprefix("data: ")))
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    def retention(self, fleet: str) -> dict[str, Any]:
        """retain_days: how long windows and results are kept, None: for ever; deleted_to: windows measured
        up to then may be deleted, None: none are."""
        found: dict[str, Any] = self._json("GET", f"/v1/fleets/{_name(fleet)}/retention")
        return found

    def set_retention(self, fleet: str, days: int | None) -> None:
        """Have windows and results deleted so many days after they came; None: keep them."""
        self._send("PUT", f"/v1/fleets/{_name(fleet)}/retention", json={"retain_days": days})

    def put_keys(self, fleet: str, kind: Literal["relin", "galois"], data: bytes) -> None:
        """Give public evaluation keys, in the bytes that keygen wrote. MismatchError for anything else: it
        does not leave this machine."""
        check_public(data, kind)
        path = f"/v1/fleets/{_name(fleet)}/keys/{kind}"
        self._send("PUT", path, content=data, headers=_OCTETS, timeout=_UPLOAD_SECONDS)

    # --- devices --------------------------------------------------------------------------------------------

    def devices(self, fleet: str, after: int = -1) -> Iterator[dict[str, Any]]:
        """Those of numbers above after: number, epoch, key_id, largest_value, state, newest, last_seen,
        windows and so on."""
        path = f"/v1/fleets/{_name(fleet)}/devices"
        return self._pages(path, "number", after)

    def enroll(
        self, fleet: str, device: int, *, epoch: int, key_id: int, tag_keys: TagKeys, largest_value: float
    ) -> None:
        """Enroll a device in an epoch; the same again changes nothing. largest_value: no |value| that
        it sends is beyond this."""
        body = {
            "epoch": epoch,
            "key_id": f"{key_id:016x}",
            "largest_value": largest_value,
            "frames_key": tag_keys.frames.hex(),
            "receipts_key": tag_keys.receipts.hex(),
            "results_key": tag_keys.results.hex(),
        }
        self._send("PUT", f"/v1/fleets/{_name(fleet)}/devices/{device}", json=body)

    def put_rekey_key(self, fleet: str, device: int, data: bytes) -> None:
        """Give DeviceKeys.rekey_key of a device with a key of its own. MismatchError for anything else."""
        if not seeded_keys.are_seeded(data) or seeded_keys.stated_kind(data) is not seeded_keys.KeyKind.REKEY:
            raise MismatchError(
                "These bytes are no rekey key, and nothing else is sent: give DeviceKeys.rekey_key."
            )
        path = f"/v1/fleets/{_name(fleet)}/devices/{device}/rekey"
        self._send("PUT", path, content=data, headers=_OCTETS, timeout=_UPLOAD_SECONDS)

    def set_device_state(
        self, fleet: str, device: int, action: Literal["revoke", "quarantine", "activate"]
    ) -> None:
        """Take nothing more from a device: for good (revoke), or until it is activated."""
        self._send("POST", f"/v1/fleets/{_name(fleet)}/devices/{device}/{action}")

    def windows(self, fleet: str, device: int | None = None, after: int = 0) -> Iterator[dict[str, Any]]:
        """Those that count, in the order in which they became complete: sequence, device, epoch, number,
        counter, measured, arrived."""
        more = {} if device is None else {"device": device}
        return self._pages(f"/v1/fleets/{_name(fleet)}/windows", "sequence", after, more)

    def deliver(self, fleet: str, data: bytes, measured: float | None = None) -> bytes | None:
        """Frames or packets of one attempt, with a device's token: the receipt's bytes once the attempt is
        complete (Receipt.from_bytes checks them), None before."""
        response = self._send(
            "POST",
            f"/v1/fleets/{_name(fleet)}/deliveries",
            content=data,
            headers=_OCTETS,
            params={} if measured is None else {"measured": measured},
        )
        return response.content if response.status_code == 200 else None

    # --- computations ---------------------------------------------------------------------------------------

    def add_job(
        self, fleet: str, computation: Computation, *, begins: float | None = None, ends: float | None = None
    ) -> int:
        """Have a computation made over the windows measured from begins to before ends that are there now.
        Its number."""
        body = {"spec": computation.fields(), "begins": begins, "ends": ends}
        given = {name: value for name, value in body.items() if value is not None}
        return int(self._json("POST", f"/v1/fleets/{_name(fleet)}/jobs", json=given)["id"])

    def jobs(self, fleet: str, after: int = 0) -> Iterator[Job]:
        """Those of numbers above after."""
        path = f"/v1/fleets/{_name(fleet)}/jobs"
        return map(Job.from_fields, self._pages(path, "id", after))

    def job(self, fleet: str, job: int) -> Job:
        return Job.from_fields(self._json("GET", f"/v1/fleets/{_name(fleet)}/jobs/{job}"))

    def change_job(self, fleet: str, job: int, action: Literal["cancel", "retry", "replay"]) -> int:
        """replay computes it anew with what came since; the number of the job that goes on."""
        return int(self._json("POST", f"/v1/fleets/{_name(fleet)}/jobs/{job}/{action}")["id"])

    def delete_job(self, fleet: str, job: int) -> None:
        """Have the gateway forget a job that is over, and its result."""
        self._send("DELETE", f"/v1/fleets/{_name(fleet)}/jobs/{job}")

    def result(self, fleet: str, job: int, part: int) -> bytes:
        """A ciphertext of a job's result."""
        return self._send("GET", f"/v1/fleets/{_name(fleet)}/jobs/{job}/results/{part}").content

    def contributors(self, fleet: str, job: int) -> list[list[int]]:
        """[device, epoch, window] of each window in the result, as the gateway says."""
        path = f"/v1/fleets/{_name(fleet)}/jobs/{job}/contributors"
        found: list[list[int]] = []
        while page := self._json("GET", path, params={"skip": len(found)}):
            found += page
        return found

    def left_out(self, fleet: str, job: int) -> LeftOut:
        """What did not count in a job that is done, for per_device or a device's quarantine."""
        found = self._json("GET", f"/v1/fleets/{_name(fleet)}/jobs/{job}/left-out")
        return LeftOut(found["windows"], found["devices"], found["first"])

    def streams(self, fleet: str) -> list[dict[str, Any]]:
        """id, name, spec, begins, next, created of each."""
        return list(self._pages(f"/v1/fleets/{_name(fleet)}/streams", "name", ""))

    def add_stream(
        self,
        fleet: str,
        name: str,
        computation: Computation,
        *,
        every: float,
        span: float | None = None,
        grace: float = 0,
        begins: float | None = None,
    ) -> int:
        """Have a computation made for each interval. every: seconds from one's beginning to the next one's;
        span: its length, if longer; grace: so long after its end it is closed."""
        spec = {"every": every, "span": span, "grace": grace, "begins": begins}
        given = {name: value for name, value in spec.items() if value is not None}
        body = {"name": _name(name), "spec": {"job": computation.fields(), **given}}
        return int(self._json("POST", f"/v1/fleets/{_name(fleet)}/streams", json=body)["id"])

    def end_stream(self, fleet: str, name: str) -> None:
        """Make no more jobs of it; those that there are stay."""
        self._send("DELETE", f"/v1/fleets/{_name(fleet)}/streams/{_name(name)}")

    # --- tokens ---------------------------------------------------------------------------------------------

    def make_token(self, scope: Literal["device", "owner"], **more: Any) -> str:
        """A new token of the tenant; the gateway shows it this once. more: fleet and device of a device's (no
        device: an uplink's), note."""
        return str(self._json("POST", "/v1/tokens", json={"scope": scope, **more})["token"])

    def tokens(self) -> list[dict[str, Any]]:
        """The tenant's, without their secrets: id, scope, note, created, revoked, device, fleet."""
        return list(self._pages("/v1/tokens", "id", ""))

    def revoke_token(self, identifier: str) -> None:
        self._send("DELETE", f"/v1/tokens/{identifier}")

    # --- parts ----------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        self._opener.check()
        try:
            response = self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None
        if not response.is_success:
            raise refusal_of(response)
        return response

    def _json(self, method: str, path: str, **more: Any) -> Any:
        response = self._send(method, path, **more)
        try:
            return json_text.parse_large(response.content)
        except ValueError:
            raise GatewayError(
                f"{self.url} answers with what is no JSON: see that this is a gateway's address.",
                "not-a-gateway",
                response.status_code,
            ) from None

    def _pages(
        self, path: str, key: str, after: int | str, more: Mapping[str, Any] | None = None
    ) -> Iterator[dict[str, Any]]:
        while page := self._json("GET", path, params={**(more or {}), "after": after}):
            yield from page
            after = page[-1][key]

    def _unreachable(self, error: httpx.HTTPError) -> GatewayError:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return GatewayError(
                f"{self.url} has a certificate that is not trusted: name the authority that signed it "
                "(--ca); a gateway's own is tls/ca.pem in its directory.",
                "unreachable",
            )
        reason = str(error) or type(error).__name__
        return GatewayError(
            f"{self.url} does not answer ({reason}): see that the gateway runs, and that this is its "
            "address.",
            "unreachable",
        )


def _name(name: str) -> str:
    """Of a fleet or stream, which becomes part of a path. ParameterError."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            f"{name[:60]!r} cannot name a fleet or a stream: take 1 to 40 lowercase letters, digits and "
            "hyphens, with no hyphen first or last."
        )
    return name


def check_public(data: bytes, kind: str) -> None:
    """MismatchError unless data are evaluation keys of this kind, relin or galois."""
    label_kind, seeded_kind = _KEYS[kind]
    try:
        if seeded_keys.are_seeded(data):
            fits = seeded_keys.stated_kind(data) is seeded_kind
        else:
            _, label = labels.detach(data)
            fits = label is not None and label.kind is label_kind
    except FrameError:
        fits = False
    if not fits:
        raise MismatchError(
            f"These bytes are no {kind} keys, and nothing else is sent: give {kind}.keys of the directory of "
            "keys."
        )

# SPDX-License-Identifier: Apache-2.0
"""A client of a gateway's HTTP API for owners and devices.

It sends only public data and keys that check tags, and never a secret key. Refusals become a GatewayError
with the gateway's sentence.
"""

from __future__ import annotations

import re
import secrets
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import httpx

from ciphermote.base.errors import FrameError, GatewayError, MismatchError, ParameterError
from ciphermote.base.forks import Opener
from ciphermote.formats import labels, seeded_keys
from ciphermote.formats.tags import TagKeys
from ciphermote.rest import routes
from ciphermote.rest.answers import (
    Answer,
    ContributorList,
    Created,
    DeviceList,
    DeviceView,
    FleetList,
    FleetView,
    Item,
    JobList,
    JobView,
    LeftOut,
    OwnerKeyList,
    Page,
    Progress,
    Retention,
    StreamList,
    StreamView,
    TenantView,
    TokenList,
    TokenSecret,
    TokenView,
    WindowId,
    WindowList,
    WindowView,
)
from ciphermote.rest.http import checked_token, checked_url, refusal_of
from ciphermote.rest.words import CHECKED_KINDS, NAME, DeviceAction, JobAction, JobKind, KeyKind

_Answer = TypeVar("_Answer", bound=Answer)
_OCTETS = {"Content-Type": "application/octet-stream"}
_SECONDS = 60.0
_UPLOAD_SECONDS = 600.0
_KEYS: dict[KeyKind, tuple[labels.Kind, seeded_keys.KeyKind]] = {
    "relin": (labels.Kind.RELIN_KEYS, seeded_keys.KeyKind.RELINEARIZATION),
    "galois": (labels.Kind.GALOIS_KEYS, seeded_keys.KeyKind.GALOIS),
}


@dataclass(frozen=True)
class Computation:
    """A computation over the windows of an interval.

    kind: sum; mean; variance (full frames, with relinearization keys; of the population); weighted-sum, with
    weights by device; linear, with a model's fields (json.loads(LinearModel.to_json())): the scores of each
    window; rekey, without a result: all windows are switched to the fleet's present owner key. devices: only
    these. per_device: the most windows that count of each device. bound: the largest |value| of a window,
    required for weights on full frames and for models. leave_out_damaged: leave out windows that are damaged
    in the gateway's store; otherwise the job fails, and names them.

    groups: in how many groups of devices a sum or mean is computed, each of which is checked when it is
    decrypted, so that a hostile device cannot move the result by more than its group could have: None for 32,
    or in a compact fleet for each device by itself; 0 for one sum that is not checked. seed: 32 hexadecimal
    digits that decide who is in which group; the devices must not know them.
    """

    kind: JobKind = "sum"
    devices: tuple[int, ...] | None = None
    per_device: int = 1
    weights: Mapping[int, float] | None = None
    bound: float | None = None
    model: Mapping[str, Any] | None = field(default=None, repr=False)
    leave_out_damaged: bool = False
    groups: int | None = None
    seed: str = field(default_factory=lambda: secrets.token_hex(16), repr=False, compare=False)

    def fields(self) -> dict[str, Any]:
        """Return the computation as the API's fields. Raises ParameterError for groups that its kind has
        not."""
        found = {
            "kind": self.kind,
            "per_device": self.per_device,
            "devices": None if self.devices is None else list(self.devices),
            "weights": None if self.weights is None else {str(d): w for d, w in self.weights.items()},
            "bound": self.bound,
            "model": None if self.model is None else dict(self.model),
            "leave_out_damaged": self.leave_out_damaged or None,
            "groups": self._groups(),
        }
        return {name: value for name, value in found.items() if value is not None}

    def _groups(self) -> dict[str, Any] | None:
        if self.groups and self.kind not in CHECKED_KINDS:
            raise ParameterError(
                f"Only sums and means are checked in groups, and a {self.kind} is asked for: leave groups "
                "(--groups) out."
            )
        if self.kind not in CHECKED_KINDS or self.groups == 0:
            return None
        return {"count": self.groups, "seed": self.seed}


class GatewayClient:
    """A connection to a gateway, with the token of an owner or, for deliver, of a device.

    url: https://HOST[:PORT]. ca: the PEM text of the authority that signed the gateway's certificate; None
    for those that the system trusts. Raises ParameterError for an invalid URL or authority. Every method
    raises GatewayError if the gateway refuses, or does not answer.
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
        """The name of the token's tenant."""
        return self._ask("GET", routes.TENANT, TenantView).name

    def define_fleet(self, fleet: str, definition: Mapping[str, Any]) -> None:
        """Define a fleet permanently; repeating the same definition changes nothing."""
        self._send("PUT", routes.FLEET.path(fleet=_name(fleet)), json=dict(definition))

    def fleets(self) -> list[FleetView]:
        """The tenant's fleets, by name."""
        return list(self._pages(routes.FLEETS, FleetList, ""))

    def definition(self, fleet: str) -> dict[str, Any]:
        """Return a fleet's definition as the gateway stores it, with defaults filled in."""
        for found in self.fleets():
            if found.name == fleet:
                return found.definition.model_dump(mode="json")
        raise GatewayError(f"There is no fleet {fleet} at {self.url}: attach it first.", "no-such-fleet", 404)

    def progress(self, fleet: str) -> Progress:
        return self._ask("GET", routes.FLEET.path(fleet=_name(fleet)), Progress)

    def watch(self, fleet: str) -> Iterator[Progress]:
        """Yield the progress about once a second, as it changes, until the gateway stops."""
        path = routes.WATCH.path(fleet=_name(fleet))
        self._opener.check()
        try:
            with self._http.stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    raise refusal_of(response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield self._read(line.removeprefix("data: "), Progress, response.status_code)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    def retention(self, fleet: str) -> Retention:
        return self._ask("GET", routes.RETENTION.path(fleet=_name(fleet)), Retention)

    def set_retention(self, fleet: str, days: int | None) -> None:
        """Set after how many days windows and results are deleted; None keeps them indefinitely."""
        self._send("PUT", routes.RETENTION.path(fleet=_name(fleet)), json={"retain_days": days})

    def put_keys(self, fleet: str, kind: KeyKind, data: bytes) -> None:
        """Send public evaluation keys, in the bytes that keygen wrote. Raises MismatchError for anything
        else, which then does not leave this machine."""
        check_public(data, kind)
        path = routes.KEYS.path(fleet=_name(fleet), kind=kind)
        self._send("PUT", path, content=data, headers=_OCTETS, timeout=_UPLOAD_SECONDS)

    def owner_keys(self, fleet: str) -> OwnerKeyList:
        """Return the fleet's owner keys, and how many windows and devices are under each."""
        return self._ask("GET", routes.OWNER_KEYS.path(fleet=_name(fleet)), OwnerKeyList)

    def rotate_owner_key(self, fleet: str, key_id: int, data: bytes) -> None:
        """Give the fleet the owner key key_id. data: what rotation_key made of its present key and that one.
        Raises MismatchError for anything else, which then does not leave this machine."""
        _check_rekey_key(data, "what rotation_key made")
        path = routes.OWNER_KEY.path(fleet=_name(fleet), key_id=f"{key_id:016x}")
        self._send("PUT", path, content=data, headers=_OCTETS, timeout=_UPLOAD_SECONDS)

    def retire_owner_key(self, fleet: str, key_id: int) -> None:
        """Retire an earlier owner key, under which nothing is any longer."""
        self._send("DELETE", routes.OWNER_KEY.path(fleet=_name(fleet), key_id=f"{key_id:016x}"))

    # --- devices --------------------------------------------------------------------------------------------

    def devices(self, fleet: str, after: int = -1) -> Iterator[DeviceView]:
        """Return the devices with numbers above `after`."""
        return self._pages(routes.DEVICES.path(fleet=_name(fleet)), DeviceList, after)

    def enroll(
        self, fleet: str, device: int, *, epoch: int, key_id: int, tag_keys: TagKeys, largest_value: float
    ) -> None:
        """Enroll a device in an epoch; repeating the call changes nothing. largest_value: the largest |value|
        that it sends."""
        body = {
            "epoch": epoch,
            "key_id": f"{key_id:016x}",
            "largest_value": largest_value,
            "frames_key": tag_keys.frames.hex(),
            "receipts_key": tag_keys.receipts.hex(),
            "results_key": tag_keys.results.hex(),
        }
        self._send("PUT", routes.DEVICE.path(fleet=_name(fleet), number=device), json=body)

    def put_rekey_key(self, fleet: str, device: int, data: bytes) -> None:
        """Send DeviceKeys.rekey_key of a device that has its own key. Raises MismatchError for anything
        else."""
        _check_rekey_key(data, "DeviceKeys.rekey_key")
        path = routes.REKEY_KEY.path(fleet=_name(fleet), number=device)
        self._send("PUT", path, content=data, headers=_OCTETS, timeout=_UPLOAD_SECONDS)

    def set_device_state(self, fleet: str, device: int, action: DeviceAction) -> None:
        """Refuse a device, permanently (revoke) or until it is activated."""
        self._send("POST", routes.DEVICE_STATE.path(fleet=_name(fleet), number=device, action=action))

    def windows(self, fleet: str, device: int | None = None, after: int = 0) -> Iterator[WindowView]:
        """Return the windows that count, in the order in which they were completed."""
        more = {} if device is None else {"device": device}
        return self._pages(routes.WINDOWS.path(fleet=_name(fleet)), WindowList, after, more)

    def deliver(self, fleet: str, data: bytes, measured: float | None = None) -> bytes | None:
        """Send frames or packets of one attempt, with a device's token. Return the receipt's bytes once the
        attempt is complete (Receipt.from_bytes checks them), and None before."""
        response = self._send(
            "POST",
            routes.DELIVERIES.path(fleet=_name(fleet)),
            content=data,
            headers=_OCTETS,
            params={} if measured is None else {"measured": measured},
        )
        return response.content if response.status_code == 200 else None

    # --- computations ---------------------------------------------------------------------------------------

    def add_job(
        self,
        fleet: str,
        computation: Computation,
        *,
        begins: float | None = None,
        ends: float | None = None,
        idempotency_key: str | None = None,
    ) -> int:
        """Run a computation over the windows received so far that were measured from begins to before ends,
        and return the job's number.

        idempotency_key: 8 to 64 letters, digits, hyphens and underscores that name this request. If an error
        leaves open whether the gateway received it, a repeated call with the same key makes no second job.
        """
        body = {"spec": computation.fields(), "begins": begins, "ends": ends}
        given = {name: value for name, value in body.items() if value is not None}
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        path = routes.JOBS.path(fleet=_name(fleet))
        return self._ask("POST", path, Created, json=given, headers=headers).id

    def jobs(self, fleet: str, after: int = 0) -> Iterator[JobView]:
        """Return the jobs with numbers above `after`, with summaries of their specs."""
        return self._pages(routes.JOBS.path(fleet=_name(fleet)), JobList, after)

    def job(self, fleet: str, job: int) -> JobView:
        return self._ask("GET", routes.JOB.path(fleet=_name(fleet), job=job), JobView)

    def change_job(self, fleet: str, job: int, action: JobAction) -> int:
        """Cancel, retry or replay a job, and return the number of the job that continues. A replay is a new
        job, which includes the windows received since."""
        path = routes.JOB_CHANGE.path(fleet=_name(fleet), job=job, action=action)
        return self._ask("POST", path, Created).id

    def delete_job(self, fleet: str, job: int) -> None:
        """Delete a job that is over, and its result."""
        self._send("DELETE", routes.JOB.path(fleet=_name(fleet), job=job))

    def result(self, fleet: str, job: int, part: int) -> bytes:
        """Return one ciphertext of a job's result."""
        return self._send("GET", routes.JOB_RESULT.path(fleet=_name(fleet), job=job, part=part)).content

    def contributors(self, fleet: str, job: int) -> list[WindowId]:
        """Return device, epoch and number of each window in the result, as the gateway lists them."""
        path = routes.CONTRIBUTORS.path(fleet=_name(fleet), job=job)
        return list(self._pages(path, ContributorList, 0))

    def left_out(self, fleet: str, job: int) -> LeftOut:
        """Return the windows that did not count in a finished job, because of per_device or a device's
        quarantine."""
        return self._ask("GET", routes.LEFT_OUT.path(fleet=_name(fleet), job=job), LeftOut)

    def streams(self, fleet: str) -> list[StreamView]:
        return list(self._pages(routes.STREAMS.path(fleet=_name(fleet)), StreamList, ""))

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
        """Run a computation for each interval. every: seconds from the beginning of one interval to the next;
        span: the length of an interval, if longer; grace: seconds from its end to its job."""
        spec = {"every": every, "span": span, "grace": grace, "begins": begins}
        given = {name: value for name, value in spec.items() if value is not None}
        body = {"name": _name(name), "spec": {"job": computation.fields(), **given}}
        return self._ask("POST", routes.STREAMS.path(fleet=_name(fleet)), Created, json=body).id

    def end_stream(self, fleet: str, name: str) -> None:
        """End a stream: it makes no more jobs, and its earlier jobs stay."""
        self._send("DELETE", routes.STREAM.path(fleet=_name(fleet), name=_name(name)))

    # --- tokens ---------------------------------------------------------------------------------------------

    def make_token(self, scope: Literal["device", "owner"], **more: Any) -> str:
        """Make a new token of the tenant, which the gateway shows only once. more: note; fleet and device for
        a device's token, or only the fleet for an uplink's."""
        return self._ask("POST", routes.TOKENS, TokenSecret, json={"scope": scope, **more}).token

    def tokens(self) -> list[TokenView]:
        """Return the tenant's tokens, without their secrets."""
        return list(self._pages(routes.TOKENS, TokenList, ""))

    def revoke_token(self, identifier: str) -> None:
        self._send("DELETE", routes.TOKEN.path(identifier=identifier))

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

    def _ask(self, method: str, path: str, kind: type[_Answer], **more: Any) -> _Answer:
        response = self._send(method, path, **more)
        return self._read(response.content, kind, response.status_code)

    def _read(self, content: bytes | str, kind: type[_Answer], status: int) -> _Answer:
        try:
            return kind.model_validate_json(content)
        except ValueError:
            raise GatewayError(
                f"{self.url} answers with something else than a gateway does: see that this is a gateway's "
                "address, and that the package is as new as the gateway.",
                "not-a-gateway",
                status,
            ) from None

    def _pages(
        self, path: str, kind: type[Page[Item]], after: int | str, more: Mapping[str, Any] | None = None
    ) -> Iterator[Item]:
        following: int | str | None = after
        while following is not None:
            page = self._ask("GET", path, kind, params={**(more or {}), "after": following})
            yield from page.items
            following = page.next

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
    """Check and return the name of a fleet or stream, which becomes part of a path. Raises ParameterError."""
    if not re.fullmatch(NAME, name):
        raise ParameterError(
            f"{name[:60]!r} cannot name a fleet or a stream: take 1 to 40 lowercase letters, digits and "
            "hyphens, with no hyphen first or last."
        )
    return name


def _check_rekey_key(data: bytes, wanted: str) -> None:
    """Raises MismatchError unless data are a rekey key."""
    if not seeded_keys.are_seeded(data) or seeded_keys.stated_kind(data) is not seeded_keys.KeyKind.REKEY:
        raise MismatchError(f"These bytes are no rekey key, and nothing else is sent: give {wanted}.")


def check_public(data: bytes, kind: KeyKind) -> None:
    """Raises MismatchError unless data are evaluation keys of this kind, relin or galois."""
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

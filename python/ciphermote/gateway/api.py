# SPDX-License-Identifier: Apache-2.0
"""The HTTP API. Devices deliver ciphertexts and fetch results; owners define fleets, enroll devices, and run
computations; operators manage tenants. Refusals are problems (RFC 9457): a name for programs and a sentence
for people.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from prometheus_client import generate_latest
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

import ciphermote
from ciphermote.base import number_text
from ciphermote.gateway.access import LOCAL, Principal
from ciphermote.gateway.audit import Actor
from ciphermote.gateway.bodies import Bodies, StrictRoute, check_query, log_caller
from ciphermote.gateway.database.interface import ERRORS
from ciphermote.gateway.fleets import Fleet
from ciphermote.gateway.gateway import Gateway
from ciphermote.gateway.intake import MOST_DELIVERY_BYTES, Outcome
from ciphermote.gateway.logs import log
from ciphermote.gateway.refusals import PROBLEM, Refusal, failed, of_storage
from ciphermote.gateway.registry import MOST_KEYS_BYTES
from ciphermote.gateway.uploads import (
    OCTETS,
    Uploads,
    check_type,
    headers_of,
    read_body,
    send_octets,
    stated_length,
)
from ciphermote.rest import routes
from ciphermote.rest.answers import (
    ContributorList,
    Created,
    DeliveryProgress,
    DeviceList,
    FleetList,
    Health,
    JobList,
    JobView,
    LeftOut,
    OwnerKeyList,
    Problem,
    Progress,
    Readiness,
    Retention,
    StreamList,
    TenantView,
    TokenList,
    TokenSecret,
    WindowList,
)
from ciphermote.rest.requests import (
    ID_PATTERN,
    NAME_PATTERN,
    PATTERNS,
    AnswerForm,
    Ascii,
    Definition,
    Digits,
    Enrolment,
    JobRequest,
    RetentionRequest,
    StreamRequest,
    TokenRequest,
)
from ciphermote.rest.words import DEVICE_ACTIONS, ID, JOB_ACTIONS, KEY_KINDS, NAME, one_of

_WATCH_SECONDS = 1.0

_LATEST = 1e11
_Name = Annotated[str, Path(pattern=NAME_PATTERN)]
_Number = Annotated[int, Digits, Path(ge=0, le=2**32 - 1)]
_KeyId = Annotated[str, Path(pattern=ID_PATTERN)]
_Id = Annotated[int, Digits, Path(ge=0, le=2**62)]
_AfterName = Annotated[str, Query(pattern=f"^$|{NAME_PATTERN}")]
_After = Annotated[int, Ascii, Query(ge=-1, le=2**62)]
_Skip = Annotated[int, Ascii, Query(ge=0, le=2**40)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[A-Za-z0-9_-]{8,64}$",
        description="Names the request, so that sending it again within a day makes nothing twice",
    ),
]


def _routed(route: routes.Route, actions: tuple[str, ...]) -> str:
    """A route whose {action} is one of a few words. For other words the path does not exist, or has another
    method (405)."""
    name = "_or_".join(actions)
    words = type(name, (StringConvertor,), {"regex": one_of(actions)})
    register_url_convertor(name, words())
    return route.replace("{action}", f"{{action:{name}}}")


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in {
        400: "Malformed request",
        401: "No valid token",
        403: "Not allowed, or not authentic",
        404: "Not found",
        409: "Conflicts with stored data",
        410: "Deleted",
        413: "Too large",
        415: "Unsupported media type",
        422: "Unprocessable request",
        429: "Over a quota",
        503: "Too many requests at once",
        507: "Out of storage",
    }.items()
}


def gateway_of(request: Request) -> Gateway:
    found: Gateway = request.app.state.gateway
    return found


def _device(request: Request) -> Principal:
    return gateway_of(request).access.principal(request.headers.get("authorization"), "device")


def _owner(request: Request) -> Principal:
    return gateway_of(request).access.principal(request.headers.get("authorization"), "owner")


def _operator(request: Request) -> Principal:
    return gateway_of(request).access.principal(request.headers.get("authorization"), "operator")


Owner = Annotated[Principal, Depends(_owner)]
_Operator = Annotated[Principal, Depends(_operator)]
TheGateway = Annotated[Gateway, Depends(gateway_of)]


def _fleet(gateway: TheGateway, owner: Owner, fleet: _Name) -> Fleet:
    return gateway.registry.fleet(owner.tenant, fleet)


OwnedFleet = Annotated[Fleet, Depends(_fleet)]


def actor_of(request: Request, principal: Principal) -> Actor:
    """Return who makes a change, for the audit log."""
    if principal.token == LOCAL:
        return Actor(LOCAL, LOCAL)
    address = request.client.host if request.client else "unknown"
    return Actor(f"token {principal.token}", address, principal.tenant)


def _recorder(request: Request, gateway: TheGateway, owner: Owner) -> _Recorder:
    def record(action: str, **details: Any) -> AbstractContextManager[object]:
        return gateway.audit.recording(actor_of(request, owner), action, details)

    return record


_Recorder = Callable[..., AbstractContextManager[object]]
"""Called with an action and its details: the block's change is recorded in the audit log as the owner's."""
Record = Annotated[_Recorder, Depends(_recorder)]


# --- devices ------------------------------------------------------------------------------------------------

devices = APIRouter(tags=["devices"], responses=PROBLEMS, route_class=StrictRoute)


def _body(description: str) -> dict[str, Any]:
    content = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "description": description, "content": content}}


def _delivery_described() -> dict[str, Any]:
    """Described by hand because the hot path parses its own arguments."""
    name = {"type": "string", "pattern": NAME_PATTERN}
    number = {"type": "number", "minimum": 0, "maximum": _LATEST}
    return {
        "parameters": [
            {"name": "fleet", "in": "path", "required": True, "schema": name},
            {
                "name": "measured",
                "in": "query",
                "required": False,
                "schema": number,
                "description": "When, in seconds since 1970; without it, when they arrive",
            },
        ],
        **_body("Tagged frames, or compact packets, of one attempt"),
    }


@devices.post(
    routes.DELIVERIES,
    openapi_extra=_delivery_described(),
    responses={
        200: {"description": "The attempt is complete: its receipt, 40 bytes", "content": {OCTETS: {}}},
        202: {
            "description": "Kept; more frames of the attempt are to come",
            "model": DeliveryProgress,
        },
    },
    response_class=Response,
)
async def deliver(request: Request) -> Response:
    """Take frames of one attempt, whole or in parts, in any order. The answer comes once they are on the
    disk."""
    fleet = request.path_params["fleet"]
    return answer(await _take_delivery(gateway_of(request), fleet, request.scope, request.receive))


async def _take_delivery(gateway: Gateway, fleet: str, scope: Scope, receive: Receive) -> Outcome:
    headers = headers_of(scope)
    said = headers.get(b"authorization")
    authorization = None if said is None else said.decode("latin-1")
    principal = gateway.access.principal(authorization, "device")
    found = _device_fleet(gateway, principal, fleet)
    measured = _measured(scope)
    check_type(headers)
    stated = stated_length(headers, MOST_DELIVERY_BYTES)
    with gateway.intake.room_for(found, principal.device) as take:
        data = await read_body(receive, stated, take)
        outcome = await gateway.intake.take(found, principal.device, data, measured)
    gateway.metrics.over_http.inc()
    return outcome


def _measured(scope: Scope) -> float | None:
    if not scope["query_string"]:
        return None
    query = QueryParams(scope["query_string"])
    check_query(query, ("measured",))
    text = query.get("measured")
    try:
        seconds = None if text is None else number_text.real(text)
    except ValueError:
        seconds = -1.0
    if seconds is not None and not 0 <= seconds <= _LATEST:
        raise Refusal(422, "invalid", f"measured is {text!r:.40}: give seconds since 1970, to {_LATEST:g}.")
    return seconds


def answer(outcome: Outcome) -> Response:
    if outcome.receipt is None:
        assert outcome.unit is not None
        found = DeliveryProgress(missing=outcome.missing, unit=outcome.unit)
        return JSONResponse(found.model_dump(), status_code=202)
    return Response(outcome.receipt, media_type=OCTETS)


@devices.get(
    routes.RESULT,
    response_class=Response,
    responses={200: {"description": "Tagged frames for the device", "content": {OCTETS: {}}}},
)
def fetch_result(
    request: Request,
    gateway: TheGateway,
    fleet: _Name,
    counter: _Id,
    device: Annotated[int | None, Ascii, Query(ge=0, le=2**32 - 1)] = None,
) -> Response:
    """Fetch the result that answers an attempt. device: required if the token is an uplink's."""
    principal = _device(request)
    found = _device_fleet(gateway, principal, fleet)
    number = principal.device if principal.device is not None else device
    if number is None or (device is not None and device != number):
        raise Refusal(
            403, "other-device", "Say whose result you fetch: the token's own device, or one of an uplink's."
        )
    return Response(gateway.mailbox.get(found, number, counter), media_type=OCTETS)


def _device_fleet(gateway: Gateway, principal: Principal, name: str) -> Fleet:
    fleet = gateway.registry.fleet(principal.tenant, name)
    if fleet.id != principal.fleet:
        raise Refusal(403, "other-fleet", f"The token is not of fleet {name}: use one that is.")
    return fleet


# --- owners -------------------------------------------------------------------------------------------------

owners = APIRouter(tags=["owners"], responses=PROBLEMS, route_class=StrictRoute)


@owners.get(routes.TENANT)
def show_tenant(gateway: TheGateway, owner: Owner) -> TenantView:
    """Show the token's tenant: its name, with which its devices' MQTT users begin, and its quotas."""
    assert owner.tenant is not None
    return TenantView.model_validate(gateway.registry.tenant_of(owner.tenant))


@owners.get(routes.FLEETS)
def list_fleets(gateway: TheGateway, owner: Owner, after: _AfterName = "") -> FleetList:
    """List a page of the tenant's fleets, with names after `after`."""
    assert owner.tenant is not None
    return FleetList.of(gateway.registry.fleets(owner.tenant, after), "name")


@owners.put(routes.FLEET, status_code=204)
def define_fleet(
    gateway: TheGateway, owner: Owner, record: Record, fleet: _Name, definition: Definition
) -> None:
    """Define a fleet. Its definition cannot change."""
    assert owner.tenant is not None
    with record("fleet define", fleet=fleet):
        gateway.registry.put_fleet(owner.tenant, fleet, definition)
    log.info("fleet defined", fleet=fleet, lane=definition.lane)


@owners.get(routes.FLEET)
def progress(gateway: TheGateway, fleet: OwnedFleet) -> Progress:
    """Show a fleet's progress: devices, windows, jobs."""
    return Progress.model_validate(gateway.registry.progress(fleet))


@owners.get(routes.RETENTION)
def show_retention(gateway: TheGateway, fleet: OwnedFleet) -> Retention:
    """Show how long windows and results are stored, and up to which time windows may be deleted."""
    return Retention.model_validate(gateway.registry.retention(fleet))


@owners.put(routes.RETENTION, status_code=204)
def set_retention(
    gateway: TheGateway, record: Record, fleet: OwnedFleet, retention: RetentionRequest
) -> None:
    """Set after how many days windows and results are deleted; null keeps them indefinitely."""
    with record("fleet retention set", fleet=fleet.name, retain_days=retention.retain_days):
        gateway.registry.set_retention(fleet, retention.retain_days)
    log.info("retention", fleet=fleet.name, days=retention.retain_days)


@owners.get(
    routes.WATCH,
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def watch(
    request: Request,
    gateway: TheGateway,
    fleet: OwnedFleet,
    events: Annotated[int, Ascii, Query(ge=1, le=1_000_000)] = 1_000_000,
) -> StreamingResponse:
    """Stream a fleet's progress once a second, as it changes (server-sent events); events: the number after
    which to end."""

    async def lines() -> AsyncIterator[str]:
        for number in range(events):
            if number:
                await asyncio.sleep(_WATCH_SECONDS)
            if await request.is_disconnected() or request.app.state.stopping:
                return
            try:
                _fleet(gateway, _owner(request), fleet.name)
            except Refusal:  # the token has expired or is revoked, or the fleet is deleted
                return
            found = await asyncio.to_thread(gateway.registry.progress, fleet)
            yield f"data: {Progress.model_validate(found).model_dump_json()}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


@owners.put(
    routes.KEYS,
    status_code=204,
    openapi_extra=_body("Evaluation keys, as keygen wrote them"),
)
async def put_keys(
    request: Request,
    gateway: TheGateway,
    fleet: OwnedFleet,
    kind: Annotated[str, Path(pattern=f"^({one_of(KEY_KINDS)})$")],
) -> None:
    """Upload the fleet's public evaluation keys."""
    await _upload(request, fleet, lambda data: gateway.registry.put_evaluation_keys(fleet, kind, data))


async def _upload(request: Request, fleet: Fleet, put: Callable[[bytes], None]) -> None:
    headers = headers_of(request.scope)
    check_type(headers)
    stated = stated_length(headers, MOST_KEYS_BYTES)
    uploads: Uploads = request.app.state.uploads
    with uploads.room_for(fleet.tenant) as take:
        data = await read_body(request.receive, stated, take)
        await uploads.put(put, data)


@owners.get(routes.OWNER_KEYS)
def list_owner_keys(gateway: TheGateway, fleet: OwnedFleet) -> OwnerKeyList:
    """List the fleet's owner keys, and how many windows and devices are under each."""
    return OwnerKeyList.model_validate(gateway.rotations.listed(fleet))


@owners.put(
    routes.OWNER_KEY,
    status_code=204,
    openapi_extra=_body("The public key that switches from the fleet's present key to this one"),
)
async def rotate_owner_key(
    request: Request, gateway: TheGateway, record: Record, fleet: OwnedFleet, key_id: _KeyId
) -> None:
    """Give the fleet a new owner key. Results are under it from now on, and what is stored is switched to it
    by a job of kind rekey. The fleet's evaluation keys are forgotten: upload those of the new key."""

    recorded = partial(record, "owner key rotate", fleet=fleet.name, key_id=key_id)

    def rotate(data: bytes) -> None:
        gateway.rotations.start(fleet, int(key_id, 16), data, recorded)
        log.info("owner key", fleet=fleet.name, key_id=key_id)

    await _upload(request, fleet, rotate)


@owners.delete(routes.OWNER_KEY, status_code=204)
def retire_owner_key(gateway: TheGateway, record: Record, fleet: OwnedFleet, key_id: _KeyId) -> None:
    """Retire an earlier owner key, under which nothing is any longer."""
    recorded = partial(record, "owner key retire", fleet=fleet.name, key_id=key_id)
    gateway.rotations.retire(fleet, int(key_id, 16), recorded)
    log.info("owner key retired", fleet=fleet.name, key_id=key_id)


@owners.get(routes.DEVICES)
def list_devices(gateway: TheGateway, fleet: OwnedFleet, after: _After = -1) -> DeviceList:
    """List a page of devices, with numbers above `after`."""
    return DeviceList.of(gateway.registry.devices(fleet, after), "number")


@owners.put(routes.DEVICE, status_code=204)
def enroll(
    gateway: TheGateway, record: Record, fleet: OwnedFleet, number: _Number, enrolment: Enrolment
) -> None:
    """Enroll a device, or its next epoch."""
    with record("device enroll", fleet=fleet.name, device=number, epoch=enrolment.epoch):
        gateway.registry.enroll(fleet, number, enrolment)
    log.info("device enrolled", fleet=fleet.name, device=number, epoch=enrolment.epoch)


@owners.put(
    routes.REKEY_KEY,
    status_code=204,
    openapi_extra=_body("The rekey key that was made with the device's keys"),
)
async def put_rekey_key(request: Request, gateway: TheGateway, fleet: OwnedFleet, number: _Number) -> None:
    """Upload the public key that converts a device's ciphertexts to the owner's key."""
    await _upload(request, fleet, lambda data: gateway.registry.put_rekey_key(fleet, number, data))


@owners.post(_routed(routes.DEVICE_STATE, DEVICE_ACTIONS), status_code=204)
def set_device_state(
    gateway: TheGateway,
    record: Record,
    fleet: OwnedFleet,
    number: _Number,
    action: Annotated[str, Path(pattern=f"^({one_of(DEVICE_ACTIONS)})$")],
) -> None:
    """Change a device's state. `quarantine` refuses the device and leaves its windows out of new jobs until
    `activate` ends that, also if it is revoked. `revoke` refuses it permanently and revokes its tokens;
    windows that it has sent still count."""
    states = {"revoke": "revoked", "quarantine": "quarantined", "activate": "active"}
    with record(f"device {action}", fleet=fleet.name, device=number):
        gateway.registry.set_state(fleet, number, states[action])
    log.info("device state", fleet=fleet.name, device=number, state=states[action])


@owners.put(
    routes.DEVICE_RESULT,
    status_code=204,
    openapi_extra=_body("A ciphertext in SEAL's bytes with its label, under the device's key"),
)
async def put_result(
    request: Request,
    gateway: TheGateway,
    fleet: OwnedFleet,
    number: _Number,
    counter: _Id,
    largest: Annotated[float | None, Ascii, Query(gt=0, allow_inf_nan=False)] = None,
    log2_tiles: Annotated[int, Ascii, Query(ge=0, le=4)] = 0,
) -> None:
    """Answer an attempt of a device: it fetches the result as tagged frames."""
    form = AnswerForm(largest=largest, log2_tiles=log2_tiles)
    await _upload(request, fleet, lambda data: gateway.mailbox.put(fleet, number, counter, data, form))


@owners.get(routes.WINDOWS)
def list_windows(
    gateway: TheGateway,
    fleet: OwnedFleet,
    after: _After = 0,
    device: Annotated[int | None, Ascii, Query(ge=0, le=2**32 - 1)] = None,
) -> WindowList:
    """List a page of the windows that count, in the order of their completion."""
    return WindowList.of(gateway.registry.windows(fleet, after, device), "sequence")


@owners.get(routes.STREAMS)
def list_streams(gateway: TheGateway, fleet: OwnedFleet, after: _AfterName = "") -> StreamList:
    """List a page of the fleet's streams, with names after `after` and summaries of their specs. `stalled`
    says why a stream makes no jobs at present, such as a tenant's quota that is used up."""
    return StreamList.of(gateway.jobs.streams(fleet, after), "name")


@owners.post(routes.STREAMS, status_code=201)
def add_stream(
    gateway: TheGateway, fleet: OwnedFleet, stream: StreamRequest, key: IdempotencyKey = None
) -> Created:
    """Run a computation for each interval from now on."""
    made, _ = gateway.idempotency.once(
        fleet.tenant,
        key,
        f"streams of fleet {fleet.id}",
        stream,
        lambda: str(gateway.jobs.add_stream(fleet, stream)),
    )
    return Created(id=int(made))


@owners.delete(routes.STREAM, status_code=204)
def end_stream(gateway: TheGateway, fleet: OwnedFleet, name: _Name) -> None:
    """End a stream: it makes no more jobs, and its earlier jobs stay."""
    gateway.jobs.end_stream(fleet.id, name)


@owners.get(routes.JOBS)
def list_jobs(gateway: TheGateway, fleet: OwnedFleet, after: _After = 0) -> JobList:
    """List a page of jobs, with numbers above `after` and summaries of their specs, without devices, weights
    and model."""
    return JobList.of(gateway.jobs.listed(fleet.id, after), "id")


@owners.post(routes.JOBS, status_code=201)
def add_job(gateway: TheGateway, fleet: OwnedFleet, job: JobRequest, key: IdempotencyKey = None) -> Created:
    """Run a computation over the windows received so far."""
    made, _ = gateway.idempotency.once(
        fleet.tenant, key, f"jobs of fleet {fleet.id}", job, lambda: str(gateway.jobs.add(fleet, job))
    )
    return Created(id=int(made))


@owners.get(routes.JOB)
def show_job(gateway: TheGateway, fleet: OwnedFleet, job: _Id) -> JobView:
    """Show a job: its spec without a model, its state and progress."""
    return JobView.model_validate(gateway.jobs.shown(fleet.id, job))


@owners.delete(routes.JOB, status_code=204)
def delete_job(gateway: TheGateway, fleet: OwnedFleet, job: _Id) -> None:
    """Delete a job that is over, and its result. Its bytes are released within some hours."""
    gateway.jobs.delete(fleet.id, job)


@owners.post(_routed(routes.JOB_CHANGE, JOB_ACTIONS))
def change_job(
    gateway: TheGateway,
    fleet: OwnedFleet,
    job: _Id,
    action: Annotated[str, Path(pattern=f"^({one_of(JOB_ACTIONS)})$")],
) -> Created:
    """Change a job. `cancel` stops it, `retry` runs a failed or cancelled job again, and `replay` computes it
    anew with the windows received since."""
    return Created(id=gateway.jobs.change(fleet, job, action))


@owners.get(
    routes.JOB_RESULT,
    response_class=Response,
    responses={200: {"content": {OCTETS: {}}}},
)
def job_result(
    gateway: TheGateway, fleet: OwnedFleet, job: _Id, part: Annotated[int, Digits, Path(ge=0, le=2**31)]
) -> Response:
    """Fetch one ciphertext of a job's result, which the owner can decrypt."""
    return Response(gateway.jobs.result(fleet.id, job, part), media_type=OCTETS)


@owners.get(routes.CONTRIBUTORS)
def job_contributors(gateway: TheGateway, fleet: OwnedFleet, job: _Id, after: _Skip = 0) -> ContributorList:
    """List a page of the windows in a job's result, as [device, epoch, window], after the first `after`."""
    found = gateway.jobs.contributors(fleet.id, job, after)
    return ContributorList(
        items=found,
        next=str(after + len(found)) if found else None,
    )


@owners.get(routes.LEFT_OUT)
def job_left_out(gateway: TheGateway, fleet: OwnedFleet, job: _Id) -> LeftOut:
    """Show the requested windows that did not count: their number, the number of their devices, and [device,
    epoch, window] of the first 1000."""
    return LeftOut.model_validate(gateway.jobs.left_out(fleet.id, job))


@owners.get(routes.TOKENS)
def list_tokens(
    gateway: TheGateway, owner: Owner, after: Annotated[str, Query(pattern=f"^(?:{ID})?$")] = ""
) -> TokenList:
    """List a page of the tenant's tokens, with ids after `after`, without their secrets."""
    return TokenList.of(gateway.access.listed(owner.tenant, after), "id")


@owners.post(routes.TOKENS, status_code=201)
def make_token(
    request: Request,
    gateway: TheGateway,
    owner: Owner,
    asked: TokenRequest,
    key: IdempotencyKey = None,
) -> TokenSecret:
    """Make a new token of the tenant. It is shown only once. A device's older tokens stay valid until they
    are revoked."""
    assert owner.tenant is not None
    fleet = None if asked.fleet is None else gateway.registry.fleet(owner.tenant, asked.fleet).id
    details = asked.model_dump(exclude_none=True)
    secrets: list[str] = []

    def make() -> str:
        with gateway.audit.recording(actor_of(request, owner), "token create", details):
            secrets.append(
                gateway.access.make(
                    asked.scope,
                    tenant=owner.tenant,
                    fleet=fleet,
                    device=asked.device,
                    note=asked.note,
                    expires=asked.expires,
                )
            )
            identifier = details["token"] = secrets[0].split("_")[1]
        return identifier

    identifier, is_new = gateway.idempotency.once(owner.tenant, key, "tokens", asked, make)
    if not is_new:
        raise Refusal(
            409,
            "shown-once",
            f"This Idempotency-Key has made token {identifier}, and a token is shown only once. If its "
            "answer was lost, revoke it and ask for another with a new key.",
        )
    return TokenSecret(token=secrets[0])


@owners.delete(routes.TOKEN, status_code=204)
def revoke_token(
    gateway: TheGateway,
    owner: Owner,
    record: Record,
    identifier: Annotated[str, Path(pattern=ID_PATTERN)],
) -> None:
    """Revoke a token."""
    with record("token revoke", token=identifier):
        gateway.access.revoke(identifier, owner.tenant)


# --- everybody ----------------------------------------------------------------------------------------------

health = APIRouter(tags=["health"], route_class=StrictRoute)


@health.get(routes.HEALTH)
async def healthz() -> Health:
    """Check that the process answers."""
    return Health(status="ok", version=ciphermote.__version__)


@health.get(
    routes.READINESS,
    response_model=Readiness,
    responses={503: {"description": "The gateway cannot take anything now", "model": Readiness}},
)
def readyz(gateway: TheGateway) -> Response:
    """Check that the gateway accepts deliveries, and whether it computes jobs."""
    reason = gateway.ready()
    found = Readiness(ready=reason is None, reason=reason, jobs_wait=gateway.computing_trouble)
    return JSONResponse(found.model_dump(), status_code=503 if reason else 200)


@health.get(
    routes.METRICS,
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 401: PROBLEMS[401], 403: PROBLEMS[403]},
)
def metrics(gateway: TheGateway, operator: _Operator) -> Response:
    """Return metrics for Prometheus; needs an operator's token."""
    gateway.measure()
    return Response(generate_latest(gateway.metrics.registry), media_type="text/plain; version=0.0.4")


# --- the application ----------------------------------------------------------------------------------------


def description(*more: APIRouter) -> FastAPI:
    """Return the API without a gateway, for its openapi(), with the routes of further routers."""
    app = FastAPI(
        title="Ciphermote gateway",
        version=ciphermote.__version__,
        description=__doc__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # would send the token wherever the Host header says
        generate_unique_id_function=lambda route: route.name,  # what generated clients call the operation
    )
    for router in (devices, owners, *more, health):
        app.include_router(router)
    app.openapi()["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    return app


def application(gateway: Gateway, *more: APIRouter) -> FastAPI:
    """Return the API of a gateway that is started and stopped elsewhere, with the routes of further
    routers."""
    app = description(*more)
    app.state.gateway = gateway
    app.state.stopping = False
    app.state.uploads = Uploads()
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(OSError, _not_stored)
    for kind in ERRORS:
        app.add_exception_handler(kind, _not_stored)
    app.add_exception_handler(Exception, _failed)
    app.add_middleware(Bodies, access=gateway.access, refused=_answered)
    return app


class Deliveries:
    """The application, with a short cut for the most frequent requests: deliveries need no routing."""

    _PATH = routes.DELIVERIES.pattern(fleet=NAME)

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._gateway: Gateway = app.state.gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = self._PATH.fullmatch(scope["path"])
        if found is None:
            await self._app(scope, receive, send)
            return
        try:
            outcome = await _take_delivery(self._gateway, found["fleet"], scope, receive)
        except Refusal as refusal:
            log_caller(scope, self._gateway.access)
            response = _answered(Request(scope), refusal)
        except Exception as error:
            scope["app"] = self._app  # as the application itself does
            log_caller(scope, self._gateway.access)
            response = await _not_stored(Request(scope), error)
        else:
            if outcome.receipt is not None:
                await send_octets(send, outcome.receipt)
                return
            response = answer(outcome)
        await response(scope, receive, send)


def problem(refusal: Refusal, headers: dict[str, str] | None = None) -> Response:
    return Response(refusal.problem.model_dump_json(), refusal.status, headers, PROBLEM)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _answered(request, error)


async def _not_stored(request: Request, error: Exception) -> Response:
    gateway_of(request).database.notice(error)
    found = of_storage(error)
    return await _failed(request, error) if found is None else _answered(request, found)


def _answered(request: Request, error: Refusal) -> Response:
    log.warning(
        "refused", path=request.url.path, status=error.status, reason=error.name, detail=error.sentence
    )
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:.0f}"}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return problem(error, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])[:100]
    pattern = first.get("ctx", {}).get("pattern")
    what = PATTERNS.get(pattern) or str(first["msg"]).removeprefix("Value error, ")
    refusal = Refusal(422, "invalid", f"{where}: {what[:300]}.")
    return _answered(request, refusal)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {400: "malformed", 404: "no-such-path", 405: "no-such-method", 408: "slow", 413: "too-large"}
    refusal = Refusal(error.status_code, names.get(error.status_code, "http"), str(error.detail)[:300])
    answer = _answered(request, refusal)
    answer.headers.update(error.headers or {})
    if error.status_code == 405 and (methods := _methods(request)):
        answer.headers["allow"] = methods
    return answer


def _methods(request: Request) -> str:
    """Return the methods of a path; empty for one that is not described, such as the description's own.
    (Starlette names only those of the first route that fits.)"""
    paths = request.app.openapi()["paths"]
    fitting = [t for t in paths if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", t), request.url.path)]
    exact = min(fitting, key=lambda template: template.count("{"), default=None)
    if exact is None:
        return ""
    return ", ".join(sorted(method.upper() for method in paths[exact]))


async def _failed(request: Request, error: Exception) -> Response:
    log.error("failed", path=request.url.path, error=repr(error), time=time.time())
    return problem(failed())

# SPDX-License-Identifier: Apache-2.0
"""Enroll a device in five steps: draw its keys, record them, write them, register them, and connect the
device.

1. The owner's record: device, epoch, key, and that the enrolment is open. Of a full fleet, the device's keys
   lie beside it while it is open; compact keys hold theirs themselves.
2. The device's keys are written first, so that a failure is found before the gateway is told.
3. The gateway gets the tag keys, which ends the device's previous epoch, and the rekey key.
4. The device's token is made, and its connection file written; tokens that it had before are revoked.
5. The record is marked complete, and the copy of the device's keys is removed.

If a step fails, a repeated run resumes the open enrolment with the same secret in the same epoch, which the
gateway accepts repeatedly. That run also revokes a token whose answer was lost. Until step 3, the device's
previous enrolment stays valid.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ciphermote.base import json_text, number_text
from ciphermote.base.arguments import whole
from ciphermote.base.errors import GatewayError, KeyFileError, ParameterError
from ciphermote.base.files import read_bounded, sync_directory, write_atomically
from ciphermote.base.secret_files import read_secret_file
from ciphermote.compact import keys as compact
from ciphermote.compact.keys import CompactKeys
from ciphermote.fleet.attachments import Attachment, about_writing, json_bytes, make_folder, read_json
from ciphermote.fleet.client import GatewayClient
from ciphermote.fleet.connections import Connection, is_connection
from ciphermote.formats.tags import LARGEST_DEVICE, LARGEST_EPOCH, TagKeys
from ciphermote.owner import provisioning as provisioning
from ciphermote.owner.device_keys import DeviceKeys
from ciphermote.owner.key_store import KeyStore, holds_keys
from ciphermote.owner.provisioning import Identity, Provision
from ciphermote.parameters import batches
from ciphermote.parameters.files import parameters_from_dict

Given = Literal["symmetric", "asymmetric"]
_FORMAT, _VERSION = "ciphermote-enrolment", 1
_DAMAGED = "is damaged: remove its files in the directory KEYS.fleets, and enroll the device with --again."
_HEADER_SUFFIXES = (".h", ".hpp")
_COMMAND = "ciphermote owner enroll"


@dataclass(frozen=True)
class Enrolled:
    """The outcome of an enrolment. resumed: an earlier run had left it open."""

    device: int
    epoch: int
    key_id: int
    keys_file: Path
    connection_file: Path
    resumed: bool


@dataclass(frozen=True)
class Record:
    """The owner's record of a device. is_open: steps are still missing."""

    device: int
    epoch: int
    key_id: int
    is_open: bool


def records(attachment: Attachment) -> list[Record]:
    """Return the records of all devices enrolled from here, by number. Raises KeyFileError."""
    folder = attachment.folder / "devices"
    numbers = sorted(int(path.stem) for path in folder.glob("*.json") if number_text.is_natural(path.stem))
    return [found for found in (_Files(attachment, n).record() for n in numbers) if found is not None]


def enroll(
    attachment: Attachment,
    device: int,
    keys_file: str | Path,
    connection_file: str | Path,
    *,
    key: Given = "symmetric",
    stream_public_key: bool = False,
    largest_value: int | None = None,
    again: bool = False,
    replace_files: bool = False,
) -> Enrolled:
    """Enroll a device of an attached fleet, and write its keys and its connection file, both secret.

    keys_file: a C header (.h), otherwise a binary blob, for FleetDevice too; for a compact fleet, a compact
    keys file with this one device.

    key: the owner's key with which a device of a full fleet encrypts. stream_public_key: write digests of the
    public key into the header in place of it (ciphermote.owner.provisioning.to_c_header). largest_value: the
    largest value that a device of a compact fleet sends; in full fleets the keys declare it. again: enroll a
    device that is already enrolled; its previous keys, epoch and tokens end. replace_files: replace existing
    files. A run that resumes an open enrolment replaces its own files. Raises KeyFileError, ParameterError
    or GatewayError; repeat the call then.
    """
    device = whole(device, "The device", 0, LARGEST_DEVICE, "2^32 - 1")
    run = _Run(
        attachment,
        device,
        Path(keys_file),
        Path(connection_file),
        key,
        largest_value,
        stream_public_key=stream_public_key,
    )
    make_folder_of(run.files)
    with attachment.turn(), attachment.client() as client:
        return run.enroll(client, again=again, replace_files=replace_files)


def make_folder_of(files: _Files) -> None:
    with about_writing(files.folder):
        make_folder(files.folder)


class _Files:
    """The owner's files of one device."""

    def __init__(self, attachment: Attachment, device: int) -> None:
        self.folder = attachment.folder / "devices"
        self._device = device
        self._record = self.folder / f"{device}.json"
        self._keys = self.folder / f"{device}.keys"
        self._rekey = self.folder / f"{device}.rekey"

    def record(self) -> Record | None:
        if not self._record.exists():
            return None
        try:
            fields = read_json(self._record)
            if (fields["format"], fields["version"], fields["device"]) != (_FORMAT, _VERSION, self._device):
                raise ValueError
            epoch = json_text.integer(fields["epoch"], 1, LARGEST_EPOCH)
            key_id = json_text.hexadecimal_u64(fields["key_id"])
            return Record(self._device, epoch, key_id, json_text.boolean(fields["open"]))
        except (ValueError, KeyError, TypeError):
            raise KeyFileError(
                f"{self._record} is damaged: remove it, and enroll the device with --again."
            ) from None

    def note(self, record: Record) -> None:
        fields = {
            "format": _FORMAT,
            "version": _VERSION,
            "device": record.device,
            "epoch": record.epoch,
            "key_id": f"{record.key_id:016x}",
            "open": record.is_open,
        }
        with about_writing(self._record):
            write_atomically(self._record, json_bytes(fields), 0o600)

    def keep(self, blob: bytes, rekey_key: bytes | None) -> None:
        """Store a device's keys until close."""
        with about_writing(self._keys):
            self.close()
            if rekey_key is not None:
                write_atomically(self._rekey, rekey_key, 0o600)
            write_atomically(self._keys, blob, 0o600)

    def kept(self, parse: Callable[[bytes], Any]) -> tuple[Provision, bytes | None]:
        blob = read_secret_file(self._keys, f"the open enrolment of device {self._device} {_DAMAGED[:-1]}")
        found = parse(blob)
        assert isinstance(found, Provision)
        return found, read_bounded(self._rekey, 1 << 28) if self._rekey.exists() else None

    def close(self) -> None:
        with about_writing(self._keys):
            for path in (self._keys, self._rekey):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
            sync_directory(self.folder)


class _Run:
    def __init__(
        self,
        attachment: Attachment,
        device: int,
        keys_file: Path,
        connection_file: Path,
        key: Given,
        largest_value: int | None,
        *,
        stream_public_key: bool,
    ) -> None:
        self.files = _Files(attachment, device)
        self._attachment = attachment
        self._fleet = attachment.fleet
        self._device = device
        self._targets = keys_file, connection_file
        self._key = key
        self._stream_public_key = stream_public_key
        self._is_header = keys_file.suffix in _HEADER_SUFFIXES
        self._largest_value = largest_value
        self._keys = attachment.load_keys()
        if largest_value is not None and not attachment.is_compact:
            raise ParameterError(
                "The largest value of full frames is declared with the keys (`ciphermote keygen --largest`): "
                "leave it out here."
            )
        if attachment.is_compact and key != "symmetric":
            raise ParameterError("Devices of the compact lane encrypt with the secret key: leave --key out.")
        if stream_public_key and (key != "asymmetric" or not self._is_header):
            raise ParameterError(
                "The public key is streamed to devices that encrypt with it, by a C header with its digests: "
                "give --key asymmetric, and name a file that ends in .h."
            )
        if key == "asymmetric" and attachment.definition.get("own_keys"):
            raise ParameterError(
                "The fleet's devices have secret keys of their own: leave --key out, or attach another fleet."
            )

    def enroll(self, client: GatewayClient, *, again: bool, replace_files: bool) -> Enrolled:
        record = self.files.record()
        resumed = record is not None and record.is_open
        if record is not None and not resumed and not again:
            raise KeyFileError(
                f"Device {self._device} is enrolled already (epoch {record.epoch}): say --again to give it "
                "new keys, which ends those that it has."
            )
        self._check_targets(may_replace=replace_files or resumed)
        if record is None or not resumed:
            self.files.close()  # what a run may have left that was ended at its last step
            # The gateway may know epochs that this machine does not, restored or not the only one.
            record = self._draw(max(record.epoch if record else 0, self._epoch_there(client) if again else 0))
        content, tag_keys, largest_value, rekey_key = self._material(record)
        keys_file, connection_file = self._targets
        _write(keys_file, content)
        try:
            client.enroll(
                self._fleet,
                self._device,
                epoch=record.epoch,
                key_id=record.key_id,
                tag_keys=tag_keys,
                largest_value=largest_value,
            )
        except GatewayError as error:
            if error.name == "old-epoch":
                self._give_up(record)
                raise GatewayError(f"{error} (--again)", error.name, error.http_status) from None
            raise
        if rekey_key is not None:
            client.put_rekey_key(self._fleet, self._device, rekey_key)
        self._connect(client, record, connection_file, others=resumed or again)
        self.files.note(replace(record, is_open=False))
        self.files.close()
        return Enrolled(self._device, record.epoch, record.key_id, keys_file, connection_file, resumed)

    def _check_targets(self, *, may_replace: bool) -> None:
        """Raises KeyFileError for a file that must not be replaced."""
        if self._targets[0].absolute() == self._targets[1].absolute():
            raise ParameterError(f"{self._targets[0]} is named for both keys and connection: name two files.")
        for path, is_own in zip(self._targets, (_is_keys, is_connection), strict=True):
            if holds_keys(path.parent):
                raise KeyFileError(f"{path} would be among the keys in {path.parent}: name a file elsewhere.")
            if not path.exists() and not path.is_symlink():
                continue
            if not path.is_file() or path.is_symlink() or not is_own(read_bounded(path, 1 << 28)):
                raise KeyFileError(f"{path} exists and is something else: name another file.")
            if not may_replace:
                raise KeyFileError(
                    f"{path} exists, and may be all there is of a device's keys: name another file, or give "
                    "--force to replace it."
                )

    def _epoch_there(self, client: GatewayClient) -> int:
        found = next(client.devices(self._fleet, self._device - 1), None)
        return found.epoch if found is not None and found.number == self._device else 0

    # --- drawing --------------------------------------------------------------------------------------------

    def _draw(self, last_epoch: int) -> Record:
        """Draw and record a new enrolment, in the epoch after the last."""
        if isinstance(self._keys, CompactKeys):
            self._keys, found = CompactKeys.enroll_in(
                self._attachment.keys, self._device, self._largest_value, after_epoch=last_epoch
            )
            record = Record(self._device, found.epoch, self._keys.key_id, True)
        else:
            if last_epoch >= LARGEST_EPOCH:
                raise ParameterError(
                    f"Device {self._device} has been enrolled {LARGEST_EPOCH} times, which is all: give it "
                    "another number."
                )
            given, rekey_key = self._provision(self._keys, Identity(self._device, last_epoch + 1))
            self.files.keep(provisioning.to_blob(given), rekey_key)
            record = Record(self._device, last_epoch + 1, given.key_id, True)
        self.files.note(record)
        return record

    def _provision(self, keys: KeyStore, identity: Identity) -> tuple[Provision, bytes | None]:
        if self._attachment.definition.get("own_keys"):
            own = DeviceKeys.make(keys.secret())
            return own.provision(identity=identity), own.rekey_key
        public = self._key == "asymmetric"
        return provisioning.provision(keys, secret=not public, public=public, identity=identity), None

    def _material(self, record: Record) -> tuple[bytes, TagKeys, float, bytes | None]:
        """Return (the content of the device's file, its tag keys, its largest value, its rekey key)."""
        if isinstance(self._keys, CompactKeys):
            found = self._keys.enrolment(self._device, record.epoch)
            self._check_same(
                f"--largest-value {found.largest_value}",
                is_same=self._largest_value in (None, found.largest_value),
            )
            content = (
                compact.to_c_header(self._keys, found, _COMMAND).encode()
                if self._is_header
                else replace(self._keys, enrolments=(found,)).to_bytes()
            )
            tag_keys = TagKeys.derive(found.secret, record.key_id, self._device, record.epoch)
            return content, tag_keys, found.largest_value, None
        parameters = parameters_from_dict(self._attachment.definition["parameters"], "parameters")
        given, rekey_key = self.files.kept(lambda blob: provisioning.parse_blob(blob, parameters))
        derived = given.tag_keys
        if given.identity != Identity(self._device, record.epoch) or derived is None:
            raise KeyFileError(f"The open enrolment of device {self._device} {_DAMAGED}")
        is_public = given.secret_key is None
        self._check_same(
            f"--key {'asymmetric' if is_public else 'symmetric'}",
            is_same=is_public == (self._key == "asymmetric"),
        )
        modulus = self._attachment.scheme.plain_modulus
        if modulus and batches(modulus, parameters.n):
            given = replace(given, plain_moduli=(modulus,))
        given = replace(given, log2_scale=self._attachment.definition.get("log2_scale"))
        content = (
            provisioning.to_c_header(given, _COMMAND, stream_public_key=self._stream_public_key).encode()
            if self._is_header
            else provisioning.to_blob(given)
        )
        return content, derived, given.largest, rekey_key

    def _check_same(self, option: str, *, is_same: bool) -> None:
        """Raises ParameterError if an open enrolment was begun with other options than this call has."""
        if not is_same:
            raise ParameterError(
                f"The enrolment of device {self._device} was begun with {option} and has not ended: end it "
                "so, then enroll the device anew (--again)."
            )

    def _give_up(self, record: Record) -> None:
        """Drop an open enrolment that the gateway will never accept, because it has a later one."""
        self._targets[0].unlink(missing_ok=True)  # keys that no gateway takes
        self.files.note(replace(record, is_open=False))
        self.files.close()

    # --- the token ------------------------------------------------------------------------------------------

    def _connect(self, client: GatewayClient, record: Record, path: Path, *, others: bool) -> None:
        """Make the device's token and write its connection file. others: revoke the tokens it had before."""
        before = self._tokens(client) if others else []
        token = client.make_token(
            "device", fleet=self._fleet, device=self._device, note=f"enrolment {record.epoch}"
        )
        connection = Connection(
            gateway=self._attachment.gateway,
            fleet=self._fleet,
            device=self._device,
            epoch=record.epoch,
            mqtt_user=f"{client.tenant()}.{self._fleet}.{self._device}",
            token=token,
            ca=self._attachment.ca,
            definition=self._attachment.definition,
        )
        _write(path, connection.to_bytes())
        for identifier in before:
            client.revoke_token(identifier)

    def _tokens(self, client: GatewayClient) -> list[str]:
        return [
            token.id
            for token in client.tokens()
            if (token.fleet, token.device) == (self._fleet, self._device) and token.revoked is None
        ]


def _is_keys(data: bytes) -> bool:
    return (
        provisioning.is_header(data)
        or provisioning.is_blob(data)
        or compact.is_header(data)
        or data.startswith(b"CMCK")
    )


def _write(path: Path, content: bytes) -> None:
    with about_writing(path):
        write_atomically(path, content, 0o600)


__all__ = ["Enrolled", "Record", "enroll", "records"]

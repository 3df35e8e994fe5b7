# SPDX-License-Identifier: Apache-2.0
"""Fetched results on the owner's disk: encrypted, with the description of their job.

    FLEET-job12.json            the job, the fleet's definition, who is in the result, digests of the parts
    FLEET-job12.part0.ct        a ciphertext; `ciphermote decrypt` takes those of full fleets as well. Of a
                                sum or mean that is checked, one for each group

The description is written last, so a result that has one is complete.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ciphermote.base import json_text, number_text
from ciphermote.base.errors import FrameError, GatewayError, KeyFileError
from ciphermote.base.files import MOST_OBJECT_BYTES, read_bounded, write_atomically
from ciphermote.fleet.attachments import Attachment, about_writing
from ciphermote.fleet.client import GatewayClient
from ciphermote.rest.answers import JobView

_FORMAT, _VERSION = "ciphermote-result", 1
_MOST_BYTES = 1 << 28
_POLL_SECONDS = 0.5

Progress = Callable[[int, int], None]
"""(windows done, windows in all)"""


@dataclass(frozen=True)
class Fetched:
    """A result on the disk. path: that of its description. contributors: [device, epoch, window] of each
    window, as the gateway lists them. parts: its ciphertexts, checked against their digests."""

    path: Path
    fleet: str
    gateway: str
    definition: Mapping[str, Any] = field(repr=False)
    job: JobView
    contributors: Sequence[Sequence[int]] = field(repr=False)
    files: Sequence[Path]
    _digests: Sequence[str] = field(repr=False)

    def parts(self) -> Iterator[bytes]:
        """Read the ciphertexts, one by one. Raises KeyFileError if one is missing, or FrameError if its
        digest differs."""
        for path, digest in zip(self.files, self._digests, strict=True):
            try:
                data = read_bounded(path, MOST_OBJECT_BYTES)
            except OSError as error:
                raise KeyFileError(f"{path} cannot be read: {error.strerror}; fetch the job again.") from None
            if _digest(data) != digest:
                raise FrameError(f"{path} is not what {self.path} names: fetch the job again.")
            yield data

    @classmethod
    def of(cls, path: Path, fields: Mapping[str, Any]) -> Self:
        """Read a description. Raises ValueError, KeyError or TypeError for one that no version wrote."""
        if (fields["format"], fields["version"]) != (_FORMAT, _VERSION):
            raise ValueError
        contributors = [
            [json_text.integer(number, 0, json_text.U64_MAX) for number in entry]
            for entry in fields["contributors"]
        ]
        if any(len(entry) != 3 for entry in contributors):
            raise ValueError
        names = [json_text.string(part["file"]) for part in fields["parts"]]
        if any(Path(name).name != name for name in names):
            raise ValueError
        return cls(
            path,
            json_text.string(fields["fleet"]),
            json_text.string(fields["gateway"]),
            dict(fields["definition"]),
            JobView.model_validate(fields["job"]),
            contributors,
            [path.with_name(name) for name in names],
            [json_text.string(part["blake2b"]) for part in fields["parts"]],
        )


def read(path: str | Path) -> Fetched:
    """Read a description that fetch wrote. Raises KeyFileError for any other file."""
    path = Path(path)
    try:
        return Fetched.of(path, json_text.parse_large(read_bounded(path, _MOST_BYTES)))
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        raise KeyFileError(
            f"{path} describes no result: give the .json files that `ciphermote owner fetch` wrote."
        ) from None


def find(paths: Sequence[str | Path]) -> list[Path]:
    """Find the given descriptions, and those in the given directories, in the order of their jobs."""
    found: list[Path] = []
    for path in map(Path, paths):
        found += sorted(path.glob("*-job*.json"), key=_number) if path.is_dir() else [path]
    if not found:
        raise KeyFileError(
            "There are no results in the directories named: get some (`ciphermote owner fetch`)."
        )
    return found


def _number(path: Path) -> tuple[str, int]:
    fleet, _, number = path.stem.rpartition("-job")
    return fleet, int(number) if number_text.is_natural(number) else 0


def description(folder: Path, fleet: str, job: int) -> Path:
    """Return the path of a job's description."""
    return folder / f"{fleet}-job{job}.json"


def wait(
    client: GatewayClient,
    fleet: str,
    job: int,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> JobView:
    """Wait until a job is over. Raises GatewayError if it failed, was cancelled, or is not over after
    `seconds`."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        found = client.job(fleet, job)
        if progress is not None and found.total:
            progress(found.done, found.total)
        if found.state == "done":
            return found
        if found.is_over:
            reason = f": {found.error}" if found.error else "."
            ended = "has failed" if found.state == "failed" else f"is {found.state}"
            raise GatewayError(f"Job {job} of fleet {fleet} {ended}{reason}", "not-done")
        if end is not None and time.monotonic() > end:
            raise GatewayError(
                f"Job {job} of fleet {fleet} is {found.state} still: fetch it later.", "not-done"
            )
        time.sleep(_POLL_SECONDS)


def is_here(folder: Path, fleet: str, job: JobView) -> bool:
    """Whether the job's result has been fetched. Raises GatewayError if another job's result with this number
    has: a gateway that was restored from a backup reuses numbers."""
    path = description(folder, fleet, job.id)
    if not path.exists():
        return False
    if read(path).job.created != job.created:
        raise GatewayError(
            f"{path} is of another job than the gateway's job {job.id}: the gateway was restored from a "
            "backup, or is another one. Fetch into another directory.",
            "other-job",
        )
    return True


def fetch(
    attachment: Attachment,
    client: GatewayClient,
    job: int,
    folder: str | Path,
    *,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> Fetched:
    """Fetch a job's result to files in a folder, once the job is done. seconds: the longest wait; None for no
    limit. Raises GatewayError, also if the folder holds another job's result with this number, or
    KeyFileError if the files cannot be written."""
    fleet, folder = attachment.fleet, Path(folder)
    found = wait(client, fleet, job, progress, seconds)
    is_here(folder, fleet, found)
    contributors = client.contributors(fleet, job)
    parts = []
    with about_writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(found.parts):
            data = client.result(fleet, job, number)
            name = f"{fleet}-job{job}.part{number}.ct"
            write_atomically(folder / name, data)
            parts.append({"file": name, "blake2b": _digest(data)})
        fields = {
            "format": _FORMAT,
            "version": _VERSION,
            "fleet": fleet,
            "gateway": attachment.gateway,
            "definition": dict(attachment.definition),
            "job": found.model_dump(exclude_none=False),
            "contributors": contributors,
            "parts": parts,
        }
        path = description(folder, fleet, job)
        write_atomically(path, json.dumps(fields).encode())
    return read(path)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


__all__ = ["Fetched", "fetch", "find", "read", "wait"]

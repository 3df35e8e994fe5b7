# SPDX-License-Identifier: Apache-2.0
"""Files that commands read and write: bounded, and replaced only by files of their own kind."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ciphermote.base import json_text
from ciphermote.base.errors import FrameError, KeyFileError, ParameterError
from ciphermote.base.files import MOST_OBJECT_BYTES, read_bounded, write_atomically
from ciphermote.parameters import ParameterSet, by_name
from ciphermote.parameters.files import parameters_from_dict


def read(path: Path, most: int = MOST_OBJECT_BYTES) -> bytes:
    try:
        return read_bounded(path, most)
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}.") from None


def read_ciphertext(path: Path) -> bytes:
    from ciphermote.formats.frame_finder import MAGIC

    if path.is_dir():
        raise FrameError(f"{path} is a directory: give its files, {path}/*.ct (to `decrypt`, one of them).")
    data = read(path)
    if data.startswith(MAGIC):
        raise FrameError(
            f"{path} holds frames as a device sends them: turn them into ciphertexts with `ciphermote adapt` "
            "first."
        )
    return data


def parameter_set(name: str) -> ParameterSet:
    """Return a built-in set by its name, or a custom one from a file."""
    if not name.endswith(".json"):
        return by_name(name)
    try:
        fields = json_text.parse(read(Path(name)))
    except ValueError:
        raise KeyFileError(f"{name} is not JSON: write it with `ciphermote params -o`.") from None
    return parameters_from_dict(fields, name)


class FileKind(NamedTuple):
    """A kind of file that a command writes: its name in messages, and a test for its bytes."""

    name: str
    has: Callable[[bytes], bool]


REKEY_KEY = FileKind("rekey key", lambda data: data.startswith(b"CMEK"))


def ciphertext_of(parameters: ParameterSet) -> FileKind:
    """The kind of ciphertexts with a label, and of bare ones with these parameters."""

    def has(data: bytes) -> bool:
        from ciphermote.formats.labels import Kind, detach
        from ciphermote.formats.seal import read_ciphertext

        try:
            _, label = detach(data)
            if label is None:
                read_ciphertext(data, parameters, sizes=(2, 3))
        except FrameError:
            return False
        return label is None or label.kind == Kind.CIPHERTEXT

    return FileKind("ciphertext", has)


def write(path: Path, content: bytes, kind: FileKind, *, secret: bool = False) -> None:
    check_target(path, kind)
    try:
        if not secret:  # whose directory the user is to choose, with its mode
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content, 0o600 if secret else 0o644)
    except OSError as error:
        raise KeyFileError(
            f"{path} cannot be written: {error.strerror}; name a place where you may write."
        ) from None


def check_target(path: Path, kind: FileKind) -> None:
    """Raises KeyFileError unless a file of this kind may be written to path. It must not lie among keys, and
    may replace only a file of its kind: a pipe or a device would become an ordinary file."""
    from ciphermote.owner.key_store import holds_keys

    if holds_keys(path.parent):
        raise KeyFileError(
            f"{path} would be among the keys in {path.parent}, where nothing else belongs: name a file "
            "elsewhere."
        )
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # Not there yet, or not reachable: writing it says so.
    if not stat.S_ISREG(mode):
        raise KeyFileError(
            f"{path} exists and is not an ordinary file (a directory, link, pipe or device): name "
            "another file."
        )
    try:
        own = kind.has(read_bounded(path, MOST_OBJECT_BYTES))
    except OSError:
        own = False
    if not own:
        raise KeyFileError(
            f"{path} exists and is not a {kind.name}, which would replace it: name another file, or move "
            "that one away."
        )


def check_not_given(target: Path, given: Sequence[Path]) -> None:
    """Raises ParameterError if a result would replace one of its own inputs."""
    if any(target.exists() and target.samefile(path) for path in given):
        raise ParameterError(f"The result would replace {target}, which it is made of: name another file.")

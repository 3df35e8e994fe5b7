# SPDX-License-Identifier: Apache-2.0
"""Rebuild a directory as a power cut leaves it, from the journal of synced.c, in the worst reading of POSIX.

Of a file, what was written before its last fsync or fdatasync began; of a name, what its directory's last
fsync found. Everything later is gone, or (Disk.rebuild's chance) there by luck, as disks have it.
"""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

_RECORD = struct.Struct("<IIQQII")


class Operation(IntEnum):
    CREATED = 1
    WRITTEN = 2
    TRUNCATED = 3
    RENAMED = 4
    LINKED = 5
    UNLINKED = 6
    MADE = 7
    SYNCING = 8
    SYNCED = 9


@dataclass(frozen=True)
class Record:
    """end: where it ends in the journal."""

    end: int
    operation: Operation
    inode: int
    offset: int
    path: str
    other: str
    data: bytes


def compiled(folder: Path) -> Path:
    """The library to preload."""
    library = folder / "synced.so"
    source = Path(__file__).parent / "synced.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library: Path, root: Path, journal: Path) -> dict[str, str]:
    """The environment of a process whose changes below root are recorded."""
    return {"LD_PRELOAD": str(library), "SYNCED_ROOT": str(root), "SYNCED_JOURNAL": str(journal)}


def records(journal: Path) -> list[Record]:
    data = journal.read_bytes()
    found, at = [], 0
    while at + _RECORD.size <= len(data):
        size, operation, inode, offset, path_bytes, other_bytes = _RECORD.unpack_from(data, at)
        end = at + 4 + size
        if end > len(data):
            break
        begin = at + _RECORD.size
        path, other = begin + path_bytes, begin + path_bytes + other_bytes
        names = data[begin:path].decode(), data[path:other].decode()
        found.append(Record(end, Operation(operation), inode, offset, *names, data[other:end]))
        at = end
    return found


@dataclass
class _File:
    """pending: changes since the last sync: (offset, data to write there), or (length, None): truncated.
    synced: what is on the disk for certain; syncing: how many were pending when each sync under way began."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    syncing: list[int] = field(default_factory=list)

    def sync(self) -> None:
        count = self.syncing.pop(0)
        for change in self.pending[:count]:
            _change(self.synced, *change)
        del self.pending[:count]
        self.syncing = [max(0, other - count) for other in self.syncing]

    def content(self, chance: random.Random | None) -> bytes:
        left = bytearray(self.synced)
        for offset, data in self.pending:
            if chance is not None and chance.random() < 0.5:
                _change(left, offset, data)
        return bytes(left)


def _change(content: bytearray, offset: int, data: bytes | None) -> None:
    size = offset if data is None else max(len(content), offset + len(data))
    content.extend(bytes(max(0, size - len(content))))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


_Names = dict[str, _File | None]
"""None: a directory."""


@dataclass
class _Directory:
    names: _Names = field(default_factory=dict)
    synced: _Names = field(default_factory=dict)
    later: list[_Names] = field(default_factory=list)
    """As the names stood after each change since the last sync."""
    syncing: list[tuple[_Names, int]] = field(default_factory=list)

    def set(self, name: str, file: _File | None) -> None:
        self.names[name] = file
        self.later.append(dict(self.names))

    def remove(self, name: str) -> None:
        self.names.pop(name, None)
        self.later.append(dict(self.names))


class Disk:
    """The files below root, as the records fed so far have them. unsynced: syncs of such files do nothing,
    which is how a test plants the fault that it must find."""

    def __init__(self, root: Path, unsynced: Callable[[str], bool] = lambda path: False) -> None:
        self._root = str(root)
        self._directories: dict[str, _Directory] = {self._root: _Directory()}
        self._inodes: dict[int, _File] = {}
        self._unsynced = unsynced

    def feed(self, record: Record) -> None:
        path = record.path
        match record.operation:
            case Operation.CREATED:
                file = self._inodes[record.inode] = _File()
                self._place(path)[0].set(path.rpartition("/")[2], file)
            case Operation.WRITTEN:
                self._inodes[record.inode].pending.append((record.offset, record.data))
            case Operation.TRUNCATED:
                self._inodes[record.inode].pending.append((record.offset, None))
            case Operation.MADE:
                self._directories[path] = _Directory()
                if path != self._root:
                    directory, name = self._place(path)
                    directory.set(name, None)
            case Operation.RENAMED | Operation.LINKED:
                directory, name = self._place(path)
                other, new = self._place(record.other)
                other.set(new, directory.names[name])
                if record.operation == Operation.RENAMED:
                    directory.remove(name)
            case Operation.UNLINKED:
                directory, name = self._place(path)
                directory.remove(name)
            case Operation.SYNCING | Operation.SYNCED:
                if not self._unsynced(path):
                    self._sync(record)

    def _place(self, path: str) -> tuple[_Directory, str]:
        folder, _, name = path.rpartition("/")
        return self._directories[folder], name

    def _sync(self, record: Record) -> None:
        begins = record.operation == Operation.SYNCING
        directory = self._directories.get(record.path)
        if directory is None:
            file = self._inodes[record.inode]
            if begins:
                file.syncing.append(len(file.pending))
            else:
                file.sync()
        elif begins:
            directory.syncing.append((dict(directory.names), len(directory.later)))
        else:
            directory.synced, count = directory.syncing.pop(0)
            del directory.later[:count]
            directory.syncing = [(names, max(0, later - count)) for names, later in directory.syncing]

    def rebuild(self, target: Path, chance: random.Random | None = None) -> None:
        """Write what a power cut now would leave. chance: of what was not synced, each write survives or not,
        and the names stand as after any of their changes."""
        self._rebuild(self._root, target, chance)

    def _rebuild(self, path: str, target: Path, chance: random.Random | None) -> None:
        target.mkdir(parents=True)
        directory = self._directories[path]
        names = directory.synced if chance is None else chance.choice([directory.synced, *directory.later])
        for name, file in names.items():
            if file is None:
                self._rebuild(f"{path}/{name}", target / name, chance)
            elif not name.endswith("-shm"):  # SQLite's, mapped, and made anew from the log
                (target / name).write_bytes(file.content(chance))
                (target / name).chmod(0o600)

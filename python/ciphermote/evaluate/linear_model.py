# SPDX-License-Identifier: Apache-2.0
"""A linear model in the clear, and its files: .json for people, .npz for size.

Files are not trusted: they are read only up to the largest size of a model, and nothing in them is unpacked
or executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import sys
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciphermote.base import arguments, json_text, npy
from ciphermote.base.errors import ParameterError, about
from ciphermote.base.files import MOST_JSON_BYTES, MOST_NPZ_BYTES, read_bounded
from ciphermote.parameters import MOST_SLOTS

_FORMAT = "ciphermote-linear-model"
_FORMAT_VERSION = 1
_TEXT, _INTEGER, _REAL = "U", "iu", "fiu"
"""Allowed kinds of an array's type, by numpy's letters."""
_TYPES = {_TEXT: "text", _INTEGER: "an integer of at most 64 bits", _REAL: "real numbers of at most 64 bits"}
_ARRAYS = {
    "format": (_TEXT, 0),
    "version": (_INTEGER, 0),
    "labels": (_TEXT, 1),
    "weights": (_REAL, 2),
    "bias": (_REAL, 1),
}
"""The arrays of a model's .npz file, with their kinds and dimensions."""
_MOST_NUMBERS = (MOST_NPZ_BYTES - (1 << 20)) // 8
"""The most weights: as binary64 they fill an .npz but for a megabyte; stored as bytes they would grow
eightfold in memory."""
_MOST_LABEL_LETTERS = 200
_HOW = (
    f'give a JSON object with format ("{_FORMAT}"), version ({_FORMAT_VERSION}), labels (a name for each '
    "class, or none), weights (a row of numbers for each class) and bias (a number for each class), or what "
    "LinearModel.save wrote"
)


@dataclass(frozen=True, eq=False)
class LinearModel:
    """scores = weights @ x + bias.

    weights: float64 [classes, features]; bias: float64 [classes]; labels: the classes' names, printable and
    all different, or none at all. Raises ParameterError if the shapes do not fit, or a number is not finite
    and real.
    """

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        weights, bias = real_numbers(self.weights), real_numbers(self.bias)
        if weights.ndim != 2 or 0 in weights.shape or bias.shape != (len(weights),):
            raise ParameterError(
                "A linear model has weights [classes, features] and bias [classes], not "
                f"{list(weights.shape)} and {list(bias.shape)}: give one row of weights and one bias a class."
            )
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise ParameterError(
                "The linear model has a weight or a bias that is not finite: train it again."
            )
        labels = arguments.each(self.labels, "labels", "a list of names")
        if len(labels) not in (0, len(weights)):
            raise ParameterError(
                f"{len(labels)} labels are given for {len(weights)} classes: give all or none."
            )
        labels = tuple(str(label) for label in labels)
        _check_labels(labels)
        weights.setflags(write=False)
        bias.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "labels", labels)

    @property
    def classes(self) -> int:
        return len(self.weights)

    @property
    def features(self) -> int:
        return int(self.weights.shape[1])

    @cached_property
    def id(self) -> int:
        """The model's name in the labels of its scores: the first 8 bytes, little-endian, of BLAKE2b-256 over
        its shape, numbers and labels (docs/wire-format.md)."""
        digest = hashlib.blake2b(struct.pack("<QQ", self.classes, self.features), digest_size=32)
        for numbers in (self.weights, self.bias):
            digest.update(numbers.astype("<f8").tobytes())
        for label in self.labels:
            text = label.encode()
            digest.update(struct.pack("<Q", len(text)) + text)
        return int.from_bytes(digest.digest()[:8], "little")

    def scores(self, x: ArrayLike) -> NDArray[np.float64]:
        """Plain scores: x float [..., features] -> float64 [..., classes]. Raises ParameterError for another
        d."""
        values = real_numbers(x, "Features")
        if values.ndim == 0 or values.shape[-1] != self.features:
            raise ParameterError(
                f"The model accepts {self.features} features but x has shape {list(values.shape)}."
            )
        return np.asarray(values @ self.weights.T + self.bias)

    def score_bound(self, feature_bound: float) -> float:
        """Return a bound on every |score| and partial sum if every |feature| is at most feature_bound."""
        return float((np.abs(self.weights).sum(axis=1) * feature_bound + np.abs(self.bias)).max())

    def to_json(self) -> str:
        return json.dumps(
            {
                "format": _FORMAT,
                "version": _FORMAT_VERSION,
                "labels": list(self.labels),
                "weights": self.weights.tolist(),
                "bias": self.bias.tolist(),
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> LinearModel:
        """Read a model in the form that to_json writes. Raises ParameterError if text holds none."""
        try:
            found = json_text.parse(text)
        except ValueError as error:
            raise ParameterError(f"The linear model is not JSON ({error}): {_HOW}.") from None
        return cls.from_fields(found)

    @classmethod
    def from_fields(cls, fields: Any) -> LinearModel:
        """Make a model from the fields of to_json's JSON. Raises ParameterError for invalid fields."""
        if not isinstance(fields, dict):
            raise ParameterError(f"The linear model is JSON, but not an object: {_HOW}.")
        if missing := [name for name in _ARRAYS if name not in fields]:
            raise ParameterError(f"The linear model lacks {', '.join(missing)}: {_HOW}.")
        _check_format(fields["format"], fields["version"])
        try:
            rows = [json_text.numbers(row) for row in json_text.array(fields["weights"])]
            weights = np.array(rows, dtype=np.float64)
            bias = np.array(json_text.numbers(fields["bias"]), dtype=np.float64)
            labels = tuple(json_text.string(label) for label in json_text.array(fields["labels"]))
        except (ValueError, OverflowError):
            raise ParameterError(
                "The linear model's weights or bias are not tables of numbers, or its labels not a list of "
                f"names: {_HOW}."
            ) from None
        return cls(weights, bias, labels)

    def save(self, path: str | Path) -> None:
        """Write .json (readable) or .npz (compact), by the path's suffix. Raises ParameterError for another
        suffix, and for a model larger than load accepts."""
        path = Path(path)
        if _suffix(path) == ".json":
            text = self.to_json() + "\n"
            if len(text) > MOST_JSON_BYTES or not json_text.fits(text):
                raise ParameterError(f"The linear model is too large for {path}: save it as .npz.")
            path.write_text(text, encoding="utf-8")
            return
        if not _has_room(self.weights.shape):
            raise ParameterError(
                f"No parameter set has room for a linear model of shape {list(self.weights.shape)}: make it "
                "smaller."
            )
        with path.open("wb") as file:
            np.savez(
                file,
                format=np.array(_FORMAT),
                version=np.array(_FORMAT_VERSION),
                labels=np.array(self.labels, dtype=np.str_),
                weights=self.weights,
                bias=self.bias,
            )

    @classmethod
    def load(cls, path: str | Path) -> LinearModel:
        """Read a model that save wrote. Raises ParameterError if the file cannot be read or holds none."""
        path = arguments.path(path)
        with about(path):
            return cls._load(path)

    @classmethod
    def _load(cls, path: Path) -> LinearModel:
        suffix = _suffix(path)
        try:
            content = read_bounded(path, MOST_JSON_BYTES if suffix == ".json" else MOST_NPZ_BYTES)
        except OSError as error:
            raise ParameterError(f"The linear model {path} cannot be read: {error.strerror}.") from None
        return cls.from_json(content) if suffix == ".json" else cls.from_npz(content)

    @classmethod
    def from_npz(cls, content: bytes) -> LinearModel:
        """Read a model from the bytes of an .npz that save wrote. Raises ParameterError if they hold none."""
        try:
            _check_directory(content)
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
                if len(set(names)) < len(names):
                    raise ValueError("it has a member twice")
                if sum(member.compress_size for member in archive.infolist()) > len(content):
                    raise ValueError("its arrays have more bytes than the file")
                arrays = {name: _stored_array(archive, name) for name in _ARRAYS}
        except Exception as error:  # zipfile and numpy each have their own errors for damaged bytes
            raise ParameterError(
                f"The linear model is damaged, or is not an .npz of one ({error}): write it with "
                "LinearModel.save."
            ) from None
        _check_format(arrays["format"].item(), arrays["version"].item())
        return cls(arrays["weights"], arrays["bias"], tuple(arrays["labels"].tolist()))


def _check_format(name: Any, version: Any) -> None:
    if name != _FORMAT or type(version) is not int or version != _FORMAT_VERSION:
        raise ParameterError(f"The file is not a linear model of version {_FORMAT_VERSION}: {_HOW}.")


def _check_labels(labels: tuple[str, ...]) -> None:
    """Raises ParameterError unless labels are printable and look different: an accented letter can be written
    as one character or as two."""
    for label in labels:
        if len(label) > _MOST_LABEL_LETTERS:
            raise ParameterError(
                f"The linear model has a label of {len(label):,} letters: give a name of at most "
                f"{_MOST_LABEL_LETTERS}."
            )
        if not label.isprintable() or label.strip() != label or not label:
            raise ParameterError(
                f"The linear model's label {label!a} is empty, or has characters that are not printable or "
                "spaces at its ends, so it could look like another: give a name in print."
            )
    shown = Counter(unicodedata.normalize("NFC", label) for label in labels)
    if repeated := [label for label, count in shown.items() if count > 1]:
        raise ParameterError(
            f"The linear model has the label {repeated[0]!r} more than once, so nobody could tell those "
            "classes apart: give each its own."
        )


def real_numbers(values: ArrayLike, what: str = "A linear model's weights and biases") -> NDArray[np.float64]:
    """Return a copy as binary64. Raises ParameterError for truth values, text and complex numbers, which
    numpy would convert."""
    found = arguments.array(values)
    if found.dtype.kind in _REAL:
        return found.astype(np.float64)
    raise ParameterError(
        f"{what} are tables of real numbers: give no truth values, text or complex numbers, and rows of one "
        "length."
    )


_DIRECTORY_END_BYTES = 22
_MOST_DIRECTORY_BYTES = 4096


def _check_directory(content: bytes) -> None:
    """Raises ValueError unless the archive's directory is short, because zipfile makes half a kilobyte of an
    entry of 46 bytes. As LinearModel.save writes it, the directory's end is the file's, in the form for small
    archives."""
    end = content[-_DIRECTORY_END_BYTES:]
    large = content[-_DIRECTORY_END_BYTES - 20 :].startswith(b"PK\6\7")
    if not (end.startswith(b"PK\5\6") and end.endswith(b"\0\0")) or large:
        raise ValueError("it does not end as such an archive does")
    if int.from_bytes(end[12:16], "little") > _MOST_DIRECTORY_BYTES:
        raise ValueError("it has more entries than a model")


def _has_room(shape: tuple[int, ...]) -> bool:
    return max(shape, default=0) <= MOST_SLOTS and math.prod(shape) <= _MOST_NUMBERS


def _stored_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read the array `name` of an .npz, in the form that _ARRAYS allows.

    numpy.load would unpack a thousandfold, and an array of objects over a file's bytes would hold pointers
    chosen by its sender. Raises ValueError.
    """
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed: save it with LinearModel.save, which does not compress")
    content = io.BytesIO(archive.read(member))
    shape, by_columns, dtype = npy.read_header(content, name)
    kinds, dimensions = _ARRAYS[name]
    if dtype.kind not in kinds or (dtype.kind != "U" and dtype.itemsize > 8):
        raise ValueError(f"{name} is of type {dtype.str}, not {_TYPES[kinds]}")
    if len(shape) != dimensions:
        raise ValueError(f"{name} has {len(shape)} dimensions, not {dimensions}")
    if not _has_room(shape):
        raise ValueError(f"{name} has shape {list(shape)}, for which no parameter set has room")
    values = content.read()
    array = npy.make_array(shape, by_columns=by_columns, dtype=dtype, values=values, name=name)
    if dtype.kind == "U":
        number = np.dtype(np.uint32).newbyteorder(dtype.byteorder)
        code_points = np.frombuffer(values, number, len(values) // 4)
        if (code_points > sys.maxunicode).any():
            raise ValueError(f"{name} is not text, though numpy would make strings of it")
    return array


def check_chain(layers: Sequence[LinearModel]) -> None:
    """Raises ParameterError unless there is a layer, and each layer's outputs match the next one's inputs."""
    if not layers:
        raise ParameterError("A network without layers is given: give one or more.")
    for place, (layer, following) in enumerate(pairwise(layers)):
        if layer.classes != following.features:
            raise ParameterError(
                f"Layer {place} gives {layer.classes} values and the next takes {following.features}: give "
                "layers that fit."
            )


def _suffix(path: Path) -> str:
    if path.suffix not in (".json", ".npz"):
        raise ParameterError(f"The linear model {path} must end in .json or .npz: give such a file.")
    return path.suffix

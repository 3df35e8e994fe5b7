# SPDX-License-Identifier: Apache-2.0
"""The fuzz targets of the Python package: code that reads bytes from outside, each target by name.

    python tests/fuzz/python_targets.py NAME [libFuzzer's options and corpus directories]
    python tests/fuzz/python_targets.py NAME --first-inputs DIRECTORY

A finding is any error of a parser that is not of its own kind, or a target's failed assertion. Mutators make
lengths and checksums match again, so that the code behind them is reached. tools/fuzz.py runs them all.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import atheris
import ciphermote
import ciphermote_testing as testing
import numpy as np
import zstandard
from ciphermote import _core
from ciphermote.parameters import BFV, CKKS

# An editable install has a loader that atheris cannot instrument; the usual one finds the modules too.
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
if planted := os.environ.get("CIPHERMOTE_PLANTED"):  # a copy of the package with a bug in it
    ciphermote.__path__.insert(0, planted)
    sys.path.insert(0, str(Path(planted).parents[1] / "ports/host"))
with atheris.instrument_imports(include=["ciphermote", "link"]):
    import link
    from ciphermote.base.errors import (
        EngineError,
        Error,
        FrameError,
        KeyFileError,
        MismatchError,
        ParameterError,
    )
    from ciphermote.ciphertext import Ciphertext
    from ciphermote.cli import inspection
    from ciphermote.cli import numbers_in_files as values
    from ciphermote.evaluate import seal_worker as worker
    from ciphermote.evaluate.linear_model import LinearModel
    from ciphermote.formats import device_public_key, key_directory, labels, ledger, seeded_keys
    from ciphermote.formats import frames as adapter
    from ciphermote.formats import seal as sb
    from ciphermote.formats.frame_finder import HEADER_BYTES
    from ciphermote.owner import keys
    from ciphermote.owner import provisioning as provision
    from ciphermote.parameters import ParameterSet, by_name, generate
    from ciphermote.parameters.bounds import Known
    from ciphermote.parameters.files import parameters_to_dict
    from ciphermote.parameters.native import core_params
    from ciphermote.parameters.seal_chain import SealChain

SMALL = by_name("n1024_q26")
SWITCHING = by_name("n2048_q26_p27")
KEY_ID, PLAIN_MODULUS = 42, 12289
INTEGERS = BFV(PLAIN_MODULUS)

Inputs = dict[str, bytes]
Mutator = Callable[[bytearray, random.Random], None]
"""Changes bytes in place so that lengths and checksums match."""


@dataclass(frozen=True)
class Target:
    """run: takes any bytes. first: what inputs may look like. repair: see Mutator."""

    run: Callable[[bytes], object]
    first: Callable[[], Inputs]
    repair: Mutator | None = None


def refuses(error: type[Exception] | tuple[type[Exception], ...], call: Callable[[], object]) -> bool:
    """Whether the call raises such an error; any other is a finding."""
    try:
        call()
    except error:
        return True
    return False


# --- frames -----------------------------------------------------------------------------------------


def frame(component: int, counter: int, log2_tiles: int = 0, scheme: int = 2) -> bytes:
    words = (np.arange(SMALL.n >> log2_tiles, dtype=np.uint32) * 7 + component + 1) % 1021
    (scale,) = struct.unpack("<Q", struct.pack("<d", 2.0**20))
    scale_or_modulus = scale if scheme == CKKS.code else PLAIN_MODULUS
    core = core_params(SMALL)
    return _core.write_frame(
        core,
        scheme,
        1,
        log2_tiles,
        KEY_ID,
        counter,
        scale_or_modulus,
        component,
        0,
        0,
        words.astype(np.uint32),
    )


def public_key_frames() -> bytes:
    stored = [0]
    store = stored.__setitem__
    device = _core.Device(
        bytes(range(32)), random.Random(1).randbytes, lambda: stored[0], lambda value: store(0, value)
    )
    secret = _core.secret_key_generate(core_params(SMALL), bytes(range(32)))
    return testing.emit_public_key(device, core_params(SMALL), secret, KEY_ID, 3)


def repair_frames(data: bytearray, chance: random.Random, start: int = 0) -> None:
    at = start
    while len(data) - at > HEADER_BYTES + 4:
        if chance.randrange(64):
            data[at : at + 3] = b"CM\x01"
            data[at + 8 : at + 12] = SMALL.id.to_bytes(4, "little")
            tiled = (SMALL.n >> (data[at + 39] & 7)) // 8 * 26
            length = {1: 64, 2: 64, 3: 32}.get(data[at + 36], 0) if data[at + 3] == 1 else tiled
            data[at + 40 : at + 44] = length.to_bytes(4, "little")
        claimed = int.from_bytes(data[at + 40 : at + 44], "little")
        covered = HEADER_BYTES + min(claimed, len(data) - at - HEADER_BYTES - 4)
        if chance.randrange(64):
            check_sum = _core.crc32c(bytes(data[at : at + covered]))
            data[at + covered : at + covered + 4] = check_sum.to_bytes(4, "little")
        at += covered + 4


def read_stream(data: bytes) -> None:
    if not data:
        return
    reader = adapter.FrameReader(SMALL, KEY_ID, scheme=INTEGERS if data[0] & 1 else CKKS, max_open=2)
    size = 1 + 97 * (data[0] >> 1)
    delivered = 0
    stream = data[1:]
    for at in range(0, len(stream), size):
        received = reader.feed(stream[at : at + size])
        delivered += sum(found.frame_bytes for found in received.sets)
        assert reader.bytes_kept < 4000 and len(reader._open) <= 2
        assert received.fault is None or isinstance(received.fault, FrameError)
        for found in received.sets:
            sb.read_ciphertext(found.to_seal(), SMALL, scheme=INTEGERS if data[0] & 1 else CKKS)
    reader.finish()
    assert delivered + reader.bytes_dropped <= len(stream)


def first_streams() -> Inputs:
    ckks = b"\x08" + frame(1, 1) + b"CM\x01junk" + frame(0, 1) + frame(1, 2)[:100]
    return {"ckks": ckks, "bfv-tile": b"\x41" + frame(0, 3, 4, 1) + frame(1, 3, 2, 1)}


def repair_stream(data: bytearray, chance: random.Random) -> None:
    repair_frames(data, chance, 1)


def read_public_key_frames(data: bytes) -> None:
    refuses(FrameError, lambda: device_public_key.read_public_key(data, SMALL, KEY_ID))


# --- SEAL's objects ---------------------------------------------------------------------------------

READERS = (
    (sb.read_ciphertext, sb.write_ciphertext, SMALL, CKKS),
    (sb.read_ciphertext, sb.write_ciphertext, SMALL, INTEGERS),
    (sb.read_public_key, sb.write_public_key, SMALL, CKKS),
    (sb.read_plaintext, sb.write_plaintext, SMALL, INTEGERS),
    (sb.read_secret_key, sb.write_secret_key, SMALL, CKKS),
    (sb.read_relin_keys, sb.write_relin_keys, SWITCHING, CKKS),
    (sb.read_galois_keys, sb.write_galois_keys, SWITCHING, CKKS),
)
PACKERS = {1: zlib.compress, 2: zstandard.compress}


def object_of(data: bytes) -> bytes:
    """Return the bytes of an object. Choices: its compression (3: the bytes are compressed as they are)."""
    head, body = bytearray(data[2:18]), data[18:]
    mode = data[1] & 3
    body = PACKERS[mode](body) if mode in PACKERS else body
    head[5] = mode if mode in PACKERS else data[1] >> 2 & 3
    if data[1] & 0x40 == 0:
        head[8:] = struct.pack("<Q", 16 + len(body))
    return bytes(head) + body


def read_object(data: bytes) -> None:
    """Choices: the kind of object, and its compression."""
    if len(data) < 2 + 16:
        return
    content = object_of(data)
    if data[0] % 8 == 7:
        refuses(FrameError, lambda: sb.read_parameters(content))
        return
    read, write, parms, scheme = READERS[data[0] % 8]
    try:
        found = read(content, parms, scheme=scheme)
    except FrameError:
        return
    again = write(found)
    assert write(read(again, parms, scheme=scheme)) == again


def ramp(parms: ParameterSet, rows: int, primes: int) -> np.ndarray:
    """Residues that compress well, to keep the repository small, but not too well to be read."""
    count = rows * primes * parms.n
    return (np.arange(1, count + 1, dtype=np.uint32) * 40503 % 12289).reshape(rows, primes, parms.n)


def first_objects() -> Inputs:
    seed = (sb.SeedType.SHAKE256, bytes(range(64)))
    ciphertext = sb.SealCiphertext(SMALL, 1, True, 2.0**20, ramp(SMALL, 1, 1), seed)
    bfv = sb.SealCiphertext(SMALL, 1, False, 1.0, ramp(SMALL, 2, 1), None, INTEGERS)
    public = sb.SealCiphertext(SMALL, 1, True, 1.0, ramp(SMALL, 1, 1), seed)
    plain = sb.SealPlaintext(SMALL, 0, 1.0, np.arange(20, dtype=np.uint64), INTEGERS)
    key = (sb.SealCiphertext(SWITCHING, 2, True, 1.0, ramp(SWITCHING, 1, 2), seed),)
    # data[1]: 0 as it is, 1 zlib, 2 zstd
    return {
        "ciphertext": b"\x00\x01" + sb.write_ciphertext(ciphertext),
        "bfv": b"\x01\x02" + sb.write_ciphertext(bfv),
        "public-key": b"\x02\x00" + sb.write_public_key(public),
        "plaintext": b"\x03\x01" + sb.write_plaintext(plain),
        "secret-key": b"\x04\x00" + sb.write_secret_key(sb.SealSecretKey(SMALL, ramp(SMALL, 1, 1)[0])),
        "relin": b"\x05\x00" + sb.write_relin_keys(sb.SealRelinKeys(SWITCHING, key)),
        "galois": b"\x06\x00" + sb.write_galois_keys(sb.SealGaloisKeys(SWITCHING, {3: key})),
        "parameters": b"\x07\x02" + sb.write_parameters(SMALL),
    }


SEAL_CHAIN = SealChain(1024, generate(1024, [25]).primes)


def read_wide_object(data: bytes) -> None:
    """Choices: parameters or a ciphertext of a chain of SEAL's, and its compression."""
    if len(data) < 2 + 16:
        return
    content = object_of(data)
    if data[0] & 1:
        refuses((FrameError, ParameterError), lambda: sb.read_seal_chain(content, "2018"))
        return
    found: list[Ciphertext] = []
    refuses(
        (FrameError, ParameterError),
        lambda: found.append(Ciphertext.from_seal_chain(content, SEAL_CHAIN)),
    )
    for given in found:
        refuses(EngineError, lambda given=given: given.to_seal_chain(SEAL_CHAIN))


def first_wide_objects() -> Inputs:
    seed = (sb.SeedType.SHAKE256, bytes(range(64)))
    ciphertexts = {
        "seeded": sb.SealCiphertext(SMALL, 1, True, 2.0**20, ramp(SMALL, 1, 1), seed),
        "product": sb.SealCiphertext(SMALL, 1, True, 2.0**20, ramp(SMALL, 3, 1)),
    }
    found = {}
    for name, each in ciphertexts.items():
        content = bytearray(sb.write_ciphertext(each))
        content[16:48] = SEAL_CHAIN.parms_id()
        found[name] = b"\x00\x01" + bytes(content)
    return {**found, "parameters": b"\x01\x00" + sb.write_seal_chain(SEAL_CHAIN)}


# --- files ------------------------------------------------------------------------------------------


def read_blob(data: bytes) -> None:
    refuses(KeyFileError, lambda: provision.parse_blob(data, SMALL))


def repair_blob(data: bytearray, chance: random.Random) -> None:
    if len(data) >= 36:
        data[24:28] = (len(data) - 36).to_bytes(4, "little")
        data[-4:] = _core.crc32c(bytes(data[:-4])).to_bytes(4, "little")


def first_blobs() -> Inputs:
    secret = keys.SecretKey.from_coefficients(SMALL, np.arange(SMALL.n) % 3 - 1)
    public = ramp(SMALL, 1, 2).reshape(1, 2, SMALL.n)
    whole = provision.Provision(SMALL, KEY_ID, bytes(range(32)), secret, public)
    named = provision.Provision(SMALL, KEY_ID, bytes(range(32)), identity=provision.Identity(7, 1))
    blobs = {"whole": provision.to_blob(whole), "named": provision.to_blob(named)}
    return {**blobs, "prime": provision.to_prime_blobs(whole)[0]}


SCRATCH = Path(__file__).parents[2] / "build/fuzz/scratch" / "".join(sys.argv[1:2])
"""Each target has its own, and overwrites what is there."""


def scratch_file(name: str, data: bytes) -> Path:
    path = SCRATCH / name
    path.write_bytes(data)
    return path


def read_json(data: bytes) -> None:
    """Choices: which kind of file."""
    kind, text = data[:1], data[1:]
    if kind == b"m":
        refuses(Error, lambda: key_directory.Manifest.from_json(text, "here"))
    elif kind == b"p":
        path = scratch_file("parameters.json", text)
        refuses(Error, lambda: inspection.describe(path))
    else:
        refuses(Error, lambda: LinearModel.from_json(text))


def first_json() -> Inputs:
    digests = {key_directory.PUBLIC_FILE: "00" * 32, key_directory.GALOIS_FILE: "11" * 32}
    manifest = key_directory.Manifest(SMALL, KEY_ID, "2026-01-01T00:00:00+00:00", (1, -2), True, digests)
    return {
        "manifest": b"m" + manifest.to_json().encode(),
        "parameters": b"p" + json.dumps(parameters_to_dict(SMALL)).encode(),
        "model": b"w" + LinearModel([[1.0, -2.5]], [0.5], ("yes",)).to_json().encode(),
    }


def reading(counter: int) -> adapter.FrameSet:
    return adapter.read_sets([frame(1, counter) + frame(0, counter)], SMALL, KEY_ID)[0]


READING = reading(8)


def read_ledger(data: bytes) -> None:
    path = scratch_file("file.ledger", data)

    def take() -> None:
        with ledger.CounterLedger(path) as found, found.taking([READING], "a"):
            pass

    refuses((KeyFileError, FrameError), take)


def first_ledgers() -> Inputs:
    path = SCRATCH / "first.ledger"
    path.unlink(missing_ok=True)
    with ledger.CounterLedger(path) as made, made.taking([reading(5), reading(7)], "a"):
        pass
    return {"ledger": path.read_bytes()}


def read_seeded_keys(data: bytes) -> None:
    for kind in seeded_keys.KeyKind:
        found: list[seeded_keys.SeededKeys] = []
        refuses(
            (FrameError, MismatchError),
            lambda k=kind, f=found: f.append(seeded_keys.read(data, SWITCHING, k)),
        )
        assert all(seeded_keys.write(keys_read) == bytes(data) for keys_read in found)


def first_seeded_keys() -> Inputs:
    key = seeded_keys.SeededKey(bytes(range(32)), ramp(SWITCHING, 1, 2))
    return {
        kind.name: seeded_keys.write(
            seeded_keys.SeededKeys(
                SWITCHING, kind, KEY_ID, {3 if kind is seeded_keys.KeyKind.GALOIS else 0: key}
            )
        )
        for kind in seeded_keys.KeyKind
    }


def repair_seeded_keys(data: bytearray, chance: random.Random) -> None:
    data[-32:] = hashlib.blake2b(data[:-32], digest_size=32).digest()


def read_label(data: bytes) -> None:
    try:
        seal, label = labels.detach(data)
    except FrameError:
        return
    assert bytes(data).startswith(bytes(seal))
    for scheme in (CKKS, INTEGERS):
        refuses(
            FrameError,
            lambda s=scheme: sb.read_ciphertext(data, SMALL, scheme=s),
        )
    if label is not None:
        assert labels.detach(labels.attach(bytes(seal), label)) == (seal, label) or label.scale != label.scale


def first_labels() -> Inputs:
    objects = first_objects()
    ckks = labels.Label(labels.Kind.CIPHERTEXT, CKKS, SMALL.id, KEY_ID, 2.0**20, model_id=7)
    bfv = labels.Label(labels.Kind.CIPHERTEXT, INTEGERS, SMALL.id, KEY_ID)
    known = Known.encrypted(50.0, SMALL, "asymmetric", 2.0**20, 7)
    return {
        "ckks": labels.attach(objects["ciphertext"][2:], ckks),
        "known": labels.attach(objects["ciphertext"][2:], replace(ckks, known=known)),
        "curve": labels.attach(objects["ciphertext"][2:], replace(ckks, known=known.square())),
        "bfv": labels.attach(objects["bfv"][2:], bfv),
        "short": labels.attach(objects["parameters"][2:], bfv),
    }


def repair_label(data: bytearray, chance: random.Random) -> None:
    size = data.rfind(b"CMLB")
    if size >= 16 and len(data) >= size + 36:
        data[:2] = b"\x5e\xa1"
        data[8:16] = struct.pack("<Q", size)
        data[-32:] = labels._digest(bytes(data[:size]), bytes(data[size:-32]))


def read_model(data: bytes) -> None:
    refuses(Error, lambda: LinearModel.load(scratch_file("model.npz", data)))


def first_models() -> Inputs:
    LinearModel([[1.0, -2.5], [0.0, 3.0]], [0.5, 1.0], ("yes", "no")).save(SCRATCH / "first.npz")
    return {"model": (SCRATCH / "first.npz").read_bytes()}


def read_values(data: bytes) -> None:
    def parse() -> None:
        for rows in (False, True):
            assert all(row.ndim == 1 and row.size for row in values.parse_values(data, rows=rows))

    refuses(Error, parse)


def first_values() -> Inputs:
    content = io.BytesIO()
    np.save(content, np.array([[1.5, -2.0], [3.0, 4.0]]))
    return {"npy": content.getvalue(), "text": b"1, 2\n-3.5;4e1\n"}


def repair_model(data: bytearray, chance: random.Random) -> None:
    """The members as they were changed, in an archive whose directory and checksums match."""
    starts = [at for at in range(len(data) - 30) if data[at : at + 4] == b"PK\x03\x04"]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for start, name in zip(starts, ("format", "version", "labels", "weights", "bias"), strict=False):
            end = min([at for at in starts if at > start] or [max(data.find(b"PK\x01\x02"), start)])
            names, extra = struct.unpack_from("<HH", data, start + 26)
            archive.writestr(f"{name}.npy", bytes(data[min(start + 30 + names + extra, end) : end]))
    data[:] = content.getvalue()


def inspect(data: bytes) -> None:
    """Choices: the name's ending."""
    suffix = {b"z": ".npz", b"j": ".json"}.get(data[:1], ".bin")
    refuses(Error, lambda: inspection.describe(scratch_file("file" + suffix, data[1:])))


def first_files() -> Inputs:
    blob = first_blobs()["prime"]
    frames = frame(1, 1) + frame(0, 1)
    ciphertext = first_objects()["ciphertext"][2:]
    return {"blob": b"b" + blob[:400], "frames": b"b" + frames, "seal": b"b" + ciphertext}


def repair_file(data: bytearray, chance: random.Random) -> None:
    if data[1:3] == b"CM" and data[1:5] != b"CMPV":
        repair_frames(data, chance, 1)
    elif data[1:3] == b"\x5e\xa1":
        data[9:17] = struct.pack("<Q", len(data) - 1)


# --- processes and devices --------------------------------------------------------------------------


def read_reply(data: bytes) -> None:
    """Read a reply such as a compromised worker may send."""
    refuses(ValueError, lambda: worker.read_message(io.BytesIO(data), 1 << 12, 1 << 16))


def first_replies() -> Inputs:
    content = io.BytesIO()
    worker.write_message(content, {"error": "a sentence"}, [b"abc", b""])
    return {"reply": content.getvalue()}


def repair_reply(data: bytearray, chance: random.Random) -> None:
    data[:4] = struct.pack("<I", max(0, data.rfind(b"}") - 3))


def read_link(data: bytes) -> None:
    """Choices: the request. The device answers anything, then closes."""
    answer_reader, answer_writer = os.pipe()
    request = os.open(os.devnull, os.O_WRONLY)
    os.write(answer_writer, data[1:60000])
    os.close(answer_writer)
    with os.fdopen(answer_reader, "rb", 0) as reader, os.fdopen(request, "wb", 0) as writer:
        device = link.DeviceLink(reader, writer, timeout=5.0)
        device.public_key = np.ones((2, 2, 8), dtype=np.uint32)
        asked = device.report if data[:1] == b"r" else lambda: device.encrypt_values([1.0])
        refuses(link.LinkError, asked)


def record(kind: int, payload: bytes) -> bytes:
    body = struct.pack("<4sBBHI", b"CMRP", 1, kind, 1, len(payload)) + payload
    return body + struct.pack("<I", _core.crc32c(body))


def first_answers() -> Inputs:
    end = record(3, struct.pack("<4I", 0, 6, 0, 0))
    refusal = record(3, struct.pack("<4I", 2, 0, 0, 0))
    report = record(2, struct.pack("<BBBBIQIIIIIIII", 0, 1, 0, 1, 7, 8, *[9] * 7, 0))
    return {
        "data": b"e" + record(1, b"abc") + record(1, b"def") + end,
        "refusal": b"e" + refusal,
        "key": b"e" + record(4, struct.pack("<BBHQ", 1, 0, 0, 8)) + record(1, b"abcdef") + end,
        "report": b"r" + report + record(3, bytes(16)),
    }


def repair_answer(data: bytearray, chance: random.Random) -> None:
    at = 1
    while len(data) - at >= 16:
        data[at : at + 5] = b"CMRP\x01"
        length = min(int.from_bytes(data[at + 8 : at + 12], "little"), 64, len(data) - at - 16)
        data[at + 8 : at + 12] = length.to_bytes(4, "little")
        check_sum = _core.crc32c(bytes(data[at : at + 12 + length]))
        data[at + 12 + length : at + 16 + length] = check_sum.to_bytes(4, "little")
        at += 16 + length


TARGETS = {
    "py-frames": Target(read_stream, first_streams, repair_stream),
    "py-public-key": Target(read_public_key_frames, lambda: {"key": public_key_frames()}, repair_frames),
    "py-seal": Target(read_object, first_objects),
    "py-seal-chain": Target(read_wide_object, first_wide_objects),
    "py-blob": Target(read_blob, first_blobs, repair_blob),
    "py-seeded-keys": Target(read_seeded_keys, first_seeded_keys, repair_seeded_keys),
    "py-label": Target(read_label, first_labels, repair_label),
    "py-ledger": Target(read_ledger, first_ledgers),
    "py-json": Target(read_json, first_json),
    "py-model": Target(read_model, first_models, repair_model),
    "py-inspect": Target(inspect, first_files, repair_file),
    "py-reply": Target(read_reply, first_replies, repair_reply),
    "py-values": Target(read_values, first_values),
    "py-link": Target(read_link, first_answers, repair_answer),
}


def mutator(repair: Mutator) -> Callable[[bytes, int, int], bytes]:
    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        changed = bytearray(atheris.Mutate(data, most))
        if chance.randrange(8):
            repair(changed, chance)
        return bytes(changed[:most])

    return mutate


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python_targets.py {'|'.join(TARGETS)} [--first-inputs DIRECTORY]")
    target = TARGETS[sys.argv.pop(1)]
    SCRATCH.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:2] == ["--first-inputs"]:
        for name, data in target.first().items():
            (Path(sys.argv[2]) / name).write_bytes(data)
        return
    repair = target.repair
    atheris.Setup(sys.argv, target.run, **({"custom_mutator": mutator(repair)} if repair else {}))
    atheris.Fuzz()


if __name__ == "__main__":
    main()

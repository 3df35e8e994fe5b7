# SPDX-License-Identifier: Apache-2.0
"""The commands that `ciphermote advise` prints deliver what it promises."""

import re
import shlex
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import ciphermote
import numpy as np
import pytest
from ciphermote.cli import app
from typer.testing import CliRunner

MAGNITUDES = (1e-3, 1.0, 100.0, 123456.7)
DIGITS = (1e-2, 1e-5, 1e-9)
"""The error allowed, over the magnitude."""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


@dataclass(frozen=True)
class Printed:
    """error: to expect. commands: each as its arguments."""

    error: float
    levels: int
    commands: list[list[str]]


def advised(*options: str) -> Printed | None:
    """Run the adviser; None if no set serves."""
    result = CliRunner().invoke(app, ["advise", *options])
    if result.exit_code:
        assert re.search("No parameter set|outgrow every modulus", result.output), result.output
        return None
    error, levels = (
        re.search(rf"{field}\W+([-+.e\d]+)", result.output) for field in ("error to expect", "levels used")
    )
    commands = re.findall(r"^    ciphermote (.*)$", result.output, re.MULTILINE)
    return Printed(
        float(error[1]) if error else 0.0,
        int(levels[1]) if levels else 0,
        [shlex.split(command) for command in commands],
    )


def frames_by(commands: list[list[str]], values: np.ndarray, count: int) -> list[bytes]:
    """Readings with these numbers, by the commands as they stand; the device's are checked for the scale."""
    keygen, provision, encrypt = commands
    run(*keygen)
    run(*provision)
    header = Path("provisioned_keys.h").read_text()
    if "--log2-scale" in encrypt:
        log2_scale = encrypt[encrypt.index("--log2-scale") + 1]
        assert f"#define CM_PROVISIONED_LOG2_SCALE {log2_scale}\n" in header
    Path("values.txt").write_text("\n".join(map(str, values.tolist())))
    frames = []
    for _ in range(count):
        run(*encrypt)
        frames.append(Path("frames.bin").read_bytes())
    return frames


def check(found: np.ndarray, truth: np.ndarray, promised: float, allowed: float) -> int:
    """Return how many numbers are off by more than is promised, of which one in 1,400 may be. promised: as
    printed, with two digits."""
    off = np.abs(found[: len(truth)] - truth)
    assert promised <= allowed and off.max() <= 2.5 * promised  # tails of the public key are exponential
    return int((off > 1.05 * promised).sum())


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
@pytest.mark.parametrize(("computation", "summed"), [("sum", 1), ("sum", 3), ("rotations", 1), ("square", 1)])
def test_an_advised_error_is_kept_by_the_printed_commands(
    computation: str, summed: int, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = beyond = 0
    for number, (magnitude, digits) in enumerate(product(MAGNITUDES, DIGITS)):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        size = magnitude**2 if computation == "square" else magnitude * summed
        options = f"--magnitude {magnitude!r} --max-error {digits * size!r} --slots 16 --summed {summed}"
        wanted = {"sum": "", "rotations": " --rotations", "square": " --ciphertext-products 1"}[computation]
        advice = advised(*f"{options} --key {key}{wanted}".split())
        if advice is None:
            continue
        served += 1
        promised = advice.error
        values = np.random.default_rng(number).uniform(-magnitude, magnitude, 16)
        values[:3] = magnitude, -magnitude, magnitude / 1000
        frames = frames_by(advice.commands, values, summed)
        own = ciphermote.Owner.load("keys")
        evaluator = ciphermote.Evaluator(own.evaluation_keys)
        if computation == "sum":
            beyond += check(
                own.decrypt(evaluator.sum(frames).to_seal()), summed * values, promised, digits * size
            )
        elif computation == "rotations":
            total = evaluator.inner_sum(evaluator.load(frames[0]), 16)
            beyond += check(
                own.decrypt(total.to_seal())[:1], values.sum(keepdims=True), promised, digits * size
            )
        else:
            square = evaluator.square(frames[0])
            if advice.levels:
                square = evaluator.rescale(square, advice.levels)
            beyond += check(own.decrypt(square.to_seal()), values**2, promised, digits * size)
    assert served >= len(MAGNITUDES)
    assert beyond <= 2, "of some 200 numbers"


@pytest.mark.parametrize("key", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("magnitude", [1, 60, 1000, 65535])
@pytest.mark.parametrize("summed", [1, 7])
def test_advised_integers_are_exact_by_the_printed_commands(
    magnitude: int, summed: int, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = f"--magnitude {magnitude} --max-error 0 --slots 24 --summed {summed} --key {key}"
    advice = advised(*options.split())
    assert advice is not None
    commands = [each for each in advice.commands if each[0] != "compact"]
    values = np.random.default_rng(magnitude).integers(0, magnitude, 24, endpoint=True)
    values[0] = magnitude
    frames = frames_by(commands, values, summed)
    encrypt = commands[-1]
    own = ciphermote.Owner.load("keys")
    total = ciphermote.compute(ciphermote.Sum(), frames, keys=own.evaluation_keys)
    found = own.decrypt(total, places=encrypt[-1])
    assert found[:24].tolist() == (summed * values).tolist()

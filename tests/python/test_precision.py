# SPDX-License-Identifier: Apache-2.0
"""Numbers are encrypted as they are given, and what noise takes of them is said."""

import warnings
from pathlib import Path
from typing import Any

import ciphermote
import numpy as np
import pytest
from ciphermote import Owner, PrecisionWarning, encrypt
from ciphermote.cli import app
from ciphermote.parameters import BFV
from typer.testing import CliRunner


@pytest.mark.parametrize(
    ("values", "log2_scale"),
    [
        ([2**32, 5], 24),
        ([2**32 + 1, -7], 24),
        (np.array([2**32 - 1, 5], dtype=np.uint32), 25),
        (np.array([2**52, 5]), 5),
        ([1e5, 0.001], 40),
        (np.array([1e5, 1.25e-3 + 3e-3j]), 40),
        (np.array([2**20, 1.5], dtype=np.float32), 36),
    ],
)
def test_small_numbers_keep_their_digits_beside_large_ones(values: Any, log2_scale: int) -> None:
    """A rounding to 31 bits of the largest number is seen: it is more than the noise."""
    given = np.array(values)
    largest = 2.0 ** np.ceil(np.log2(float(np.abs(given).max()) + 1))
    own = Owner.generate("n8192_q26x7_p27", largest=largest, summed=1, relin=False)
    found = own.decrypt_with_errors(
        encrypt(values, own.secret_key, log2_scale=log2_scale), complex_slots=given.dtype.kind == "c"
    )
    assert found.errors is not None and found.errors.max() < largest / 2**32
    off = found.values[: len(given)] - given
    assert (np.maximum(np.abs(off.real), np.abs(off.imag)) <= found.errors[: len(given)]).all()


def test_values_beyond_31_bits_have_a_scale() -> None:
    own = Owner.generate(largest=2.0**33, summed=10, relin=False)
    found = own.decrypt_with_errors(encrypt([2**32, 5], own.public_key))
    assert abs(found.values[1] - 5) <= found.errors[1] < 0.01


def test_numbers_that_noise_nearly_hides_are_warned_of() -> None:
    own = Owner.generate(relin=False)
    with pytest.warns(PrecisionWarning, match="fewer than 2 digits .* smaller largest value") as caught:
        frames = encrypt([0.001, -0.0005], own.public_key)
    assert caught[0].filename == __file__
    found = own.decrypt_with_errors(frames)
    assert found.errors is not None and found.errors[0] > 0.001
    for values, key, options in (
        ([0.001], own.public_key, {"largest": 0.001}),
        ([0.05], own.secret_key, {}),
        ([21.5], own.public_key, {}),
        ([0.0], own.public_key, {}),
        ([1], own.public_key, {"scheme": BFV(40961)}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encrypt(values, key, **options)  # type: ignore[arg-type]


def test_many_readings_are_warned_of_once() -> None:
    """And no warning tells a value."""
    own = Owner.generate(relin=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for value in (0.0012345, 0.0023456, 0.0034567):
            encrypt([value], own.public_key)
    assert len(caught) == 1 and "0.00" not in str(caught[0].message)


def test_the_command_notes_it_once(tmp_path: Path) -> None:
    keys, text = tmp_path / "keys", tmp_path / "values.txt"
    Owner.generate(relin=False).save(keys)
    text.write_text("0.001 0.002\n0.003 0.004\n90 80\n")
    command = ["encrypt", str(keys), str(text), "-o", str(tmp_path / "frames.bin")]
    result = CliRunner().invoke(app, [*command, "--rows"])
    assert result.exit_code == 0 and result.stderr.count("note:") == 1
    assert "fewer than 2 digits" in result.stderr and "(the same for 1 more)" in result.stderr
    result = CliRunner().invoke(app, [*command, "--rows", "--largest", "90", "--key", "symmetric"])
    assert result.exit_code == 0 and result.stderr.count("note:") == 1
    text.write_text("90 80\n")
    assert CliRunner().invoke(app, command).stderr == ""


def test_numbers_too_large_for_any_scale_are_refused() -> None:
    own = Owner.generate(relin=False)
    with pytest.raises(ciphermote.ValueRangeError, match="beyond the declared largest"):
        encrypt([1e40], own.secret_key)

# SPDX-License-Identifier: Apache-2.0
"""The noise of Arduino boards: which is accepted, how it is used, and how the host's tool assesses it."""

from __future__ import annotations

import ctypes
import math
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

import arduino_entropy
import numpy as np
import pytest
from arduino import UNO
from avr_support import PARAMETERS
from boards import GATHERED, SHORT_PERIOD, example, open_board, watchdog_jitter
from machine import ROOT
from test_chacha20 import block

SAMPLES, SALT_BYTES, KEY_BYTES = 256, 16, 24
SALT = bytes(range(100, 100 + SALT_BYTES))

WATCHDOG = """
    #include "entropy.h"
    #include "watchdog.h"
    const uint16_t *periods;
    bool cm_watchdog_start(cm_watchdog *found) { (void)found; return true; }
    uint16_t cm_watchdog_next(void) { return *periods++; }
    void cm_watchdog_stop(const cm_watchdog *found) { (void)found; }
    bool seed(const uint16_t *made_up, const uint8_t *salt, uint8_t *key)
    {
        cm_generator generator;
        cm_entropy_work work;
        periods = made_up;
        const bool sound = cm_generator_seed(&generator, salt, &work);
        for (int i = 0; i < CM_GENERATOR_KEY_BYTES; i++)
            key[i] = generator.key[i];
        return sound;
    }
    """
"""Periods that the test makes up; else what a board runs."""


class Noise:
    """ports/arduino/src/entropy.c on this machine."""

    def __init__(self, library: Path) -> None:
        self._seed = ctypes.CDLL(str(library)).seed
        self._seed.restype = ctypes.c_bool

    def key(self, periods: Sequence[int] | np.ndarray) -> bytes | None:
        """The generator's key after a start with these periods; None if they were refused."""
        key = ctypes.create_string_buffer(KEY_BYTES)
        counts = (ctypes.c_uint16 * len(periods))(*(int(x) for x in periods))
        sound = self._seed(counts, SALT, key)
        assert sound or key.raw == bytes(KEY_BYTES)
        return key.raw if sound else None


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Noise:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "watchdog.c").write_text(textwrap.dedent(WATCHDOG))
    sources = [folder / "watchdog.c", ROOT / "ports/arduino/src/entropy.c", ROOT / "ports/health/health.c"]
    sources += sorted(ROOT.glob("core/src/*/*.c"))
    folders = ("ports/arduino/src", "ports/health", "core/include", "core/src")
    includes = [f"-I{ROOT / path}" for path in folders]
    library = folder / "noise.so"
    checks = ("-fsanitize=undefined", "-fno-sanitize-recover")
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", *checks, *includes, *sources, "-o", library], check=True
    )
    return Noise(library)


def normal(rng: np.random.Generator, deviation: float, mean: float = 32_000.5) -> np.ndarray:
    return np.floor(rng.normal(mean, deviation, SAMPLES + 1)).astype(int)


def mixed(pool: bytes, bytes_: bytes) -> bytes:
    """entropy.h: the start of the ChaCha20 block under the pool, with bytes mixed in."""
    key = bytes(x ^ y for x, y in zip(pool, bytes_.ljust(KEY_BYTES, b"\0"), strict=True)) + bytes(8)
    return block((*np.frombuffer(key, dtype="<u4").tolist(), 0, 0, 0, 0))[:KEY_BYTES]


def test_the_key_is_made_of_the_salt_and_of_each_period(noise: Noise) -> None:
    periods = normal(np.random.default_rng(1), 10)
    expected = mixed(bytes(KEY_BYTES), SALT)
    for period in periods[1:]:
        expected = mixed(expected, int(period).to_bytes(2, "little"))
    assert noise.key(periods) == expected


def test_normal_jitter_of_a_count_and_more_is_accepted(noise: Noise) -> None:
    """One count is half a microsecond: 31 millionths of a period."""
    rng = np.random.default_rng(2)
    for deviation in (1, 2, 5, 30, 300):
        assert all(noise.key(normal(rng, deviation)) for _ in range(500))


def test_a_drift_does_not_matter(noise: Noise) -> None:
    rng = np.random.default_rng(3)
    for slope in (-3, -0.1, 0.01, 1, 50):
        drift = np.rint(slope * np.arange(SAMPLES + 1)).astype(int)
        assert all(noise.key(normal(rng, 2) + drift) for _ in range(200))
        assert not noise.key(32_000 + drift)


def test_an_oscillator_without_jitter_is_refused_whatever_its_period(noise: Noise) -> None:
    """Counts of a constant period take two values in a pattern that need not repeat."""
    rng = np.random.default_rng(4)
    for _ in range(3000):
        period, phase = rng.uniform(30_000, 34_000), rng.uniform(0, 1)
        times = np.floor(period * np.arange(SAMPLES + 2) + phase).astype(int)
        assert noise.key(np.diff(times)) is None


def test_jitter_far_below_a_count_is_refused(noise: Noise) -> None:
    rng = np.random.default_rng(5)
    assert not any(noise.key(normal(rng, 0.1)) for _ in range(500))


def test_two_values_of_which_one_is_rare_are_refused(noise: Noise) -> None:
    """0.15 bits a sample; at the assumed 0.5, a start may pass or not."""
    rng = np.random.default_rng(6)
    assert not any(noise.key(32_000 + (rng.random(SAMPLES + 1) < 0.1)) for _ in range(500))


@pytest.mark.parametrize("at", [0, 1, 100, SAMPLES])
def test_a_period_that_does_not_end_is_refused(noise: Noise, at: int) -> None:
    periods = normal(np.random.default_rng(7), 10)
    periods[at] = 0
    assert noise.key(periods) is None


# ---- the tool ----


def printed(periods: np.ndarray) -> str:
    """Print samples in gatherings, as WatchdogNoise does."""
    rows = periods[: len(periods) // (SAMPLES + 1) * (SAMPLES + 1)].reshape(-1, SAMPLES + 1)
    return "".join("gathered\r\n" + "".join(f"{x}\r\n" for x in row) + "end\r\n" for row in rows)


def lowest(periods: np.ndarray) -> float:
    return min(bits for _, bits in arduino_entropy.estimates(arduino_entropy.read(printed(periods))))


@pytest.mark.parametrize("deviation", [1, 3, 10])
def test_estimates_come_near_the_entropy_of_normal_noise_and_not_above(deviation: float) -> None:
    """Whose most likely value has about 1 / (deviation sqrt(2 pi))."""
    rng = np.random.default_rng(8)
    truth = math.log2(deviation * math.sqrt(2 * math.pi))
    found = lowest(np.floor(rng.normal(32_000.5, deviation, 8000)).astype(int))
    assert truth - 0.7 < found < truth + 0.05


def test_two_values_of_known_chance() -> None:
    rng = np.random.default_rng(9)
    found = lowest(32_000 + (rng.random(8000) < 0.3))
    assert -math.log2(0.7) - 0.1 < found < -math.log2(0.7) + 0.02


@pytest.mark.parametrize(
    "periods",
    [
        np.arange(8000) * 7,
        32_000 + np.arange(8000) % 2 * 9,
        np.resize(np.random.default_rng(10).integers(0, 999, 100), 8000),
        np.diff(np.floor(32_000.618 * np.arange(8001)).astype(int)),
    ],
    ids=["ramp", "two in turns", "a cycle of 100", "no jitter"],
)
def test_what_can_be_foretold_has_no_entropy(periods: np.ndarray) -> None:
    assert lowest(periods + 1) < 0.15


def capture(jitter: Sequence[int], gatherings: int) -> str:
    """Return a simulated board's output."""
    with open_board(example("WatchdogNoise", UNO, PARAMETERS), UNO, None, jitter) as machine:
        machine.leave_out_digests()
        for _ in range(100 * gatherings):
            machine.run(GATHERED * SHORT_PERIOD)
            if machine.text.count(b"end") == gatherings:
                break
        return machine.text.decode("ascii")


def test_a_boards_print_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise.txt"
    path.write_text(
        "12\r\n99\r\nend\r\n" + capture(watchdog_jitter("noise", count=20 * GATHERED), 17) + "gath"
    )
    assert arduino_entropy.main([str(path)]) == 0
    assert "twice the 0.5" in capsys.readouterr().out
    path.write_text(capture([SHORT_PERIOD] * 20 * GATHERED, 17))
    assert arduino_entropy.main([str(path)]) == 1
    assert "NOT twice" in capsys.readouterr().out


def test_too_little_and_a_silent_watchdog_are_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "noise.txt"
    path.write_text(printed(np.arange(3000)))
    assert arduino_entropy.main([str(path)]) == 2
    path.write_text(printed(np.zeros(8000, dtype=int)))
    assert arduino_entropy.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert "fewer than 4000" in said and "did not end" in said

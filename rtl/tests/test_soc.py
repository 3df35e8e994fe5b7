# SPDX-License-Identifier: Apache-2.0
"""Firmware on a PicoRV32 encrypts through the client engine, and in software alone: the same bytes."""

import itertools
import json
import re
from array import array
from dataclasses import replace
from functools import cache

import pytest
import soc
import soc_asic
from client import constants
from simulation import slow

from tools import ROOT

SMALL = soc.Chip(LOG2_N=10, LOG2_UNITS=2, PRIMES=2, DEEP=0)
SET = {"set": "n1024_q26", "ciphertexts": 2}


@cache
def runs(name, **wanted):
    """The device's run with the engine, and that in software, from the same keys and random words."""
    field = soc.field(name, **SET, **wanted)
    return field, soc.simulate(field, SMALL), soc.simulate(field, soc.SOFTWARE)


@pytest.mark.parametrize("public", [False, True], ids=["symmetric", "public"])
def test_the_same_frames_with_the_engine_and_without(public):
    field, engine, software = runs(
        f"test-{'public' if public else 'symmetric'}", t=12289, public=public, seed=1
    )
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    assert soc.decrypted(field, SMALL) == field.ciphertexts
    assert software.encryptions[1] > 100 * engine.encryptions[1]


def test_a_reading_out_of_range_is_refused_alike():
    """The first ciphertext leaves, nothing of the second, and the status is that of the C library."""
    _, engine, software = runs("test-range", t=1000, wrong=True, seed=2)
    assert engine.code == software.code == 1
    assert engine.said.splitlines()[2] == software.said.splitlines()[2]
    assert engine.said.splitlines()[2].startswith("status")
    assert engine.frames == software.frames
    assert len(engine.frames) > 0


MOST_COLD_CYCLES = 60_000


def test_a_chip_that_was_off_soon_sends_its_first_ciphertext():
    """From its reset on, with all that it and the engine need; and the same bytes as in software."""
    field = soc.field("test-cold", set="n4096_q26x3_p27", t=40961, ciphertexts=1, seed=14)
    engine, software = soc.simulate(field, soc.Chip()), soc.simulate(field, soc.SOFTWARE)
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    assert engine.last_word < MOST_COLD_CYCLES
    names = [constants()[f"COMMAND_{name}"] for name in ("TABLES", "LOAD_KEY", "SYMMETRIC")]
    assert [code for code, _ in engine.commands] == names


@pytest.mark.parametrize("wanted", [{"t": 12289, "public": True}, {"log2_scale": 12}], ids=["public", "ckks"])
def test_the_first_ciphertext_of_other_kinds(wanted):
    """Nothing is in the engine when the program starts, whatever it encrypts first."""
    field = soc.field(f"test-cold-{'-'.join(wanted)}", set="n1024_q26", ciphertexts=1, seed=15, **wanted)
    engine, software = soc.simulate(field, SMALL), soc.simulate(field, soc.SOFTWARE)
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    assert engine.commands[0][0] == constants()["COMMAND_TABLES"]


def public_runs(form):
    field = soc.field(f"test-form-{form}", **SET, t=12289, public=True, form=form, seed=17)
    return soc.simulate(field, SMALL), soc.simulate(field, soc.SOFTWARE)


def test_a_public_key_in_the_engine_s_form_is_not_converted():
    engine, software = public_runs("engine")
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    converted = runs("test-public", t=12289, public=True, seed=1)[1]
    assert engine.encryptions[0] < converted.encryptions[0] - 80 * 2 * 1024
    assert "in_software" not in engine.said


@pytest.mark.parametrize("form", ["mislabelled", "other"])
def test_a_public_key_in_another_form_is_refused(form):
    """Nothing is encrypted under it, by the engine or in software."""
    engine, _ = public_runs(form)
    assert engine.code == 1 and not engine.frames
    assert f"status {ARGUMENT}" in engine.said


ARGUMENT = 1
"""CM_ERR_ARGUMENT"""


def test_an_engine_that_fails_is_reported():
    """Portable C does its work, under other counters."""
    whole = soc.field("test-broken", **SET, t=12289, seed=16)
    broken = replace(whole, flags=(*whole.flags, ("APP_LOSES_A_SETTING", "1")))
    outcome = soc.simulate(broken, SMALL)
    assert outcome.code == 0
    assert soc.decrypted(broken, SMALL) == broken.ciphertexts
    assert f"failures {broken.ciphertexts}" in outcome.said
    assert f"in_software {broken.ciphertexts}" in outcome.said
    whole_said = runs("test-symmetric", t=12289, public=False, seed=1)[1].said
    assert "in_software" not in whole_said
    assert "failures" not in whole_said


RECEIVER = {"set": "n1024_q26", "t": 12289, **soc.SIGNED_HALVES}
TYPES = {(True, False): "h", (True, True): "i", (False, False): "H", (False, True): "I"}


def received_runs(name, chip, **wanted):
    """Return the results of decryption through the engine, which equal those in software: the status of each
    ciphertext, and both runs."""
    field, sent = soc.receiver(name, **{**RECEIVER, **wanted})
    engine, software = soc.simulate(field, chip), soc.simulate(field, soc.SOFTWARE)
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    lines = [
        [line for line in run.said.splitlines() if line.startswith(("status", "counter"))]
        for run in (engine, software)
    ]
    assert lines[0] == lines[1]
    statuses = [int(line.split()[1]) for line in lines[0] if line.startswith("status")]
    assert f"counter {sent['counter'] & 0xFFFFFFFF}" in lines[0]
    of = {**RECEIVER, **wanted}
    numbers = array(TYPES[of["signed"], of["wide"]], engine.frames).tolist()
    rest = [message for message, status in zip(sent["messages"], statuses, strict=True) if status == 0]
    assert numbers == [x for message in rest for x in message]
    return statuses, engine, software


def received(name, chip, **wanted):
    """The status of each ciphertext, and the cycles of both runs."""
    statuses, engine, software = received_runs(name, chip, **wanted)
    return statuses, engine.decryptions, software.decryptions


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize(("wide", "t"), [(False, 12289), (True, 12289), (True, 100003)])
def test_the_same_numbers_with_the_engine_and_without(signed, wide, t):
    statuses, engine, software = received(
        f"test-receive-{signed}-{wide}-{t}",
        SMALL,
        t=t,
        kinds=["seeded", "full", "full"],
        signed=signed,
        wide=wide,
        seed=5,
    )
    assert statuses == [0, 0, 0]
    assert software[2] > 8 * engine[2]


GATHERED = {
    "copied": {"APP_COPIES": "1"},
    "scattered": {"APP_GAP": "8u"},
    "at odd addresses": {"APP_GAP": "6u"},
    "in too many pieces": {"APP_GAP": "8u", "APP_PIECES": "3"},
}
"""How frames lie in memory."""


@pytest.mark.parametrize("how", GATHERED)
def test_frames_are_read_where_they_are(how):
    statuses, engine, software = received(
        f"test-receive-{how.replace(' ', '-')}",
        SMALL,
        kinds=["full", "seeded", "full"],
        flags=GATHERED[how],
        seed=10,
    )
    assert statuses == [0, 0, 0]
    in_hardware = how in ("copied", "scattered")
    assert (software[2] > 8 * engine[2]) == in_hardware


def test_slots_are_the_coefficients_transformed():
    statuses, engine, software = received("test-receive-slots", SMALL, kinds=["full"], batch=True, seed=6)
    assert statuses == [0]
    assert software[0] > engine[0]


def test_what_the_engine_refuses_has_the_library_s_status_and_the_next_one_decrypts():
    kinds = ["full", "damaged", "full", "short", "full", "long", "full", "foreign", "full"]
    statuses, run, _ = received_runs("test-receive-wrong", SMALL, kinds=kinds, seed=7)
    assert [status == 0 for status in statuses] == [kind == "full" for kind in kinds]
    assert len(set(statuses)) == 5
    first, *others = run.decryptions[::2]
    assert max(others) < first, "the keys stay"
    entered = [code for code, _ in run.commands if code != constants()["COMMAND_DECRYPT"]]
    assert entered == [constants()[f"COMMAND_{name}"] for name in ("TABLES", "LOAD_KEY")], "the keys stay"


def test_a_device_without_an_expander_takes_no_seed():
    statuses, *_ = received("test-receive-seed", SMALL, kinds=["seeded", "full"], seeds=False, seed=8)
    assert statuses[0] != 0
    assert statuses[1] == 0


@pytest.mark.slow
def test_ciphertexts_of_several_primes_and_of_fewer():
    statuses, *_ = received(
        "test-receive-primes",
        soc.Chip(),
        set="n4096_q26x3_p27",
        t=40961,
        kinds=["full", "switched", "seeded", "full"],
        seed=9,
    )
    assert statuses == [0, 0, 0, 0]


CKKS = {"set": "n1024_q26", "log2_scale": 12, "ciphertexts": 2}
NOISE = 0.2
"""At that scale: slots are sums of n noisy coefficients, divided by 2^12."""


def test_readings_as_ckks_and_back():
    field = soc.field("test-ckks", **CKKS, seed=12)
    engine, software = soc.simulate(field, SMALL), soc.simulate(field, soc.SOFTWARE)
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    assert soc.decrypted(field, SMALL) == field.ciphertexts
    assert software.encryptions[1] > 40 * engine.encryptions[1]
    device, sent = soc.ckks_receiver("test-ckks-receiver", **CKKS, seed=13)
    engine, software = soc.simulate(device, SMALL), soc.simulate(device, soc.SOFTWARE)
    assert engine.code == software.code == 0
    assert engine.frames == software.frames
    values = array("f", engine.frames).tolist()
    message = [x for of_one in sent["messages"] for x in of_one]
    assert values == pytest.approx(message, abs=NOISE)
    assert software.decryptions[1] > 8 * engine.decryptions[1]


def both_runs(message):
    """One program with the engine and in software: the calls it times, their cycles in both, and statuses."""
    field = soc.configurations(
        f"test-configurations-{message}", message, set="n1024_q26", ciphertexts=20, seed=11
    )
    runs = [soc.simulate(field, chip) for chip in (SMALL, soc.SOFTWARE)]
    assert all(run.code == 0 for run in runs)
    assert runs[0].frames == runs[1].frames
    lines = [[line.split() for line in run.said.splitlines()] for run in runs]
    statuses, (calls, in_software) = (
        [[line for line in run if line[0] in words] for run in lines]
        for words in (("status",), ("encryption", "decryption"))
    )
    assert statuses[0] == statuses[1]
    cycles = [
        (call, int(fast), int(slow)) for (call, fast), (_, slow) in zip(calls, in_software, strict=True)
    ]
    return cycles, [int(status) for _, status in statuses[0]]


MESSAGES = 8
"""Messages of ports/picorv32/configurations.c."""
SAMPLE = (2, 4)
"""One of BFV, one of CKKS."""
NO_ROOM = 17
"""CM_ERR_PLAIN_MODULUS: the noise of a public key leaves no room beside message 2's t."""


@pytest.mark.parametrize("message", [i if i in SAMPLE else slow(i) for i in range(MESSAGES)])
def test_every_configuration_has_the_library_s_bytes_and_the_engine_does_it(message):
    """Frames, values, statuses, wiped memory, and what the library says of a ciphertext."""
    cycles, statuses = both_runs(message)
    assert statuses.count(0) >= 6 and set(statuses) <= ({0, NO_ROOM} if message == 2 else {0})
    # These enter tables and keys, and again with the first tags, whose keys are fixed by a command.
    enters = {"encryption": (0, 1, 3), "decryption": (0, 3)}
    for call, least in (("encryption", 4), ("decryption", 2)):
        of_call = [
            (line[1:], status) for line, status in zip(cycles, statuses, strict=True) if line[0] == call
        ]
        done = [line for i, (line, status) in enumerate(of_call) if not status and i not in enters[call]]
        assert all(least * fast < slow for fast, slow in done), (call, done)


@pytest.mark.slow
def test_what_the_engine_does_not_accept_has_the_library_s_bytes_and_statuses():
    _, statuses = both_runs(MESSAGES)
    assert len(set(statuses)) >= 5, "some are refused, each for its reason"


KEYS = {"set": "n2048_q26_p27", "t": 1153}
"""A set with a special prime, which public keys have and ciphertexts do not."""
KEY_CHIP = soc.Chip(LOG2_N=11, LOG2_UNITS=2, PRIMES=2, DEEP=0)


def key_runs(name, chip=KEY_CHIP, **wanted):
    """A key pair made on the device, with the engine and without: the same frames, values and statuses. The
    commands that the engine took, and both runs."""
    field = soc.key_pair(name, **{**KEYS, **wanted})
    runs = [soc.simulate(field, each) for each in (chip, soc.SOFTWARE)]
    assert all(run.code == 0 for run in runs)
    names = {number: name[8:] for name, number in constants().items() if name.startswith("COMMAND_")}
    return [names[code] for code, _ in runs[0].commands], *runs


def statuses_of(run):
    return [int(line.split()[1]) for line in run.said.splitlines() if line.startswith("status")]


def test_a_public_key_of_a_key_in_memory():
    commands, engine, software = key_runs("test-publish", makes=False, seed=21)
    assert engine.frames == software.frames
    assert statuses_of(engine) == statuses_of(software) == [0] * 4
    assert commands.count("PUBLISH") == 2 and "GENERATE" not in commands
    assert "in_software" not in engine.said and "right 1" in engine.said


def test_a_key_that_never_leaves_the_engine():
    """Its public key, and ciphertexts under it, are those of the library's key from the same random words."""
    commands, engine, software = key_runs("test-generate", makes=True, seed=22)
    assert engine.frames == software.frames
    assert statuses_of(engine) == statuses_of(software) == [0] * 5
    assert commands == ["TABLES", "TABLES", "GENERATE", "PUBLISH", "SYMMETRIC", "DECRYPT", "PUBLISH"]
    assert "in_software" not in engine.said and "right 1" in engine.said


UNSUPPORTED = 10
"""CM_ERR_UNSUPPORTED"""


def test_slots_of_bfv_are_encoded_on_the_core_and_encrypted_in_the_engine():
    """Under a key that only the engine has, so nothing else can have done it; and decoded again."""
    commands, engine, software = key_runs("test-generate-slots", makes=True, batch=True, t=12289, seed=23)
    assert engine.frames == software.frames
    assert statuses_of(engine) == statuses_of(software) == [0] * 5
    assert "SYMMETRIC" in commands and "in_software" not in engine.said and "right 1" in engine.said


def test_slots_are_put_back_for_portable_c_when_the_engine_fails():
    """They were in the arena, where the core encoded them for the engine."""
    field = soc.key_pair(
        "test-slots-fail", makes=False, batch=True, fails=True, t=12289, set=SET["set"], seed=27
    )
    outcome = soc.simulate(field, SMALL)
    assert statuses_of(outcome) == [0] * 4
    assert "failures" in outcome.said and "right 1" in outcome.said


@pytest.mark.slow
def test_what_only_portable_c_can_do_with_a_key_in_memory():
    """It does so, and that is said."""
    wanted = {"set": "n1024_q26", "xof": "BLAKE2XB", "seed": 26, "chip": SMALL}
    commands, engine, software = key_runs("test-publish-blake2", makes=False, **wanted)
    assert engine.frames == software.frames and statuses_of(engine) == [0] * 4
    assert commands.count("PUBLISH") == 1 and "in_software 1" in engine.said


def test_what_only_portable_c_can_do_is_refused_under_a_key_in_the_engine():
    commands, engine, _ = key_runs("test-generate-blake2", makes=True, xof="BLAKE2XB", seed=26)
    assert statuses_of(engine) == [0, 0, 0, 0, UNSUPPORTED]
    assert commands.count("PUBLISH") == 1 and "in_software 1" in engine.said


@pytest.mark.slow
def test_a_set_with_more_primes_than_the_engine_has():
    """A key in memory is published in software, which is said; the engine makes none."""
    chip = soc.Chip(LOG2_N=12, LOG2_UNITS=2, PRIMES=3, DEEP=0)
    wanted = {"set": "n4096_q26x3_p27", "t": 12289, "chip": chip}
    commands, engine, software = key_runs("test-publish-in-software", makes=False, seed=24, **wanted)
    assert engine.frames == software.frames
    assert "PUBLISH" not in commands and "in_software 2" in engine.said
    _, engine, _ = key_runs("test-generate-too-many", makes=True, seed=25, **wanted)
    assert statuses_of(engine)[0] == UNSUPPORTED


@pytest.mark.slow
def test_a_client_aided_session_has_the_bytes_and_the_rounds_of_the_cortex_m4_s():
    """The demo's network: the same keys, vectors, random words and results as in its session with the
    evaluator. Every ciphertext is the engine's."""
    field, session = soc.aided("test-aided")
    outcome = soc.simulate(field, soc.Chip())
    assert outcome.code == 0 and session["right"] == session["vectors"]
    assert outcome.frames == session["sent"]
    assert len(outcome.rounds) == session["rounds"] == 3
    codes = [code for code, _ in outcome.commands]
    names = ("SYMMETRIC", "DECRYPT")
    assert [codes.count(constants()[f"COMMAND_{name}"]) for name in names] == [3, 3]
    assert "in_software" not in outcome.said


def test_a_chip_without_the_engine_does_not_start_its_firmware():
    field = soc.field("test-none", **SET, t=1000, seed=3)
    outcome = soc.run_program(field, soc.firmware(field, engine=True), soc.SOFTWARE)
    assert outcome.code == 1 and not outcome.frames and not outcome.encryptions


BOARD_EXIT = 0x10000004
"""ports/picorv32/board.h"""


def test_the_core_s_record_is_what_it_fetched_and_wrote(tmp_path):
    field = soc.field("test-record", **SET, t=1000, seed=3)
    program, record = soc.firmware(field, engine=True), tmp_path / "record"
    outcome = soc.run_program(field, program, soc.SOFTWARE, record)
    words = array("I", program.read_bytes())
    cycles = list(soc_asic.recorded(record))
    assert len(cycles) == outcome.cycles + 1
    assert [cycle.resetn for cycle in cycles[:6]] == [0, 0, 0, 0, 1, 1]
    answered = [cycle for cycle in cycles if cycle.valid and cycle.ready]
    assert (answered[0].address, answered[0].read, answered[0].strobe) == (0, words[0], 0)
    assert answered[-1].access == (BOARD_EXIT, 15, outcome.code)
    assert len(answered) > 100


def test_the_core_is_mapped_as_it_is_on_the_chip():
    chip = (ROOT / "rtl/soc/cm_soc.sv").read_text(encoding="utf-8")
    core = chip[chip.index("picorv32 #(") : chip.index(") u_core")]
    found = {name: int(value) for name, value in re.findall(r"\.(\w+)\((\d)\)", core)}
    assert found == {**soc_asic.SHAPE, "REGS_INIT_ZERO": 1}


def test_the_page_has_the_energy_of_the_bench():
    rows = json.loads((ROOT / "bench/results/engine-asic.json").read_text(encoding="utf-8"))["rows"]
    page = (ROOT / "docs/client-soc.md").read_text(encoding="utf-8")
    values = {row["name"]: row["value"] for row in rows if row["name"].startswith("soc.")}
    assert len(values) == 4
    for name, value in values.items():
        shown = f"{value / 1000:,.1f} uJ" if name.endswith("nj_per_encryption") else f"{value:.1f} pJ"
        assert f"| `{name}` | {shown} |" in page
    less = values["soc.software.nj_per_encryption"] / values["soc.engine.nj_per_encryption"]
    assert f"takes {less:.0f} times less energy" in page


def test_the_page_has_the_figures_of_the_bench():
    rows = json.loads((ROOT / "bench/results/engine.json").read_text(encoding="utf-8"))["rows"]
    values = {row["name"]: row["value"] for row in rows}
    page = (ROOT / "docs/client-soc.md").read_text(encoding="utf-8")
    assert values["soc.speedup"] >= 300
    assert f"An encryption is {values['soc.speedup']:.0f} times as fast with the engine" in page
    faster = values["soc.decryption.software.cycles"] / values["soc.decryption.engine.cycles"]
    assert f"a decryption {faster:.0f} times" in page
    figures = {name: value for name, value in values.items() if name.startswith("soc.")}
    assert len(figures) >= 10 and all(f"`{name}`" in page for name in figures)
    for name, cycles in figures.items():
        if name.endswith(".cycles"):
            assert f"| `{name}` | {cycles:,} | {cycles / 1e5:,.2f} ms |" in page
    assert f"{values['engine.symmetric.latency.cycles']:,} are its own" in page


def published(file):
    rows = json.loads((ROOT / "bench/results" / file).read_text(encoding="utf-8"))["rows"]
    return {row["name"]: row for row in rows}


def test_the_page_has_a_client_aided_round():
    """Both energies, and the Cortex-M4's from the cycles of the demo."""
    page = " ".join((ROOT / "docs/client-soc.md").read_text(encoding="utf-8").split())
    cycles, energies = published("engine.json"), published("engine-asic.json")
    demo = published("demo-client-aided.json")
    phases = ("decrypt", "between", "encrypt")
    on_m4 = {phase: demo[f"demo_client_aided.bfv.round.{phase}.cycles"]["value"] for phase in phases}
    engine, m4 = energies["round.engine.uj"], energies["round.m4.uj"]
    assert engine["params"]["cycles"] == cycles["round.engine.cycles"]["value"]
    assert m4["params"]["cycles"] == sum(on_m4.values()) and m4["params"]["kind"] == "quoted"
    for chip, uj in (("engine", engine), ("software", None)):
        of_phases = cycles[f"round.{chip}.cycles"]["params"]["phases"]
        found = " | ".join(f"{count:,}" for count in (sum(of_phases.values()), *map(of_phases.get, phases)))
        assert f"| {found} | {uj['value']:,} uJ |" in page if uj else f"| {found} |" in page
    found = " | ".join(f"{count:,}" for count in (sum(on_m4.values()), *on_m4.values()))
    assert f"| {found} | {m4['value']:,} uJ | quoted |" in page
    assert all(f"{part:.1f} uJ" in page for part in engine["params"]["parts_uj"].values())


COLD_PAGES = ("client-soc.md", "client-engine.md")


def test_pages_have_the_cold_start_beside_the_warm_one():
    rows = json.loads((ROOT / "bench/results/engine.json").read_text(encoding="utf-8"))["rows"]
    cold = {row["name"]: row for row in rows if row["name"].startswith("engine.cold_start.")}
    assert len(cold) == 4 and cold["engine.cold_start.cycles"]["value"] <= MOST_COLD_CYCLES
    warm = next(row["value"] for row in rows if row["name"] == "soc.engine.cycles")
    soc_page, engine_page = (
        " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split()) for name in COLD_PAGES
    )
    for name, row in cold.items():
        assert f"| `{name}` | {row['value']:,} | {row['value'] / 1e5:,.2f} ms |" in soc_page
    first = cold["engine.cold_start.cycles"]
    assert f"{first['value']:,}" in engine_page and f"{warm:,}" in engine_page
    at = first["params"]["commands_at"]
    steps = [0, at["TABLES"], at["LOAD_KEY"], at["SYMMETRIC"], first["value"]]
    for begins, ends in itertools.pairwise(steps):
        assert f"| {begins:,} | {ends:,} |" in soc_page
    faster = first["params"]["software"] / first["value"]
    assert f"{faster:.0f} times" in soc_page
    assert f"{first['params']['firmware_bytes']:,} bytes" in soc_page

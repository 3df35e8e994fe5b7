# SPDX-License-Identifier: Apache-2.0
"""Sums of many ciphertexts: seeds expand as the C library expands them, on each instruction set, whatever is
packed, and what does not fit is refused and changes nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import cache
from itertools import islice

import numpy as np
import pytest
from ciphermote import Mean, Owner, Sum, _core, compute, encrypt
from ciphermote import _evaluator as ev
from ciphermote.base.errors import EngineError, FrameError, MismatchError
from ciphermote.formats import frames as adapter
from ciphermote.formats import seal as sb
from ciphermote.owner.encryption import Xof
from ciphermote.parameters import BFV, CKKS, Scheme, is_prime, prime_constants
from evaluator_support import isas
from numpy.typing import NDArray

from golden import device as golden

Words = NDArray[np.uint32]
BLAKE2XB, SHAKE256, CHACHA20 = XOFS = (1, 2, 3)
SCALE = 2.0**12  # below the smallest prime
RANDOM = np.random.default_rng(13)

SLOT_ERROR = 4e-3
"""A slot's noise under a public key is a product of two Gaussians, whose tail is exponential: 1e-3 is passed
once in some thousand slots, this once in 10^13."""


def primes_at(n: int, bits: int, *, smallest: bool = False) -> Iterator[int]:
    """Primes of so many bits that are 1 mod 2n, the largest first or the smallest."""
    step = 2 * n
    ends = range((1 << bits - 1) // step * step + 1, 1 << bits, step)
    return (q for q in (ends if smallest else reversed(ends)) if q.bit_length() == bits and is_prime(q))


class Chain(golden.Chain):
    """A ring degree and any primes, secure or not; all of them carry data."""

    @property
    def log2_n(self) -> int:
        return self.n.bit_length() - 1

    def expand(self, xof: int, seed: bytes, primes: int) -> Words:
        """Expand with the C library up to n = 16384, and with the tests' own reference beyond."""
        if self.log2_n > 14:
            return np.array(golden.uniform(self, xof, seed, primes), dtype=np.uint32)
        rows = [astuple(prime_constants(self.n, q)) for q in self.primes]
        params = _core.Params(
            name="any", id=1, log2_n=self.log2_n, data_primes=len(rows), log2_q_data=20, rows=rows
        )
        return _core.expand_seed(params, xof, seed, primes)


def set_of(n: int, primes: Sequence[int]) -> Chain:
    return Chain(n, tuple(primes))


def context_of(chain: Chain, isa: str, plain_modulus: int = 0) -> ev.Context:
    return ev.Context(chain.log2_n, list(chain.primes), [], 1, plain_modulus, isa=isa, insecure=True)


@cache
def small() -> Chain:
    return set_of(1024, tuple(islice(primes_at(1024, 26), 3)))


def seed_of(xof: int) -> bytes:
    return RANDOM.bytes(32 if xof == CHACHA20 else 64)


def residues_of(chain: Chain, *components: int) -> Words:
    q = np.array(chain.primes, dtype=np.uint32)[:, np.newaxis]
    shape = (*components, len(chain.primes), chain.n)
    return RANDOM.integers(0, q, shape, dtype=np.uint32)


def pack(residues: Words, bits: int) -> bytes:
    """Pack residues as frames do: low bits first, without gaps."""
    ones = residues[:, np.newaxis] >> np.arange(bits, dtype=np.uint32) & 1
    return np.packbits(ones.astype(np.uint8).reshape(-1), bitorder="little").tobytes()


def packed(chain: Chain, residues: Words) -> list[bytes]:
    return [pack(row, q.bit_length()) for row, q in zip(residues, chain.primes[: len(residues)], strict=True)]


def added(chain: Chain, terms: Sequence[Words]) -> Words:
    q = np.array(chain.primes[: terms[0].shape[-2]], dtype=np.uint64)[:, np.newaxis]
    total: NDArray[np.uint64] = sum((term.astype(np.uint64) for term in terms), np.uint64(0)) % q
    return total.astype(np.uint32)


# --- expansion --------------------------------------------------------------------------------------


def expanded(context: ev.Context, chain: Chain, xof: int, seed: bytes) -> Words:
    """Return the polynomial to which the sum of one ciphertext expands its seed."""
    total = ev.Sum(context)
    total.add_seeded(xof, seed, np.zeros((len(chain.primes), chain.n), dtype=np.uint32), SCALE)
    both: Words = total.total().residues()
    assert not both[0].any()
    return both[1]


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("xof", XOFS)
@pytest.mark.parametrize("log2_n", range(10, 16))
def test_a_seed_expands_as_in_the_c_library(isa: str, xof: int, log2_n: int) -> None:
    n = 1 << log2_n
    primes = [*islice(primes_at(n, 26), 2), *islice(primes_at(n, 27), 1), *islice(primes_at(n, 24), 1)]
    chain = set_of(n, primes)
    context = context_of(chain, isa)
    for _ in range(3):
        seed = seed_of(xof)
        assert np.array_equal(expanded(context, chain, xof, seed), chain.expand(xof, seed, len(primes)))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("bits", range(14, 28))
def test_a_seed_expands_at_primes_of_any_size_and_whatever_is_rejected(isa: str, bits: int) -> None:
    """The smallest primes of a size reject nearly every second field, the largest next to none."""
    ends = {next(primes_at(1024, bits)), next(primes_at(1024, bits, smallest=True))}
    chain = set_of(1024, sorted(ends))
    context = context_of(chain, isa)
    for xof in XOFS:
        for _ in range(5):
            seed = seed_of(xof)
            assert np.array_equal(expanded(context, chain, xof, seed), chain.expand(xof, seed, len(ends)))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("xof", XOFS)
def test_fewer_primes_than_the_chain_has(isa: str, xof: int) -> None:
    chain, seed = small(), seed_of(xof)
    total = ev.Sum(context_of(chain, isa))
    total.add_seeded(xof, seed, residues_of(chain)[:2].copy(), SCALE)
    assert np.array_equal(total.total().residues()[1], chain.expand(xof, seed, 2))


# --- sums -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("log2_n", range(10, 16))
def test_a_sum_of_all_kinds_is_the_sum(isa: str, log2_n: int) -> None:
    n = 1 << log2_n
    chain = set_of(n, [next(primes_at(n, bits)) for bits in (26, 27, 25)])
    context = context_of(chain, isa)
    total, terms = ev.Sum(context), []
    for xof in XOFS:
        seed = seed_of(xof)
        first, second = residues_of(chain, 2)
        terms += [np.stack([term, chain.expand(xof, seed, 3)]) for term in (first, second)]
        total.add_seeded(xof, seed, first, SCALE)
        total.add_packed(xof, seed, packed(chain, second), SCALE)
    terms += [residues_of(chain, 2)]
    total.add(ev.Ciphertext(context, terms[-1], SCALE))
    assert total.count == len(terms)
    found = total.total()
    assert found.scale == SCALE
    assert np.array_equal(found.residues(), added(chain, terms))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("bits", [14, 25, 26, 27])
def test_a_hundred_of_the_largest_residues(isa: str, bits: int) -> None:
    chain = set_of(1024, [next(primes_at(1024, bits))])
    (q,) = chain.primes
    largest = np.full((1, 1024), q - 1, dtype=np.uint32)
    context, seed = context_of(chain, isa), seed_of(CHACHA20)
    plain, seeded, as_packed = ev.Sum(context), ev.Sum(context), ev.Sum(context)
    ciphertext = ev.Ciphertext(context, np.stack([largest, largest]), SCALE)
    for count in range(1, 101):
        plain.add(ciphertext)
        seeded.add_seeded(CHACHA20, seed, largest, SCALE)
        as_packed.add_packed(CHACHA20, seed, packed(chain, largest), SCALE)
        wanted = q - count % q
        assert (plain.total().residues() == wanted).all()
        assert (seeded.total().residues()[0] == wanted).all()
        assert (as_packed.total().residues()[0] == wanted).all()


@pytest.mark.parametrize("isa", isas())
def test_three_polynomials_join_two(isa: str) -> None:
    chain = small()
    context = context_of(chain, isa)
    terms = [residues_of(chain, count) for count in (2, 3, 2)]
    total = ev.Sum(context)
    for term in terms:
        total.add(ev.Ciphertext(context, term, SCALE))
    padded = [np.concatenate([term, 0 * term[:1]])[:3] for term in terms]
    assert np.array_equal(total.total().residues(), added(chain, padded))


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("xof", XOFS)
def test_bfv_in_both_forms(isa: str, xof: int) -> None:
    chain, seed = small(), seed_of(xof)
    context = context_of(chain, isa, plain_modulus=12289)
    first = residues_of(chain)
    whole = np.stack([first, chain.expand(xof, seed, 3)])
    for form in (ev.Form.values, ev.Form.coefficients):
        total = ev.Sum(context)
        for _ in range(3):
            total.add_seeded(xof, seed, first, 1.0, form)
        wanted = ev.Ciphertext(context, added(chain, [whole] * 3), 1.0, form)
        assert np.array_equal(total.total().residues(), wanted.residues())
    with pytest.raises(EngineError, match="BFV has no means"):
        total.mean()


@pytest.mark.parametrize("isa", isas())
def test_a_mean_is_the_total_at_a_larger_scale(isa: str) -> None:
    chain, seed = small(), seed_of(CHACHA20)
    total = ev.Sum(context_of(chain, isa))
    for _ in range(5):
        total.add_seeded(CHACHA20, seed, residues_of(chain), SCALE)
    assert total.mean().scale == 5 * SCALE
    assert np.array_equal(total.mean().residues(), total.total().residues())


def test_threads_take_turns() -> None:
    chain, seed = small(), seed_of(CHACHA20)
    total = ev.Sum(context_of(chain, ""))
    first = residues_of(chain)

    def add() -> None:
        for _ in range(200):
            total.add_seeded(CHACHA20, seed, first, SCALE)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    q = np.array(chain.primes, dtype=np.uint64)[:, np.newaxis]
    assert total.count == 800
    assert np.array_equal(total.total().residues()[0], first.astype(np.uint64) * 800 % q)


# --- refusals ---------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    chain = small()
    context = context_of(chain, "")
    other = context_of(set_of(chain.n, chain.primes[::-1]), "")
    seed, first = seed_of(CHACHA20), residues_of(chain)
    long_seed = seed_of(SHAKE256)
    total = ev.Sum(context)
    with pytest.raises(EngineError, match="A sum of no ciphertexts"):
        total.total()
    total.add_seeded(CHACHA20, seed, first, SCALE)
    before = total.total().residues()

    over = first.copy()
    over[2, -1] = chain.primes[2]
    beyond = [*packed(chain, first)[:2], pack(over[2], 26)]
    two = first[:2].copy()
    form = ev.Form.coefficients
    foreign = ev.Ciphertext(other, residues_of(chain, 2)[:, ::-1].copy(), SCALE)
    refused = [
        (lambda: total.add_seeded(CHACHA20, seed, first, 2 * SCALE), r"The scales are 2\^12\S* and 2\^13"),
        (lambda: total.add_seeded(CHACHA20, seed, two, SCALE), "have 3 and 2 primes"),
        (lambda: total.add_packed(CHACHA20, seed, packed(chain, two), SCALE), "have 3 and 2 primes"),
        (lambda: total.add_seeded(CHACHA20, seed, first, SCALE, form), "Values and coefficients"),
        (lambda: total.add_seeded(CHACHA20, seed, over, SCALE), f"below its prime {chain.primes[2]}"),
        (lambda: total.add_packed(CHACHA20, seed, beyond, SCALE), f"below its prime {chain.primes[2]}"),
        (lambda: total.add_seeded(CHACHA20, long_seed, first, SCALE), "64 bytes: ChaCha20's have 32"),
        (lambda: total.add_seeded(SHAKE256, seed, first, SCALE), "32 bytes: ChaCha20's have 32"),
        (lambda: total.add_seeded(0, seed, first, SCALE), "unknown kind 0"),
        (lambda: total.add_seeded(4, seed, first, SCALE), "unknown kind 4"),
        (lambda: total.add_seeded(259, seed, first, SCALE), "unknown kind"),
        (lambda: total.add_seeded(CHACHA20, seed, first.reshape(-1)[1:].copy(), SCALE), "3071 residues"),
        (lambda: total.add_packed(CHACHA20, seed, [b"", b"", b""], SCALE), "packed in 0 bytes and take 3328"),
        (lambda: total.add_packed(CHACHA20, seed, [], SCALE), "at 0 primes"),
        (lambda: total.add_seeded(CHACHA20, seed, first, float("nan")), "The scale is nan"),
        (lambda: total.add(foreign), "another context"),
    ]
    for call, message in refused:
        with pytest.raises(EngineError, match=message):
            call()
        assert total.count == 1
        assert np.array_equal(total.total().residues(), before)
    with pytest.raises(EngineError, match="BFV has none"):
        ev.Sum(context_of(chain, "", 12289)).add_seeded(CHACHA20, seed, first, SCALE)


@pytest.mark.parametrize("isa", isas())
@pytest.mark.parametrize("log2_n", range(10, 16))
def test_a_packed_residue_that_is_its_prime_is_found_wherever_it_is(isa: str, log2_n: int) -> None:
    n = 1 << log2_n
    chain = set_of(n, [next(primes_at(n, 27))])
    total, seed = ev.Sum(context_of(chain, isa)), seed_of(CHACHA20)
    for at in (*range(33), n // 2, n - 1):
        row = residues_of(chain)[0]
        row[at] = chain.primes[0]
        with pytest.raises(EngineError, match="below its prime"):
            total.add_packed(CHACHA20, seed, [pack(row, 27)], SCALE)
    assert total.count == 0


# --- as ciphertexts come ----------------------------------------------------------------------------

VALUES = [[1.5, -2.0], [0.25, 3.0], [4.0, 0.5]]


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner.generate()


def frames_of(owner: Owner, values: Sequence[float], xof: Xof = "chacha20", scheme: Scheme = CKKS) -> bytes:
    return encrypt(
        values, owner.secret_key, largest=100 if scheme.is_bfv else 4, xof=xof, scheme=scheme
    ).to_frames()


@pytest.mark.parametrize("xof", ["chacha20", "shake256", "blake2xb"])
def test_frames_seeded_bytes_and_objects_add_up(owner: Owner, xof: Xof) -> None:
    frames = [frames_of(owner, values, xof) for values in VALUES]
    data = frames[1:]
    if xof != "chacha20":  # of which SEAL has no seeds
        data = [adapter.read_stated_set(each, owner.parameters).to_seal(seeded=True) for each in data]
    given = iter([frames[0], *data, encrypt([1.0, 1.0], owner.public_key, largest=4)])
    total = compute(Sum(), given)
    assert np.abs(owner.decrypt(total)[:2] - [6.75, 2.5]).max() < SLOT_ERROR
    if xof != "chacha20":
        with owner.evaluation_keys.engine(name="native") as engine:
            assert np.abs(owner.decrypt(engine.sum([*data, total]))[:2] - [11, 6]).max() < SLOT_ERROR


def test_integers_add_up(owner: Owner) -> None:
    frames = [frames_of(owner, [3, 5], scheme=BFV(40961)), frames_of(owner, [4, 6], scheme=BFV(40961))]
    total = owner.decrypt(compute(Sum(), frames), places="slots")
    assert total[:3].tolist() == [7, 11, 0]


def test_integers_in_coefficient_form_add_up(owner: Owner) -> None:
    """SEAL's own form of BFV, with a seed and without."""
    seeded, full = (
        adapter.read_stated_set(
            encrypt(values, key, xof=xof, scheme=BFV(40961)).to_frames(), owner.parameters
        )
        for values, key, xof in (
            ([3, 5], owner.secret_key, "shake256"),
            ([4, 6], owner.public_key, "chacha20"),
        )
    )
    data = [part.to_seal(coefficients=True) for part in (seeded, full)]
    assert owner.decrypt(compute(Sum(), data), places="slots")[:2].tolist() == [7, 11]
    assert not compute(Sum(), data).as_seal().ntt_form
    assert owner.decrypt(compute(Sum(), [data[0], full.to_seal()]), places="slots")[:2].tolist() == [7, 11]


def test_means(owner: Owner) -> None:
    frames = [frames_of(owner, values) for values in VALUES]
    assert np.abs(owner.decrypt(compute(Mean(), frames))[:2] - [5.75 / 3, 0.5]).max() < SLOT_ERROR
    with pytest.raises(EngineError, match="BFV computes with integers"):
        compute(Mean(), [frames_of(owner, [3], scheme=BFV(40961))])
    large = encrypt([1.0], owner.secret_key, largest=1, log2_scale=57)
    few = compute(Sum(), large).as_seal()
    one_prime = sb.write_ciphertext(
        sb.SealCiphertext(owner.parameters, 3, True, 2.0**77, few.residues, key_id=few.key_id)
    )
    with pytest.raises(EngineError, match="no room"):
        compute(Mean(), [one_prime] * 3)


def test_a_scheme_a_key_or_a_scale_apart_is_named(owner: Owner) -> None:
    frames = frames_of(owner, [1.0])
    others = [
        (
            frames_of(owner, [1], scheme=BFV(40961)),
            MismatchError,
            "is BFV modulo 40961's, and one of CKKS is wanted",
        ),
        (encrypt([1.0], owner.secret_key, log2_scale=20), EngineError, "bring them to one scale"),
        (
            encrypt([1.0], owner.secret_key, largest=1e4),
            EngineError,
            "encrypt all for the same largest value",
        ),
        (encrypt([1.0], Owner.generate().public_key, largest=4), MismatchError, "of one key"),
        (frames[:-1], FrameError, "not a whole frame"),
    ]
    for other, kind, message in others:
        with pytest.raises(kind, match=f"Ciphertext 2 of the sum: .*{message}"):
            compute(Sum(), [frames, other])


# --- memory -----------------------------------------------------------------------------------------

_STREAM = """
import resource, sys
import numpy as np
from ciphermote import _evaluator as ev
context = ev.Context(12, [67043329, 67084289, 66994177], [], 1)
total = ev.Sum(context)
first = np.zeros((3, 4096), dtype=np.uint32)
for number in range(int(sys.argv[1])):
    total.add_seeded(3, number.to_bytes(32, "little"), first, 2.0**25)
    total.add_packed(2, number.to_bytes(64, "little"), [bytes(13312)] * 3, 2.0**25)
print(total.total().scale, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


_COMPUTED = """
import resource, sys
from itertools import repeat
from ciphermote import Owner, Sum, compute, encrypt
owner = Owner.generate()
frames = encrypt([1.0], owner.secret_key).to_frames()
total = compute(Sum(), repeat(frames, int(sys.argv[1])))
print(total.scale, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize(("program", "few", "many"), [(_STREAM, 200, 2000), (_COMPUTED, 20, 200)])
def test_memory_does_not_grow(program: str, few: int, many: int) -> None:
    def peak(count: int) -> int:
        command = [sys.executable, "-c", program, str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout.split()[1])

    assert peak(many) - peak(few) < 2048  # KiB: twenty ciphertexts in full

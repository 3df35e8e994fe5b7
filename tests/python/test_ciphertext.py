# SPDX-License-Identifier: Apache-2.0
"""The ciphertext as an object: frames and SEAL's bytes are read once, and the object goes everywhere."""

from __future__ import annotations

import random

import ciphermote
import numpy as np
import pytest
from ciphermote import Ciphertext, Evaluator, Owner, encrypt
from ciphermote import _evaluator as native
from ciphermote.formats.declaration import split
from ciphermote.formats.frame_finder import HEADER_BYTES
from ciphermote.formats.frames import read_stated_set
from ciphermote.owner.encryption import Xof
from ciphermote.parameters import BFV, BUILTIN, CKKS, ParameterSet, by_name

SET = by_name("n4096_q26x3_p27")
T = 40961


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner.generate(SET)


def frames_apart(data: bytes) -> list[bytes]:
    """One behind the other, without the declaration."""
    from ciphermote.formats.frames import parse_frame

    _, rest = split(data)
    frames = []
    while rest:
        length = parse_frame(rest, SET)[0].length
        frames.append(rest[:length])
        rest = rest[length:]
    return frames


def same(a: Ciphertext, b: Ciphertext) -> bool:
    return (
        np.array_equal(a.hosted.residues(), b.hosted.residues())
        and (a.parameters, a.scheme, a.key_id, a.scale) == (b.parameters, b.scheme, b.key_id, b.scale)
        and a.known == b.known
    )


@pytest.mark.parametrize("parameters", BUILTIN, ids=lambda each: each.name)
@pytest.mark.parametrize("key", ["secret_key", "public_key"])
def test_frames_hold_what_their_bytes_for_seal_hold(parameters: ParameterSet, key: str) -> None:
    owner = Owner.generate(parameters, relin=False, summed=1)
    for sent in (
        encrypt([1.5, -2.0, 90.0], getattr(owner, key)),
        encrypt([1, 2, 3], getattr(owner, key), scheme=BFV(257), places="coefficients"),
    ):
        frames = sent.to_frames()
        x = Ciphertext.from_frames(frames)
        assert same(x, sent) and x.to_frames() == frames
        assert same(
            x, Ciphertext.from_seal(read_stated_set(frames, parameters).to_seal(), parameters, sent.scheme)
        )
        assert same(x, Ciphertext.from_seal(x.to_seal())) and same(x, Ciphertext.from_bytes(frames))
        assert Ciphertext.from_frames(split(frames)[1], parameters).largest is None


@pytest.mark.parametrize("xof", ["blake2xb", "shake256", "chacha20"])
def test_frames_come_in_any_order_with_any_seed(owner: Owner, xof: Xof) -> None:
    sent = encrypt([3.0], owner.secret_key, xof=xof)
    apart = frames_apart(sent.to_frames())
    random.Random(1).shuffle(apart)
    x = Ciphertext.from_frames(b"".join(apart))
    assert np.array_equal(x.hosted.residues(), sent.hosted.residues())
    assert abs(owner.decrypt(x)[0] - 3) < 0.01


def test_what_is_wrong_with_frames_is_said(owner: Owner) -> None:
    data, other = (encrypt([value], owner.secret_key).to_frames() for value in (1.0, 2.0))
    declaration = data[: len(data) - len(split(data)[1])]
    apart = frames_apart(data)
    for wrong, words in (
        (b"".join(apart[:-1]), "incomplete|never came|missing"),
        (b"".join([*apart, apart[0]]), "twice|copies|2 ciphertexts"),
        (data[:-1], "cut short|not a whole frame"),
        (data[:HEADER_BYTES], "declaration of .* is damaged"),
        (b"".join([*apart[:-1], frames_apart(other)[-1]]), "incomplete|another|never came"),
        (declaration + split(other)[1], ""),
    ):
        if words:
            with pytest.raises(ciphermote.FrameError, match=words):
                Ciphertext.from_frames(wrong)
        else:  # a declaration of another reading says nothing of this one
            assert Ciphertext.from_frames(wrong).largest is None
    damaged = bytearray(data)
    damaged[-100] ^= 1
    with pytest.raises(ciphermote.FrameError, match="checksum"):
        Ciphertext.from_frames(bytes(damaged))
    with pytest.raises(ciphermote.FrameError, match="no frames"):
        Ciphertext.from_frames(Ciphertext.from_frames(data).to_seal())
    with pytest.raises(ciphermote.MismatchError, match=f"is CKKS's, and one of BFV modulo {T} is wanted"):
        Ciphertext.from_frames(data, SET, BFV(T))


def test_what_was_computed_has_no_frames(owner: Owner) -> None:
    x = encrypt([1.0], owner.secret_key)
    for computed in (x + x, ciphermote.compute(ciphermote.Sum(), x), Ciphertext.from_seal(x.to_seal())):
        with pytest.raises(ciphermote.EngineError, match=r"no frames.*to_seal"):
            computed.to_frames()


def test_the_object_is_decrypted_as_its_bytes_are(owner: Owner) -> None:
    evaluator = Evaluator(owner.evaluation_keys)
    x = evaluator.load(encrypt([1.5, -2.0], owner.public_key))
    y = evaluator.rescale(evaluator.square(x)) + 1
    for each in (x, y):
        assert np.allclose(owner.decrypt(each), owner.decrypt(each.to_seal()), atol=1e-9, rtol=0)
        found, saved = owner.decrypt_with_errors(each), owner.decrypt_with_errors(each.to_seal())
        assert found.errors is not None and np.array_equal(found.errors, saved.errors)
    integers = Evaluator(owner.evaluation_keys, BFV(T))
    z = integers.multiply(*(encrypt([7, 5], owner.public_key, scheme=BFV(T)) for _ in range(2)))
    assert owner.decrypt(z, places="slots")[:2].tolist() == [49, 25]
    assert np.array_equal(owner.decrypt(z, places="slots"), owner.decrypt(z.to_seal(), places="slots"))


def test_the_object_is_computed_on(owner: Owner) -> None:
    evaluator = Evaluator(owner.evaluation_keys)
    loaded = [evaluator.load(encrypt([value], owner.secret_key)) for value in (1.0, 2.0, 4.0)]
    for operation, truth in ((ciphermote.Sum(), 7.0), (ciphermote.Mean(), 7 / 3)):
        assert abs(owner.decrypt(ciphermote.compute(operation, loaded))[0] - truth) < 0.01
    assert abs(owner.decrypt(ciphermote.compute(ciphermote.Sum(), loaded[0]))[0] - 1) < 0.01
    weighted = ciphermote.compute(ciphermote.WeightedSum([1.0, -1.0, 0.5]), loaded)
    assert abs(owner.decrypt(weighted)[0] - 1) < 0.01


def test_an_object_of_other_keys_or_another_set_is_refused(owner: Owner) -> None:
    x = encrypt([1.0], owner.secret_key)
    with pytest.raises(ciphermote.MismatchError, match="different keys"):
        Owner.generate(SET, relin=False).decrypt(x)
    with pytest.raises(ciphermote.MismatchError, match="of one set"):
        Owner.generate("n2048_q26_p27", relin=False).decrypt(x)
    with pytest.raises(ciphermote.MismatchError, match="holds no model's scores"):
        owner.decrypt_with_errors(x, model=ciphermote.LinearModel([[1.0]], [0.0]))


def test_what_is_known_is_the_same_whenever_it_is_asked_for(owner: Owner) -> None:
    evaluator = Evaluator(owner.evaluation_keys)
    x, y = (evaluator.load(encrypt([1.0], owner.secret_key)) for _ in range(2))
    late = evaluator.multiply(x + y, x) - evaluator.square(y)
    part = x + y
    assert part.known.error is not None
    product = evaluator.multiply(part, x)
    assert product.known.error is not None and (product - evaluator.square(y)).known == late.known
    total = x
    for _ in range(900):  # deeper than Python's stack is, if each asked the one before
        total = total + y
    assert total.largest == pytest.approx(901 * 100.0) and total.known.largest == total.largest
    assert total.known.error is not None


def test_a_product_that_was_not_relinearized_is_decrypted_but_not_computed_on(owner: Owner) -> None:
    evaluator = Evaluator(owner.evaluation_keys)
    x = evaluator.load(encrypt([3.0], owner.secret_key))
    product = native.multiply(x.hosted, x.hosted)
    unrelinearized = Ciphertext(SET, CKKS, owner.key_id, product)
    data = unrelinearized.to_seal()
    assert abs(owner.decrypt(data)[0] - 9) < 0.01
    with pytest.raises(ciphermote.FrameError, match="three polynomials"):
        evaluator.load(data)
    with pytest.raises(ciphermote.EngineError, match=r"3 polynomials.*relinearize"):
        evaluator.load(unrelinearized)


def test_notebooks_show_what_it_is(owner: Owner) -> None:
    shown = encrypt([1.0], owner.secret_key, largest=20)._repr_html_()
    for words in (SET.name, "CKKS", "scale", f"{owner.key_id:016x}", "no |value| is beyond 20<"):
        assert words in shown
    integers = encrypt([1], owner.secret_key, scheme=BFV(T))._repr_html_()
    assert f"BFV modulo {T}" in integers and "scale" not in integers

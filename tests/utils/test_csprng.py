"""Random numbers are ChaCha20, exactly uniform, and never shared between purposes."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from mottle import UsageError
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, _next_block, below, open_stream

CONSTANTS = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]


def stream_of(seed: int, purpose: int = 1, number: int = 0) -> np.ndarray:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, Secret.draw(seed).words, purpose, number)
    return stream


def words_of(stream: np.ndarray, blocks: int) -> list[int]:
    words: list[int] = []
    for _ in range(blocks):
        _next_block(stream)
        words += stream[16:32].tolist()
    return words


def chacha20(state: list[int]) -> list[int]:
    """One block in plain Python integers, straight from RFC 8439 §2.3."""
    mixed = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            mixed[x] = (mixed[x] + mixed[y]) % 2**32
            mixed[z] ^= mixed[x]
            mixed[z] = ((mixed[z] << bits) | (mixed[z] >> (32 - bits))) % 2**32

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return [(word + first) % 2**32 for word, first in zip(mixed, state, strict=True)]


def test_block_function_is_chacha20_of_rfc_8439():
    stream = np.zeros(STREAM_WORDS, np.uint32)
    stream[:4] = CONSTANTS
    stream[4:12] = np.frombuffer(bytes(range(32)), "<u4")
    stream[12] = 1
    stream[13:16] = np.frombuffer(bytes.fromhex("000000090000004a00000000"), "<u4")
    _next_block(stream)
    expected = """
        e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3
        466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2
    """
    assert stream[16:32].tolist() == [int(word, 16) for word in expected.split()]
    assert stream[12] == 2, "the counter has to advance"


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**40), st.sampled_from(Purpose))
def test_stream_continues_with_the_next_counter(key: bytes, number: int, purpose: Purpose):
    secret = Secret(key, None)
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, secret.words, int(purpose), number)
    nonce = [int(purpose), number % 2**32, number >> 32]
    key_words = [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    expected = [chacha20([*CONSTANTS, *key_words, block, *nonce]) for block in range(3)]
    assert words_of(stream, 3) == list(itertools.chain(*expected))


@given(st.integers(0, 2**31 - 1).map(lambda half: 2 * half + 1), st.integers(0, 1000))
def test_numbers_stay_below_odd_bounds(bound: int, seed: int):
    stream = stream_of(seed)
    assert all(0 <= below(stream, bound) < bound for _ in range(50))


@pytest.mark.parametrize("bound", [1, 2, 2**31, 2**31 + 1, 2**32 - 1, 2**32])
def test_numbers_reach_both_halves_of_extreme_bounds(bound: int):
    stream = stream_of(3)
    numbers = [int(below(stream, bound)) for _ in range(200)]
    assert 0 <= min(numbers) <= max(numbers) < bound
    assert min(numbers) <= bound // 4
    assert max(numbers) >= bound - 1 - bound // 4


@pytest.mark.parametrize("bound", [2, 3, 5, 7, 10, 97])
def test_numbers_below_a_bound_are_uniform(bound: int):
    stream = stream_of(bound)
    counts = np.bincount([below(stream, bound) for _ in range(400 * bound)], minlength=bound)
    assert chisquare(counts).pvalue > 1e-4


def test_rejection_keeps_large_bounds_uniform():
    """At 3·2^30 a plain multiplication would hit every third value twice as often."""
    stream = stream_of(9)
    bound = 3 * 2**30
    counts = np.bincount([below(stream, bound) % 3 for _ in range(9000)], minlength=3)
    assert chisquare(counts).pvalue > 1e-4


@given(st.integers(0, 300), st.integers(0, 2**32))
def test_permutation_loses_or_repeats_nothing(size: int, seed: int):
    order = Secret.draw(seed).permutation(Purpose.ROW_ORDER, size)
    assert sorted(order.tolist()) == list(range(size))


def test_permutations_of_four_are_uniform():
    draws = (Secret.draw(seed).permutation(Purpose.ROW_ORDER, 4) for seed in range(6000))
    counts = Counter(tuple(order.tolist()) for order in draws)
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_no_two_streams_share_words():
    purposes = [int(purpose) for purpose in Purpose]
    numbers = [0, 1, 2, 2**32 - 1, 2**32, 2**32 + 1]
    streams = [words_of(stream_of(1, *which), 4) for which in itertools.product(purposes, numbers)]
    words = list(itertools.chain(*streams))
    assert len(set(words)) == len(words)
    assert words_of(stream_of(2), 1) != words_of(stream_of(1), 1)


def test_purposes_are_distinct_numbers():
    assert len({int(purpose) for purpose in Purpose}) == len(Purpose.__members__)


def test_secrets_without_seed_differ():
    keys = {Secret.draw().key for _ in range(100)}
    assert len(keys) == 100
    assert {len(key) for key in keys} == {32}
    assert Secret.draw().seed is None


def test_secrets_of_one_seed_agree_and_of_different_seeds_differ():
    assert Secret.draw(7) == Secret.draw(7)
    assert len({Secret.draw(seed).key for seed in range(-50, 50)}) == 100


def test_seed_of_any_whole_number_is_that_number():
    secret = Secret.draw(np.uint8(7))
    assert secret == Secret.draw(7)
    assert type(secret.seed) is int


@pytest.mark.parametrize("seed", [True, "7", 7.0, np.float64(7), [7]])
def test_seed_that_is_no_whole_number_is_refused(seed: object):
    with pytest.raises(UsageError, match="whole number"):
        Secret.draw(seed)


def test_key_does_not_show_in_text():
    secret = Secret.draw()
    for text in (repr(secret), str(secret), f"{secret}", repr([secret])):
        assert repr(secret.key)[2:-1] not in text
        assert secret.key.hex() not in text
        assert "key" not in text


def test_public_seed_is_repeatable_and_no_part_of_the_key():
    secret = Secret.draw(5)
    assert secret.public_seed == Secret.draw(5).public_seed != Secret.draw(6).public_seed
    assert secret.public_seed.to_bytes(8, "little") not in secret.key


def test_words_are_little_endian():
    assert Secret(bytes(range(32)), None).words[0] == 0x03020100

"""Random numbers for privacy decisions: ChaCha20 keyed by the operating system's entropy.

These numbers decide which original each published record belongs to, so they must not be guessable
even by someone who learns some of the outcomes. A `Secret` of 256 bits is drawn once per run; every
block of the graph reads its own ChaCha20 stream (RFC 8439) under that key. Blocks can therefore be
processed in any order, by any number of threads, or again after a failure, with the same decisions.
"""

from __future__ import annotations

import hashlib
import operator
import secrets
from dataclasses import dataclass
from enum import IntEnum
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from mottle.errors import UsageError
from mottle.typing import UInt32Array
from mottle.utils.compiled import inner_kernel, kernel

__all__ = ["STREAM_WORDS", "Purpose", "Secret", "below", "open_stream", "shuffle"]

# A stream is one uint32 array: 16 words of cipher input, 16 words of output, the next word to read.
_OUTPUT = 16
_CURSOR = 32
STREAM_WORDS = 33


class Purpose(IntEnum):
    """What a stream is for; streams of different purposes never share numbers."""

    WALK = 1
    ROW_ORDER = 2
    TIEBREAK = 3
    NUMBERS = 4


_NUMBERS = int(Purpose.NUMBERS)


@dataclass(frozen=True)
class Secret:
    """The 256-bit key of a run.

    Examples
    --------
    >>> Secret.draw(seed=1) == Secret.draw(seed=1)
    True
    >>> Secret.draw() == Secret.draw()
    False
    """

    key: bytes  # 32 bytes; not shown by repr
    seed: int | None  # None when the key came from the operating system

    def __repr__(self) -> str:
        return f"Secret(seed={self.seed})"

    @classmethod
    def draw(cls, seed: SupportsIndex | None = None) -> Secret:
        """Draw a key from the operating system, or derive it from a seed for an experiment.

        Parameters
        ----------
        seed : int, optional
            A number from which the key is derived; anyone who knows it knows the key.

        Returns
        -------
        Secret
            The key.

        Raises
        ------
        UsageError
            The seed is not a whole number.
        """
        if seed is None:
            return cls(secrets.token_bytes(32), None)
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise UsageError(f"A seed is a whole number, not a {type(seed).__name__}.")
        number = operator.index(seed)
        return cls(hashlib.sha256(f"mottle seed {number}".encode()).digest(), number)

    @classmethod
    def of_owner(cls, key: bytes, table: bytes, parameters: str) -> Secret:
        """Derive the key of a run from the owner's key, the table and what decides the release.

        Keyed BLAKE2b is a pseudorandom function: without the owner's key, the keys of different
        tables or parameters cannot be told from independent random ones.

        Parameters
        ----------
        key : bytes
            The owner's key, 32 bytes.
        table : bytes
            A digest of the table's content.
        parameters : str
            Everything else that decides the release, in one fixed form.

        Returns
        -------
        Secret
            The key; always the same for the same arguments.

        Examples
        --------
        >>> key = bytes(32)
        >>> Secret.of_owner(key, b"one", "k=5") == Secret.of_owner(key, b"one", "k=5")
        True
        >>> Secret.of_owner(key, b"one", "k=5") == Secret.of_owner(key, b"other", "k=5")
        False
        """
        content = len(table).to_bytes(8, "little") + table + parameters.encode()
        digest = hashlib.blake2b(content, key=key, digest_size=32, person=b"mottle run")
        return cls(digest.digest(), None)

    @property
    def words(self) -> UInt32Array:
        """The key as the eight little-endian words ChaCha20 takes."""
        return np.frombuffer(self.key, dtype="<u4").astype(np.uint32)

    @property
    def public_seed(self) -> int:
        """A number for choices that do not matter to privacy; it reveals nothing about the key."""
        return int.from_bytes(hashlib.sha256(b"public" + self.key).digest()[:8], "little")

    def permutation(self, purpose: Purpose, size: int) -> NDArray[np.int64]:
        """Draw a uniformly random order of ``0 .. size - 1``.

        Parameters
        ----------
        purpose : Purpose
            What the order is for.
        size : int
            The number of items.

        Returns
        -------
        int64 array of shape (size,)
            The permutation; always the same for one key and purpose.
        """
        return _permutation(self.words, int(purpose), size)

    def part(self, name: str, number: int = 0) -> Secret:
        """Derive the key of one part of a run; it reveals nothing about the keys of other parts.

        Parameters
        ----------
        name : str
            What kind of part it is.
        number : int
            Which one of that kind.

        Returns
        -------
        Secret
            The key of the part.

        Examples
        --------
        >>> secret = Secret.draw(seed=1)
        >>> secret.part("chunk", 1) == secret.part("chunk", 1) != secret.part("chunk", 2)
        True
        """
        label = f"mottle {name} {number}".encode()
        return Secret(hashlib.blake2b(label, key=self.key, digest_size=32).digest(), self.seed)

    def numbers(self, size: int, bound: int = 0) -> NDArray[np.int64]:
        """Draw independent uniform numbers.

        Parameters
        ----------
        size : int
            How many.
        bound : int
            They are in ``0 .. bound - 1``; 0 stands for 63 bits.

        Returns
        -------
        int64 array of shape (size,)
            The numbers; always the same for one key.
        """
        return _numbers(self.words, size, bound)


@inner_kernel
def _rotate_left(word: np.uint32, bits: int) -> np.uint32:
    return np.uint32((word << np.uint32(bits)) | (word >> np.uint32(32 - bits)))


@inner_kernel
def _quarter_round(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    a = np.uint32(a + b)
    d = _rotate_left(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _rotate_left(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _rotate_left(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _rotate_left(np.uint32(b ^ c), 7)
    return a, b, c, d


@inner_kernel
def _next_block(stream: UInt32Array) -> None:
    """Fill the output words with the next ChaCha20 block and advance the counter."""
    x0, x1, x2, x3 = stream[0], stream[1], stream[2], stream[3]
    x4, x5, x6, x7 = stream[4], stream[5], stream[6], stream[7]
    x8, x9, x10, x11 = stream[8], stream[9], stream[10], stream[11]
    x12, x13, x14, x15 = stream[12], stream[13], stream[14], stream[15]
    for _ in range(10):
        x0, x4, x8, x12 = _quarter_round(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter_round(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter_round(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter_round(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter_round(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter_round(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter_round(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter_round(x3, x4, x9, x14)
    mixed = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    for i in range(16):
        stream[_OUTPUT + i] = np.uint32(mixed[i] + stream[i])
    stream[12] = np.uint32(stream[12] + np.uint32(1))
    stream[_CURSOR] = 0


@kernel
def open_stream(stream: UInt32Array, key: UInt32Array, purpose: int, number: int) -> None:
    """Set ``stream`` to the beginning of a stream.

    Parameters
    ----------
    stream : uint32 array of shape (STREAM_WORDS,)
        The state, which is overwritten.
    key : uint32 array of shape (8,)
        The words of a `Secret`.
    purpose : int
        A `Purpose`.
    number : int
        Which stream of that purpose.
    """
    stream[0] = 0x61707865
    stream[1] = 0x3320646E
    stream[2] = 0x79622D32
    stream[3] = 0x6B206574
    for word in range(8):
        stream[4 + word] = key[word]
    stream[12] = 0
    stream[13] = purpose
    stream[14] = np.uint32(number & 0xFFFFFFFF)
    stream[15] = np.uint32(number >> 32)
    stream[_CURSOR] = 16


@inner_kernel
def _next_word(stream: UInt32Array) -> np.uint32:
    if stream[_CURSOR] == 16:
        _next_block(stream)
    word: np.uint32 = stream[_OUTPUT + stream[_CURSOR]]
    stream[_CURSOR] += np.uint32(1)
    return word


@kernel
def below(stream: UInt32Array, bound: int) -> np.int64:
    """Draw a uniform integer in ``0 .. bound - 1`` (Lemire's multiply-and-reject: exactly uniform).

    Parameters
    ----------
    stream : uint32 array of shape (STREAM_WORDS,)
        The stream, which is advanced.
    bound : int
        How many values are possible.

    Returns
    -------
    int
        The number.
    """
    wide = np.uint64(bound)
    product = np.uint64(_next_word(stream)) * wide
    low = product & np.uint64(0xFFFFFFFF)
    if low < wide:
        threshold = (np.uint64(0x100000000) - wide) % wide
        while low < threshold:
            product = np.uint64(_next_word(stream)) * wide
            low = product & np.uint64(0xFFFFFFFF)
    return np.int64(product >> np.uint64(32))


@kernel
def shuffle(stream: UInt32Array, items: NDArray[np.int64]) -> None:
    """Put items into a uniformly random order, in place (Fisher and Yates).

    Parameters
    ----------
    stream : uint32 array of shape (STREAM_WORDS,)
        The stream, which is advanced.
    items : int64 array
        The items.
    """
    for i in range(items.size - 1, 0, -1):
        j = below(stream, i + 1)
        items[i], items[j] = items[j], items[i]


@kernel
def _permutation(key: UInt32Array, purpose: int, size: int) -> NDArray[np.int64]:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, purpose, 0)
    items = np.arange(size)
    shuffle(stream, items)
    return items


@kernel
def _numbers(key: UInt32Array, size: int, bound: int) -> NDArray[np.int64]:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, _NUMBERS, 0)
    items = np.empty(size, np.int64)
    for i in range(size):
        if bound > 0:
            items[i] = below(stream, bound)
        else:
            high = np.int64(_next_word(stream)) & 0x7FFFFFFF
            items[i] = (high << 32) | np.int64(_next_word(stream))
    return items

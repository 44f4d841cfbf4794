"""PrivBayes, the differentially private reference: its columns and budget; DataSynthesizer runs it.

Zhang, Cormode, Procopiuc, Srivastava, Xiao: PrivBayes, SIGMOD 2014. The network and the noisy
tables are those of the library DataSynthesizer (the extra ``mottle[dp]``). It seeds the global
generators, turns warnings into errors and prints, so it runs in a process of its own. Rows are
then drawn from its noisy tables here, which costs no privacy.
"""

from __future__ import annotations

import importlib.util
import math
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.errors import UsageError
from mottle.typing import Int64Array

Table = tuple[list[int], NDArray[np.float64]]  # parents, and P(child | parents) as [..., child]

BINS = 20  # of a number with more values, as DataSynthesizer makes them
USEFULNESS = 4.0  # the paper's θ: how much larger mean counts have to be than their noise
_LIBRARY = "DataSynthesizer"


def epsilon_of(beta: float) -> float:
    """The ε whose bound on any change of belief is that of β-likeness: ln(1 + β).

    >>> round(epsilon_of(1.0), 4)
    0.6931
    """
    return math.log1p(beta)


def is_installed() -> bool:
    """Whether the library that makes the network is there."""
    return importlib.util.find_spec(_LIBRARY) is not None


def privbayes(
    table: pa.Table, columns: Sequence[str], epsilon: float, *, seed: int | None = None
) -> pa.Table:
    """As many synthetic rows as ``table`` has, with differential privacy ``epsilon``.

    Values outside ``columns`` are left out. The distinct values of a column count as public, as in
    the paper; numbers and dates with more than `BINS` of them are cut into ranges of equal width
    and drawn uniformly within. The privacy is that for one record more or less, as far as
    DataSynthesizer keeps it.
    """
    if not is_installed():
        raise UsageError(
            "PrivBayes needs the library DataSynthesizer.",
            "Install it with: pip install 'mottle[dp]'.",
        )
    if not 0 < epsilon < math.inf:
        raise UsageError("PrivBayes needs an epsilon above 0.", "Say for instance 0.7.")
    random = np.random.default_rng(seed)
    encoded = [_encode(table.column(name)) for name in columns]
    sizes = [column.size for column in encoded]
    codes = np.column_stack([column.codes for column in encoded])
    if len(encoded) == 1:
        drawn = _draw_alone(codes, sizes[0], epsilon, random)
    else:
        degree = network_degree(len(codes), sizes, epsilon)
        tables = _noisy_tables(codes, degree, epsilon, int(random.integers(2**31)))
        drawn = _draw(tables, sizes, len(codes), random)
    arrays = [
        column.decode(drawn[:, place], random).cast(table.schema.field(name).type)
        for place, (name, column) in enumerate(zip(columns, encoded, strict=True))
    ]
    return pa.table(dict(zip(columns, arrays, strict=True)))


def network_degree(rows: int, sizes: Sequence[int], epsilon: float) -> int:
    """How many parents a column gets: the most with which all noisy counts are still useful.

    The paper's θ-usefulness: counts of the largest table of k + 1 columns have to be, on the
    average, θ times their noise, with half the budget shared by d - k tables. Fewer parents than
    that fit data better than more: what is lost to noise outweighs what is gained in detail.

    >>> network_degree(300_000, [2, 20, 5, 7, 16, 14, 2], 1.1)
    2
    >>> network_degree(300, [2, 20, 5, 7, 16, 41, 7, 14, 2], 0.1)
    1
    """
    largest = sorted(sizes, reverse=True)
    degree = 1
    for more in range(2, len(sizes)):
        noise = (len(sizes) - more) / (epsilon / 2)
        if rows < USEFULNESS * noise * math.prod(largest[: more + 1]):
            break
        degree = more
    return degree


@dataclass(frozen=True)
class _Encoded:
    """A column as small integers, and the way back."""

    codes: Int64Array
    values: pa.Array  # distinct values in order, those of one code side by side
    starts: Int64Array  # first value of every code, and the end

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def decode(self, codes: Int64Array, random: np.random.Generator) -> pa.Array:
        """A value of each code, uniformly among those it stands for."""
        first, last = self.starts[codes], self.starts[codes + 1]
        return self.values.take(pa.array(first + random.integers(0, last - first)))


def _encode(column: pa.ChunkedArray) -> _Encoded:
    values = column.unique()
    values = values.take(pc.array_sort_indices(values))  # missing last
    ranks = pc.index_in(column, value_set=values).to_numpy().astype(np.int64)
    bins = np.arange(len(values))
    if _is_measured(values.type) and len(values) > BINS:
        bins = _equal_widths(values)
    starts = np.concatenate([np.flatnonzero(np.diff(bins, prepend=-1)), [len(values)]])
    return _Encoded(bins[ranks], values, starts.astype(np.int64))


def _is_measured(data_type: pa.DataType) -> bool:
    return any(is_such(data_type) for is_such in _MEASURED)


_MEASURED = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def _equal_widths(values: pa.Array) -> Int64Array:
    """The bin of every value, without bins that no value falls into; missing is one of its own."""
    there = values.drop_null()
    if pa.types.is_date32(there.type):
        there = there.cast(pa.int32())
    if pa.types.is_temporal(there.type):
        there = there.cast(pa.int64())
    places = there.cast(pa.float64()).to_numpy()
    widths = (places - places[0]) / (places[-1] - places[0])
    bins = np.minimum((widths * BINS).astype(np.int64), BINS - 1)
    if len(there) < len(values):
        bins = np.append(bins, BINS)
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)


def _noisy_tables(codes: Int64Array, degree: int, epsilon: float, seed: int) -> dict[int, Table]:
    """Ask DataSynthesizer: the noisy distribution of every column given its parents."""
    asked = {"codes": codes, "degree": degree, "epsilon": epsilon, "seed": seed}
    with tempfile.TemporaryDirectory(prefix="mottle-privbayes-") as folder:
        question, answer = Path(folder, "question"), Path(folder, "answer")
        question.write_bytes(pickle.dumps(asked))
        command = [sys.executable, "-m", f"{__package__}._datasynthesizer"]
        subprocess.run(
            [*command, str(question), str(answer)], check=True, stdout=subprocess.DEVNULL
        )
        tables: dict[int, Table] = pickle.loads(answer.read_bytes())
    return tables


def _draw(
    tables: dict[int, Table], sizes: Sequence[int], rows: int, random: np.random.Generator
) -> Int64Array:
    """Rows from the network, column by column, parents first (the order of ``tables``)."""
    drawn = np.zeros((rows, len(sizes)), np.int64)
    for child, (parents, shares) in tables.items():
        cumulated = np.cumsum(shares, axis=-1).reshape(-1, sizes[child])
        at = np.zeros(rows, np.int64)
        for parent in parents:
            at = at * sizes[parent] + drawn[:, parent]
        places = at + random.random(rows) * cumulated[at, -1]  # row `at` covers at .. at + 1
        edges = (np.arange(len(cumulated))[:, None] + cumulated).ravel()
        found = np.searchsorted(edges, places, side="right") - at * sizes[child]
        drawn[:, child] = np.clip(found, 0, sizes[child] - 1)
    return drawn


def _draw_alone(
    codes: Int64Array, size: int, epsilon: float, random: np.random.Generator
) -> Int64Array:
    """A single column needs no network: its counts with Laplace noise."""
    counts = np.bincount(codes[:, 0], minlength=size) + random.laplace(0, 1 / epsilon, size)
    shares = np.maximum(counts, 0) + 1e-9
    return random.choice(size, (len(codes), 1), p=shares / shares.sum())

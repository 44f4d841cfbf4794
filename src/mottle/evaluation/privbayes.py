"""PrivBayes, the differentially private reference, run through the library DataSynthesizer.

Zhang, Cormode, Procopiuc, Srivastava, Xiao: PrivBayes, SIGMOD 2014. This module encodes the columns
and divides the budget; the network and the noisy tables are those of DataSynthesizer (the extra
``mottle[dp]``). That library seeds the global generators, turns warnings into errors and prints, so
it runs in a separate process. Rows are then drawn here from its noisy tables, which costs no
privacy.
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

__all__ = ["epsilon_of", "is_installed", "network_degree", "privbayes"]

# Parents, and P(child | parents) as [..., child].
NoisyTable = tuple[list[int], NDArray[np.float64]]

BINS = 20  # bins of a number with more distinct values, as in DataSynthesizer
USEFULNESS = 4.0  # the paper's θ: the required ratio of mean counts to their noise
_LIBRARY = "DataSynthesizer"


def epsilon_of(beta: float) -> float:
    """Return the ε whose bound on any change of belief is that of β-likeness: ln(1 + β).

    Parameters
    ----------
    beta : float
        The β of β-likeness.

    Returns
    -------
    float

    Examples
    --------
    >>> round(epsilon_of(1.0), 4)
    0.6931
    """
    return math.log1p(beta)


def is_installed() -> bool:
    """Return whether the library that builds the network is installed.

    Returns
    -------
    bool
    """
    return importlib.util.find_spec(_LIBRARY) is not None


def privbayes(
    table: pa.Table, columns: Sequence[str], epsilon: float, *, seed: int | None = None
) -> pa.Table:
    """Generate as many synthetic rows as ``table`` has, with differential privacy.

    The distinct values of a column count as public, as in the paper; numbers and dates with more
    than `BINS` distinct values are cut into ranges of equal width, within which values are drawn
    uniformly. The privacy is that for one record more or less, as far as DataSynthesizer provides
    it.

    Parameters
    ----------
    table : pyarrow.Table
        The original rows.
    columns : sequence of str
        The columns to generate; all others are left out.
    epsilon : float
        The privacy budget ε.
    seed : int, optional
        Seed for repeatable rows.

    Returns
    -------
    pyarrow.Table
        The synthetic rows, in the types of ``table``.

    Raises
    ------
    UsageError
        DataSynthesizer is not installed, or ε is not above 0.
    """
    if not is_installed():
        raise UsageError(
            "PrivBayes needs the library DataSynthesizer.",
            "Install it with: pip install 'mottle[dp]'.",
        )
    if not 0 < epsilon < math.inf:
        raise UsageError("PrivBayes needs an epsilon above 0.", "Use for example 0.7.")
    random = np.random.default_rng(seed)
    encoded = [_encode(table.column(name)) for name in columns]
    sizes = [column.size for column in encoded]
    codes = np.column_stack([column.codes for column in encoded])
    if len(encoded) == 1:
        drawn = _draw_single_column(codes, sizes[0], epsilon, random)
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
    """Return the largest number of parents of a column with which noisy counts are still useful.

    This is the paper's θ-usefulness: counts of the largest table of k + 1 columns have to be, on
    average, θ times their noise, with half the budget shared by d - k tables. Beyond that, fewer
    parents fit the data better than more: what is lost to noise outweighs what is gained in detail.

    Parameters
    ----------
    rows : int
        The number of rows.
    sizes : sequence of int
        The number of codes of each column.
    epsilon : float
        The privacy budget ε.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
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
class _EncodedColumn:
    """A column as small integers, with the values they stand for."""

    codes: Int64Array  # [rows]
    values: pa.Array  # distinct values in order, those of one code consecutive
    starts: Int64Array  # [codes + 1]: the first value of each code, and the end

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.starts) - 1

    def decode(self, codes: Int64Array, random: np.random.Generator) -> pa.Array:
        """Draw a value for each code, uniformly from those it stands for."""
        first, last = self.starts[codes], self.starts[codes + 1]
        return self.values.take(pa.array(first + random.integers(0, last - first)))


def _encode(column: pa.ChunkedArray) -> _EncodedColumn:
    """Number the values of a column, in bins where there are many."""
    values = column.unique()
    values = values.take(pc.array_sort_indices(values))  # missing last
    ranks = pc.index_in(column, value_set=values).to_numpy().astype(np.int64)
    bins = np.arange(len(values))
    if _is_measured(values.type) and len(values) > BINS:
        bins = _equal_widths(values)
    starts = np.concatenate([np.flatnonzero(np.diff(bins, prepend=-1)), [len(values)]])
    return _EncodedColumn(bins[ranks], values, starts.astype(np.int64))


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
    """The bin of each value, numbered without empty bins; missing has a bin of its own."""
    present = values.drop_null()
    if pa.types.is_date32(present.type):
        present = present.cast(pa.int32())
    if pa.types.is_temporal(present.type):
        present = present.cast(pa.int64())
    numbers = present.cast(pa.float64()).to_numpy()
    widths = (numbers - numbers[0]) / (numbers[-1] - numbers[0])
    bins = np.minimum((widths * BINS).astype(np.int64), BINS - 1)
    if len(present) < len(values):
        bins = np.append(bins, BINS)
    return np.unique(bins, return_inverse=True)[1].astype(np.int64)


def _noisy_tables(
    codes: Int64Array, degree: int, epsilon: float, seed: int
) -> dict[int, NoisyTable]:
    """Let DataSynthesizer compute the noisy distribution of each column given its parents."""
    arguments = {"codes": codes, "degree": degree, "epsilon": epsilon, "seed": seed}
    with tempfile.TemporaryDirectory(prefix="mottle-privbayes-") as folder:
        input_file, output_file = Path(folder, "input"), Path(folder, "output")
        input_file.write_bytes(pickle.dumps(arguments))
        command = [sys.executable, "-m", f"{__package__}._datasynthesizer"]
        subprocess.run(
            [*command, str(input_file), str(output_file)], check=True, stdout=subprocess.DEVNULL
        )
        tables: dict[int, NoisyTable] = pickle.loads(output_file.read_bytes())
    return tables


def _draw(
    tables: dict[int, NoisyTable], sizes: Sequence[int], rows: int, random: np.random.Generator
) -> Int64Array:
    """Draw rows from the network, column by column, parents first (the order of ``tables``)."""
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


def _draw_single_column(
    codes: Int64Array, size: int, epsilon: float, random: np.random.Generator
) -> Int64Array:
    """Draw a single column, which needs no network, from its counts with Laplace noise."""
    counts = np.bincount(codes[:, 0], minlength=size) + random.laplace(0, 1 / epsilon, size)
    shares = np.maximum(counts, 0) + 1e-9
    return random.choice(size, (len(codes), 1), p=shares / shares.sum())

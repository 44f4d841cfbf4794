"""Runs DataSynthesizer's PrivBayes in this process, which should do nothing else.

``python -m mottle.evaluation._datasynthesizer INPUT OUTPUT``: the budget is split equally between
network and tables as in its ``DataDescriber``. Two of its parts are replaced: mutual information is
computed on joined integers instead of joined texts (the same number, hundreds of times faster), and
its pool of processes is replaced by a plain loop, which is then fast enough.
"""

from __future__ import annotations

import ast
import pickle
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from DataSynthesizer.lib import PrivBayes
from sklearn.metrics import mutual_info_score


class SerialPool:
    """Takes the place of a pool of processes."""

    def __enter__(self) -> SerialPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
        """Do all tasks in this process."""
        return [work(task) for task in tasks]


def mutual_information(child: pd.Series, parents: pd.DataFrame) -> float:
    """The mutual information of a column and several others jointly."""
    joined = np.zeros(len(parents), np.int64)
    for name in parents:
        codes = parents[name].to_numpy().astype(np.int64)
        joined = joined * (codes.max() + 1) + codes
    return float(mutual_info_score(child.to_numpy().astype(np.int64), joined))


def noisy_tables(
    codes: np.ndarray[Any, Any], degree: int, epsilon: float, seed: int
) -> dict[int, tuple[list[int], Any]]:
    """The parents and the conditional distribution of each column, the root first."""
    PrivBayes.mutual_information = mutual_information
    PrivBayes.Pool = SerialPool
    names = [str(place) for place in range(codes.shape[1])]
    sizes = codes.max(axis=0) + 1
    frame = pd.DataFrame(codes, columns=names)
    network = PrivBayes.greedy_bayes(frame, degree, epsilon / 2, seed)
    found = PrivBayes.construct_noisy_conditional_distributions(network, frame, epsilon / 2)
    root = network[0][1][0]
    tables: dict[int, tuple[list[int], Any]] = {int(root): ([], np.array(found[root]))}
    for child, parents in network:
        shape = [sizes[int(parent)] for parent in parents]
        shares = np.zeros((*shape, sizes[int(child)]))
        for key, row in found[child].items():
            shares[tuple(_parent_codes(key))] = row
        tables[int(child)] = ([int(parent) for parent in parents], shares)
    return tables


def _parent_codes(key: str) -> list[int]:
    """The parents' codes from a key like ``[(3,)]``, ``[3]`` or ``[np.int64(3), np.int64(5)]``."""
    plain = key.replace("np.int64", "").replace("(", "").replace(",)", "").replace(")", "")
    codes: list[int] = ast.literal_eval(plain)
    return codes


if __name__ == "__main__":
    input_file, output_file = map(Path, sys.argv[1:])
    output_file.write_bytes(pickle.dumps(noisy_tables(**pickle.loads(input_file.read_bytes()))))

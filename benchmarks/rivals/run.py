"""Run one rival in its own environment: reads a Parquet file, writes labels and seconds as JSON.

For anonypy the label of a row is its group; for anjana each generalized column is a list of labels,
and suppressed rows are absent.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas as pd


def run_anonypy(table: pd.DataFrame, k: int) -> dict[str, object]:
    from anonypy.mondrian import Mondrian

    for name in table.columns:
        if table[name].dtype == object:
            table[name] = table[name].astype("category")
    features = list(table.columns)
    table["none"] = 0
    began = time.perf_counter()
    partitions = Mondrian(table, features, "none").partition(k, 0, 0.0)
    seconds = time.perf_counter() - began
    groups = [0] * len(table)
    for number, partition in enumerate(partitions):
        for row in partition:
            groups[row] = number
    return {"groups": groups, "seconds": seconds}


def run_anjana(table: pd.DataFrame, k: int, hierarchies: Path) -> dict[str, object]:
    from anjana.anonymity import k_anonymity

    levels: dict[str, dict[int, object]] = {}
    for name in table.columns:
        tree = pd.read_csv(
            hierarchies / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str
        )
        values = table[name].astype(str)
        paths = tree.set_index(0)
        levels[name] = {0: table[name].to_numpy()}
        for level in range(1, tree.shape[1]):
            levels[name][level] = values.map(paths[level]).to_numpy()
    names = list(table.columns)
    table["row"] = range(len(table))
    began = time.perf_counter()
    released = k_anonymity(table, [], names, k, 20, levels)
    seconds = time.perf_counter() - began
    return {
        "rows": released["row"].tolist(),
        "labels": {name: released[name].astype(str).tolist() for name in names},
        "seconds": seconds,
    }


def main() -> None:
    tool, data, k, output, hierarchies = sys.argv[1:6]
    table = pd.read_parquet(data)
    if tool == "anonypy":
        result = run_anonypy(table, int(k))
    else:
        result = run_anjana(table, int(k), Path(hierarchies))
    Path(output).write_text(json.dumps(result))


if __name__ == "__main__":
    main()

"""Run another tool in its environment: reads a Parquet file, writes labels and seconds as JSON.

For anonypy and anonypyx the label of a row is its group; for anjana each generalized column is a
list of labels, and suppressed rows are absent.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pandas as pd


def run_anonypy(table: pd.DataFrame, k: int) -> dict[str, object]:
    from anonypy.mondrian import Mondrian

    features = use_categories(table)
    table["none"] = 0
    began = time.perf_counter()
    partitions = Mondrian(table, features, "none").partition(k, 0, 0.0)
    seconds = time.perf_counter() - began
    return {"groups": groups_of(partitions, len(table)), "seconds": seconds}


def run_anonypyx(table: pd.DataFrame, k: int) -> dict[str, object]:
    from anonypyx.models import kAnonymity
    from anonypyx.mondrian import Mondrian

    features = use_categories(table)
    began = time.perf_counter()
    partitions = Mondrian(table, features).partition([kAnonymity(k)])
    seconds = time.perf_counter() - began
    return {"groups": groups_of(partitions, len(table)), "seconds": seconds}


def use_categories(table: pd.DataFrame) -> list[str]:
    """Convert text to pandas categories, which both packages require; return all columns."""
    for name in table.columns:
        if table[name].dtype == object:
            table[name] = table[name].astype("category")
    return list(table.columns)


def groups_of(partitions: Iterable[Iterable[int]], rows: int) -> list[int]:
    groups = [0] * rows
    for number, partition in enumerate(partitions):
        for row in partition:
            groups[row] = number
    return groups


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
    elif tool == "anonypyx":
        result = run_anonypyx(table, int(k))
    else:
        result = run_anjana(table, int(k), Path(hierarchies))
    Path(output).write_text(json.dumps(result))


if __name__ == "__main__":
    main()

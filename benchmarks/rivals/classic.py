"""Classic measures by pycanon, in a separate environment: reads cases as JSON, writes numbers.

A case is a table (columns, rows), an index, quasi-identifiers and a sensitive column.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from pycanon import anonymity

MEASURES = {
    "k": lambda table, known, sensitive: anonymity.k_anonymity(table, known),
    "alpha": lambda *given: anonymity.alpha_k_anonymity(*given)[0],
    "distinct l": lambda *given: anonymity.l_diversity(*given),
    "entropy l": lambda *given: anonymity.entropy_l_diversity(*given),
    "recursive c": lambda *given: anonymity.recursive_c_l_diversity(*given)[0],
    "t": lambda *given: anonymity.t_closeness(*given),
    "beta": lambda *given: anonymity.basic_beta_likeness(*given),
    "enhanced beta": lambda *given: anonymity.enhanced_beta_likeness(*given),
    "delta": lambda *given: anonymity.delta_disclosure(*given),
}


def frame(case: dict) -> pd.DataFrame:
    table = pd.DataFrame(dict(enumerate(zip(*case["rows"], strict=True))))
    table.columns = case["columns"]
    for name, categories in case["categories"].items():
        table[name] = pd.Categorical(table[name], categories=categories)
    if case["index"] is not None:
        table.index = case["index"]
    return table


def main() -> None:
    warnings.simplefilter("ignore")
    cases, output = map(Path, sys.argv[1:3])
    results = []
    for case in json.loads(cases.read_text()):
        found = {}
        for name, compute in MEASURES.items():
            try:
                value = compute(frame(case), case["quasi_identifying"], [case["sensitive"]])
                found[name] = None if value != value else float(value)
            except Exception as error:  # any error it raises is the result
                found[name] = type(error).__name__
        results.append(found)
    output.write_text(json.dumps(results))


if __name__ == "__main__":
    main()

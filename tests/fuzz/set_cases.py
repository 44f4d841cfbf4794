"""Strategies for runs of ``mottle anonymize-sets``: baskets in every form, labels, all options."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from checker import Asked, check_sets
from hypothesis import strategies as st
from runs import VALID, Failure, command, judged, left_over, state
from table_cases import tree, write_table
from values import MARK, ODD_TEXTS, SECRET

from mottle.methods import sets

FORMS = ("transactions", "separated", "lists", "text", "long")
PLAIN = [f"{MARK}{place:07d}" for place in range(12)] + ["a", "b", "1", "2", "é", "x" * 50, "=1"]


@dataclass(frozen=True)
class SetCase:
    """One run: baskets, their labels, and how they are written and anonymized."""

    baskets: list[list[str]]
    labels: list[str | None] | None
    form: str
    options: list[str]
    k: int | None = None
    l: int | None = None  # noqa: E741 - the papers' name
    beta: float | None = None
    keyed: bool = False
    unsafe: bool = False
    engine: str = "memory"
    tree: list[list[str]] = field(default_factory=list)  # of items; none without rows

    def write(self, folder: Path) -> list[str]:
        """Write the file of the run; returns the arguments of the command."""
        given = ["-o", str(folder / "out"), "--private", str(folder / "links.parquet")]
        for option, value in {"--k": self.k, "--l": self.l, "--beta": self.beta}.items():
            given += [] if value is None else [option, str(value)]
        given += ["--key", str(folder / "key")] if self.keyed else []
        given += ["--unsafe-paper-randomization"] if self.unsafe else []
        if self.engine == "streaming":
            given += ["--memory", "2GB", "--work", str(folder / "work")]
        if self.tree:
            path = folder / "items.csv"
            with open(path, "w", encoding="utf-8", newline="") as opened:
                csv.writer(opened, delimiter=";").writerows(self.tree)
            given += ["--item-hierarchy", str(path)]
        source, reading = self._source(folder)
        return ["anonymize-sets", str(source), *reading, *given, *self.options]

    def _source(self, folder: Path) -> tuple[Path, list[str]]:
        if self.form in ("transactions", "separated"):
            path, between = folder / "baskets.dat", " " if self.form == "transactions" else ";"
            lines = "".join(between.join(basket) + "\n" for basket in self.baskets)
            path.write_text(lines, "utf-8", newline="")
            return path, [] if between == " " else ["--separator", ";"]
        path = folder / "baskets.parquet"
        label = [] if self.labels is None else ["--sensitive-label", "label"]
        if self.form == "long":
            rows = [
                (
                    f"{SECRET}{number:05d}",
                    item,
                    None if self.labels is None else self.labels[number],
                )
                for number, basket in enumerate(self.baskets)
                for item in basket or [None]
            ]
            record, item, labels = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
            columns = {"record": record, "item": item, "label": labels}
            table = pa.table(
                {name: pa.array(cells, pa.string()) for name, cells in columns.items()}
            )
            write_table(table, path)
            return path, ["--record", "record", "--item", "item", *label]
        cells: Any = pa.array(self.baskets, pa.list_(pa.string()))
        if self.form == "text":
            cells = pa.array([";".join(basket) for basket in self.baskets], pa.string())
        columns = {"set": cells}
        if self.labels is not None:
            columns["label"] = pa.array(self.labels, pa.string())
        write_table(pa.table(columns), path)
        separator = ["--separator", ";"] if self.form == "text" else []
        return path, ["--column", "set", *separator, *label]

    def items(self) -> list[frozenset[str]]:
        """The sets as they are read: items of text are trimmed, and empty ones are none."""
        if self.form in ("lists", "long"):
            return [frozenset(basket) for basket in self.baskets]
        return [
            frozenset(item.strip(" \t") for item in basket if item.strip(" \t"))
            for basket in self.baskets
        ]

    def asked(self) -> Asked:
        """What the checker has to find."""
        caps: list[tuple[str, Any]] = []
        if self.labels is not None and not self.unsafe and (self.l or self.beta is not None):
            counts, rows = Counter(self.labels), len(self.labels)
            shares = {value: count / rows for value, count in counts.items()}

            def cap(value: Any) -> float:
                found = [1.0] if self.l is None else [1 / self.l]
                if self.beta is not None:
                    found.append((1 + self.beta) * shares[value])
                return min(found)

            caps = [("label", cap)]
        secrets = [f"{SECRET}{number:05d}" for number in range(len(self.baskets))]
        return Asked(roles={}, k=self.k or 1, caps=caps, unsafe=self.unsafe, secrets=secrets)

    def planted(self) -> set[str]:
        """Items and labels that no message may quote."""
        cells = [item for basket in self.baskets for item in basket] + (self.labels or [])
        return {cell for cell in cells if cell is not None and MARK in cell}


@st.composite
def set_cases(draw: st.DrawFn) -> SetCase:
    """Runs over all forms, guarantees and methods."""
    rows = draw(st.sampled_from([2, 3, 5, 8, 12, 20, 30, 30, 45, 60, 1, 0]))
    form = draw(st.sampled_from(FORMS))
    chance = Random(draw(st.integers(0, 2**32)))
    universe = draw(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=14, unique=True))
    if form in ("lists", "long") and draw(st.integers(0, 1)):
        universe += draw(st.lists(st.sampled_from(ODD_TEXTS), max_size=5, unique=True))
    longest = draw(st.sampled_from([0, 1, 3, 3, 6, 14]))
    baskets = [
        [chance.choice(universe) for _ in range(chance.randint(0, longest))] for _ in range(rows)
    ]
    if draw(st.integers(0, 7)) == 7:
        baskets = [baskets[0] for _ in baskets]  # all equal
    labels = None
    if form in ("lists", "text", "long") and draw(st.integers(0, 2)):
        different = draw(st.integers(2, 8))
        pool: list[str | None] = [f"{MARK}-{place}" for place in range(different)]
        pool[0] = draw(st.sampled_from([pool[0], None, "", "=1"]))
        labels = [pool[row % different] for row in range(rows)]
        chance.shuffle(labels)
    guarantee: dict[str, Any] = {"k": draw(st.integers(2, max(2, min(6, rows))))}
    if labels is not None and draw(st.integers(0, 2)):
        guarantee = {"l": draw(st.sampled_from([2, 2, 3, 3, 4, 10**6]))}
        if draw(st.integers(0, 2)) == 2:
            guarantee = {"beta": draw(st.sampled_from([0.5, 1.0, 3.0, 10.0]))}
        if draw(st.integers(0, 3)) == 3:
            guarantee["k"] = draw(st.integers(2, 4))
    if draw(st.integers(0, 19)) == 19:
        guarantee["k"] = draw(st.sampled_from([1, 0, -1, rows + 1, 10**9]))
    names = sets.registered()
    about = "l" in guarantee or "beta" in guarantee
    fitting = ["buckets", "cahd"] if about else ["freeform", "gray-ring", "gray-tsp-ring", "cahd"]
    method = draw(st.sampled_from(["auto"] * 4 + fitting * 2 + sorted(names)))
    options = ["--method", method, "--seconds", "0"]
    keyed = draw(st.integers(0, 19)) == 19
    options += [] if keyed or draw(st.booleans()) else ["--seed", str(draw(st.integers(0, 10**6)))]
    options += [] if draw(st.integers(0, 9)) == 9 else ["--no-report"]
    engine = draw(st.sampled_from(["memory", "memory", "streaming"]))
    options += ["--measure"] if engine == "memory" and draw(st.integers(0, 4)) == 4 else []
    unsafe = draw(st.integers(0, 49)) == 49
    unsafe = unsafe or (method == "closed-walk-greedy" and engine == "memory")
    case = SetCase(
        baskets, labels, form, options, **guarantee, keyed=keyed, unsafe=unsafe, engine=engine
    )
    if draw(st.integers(0, 2)) < 2:
        return case
    texts = sorted({item for items in case.items() for item in items})
    if draw(st.integers(0, 3)):
        options += ["--node-holders", str(draw(st.sampled_from([1, 2, 3, rows, 10**6, 0])))]
    return replace(case, tree=tree(texts, chance))


def run_sets(case: SetCase, folder: Path) -> str:
    """Return how the run ended: valid, or the name of the error. Raise for anything else."""
    arguments = case.write(folder)
    before = state(folder)
    ended = command(*arguments)
    planted = case.planted()
    result = judged(ended, planted)
    if leftovers := left_over(folder):
        raise Failure(f"left after the run: {leftovers}")
    if result != VALID:
        written = state(folder)
        written.pop("key", None)
        if written != before:
            raise Failure(f"left after an error: {sorted(set(written) ^ set(before))}")
        return result
    if "report could not be made" in " ".join(ended.output.split()):
        raise Failure("the report could not be made")
    links = folder / "links.parquet"
    check_sets(folder / "out", links, case.items(), case.labels, case.asked(), case.tree)
    if "--no-report" not in case.options:
        _use(case, folder, arguments[1], planted)
    return VALID


def _use(case: SetCase, folder: Path, source: str, planted: set[str]) -> None:
    """Every command that reads a release of sets answers, or names an error."""
    out = folder / "out"
    reading = case._source(folder)[1]
    for arguments in (
        ["query", out, "SELECT count(*) FROM release"],
        ["query", out, "SELECT count(*) FROM release", "--plain"],
        ["sample", out, "-o", folder / "samples", "-m", 1],
        ["report", out, "-o", folder / "again.html"],
        ["audit", source, out, "--private", folder / "links.parquet", *reading],
    ):
        try:
            judged(command(*arguments), planted, [6])
        except Failure as failure:
            raise Failure(f"mottle {arguments[0]}: {failure}") from None

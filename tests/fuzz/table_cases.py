"""Strategies for whole runs of ``mottle anonymize``: a table, its schema, and all options."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from checker import Asked, values_of
from hypothesis import strategies as st
from values import MARK, SECRET, columns, empty_names, names

from mottle import methods
from mottle.methods.base import METHODS

ROWS = [2, 3, 5, 8, 12, 12, 20, 20, 20, 30, 30, 30, 45, 60]


def known_methods() -> dict[str, tuple[bool, bool, bool]]:
    """By name of a method: whether it gives k, whether ℓ, and whether it works in chunks."""
    found = {}
    for name in methods.registered():
        method = METHODS.get_named(name)
        gives = {guarantee.__name__ for guarantee in method.guarantees}
        found[name] = ("KAnonymity" in gives, "LDiversity" in gives, method.chunking is not None)
    return found


@dataclass(frozen=True)
class TableCase:
    """One run: what it reads, and how it is called."""

    table: pa.Table
    roles: Mapping[str, str]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by column, for TOML
    trees: Mapping[str, list[list[str]]] = field(default_factory=dict)
    top: Mapping[str, str] = field(default_factory=dict)  # unit, per_person
    k: int | None = None
    l: int | None = None  # noqa: E741 - the papers' name
    beta: float | None = None
    enhanced: bool = False
    cap: tuple[str, float] | None = None
    cap_rest: float | None = None
    group_cap: float | None = None
    known_records: int | None = None
    method: str = "auto"
    engine: str = "memory"
    representation: str = "range"
    walk: str = "closed"
    file: str = "parquet"
    seed: int | None = 1
    keyed: bool = False
    totals: bool = True
    report: bool = False
    audit: str = "basic"
    unsafe: bool = False

    # ---------------------------------------------------------------- how it is called

    def write(self, folder: Path) -> list[str]:
        """Write the files of the run; returns the arguments of the command."""
        source = folder / f"people.{self.file}"
        write_table(self.table, source)
        (folder / "mottle.toml").write_text(self.toml(folder), "utf-8", newline="")
        return [
            "anonymize", str(source), "--schema", str(folder / "mottle.toml"),
            "-o", str(folder / "out"), "--private", str(folder / "links.parquet"),
            *self.guarantee(), "--method", self.method, *self.how(folder),
        ]  # fmt: skip

    def guarantee(self) -> list[str]:
        """The options of the guarantee."""
        given: list[str] = []
        pairs = {"--k": self.k, "--l": self.l, "--beta": self.beta, "--cap-rest": self.cap_rest}
        for option, value in {**pairs, "--known-records": self.known_records}.items():
            given += [] if value is None else [option, f"{value}"]
        given += ["--enhanced"] if self.enhanced else []
        given += [f"--cap={self.cap[0]}={self.cap[1]}"] if self.cap else []
        if self.group_cap is not None:
            given += [f"--group-cap={self.sensitive[0]}={self.group_cap}"]
        return given

    def how(self, folder: Path) -> list[str]:
        """The options of effort, output and scale."""
        given = ["--representation", self.representation, "--walk", self.walk, "--seconds", "0"]
        given += ["--key", str(folder / "key")] if self.keyed else []
        given += [] if self.seed is None or self.keyed else ["--seed", str(self.seed)]
        given += [] if self.totals else ["--no-totals"]
        given += [] if self.report else ["--no-report"]
        given += ["--audit", self.audit] if self.audit != "basic" else []
        given += ["--unsafe-paper-randomization"] if self.unsafe else []
        if self.engine != "memory":
            given += ["--work", str(folder / "work")]
            given += ["--memory", "2GB"] if self.engine == "streaming" else ["--engine", "spark"]
        return given

    def toml(self, folder: Path) -> str:
        """The schema as mottle.toml."""
        lines = [f"{option} = {toml_text(word)}" for option, word in self.top.items()]
        for name, role in self.roles.items():
            lines += [f"[columns.{toml_text(name)}]", f"role = {toml_text(role)}"]
            lines += [
                f"{key} = {toml_value(value)}" for key, value in self.options.get(name, {}).items()
            ]
        for number, (name, rows) in enumerate(self.trees.items()):
            path = folder / f"tree{number}.csv"
            with open(path, "w", encoding="utf-8", newline="") as opened:
                csv.writer(opened, delimiter=";").writerows(rows)
            place = lines.index(f"[columns.{toml_text(name)}]") + 2
            lines.insert(place, f"hierarchy = {toml_text(path.name)}")
        return "\n".join(lines) + "\n"

    # ------------------------------------------------------------- what it has to be

    @property
    def sensitive(self) -> list[str]:
        """The sensitive columns."""
        return [name for name, role in self.roles.items() if role == "sensitive"]

    @property
    def original(self) -> pa.Table:
        """The table as the checker compares it: cells of a CSV file are text."""
        if self.file != "csv":
            return self.table
        texts = [
            [None if cell in (None, "") else str(cell) for cell in column.to_pylist()]
            for column in self.table.columns
        ]
        arrays = [pa.array(column, pa.string()) for column in texts]
        return pa.table(arrays, names=self.table.column_names)

    def asked(self) -> Asked:
        """What the checker has to find."""
        roles = {**dict.fromkeys(self.table.column_names, "identifying"), **self.roles}
        person = next((name for name, role in self.roles.items() if role == "person"), None)
        return Asked(
            roles=roles,
            k=self.k or 1,
            caps=[] if self.unsafe else self._caps(),
            group_caps=[] if self.unsafe else self._group_caps(),
            trees=self.trees,
            separators={n: o["separator"] for n, o in self.options.items() if "separator" in o},
            person=person if "per_person" not in self.top else None,
            from_text=self.file == "csv",
            rows_are_kept="per_person" not in self.top and not self.method.endswith("-dummies"),
            unsafe=self.unsafe,
            secrets=self.identifiers(),
        )

    def identifiers(self) -> list[str]:
        """The distinctive cells of columns that are removed, and of no other column."""
        removed = [name for name, role in self.roles.items() if role in ("identifying", "person")]
        return [
            text
            for name in removed
            for text in distinctive(self.table.column(name))
            if SECRET in text
        ]

    def planted(self) -> set[str]:
        """Distinctive cells, none of which may be in a message, except where they were typed."""
        typed = set() if self.cap is None else {self.cap[0]}
        found: set[str] = set()
        for column in self.table.columns:
            found |= distinctive(column)
        return found - typed

    def _caps(self) -> list[tuple[str, Any]]:
        return [(name, self._cap(name)) for name in self.sensitive if self._capped(name)]

    def _capped(self, name: str) -> bool:
        about = (self.l, self.beta, self.cap, self.cap_rest)
        binned = {"bins", "breaks"} & set(self.options.get(name, {}))
        return any(value is not None for value in about) and not binned

    def _cap(self, name: str) -> Any:
        values = values_of(self.original.column(name))
        counts, rows = Counter(values), len(values)

        def cap(value: object) -> float:
            found = [1.0] if self.l is None else [1 / self.l]
            share = counts[value] / rows
            if self.file == "csv":  # the types of the cells are inferred: by value, not by text
                share = max(counts.values()) / rows
            if self.beta is not None:
                growth = min(self.beta, -math.log(share)) if self.enhanced else self.beta
                found.append((1 + growth) * share if share else 1.0)
            if self.cap is not None or self.cap_rest is not None:
                own = dict([self.cap] if self.cap else [])
                rest = 1.0 if self.cap_rest is None else self.cap_rest
                found.append(
                    own.get(value, rest)
                    if isinstance(value, str)
                    else max(own.get(str(value), rest), rest)
                )
            return min(found)

        return cap

    def _group_caps(self) -> list[tuple[str, frozenset[object], float]]:
        if self.group_cap is None:
            return []
        name = self.sensitive[0]
        groups = self.options.get(name, {}).get("groups", {})
        return [(name, frozenset(group), self.group_cap) for group in groups.values()]


def distinctive(column: pa.ChunkedArray) -> set[str]:
    """The texts and large numbers of a column that nothing but its cells can hold."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_int64(kind)):
        return set()
    cells = {str(cell) for cell in column.to_pylist() if cell is not None}
    return {cell for cell in cells if MARK in cell or SECRET in cell}


def toml_text(text: str) -> str:
    """A text of TOML."""
    escaped = "".join(
        f"\\u{ord(letter):04x}" if ord(letter) < 32 or ord(letter) == 127 else letter
        for letter in text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"{escaped}"'


def toml_value(value: Any) -> str:
    """A value of TOML."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(member) for member in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{toml_text(key)} = {toml_value(member)}" for key, member in value.items())
        return "{" + ", ".join(pairs) + "}"
    return str(value)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the name of the file says."""
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        case _:
            with open(path, "w", encoding="utf-8", newline="") as opened:
                rows = csv.writer(opened, lineterminator="\n", quoting=csv.QUOTE_ALL)
                rows.writerow(table.column_names)
                rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))


# -------------------------------------------------------------------------------- strategies


@st.composite
def table_cases(draw: st.DrawFn, engines: tuple[str, ...] = ("memory", "streaming")) -> TableCase:
    """Runs over all types, roles, kinds, guarantees, methods, engines and representations."""
    rows = draw(st.sampled_from([*ROWS, *ROWS, 1, 0]))
    file = draw(st.sampled_from(["parquet", "parquet", "arrow", "csv"]))
    table, roles = draw(tables(rows, file == "csv"))
    chance = Random(draw(st.integers(0, 2**32)))
    options, trees = column_options(table, roles, chance)
    sensitive = [name for name, role in roles.items() if role == "sensitive"]
    guarantee = draw(guarantees(rows, bool(sensitive)))
    engine = draw(st.sampled_from(["memory"] * 2 + list(engines)))
    about_values = any(key in guarantee for key in ("l", "beta", "cap_rest"))
    fitting = [
        name
        for name, (gives_k, gives_l, in_chunks) in known_methods().items()
        if (gives_l if about_values else gives_k) and (engine == "memory" or in_chunks)
    ]
    if "person" in roles.values():
        fitting = ["freeform", "nh"]
    if "known_records" in guarantee:
        fitting = ["buckets"]
    everything = sorted(known_methods())
    method = draw(st.sampled_from(["auto"] * len(fitting) + fitting * 2))
    if draw(st.integers(0, 24)) == 24:
        method = draw(st.sampled_from(everything))
    top: dict[str, str] = {}
    if "person" in roles.values():
        if draw(st.integers(0, 4)) == 4:
            top["per_person"] = "aggregate"
    elif draw(st.integers(0, 2)):
        top["unit"] = draw(st.sampled_from(["row", "person"]))
    if "l" in guarantee and sensitive and chance.random() < 0.15:
        texts = sorted({cell for cell in _texts(table.column(sensitive[0])) if cell is not None})
        if texts and not trees.get(sensitive[0]) and not options.get(sensitive[0]):
            half = (len(texts) + 1) // 2
            groups = {"first": texts[:half], "second": texts[half:]}
            options = {**options, sensitive[0]: {"groups": {k: v for k, v in groups.items() if v}}}
            guarantee["group_cap"] = draw(st.sampled_from([0.5, 0.75, 0.9]))
    if sensitive and chance.random() < 0.08:
        texts = [cell for cell in _texts(table.column(sensitive[0])) if cell and "=" not in cell]
        if texts:
            guarantee["cap"] = (chance.choice(texts), draw(st.sampled_from([0.2, 0.5, 1.0])))
    return TableCase(
        table,
        roles,
        options,
        trees,
        top,
        **guarantee,
        method=method,
        engine=engine,
        representation=draw(st.sampled_from(["range", "range", "set"])),
        walk=draw(st.sampled_from(["closed", "closed", "backtracking"])),
        file=_file(table, file),
        seed=draw(st.one_of(st.none(), st.integers(0, 2**31))),
        keyed=draw(st.integers(0, 19)) == 19,
        totals=draw(st.integers(0, 4)) > 0,
        report=draw(st.integers(0, 9)) == 9,
        audit="full" if engine == "memory" and draw(st.integers(0, 24)) == 24 else "basic",
        unsafe=draw(st.integers(0, 59)) == 59,
    )


@st.composite
def tables(draw: st.DrawFn, rows: int, textual: bool) -> tuple[pa.Table, dict[str, str]]:
    """A table of one to seven columns, with a role for each."""
    width = draw(st.integers(1, 6))
    named = st.one_of(names, empty_names) if draw(st.integers(0, 49)) == 49 else names
    found = draw(st.lists(named, min_size=width, max_size=width, unique=True))
    arrays = [draw(columns(rows, textual)) for _ in found]
    drawn = st.sampled_from(
        ["quasi-identifying"] * 5 + ["sensitive", "insensitive", "insensitive", "identifying"]
    )
    roles = {name: draw(drawn) for name in found}
    if draw(st.integers(0, 9)):
        roles[found[0]] = "quasi-identifying"
    if draw(st.integers(0, 1)) and width > 1:
        roles[found[1]] = "sensitive"
        arrays[1] = draw(sensitive_columns(rows))
    whose = draw(st.sampled_from(["none", "none", "id", "person", "person twice"]))
    if whose != "none":
        name = draw(st.sampled_from(["who", "=id", "person nr"]))
        if name not in roles:
            people = range(rows) if whose != "person twice" else [row // 2 for row in range(rows)]
            found.append(name)
            arrays.append(pa.array([f"{SECRET}{number:05d}" for number in people], pa.string()))
            roles[name] = "identifying" if whose == "id" else "person"
    if draw(st.integers(0, 79)) == 79:
        found.append(found[0])  # two columns of one name
        arrays.append(arrays[0])
    return pa.table(arrays, names=found), roles


@st.composite
def sensitive_columns(draw: st.DrawFn, rows: int) -> pa.Array:
    """Columns whose values are so frequent that guarantees on them are often feasible."""
    different = draw(st.integers(2, 9))
    kind = draw(st.sampled_from(["text", "text", "text", "number", "real"]))
    pool: list[Any] = [f"{MARK}{place:07d}" for place in range(different)]
    if kind == "number":
        pool = list(range(different))
    elif kind == "real":
        pool = [0.0, -0.0, float("nan"), None, 1.5, 2.5, 3.5, -1.5, 9.0][:different]
    elif draw(st.integers(0, 2)) == 0:
        pool[0] = draw(st.sampled_from([None, "", "=1", "a|b", "\n"]))
    chance = Random(draw(st.integers(0, 2**32)))
    cells = [pool[row % different] for row in range(rows)]
    chance.shuffle(cells)
    return pa.array(cells, {"text": pa.string(), "number": pa.int64(), "real": pa.float64()}[kind])


@st.composite
def guarantees(draw: st.DrawFn, rows: int, sensitive: bool) -> dict[str, Any]:
    """Guarantees, most of them feasible."""
    small = st.integers(2, max(2, min(6, rows)))
    wrong = st.sampled_from([1, 0, -1, rows, rows + 1, 10**9])
    any_k = wrong if draw(st.integers(0, 19)) == 19 else small
    found: dict[str, Any] = {}
    which = draw(st.sampled_from(["k", "k", "l", "beta", "caps", "k and l"]))
    if not sensitive and draw(st.integers(0, 9)):
        which = "k"
    if which in ("k", "k and l"):
        found["k"] = draw(any_k)
    if which in ("l", "k and l"):
        found["l"] = draw(st.sampled_from([2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 1, 10**6]))
    if which == "beta":
        found["beta"] = draw(st.sampled_from([0.5, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 10.0, 0.0, -1.0]))
        found["enhanced"] = draw(st.booleans())
    if which == "caps":
        found["cap_rest"] = draw(
            st.sampled_from([0.4, 0.5, 0.5, 0.7, 0.7, 0.9, 0.9, 1.0, 0.0, 2.0])
        )
    if which != "k" and draw(st.integers(0, 3)) == 0:
        found["known_records"] = draw(st.sampled_from([7, 15, 31, 63, 10**6, 0]))
    return found


def column_options(
    table: pa.Table, roles: Mapping[str, str], chance: Random
) -> tuple[dict[str, dict[str, Any]], dict[str, list[list[str]]]]:
    """Options of columns that mostly fit their values: kinds, orders, hierarchies, bins."""
    options: dict[str, dict[str, Any]] = {}
    trees: dict[str, list[list[str]]] = {}
    for name, role in roles.items():
        column = table.column(table.column_names.index(name))
        chosen: dict[str, Any] = {}
        texts = sorted({cell for cell in _texts(column) if cell is not None})
        textual = pa.types.is_string(column.type)
        if role == "quasi-identifying":
            if chance.random() < 0.15:
                chosen["importance"] = chance.choice([0.5, 2.0, 100.0, 1e-9])
            if chance.random() < 0.05:
                chosen["representation"] = "set"
            if chance.random() < 0.35 and (textual or chance.random() < 0.1) and texts:
                match chance.choice(
                    ["order", "tree", "tree", "prefix", "prefix", "set", "category"]
                ):
                    case "order":
                        chance.shuffle(texts)
                        chosen["order"] = texts if chance.random() < 0.9 else texts[1:]
                    case "tree" if "*" not in texts and "" not in texts:
                        trees[name] = tree(texts if chance.random() < 0.9 else texts[1:], chance)
                    case "set":
                        separator = chance.choice([";", ",", "|", " "])
                        chosen |= {"kind": "set", "separator": separator}
                        rows = _tree_of_items(texts, separator, chance) if textual else []
                        if rows:
                            trees[name] = rows
                            if chance.random() < 0.5:
                                chosen["node_holders"] = chance.choice([1, 2, 5, 10**6, 0])
                    case "prefix" | "category" as kind:
                        chosen["kind"] = kind
            elif chance.random() < 0.04:
                chosen["kind"] = chance.choice(["number", "date", "category", "prefix", "set"])
        elif role == "sensitive" and chance.random() < 0.1:
            chosen |= chance.choice([{"bins": 3}, {"breaks": [0.0, 2.5]}])
        if chosen:
            options[name] = chosen
    return options, trees


def tree(texts: list[str], chance: Random) -> list[list[str]]:
    """A hierarchy of two levels over these leaves."""
    groups = [f"group {place}" for place in range(1 + len(texts) // 3)]
    return [[text, chance.choice(groups), "*"] for text in texts] or [["x", "*"]]


def _tree_of_items(texts: list[str], separator: str, chance: Random) -> list[list[str]]:
    """Now and then a hierarchy of the items of sets, which may lack one."""
    parts = {part.strip(" \t") for text in texts for part in text.split(separator)}
    items = sorted(parts - {""})
    if not items or "*" in items or chance.random() < 0.5:
        return []
    return tree(items if chance.random() < 0.9 else items[1:], chance)


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    """The cells of a column of text; of others, whatever Python prints."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        return [None if cell is None else str(cell) for cell in column.to_pylist()]
    return []


def _file(table: pa.Table, wanted: str) -> str:
    """The format that is wanted, if it can hold the table."""
    if wanted == "parquet" and any(map(_not_in_parquet, table.schema.types)):
        return "arrow"
    return wanted


def _not_in_parquet(kind: pa.DataType) -> bool:
    types = pa.types
    odd = (types.is_union, types.is_run_end_encoded, types.is_interval, types.is_list_view)
    return any(is_odd(kind) for is_odd in odd) or (types.is_decimal(kind) and kind.scale < 0)

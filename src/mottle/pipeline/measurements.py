"""The measurements of the parts of a release, and their sum for its certificate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mottle.graph.degrees import records_by_degree
from mottle.graph.model import Graph
from mottle.typing import BoolArray


@dataclass(frozen=True)
class Measurements:
    """What was measured on one part of a table, or on several together; no cell values."""

    rows: int
    loss: float  # summed over records
    ncp: dict[str, float]  # by column, summed over records
    degree: tuple[int, int]  # lowest and highest
    degrees: dict[int, int]  # records by degree
    blocks: int
    covered: dict[str, Any]  # what invariant 2 measured; "pairs" are summed
    records: int  # whose true original was checked
    matches: int  # of all persons together
    marketer: float  # sum over persons of the chance that a guess among the matches is right
    within: dict[str, Any]  # what invariant 4 measured
    within_caps: bool  # whether invariant 4 holds; False only with the unsafe randomization
    anonymous: dict[str, Any]  # what invariant 5 measured
    draw: str
    facts: dict[str, Any]  # facts about the method's decisions
    # What invariant 6 measured; empty where nobody has several rows.
    people: dict[str, Any] = field(default_factory=dict)
    objective: float | None = None  # summed over records; None if the method followed none
    # Records drawn for the calibration (`mottle.pipeline.calibration_sample`), of one part alone.
    sample: str = ""
    flipped: float | None = None  # sets: items misreported, summed over records
    based: str = ""  # sets: which items are in base sets, as hexadecimal digits of a bitmap

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        loss_mean: float,
        loss_by_column: Mapping[str, float],
        degree: tuple[int, int],
        covered: Mapping[str, Any],
        records: int,
        within: Mapping[str, Any],
        within_caps: bool,
        anonymous: Mapping[str, Any],
        draw: str,
        facts: Mapping[str, object],
        people: Mapping[str, Any],
        objective: float | None = None,
    ) -> Measurements:
        """Make the measurements of one part; loss and NCP are means over its records."""
        rows, degrees = graph.records, graph.degrees.astype(np.float64)
        return cls(
            rows=rows,
            loss=loss_mean * rows,
            ncp={name: mean * rows for name, mean in loss_by_column.items()},
            degree=degree,
            degrees=records_by_degree(graph),
            blocks=len(graph.degrees),
            covered=dict(covered),
            records=records,
            matches=int((graph.sizes * degrees).sum()),
            marketer=float((graph.sizes / degrees).sum()),
            within=dict(within),
            within_caps=within_caps,
            anonymous=dict(anonymous),
            draw=draw,
            facts=dict(facts),
            people=dict(people),
            objective=None if objective is None else objective * rows,
        )

    @property
    def mean_loss(self) -> float:
        """The mean loss per record, at most 1."""
        return min(self.loss / self.rows, 1.0)

    @property
    def mean_ncp(self) -> dict[str, float]:
        """The mean loss per record of every column, at most 1."""
        return {name: min(loss / self.rows, 1.0) for name, loss in self.ncp.items()}

    def to_json(self) -> str:
        """Write the measurements as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Measurements:
        """Read what `to_json` wrote."""
        content = json.loads(text)
        degrees = {int(degree): records for degree, records in content["degrees"].items()}
        return cls(**{**content, "degree": tuple(content["degree"]), "degrees": degrees})

    @classmethod
    def total(cls, parts: Sequence[Measurements]) -> Measurements:
        """Add up all parts; of facts that differ, the number of parts is counted."""
        if len(parts) == 1:
            return parts[0]
        within, covered = dict(parts[0].within), dict(parts[0].covered)
        if "highest_share_of_cap" in within:
            within["individuals"] = sum(part.within["individuals"] for part in parts)
            within["highest_share_of_cap"] = max(
                part.within["highest_share_of_cap"] for part in parts
            )
        covered["pairs"] = sum(part.covered["pairs"] for part in parts)
        people = {}
        if all(part.people for part in parts):  # a person may be in several parts
            shares = [part.people["largest_share"] for part in parts]
            people = {"largest_share": max(shares)}
        return cls(
            rows=sum(part.rows for part in parts),
            loss=sum(part.loss for part in parts),
            ncp={name: sum(part.ncp[name] for part in parts) for name in parts[0].ncp},
            degree=(min(part.degree[0] for part in parts), max(part.degree[1] for part in parts)),
            degrees=dict(sum((Counter(part.degrees) for part in parts), Counter())),
            blocks=sum(part.blocks for part in parts),
            covered=covered,
            records=sum(part.records for part in parts),
            matches=sum(part.matches for part in parts),
            marketer=sum(part.marketer for part in parts),
            within=within,
            within_caps=all(part.within_caps for part in parts),
            anonymous=parts[0].anonymous,
            draw=parts[0].draw,
            facts=_readable(_added(_countable(part.facts) for part in parts), len(parts)),
            people=people,
            objective=None
            if any(part.objective is None for part in parts)
            else sum(part.objective or 0.0 for part in parts),
            flipped=None
            if any(part.flipped is None for part in parts)
            else sum(part.flipped or 0.0 for part in parts),
            based=_either(part.based for part in parts),
        )

    def with_sets(self, flipped: float, based: BoolArray) -> Measurements:
        """Return the measurements of sets: items misreported, and by item, whether it is based."""
        return replace(self, flipped=flipped, based=np.packbits(based).tobytes().hex())

    def is_based(self, universe: int) -> BoolArray:
        """[universe]: whether each item is in a base set."""
        bits = np.frombuffer(bytes.fromhex(self.based), np.uint8)
        return np.unpackbits(bits, count=universe).astype(np.bool_)


def _either(bitmaps: Iterable[str]) -> str:
    """The bits that are set in any of some bitmaps of equal length."""
    bits = [np.frombuffer(bytes.fromhex(bitmap), np.uint8) for bitmap in bitmaps]
    return bytes(np.bitwise_or.reduce(bits)).hex()


_SUMMED = ("blocks", "wave", "in_plain_groups", "passes")  # facts that are summed over parts
_HIGHEST = ("known_records",)  # facts of which the highest is stated


def _countable(facts: Mapping[str, object]) -> dict[str, Any]:
    """Convert the facts of one part into a form that can be added up."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}: {inner}": fact for inner, fact in _countable(value).items()}
        elif name in (*_SUMMED, *_HIGHEST) and isinstance(value, int):
            flat[name] = value
        else:
            flat[name] = {str(value): 1}
    return flat


def _added(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for facts in parts:
        for name, value in facts.items():
            if isinstance(value, Mapping):
                total[name] = dict(Counter(total.get(name, {})) + Counter(value))
            elif name in _HIGHEST:
                total[name] = max(total.get(name, 0), value)
            else:
                total[name] = total.get(name, 0) + value
    return total


def _readable(facts: Mapping[str, Any], parts: int) -> dict[str, Any]:
    """Convert facts for the certificate: one that is the same in all parts is listed once."""
    return {
        name: next(iter(value))
        if isinstance(value, Mapping) and len(value) == 1 and next(iter(value.values())) == parts
        else value
        for name, value in facts.items()
    }

"""What the chunks of a release measured, added up to what stands on its certificate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mottle.graph.degrees import records_by_degree
from mottle.graph.model import Graph
from mottle.loss.ncp import Loss


@dataclass(frozen=True)
class Measurements:
    """One chunk, or several together; nothing here is a cell value."""

    rows: int
    ncp: dict[str, float]  # by column, summed over records
    gcp: float  # summed over records
    degree: tuple[int, int]  # lowest and highest
    degrees: dict[int, int]  # records by degree
    blocks: int
    pairs: int  # of cell rows and originals that were compared for coverage
    records: int  # whose true original was checked
    matches: int  # of all persons together
    marketer: float  # sum over persons of the chance that a guess among the matches is right
    within: dict[str, Any]  # what invariant 4 measured
    draw: str
    facts: dict[str, Any]  # some are summed; the values of others are counted by their text

    @classmethod
    def of(
        cls,
        graph: Graph,
        loss: Loss,
        degree: tuple[int, int],
        pairs: int,
        records: int,
        within: Mapping[str, Any],
        draw: str,
        facts: Mapping[str, object],
    ) -> Measurements:
        """Of one chunk."""
        rows, degrees = graph.records, graph.degrees.astype(np.float64)
        return cls(
            rows=rows,
            ncp={name: mean * rows for name, mean in loss.ncp.items()},
            gcp=loss.gcp * rows,
            degree=degree,
            degrees=records_by_degree(graph),
            blocks=len(graph.degrees),
            pairs=pairs,
            records=records,
            matches=int((graph.sizes * degrees).sum()),
            marketer=float((graph.sizes / degrees).sum()),
            within=dict(within),
            draw=draw,
            facts=_countable(facts),
        )

    def to_json(self) -> str:
        """As a line of text that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Measurements:
        """Read back."""
        content = json.loads(text)
        degrees = {int(degree): records for degree, records in content["degrees"].items()}
        return cls(**{**content, "degree": tuple(content["degree"]), "degrees": degrees})

    @classmethod
    def total(cls, parts: Sequence[Measurements]) -> Measurements:
        """All chunks together."""
        within = dict(parts[0].within)
        if "highest_share_of_cap" in within:
            within["individuals"] = sum(part.within["individuals"] for part in parts)
            within["highest_share_of_cap"] = max(
                part.within["highest_share_of_cap"] for part in parts
            )
        return cls(
            rows=sum(part.rows for part in parts),
            ncp={name: sum(part.ncp[name] for part in parts) for name in parts[0].ncp},
            gcp=sum(part.gcp for part in parts),
            degree=(min(part.degree[0] for part in parts), max(part.degree[1] for part in parts)),
            degrees=dict(sum((Counter(part.degrees) for part in parts), Counter())),
            blocks=sum(part.blocks for part in parts),
            pairs=sum(part.pairs for part in parts),
            records=sum(part.records for part in parts),
            matches=sum(part.matches for part in parts),
            marketer=sum(part.marketer for part in parts),
            within=within,
            draw=parts[0].draw,
            facts=_added(part.facts for part in parts),
        )


_SUMMED = ("blocks", "scouts", "in_plain_groups", "passes")


def _countable(facts: Mapping[str, object]) -> dict[str, Any]:
    """Facts of one chunk in a form that can be added up."""
    flat: dict[str, Any] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}: {inner}": fact for inner, fact in _countable(value).items()}
        elif name in _SUMMED and isinstance(value, int):
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
            else:
                total[name] = total.get(name, 0) + value
    return total


def readable(facts: Mapping[str, Any], chunks: int) -> dict[str, Any]:
    """Facts for the certificate: what is the same in all chunks stands there once."""
    return {
        name: next(iter(value))
        if isinstance(value, Mapping) and len(value) == 1 and next(iter(value.values())) == chunks
        else value
        for name, value in facts.items()
    }

"""How figures list their points: series of methods along one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.reproduce.figure import Job, Numbers, Point, X

Series = Mapping[str, Mapping[str, Any]]  # the paper's name of a method to its settings


def method(name: str, **settings: Any) -> dict[str, Any]:
    """The settings of a method; ``options`` are those that ``--set`` takes."""
    return {"method": name, **settings}


def sweep(
    work: str,
    series: Series,
    along: str,
    xs: Sequence[X],
    *,
    group: str = "",
    upto: Mapping[str, float] | None = None,
    shown: Mapping[X, X] | None = None,
    **common: Any,
) -> list[Point]:
    """All series at all x; ``upto`` ends a series early, ``shown`` gives an x another name."""
    points = []
    for name, settings in series.items():
        most = (upto or {}).get(name)
        for x in xs:
            if most is None or (isinstance(x, int | float) and x <= most):
                job = Job(work, {**common, **settings, along: x})
                points.append(Point(name, (shown or {}).get(x, x), job, group))
    return points


def columns_of(
    names: Sequence[str], rows: Mapping[X, Sequence[float | None]], measure: str, group: str = ""
) -> dict[tuple[str, str, X], dict[str, float]]:
    """A table of the paper as printed numbers: a row for every x, a column for every series."""
    return {
        (group, name, x): {measure: value}
        for x, row in rows.items()
        for name, value in zip(names, row, strict=True)
        if value is not None
    }


def together(
    *tables: Mapping[tuple[str, str, X], Numbers],
) -> dict[tuple[str, str, X], dict[str, float]]:
    """Several tables as one: the measures of equal places joined."""
    joined: dict[tuple[str, str, X], dict[str, float]] = {}
    for table in tables:
        for place, numbers in table.items():
            joined.setdefault(place, {}).update(numbers)
    return joined

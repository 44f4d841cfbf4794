"""Methods for sets side by side on one collection of sets, and k^m-anonymity as their rival."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pyarrow as pa

from mottle.errors import GuaranteeError, UsageError
from mottle.evaluation.k_to_the_m import ItemTree, check_m, k_to_the_m
from mottle.evaluation.set_query_accuracy import ItemIndex
from mottle.guarantees.base import Guarantee
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.hierarchy.tree import Hierarchy
from mottle.io.read_sets import as_sets
from mottle.itemsets.data import ItemSets
from mottle.methods.sets.base import METHODS
from mottle.pipeline.anonymize_sets import anonymize_sets
from mottle.queries.conditions import Condition
from mottle.queries.estimate import Estimates
from mottle.typing import BoolArray, Float64Array, Int64Array
from mottle.utils.html import html_table_of
from mottle.utils.steps import Step

__all__ = ["K_TO_THE_M", "SetMethodsComparison", "SetMethodsRow", "compare_set_methods"]

K_TO_THE_M = "k-m"
NODES = "+nodes"  # behind the name of a method: items are published as nodes of the hierarchy
QUESTIONS = 500  # items, and as many pairs
_INTERVAL = 1.96  # standard errors on either side of an interval of 95 %


@dataclass(frozen=True)
class SetMethodsRow:
    """Measurements of one method under one guarantee; None where a number does not apply."""

    method: str
    guarantee: str  # for instance "k = 5"
    error_rate: float | None = None  # ER: misreported items per item held
    item_error: float | None = None  # counts of items: sum of errors over the sum of true counts
    pair_error: float | None = None  # the same of pairs of items
    bounds_hold: float | None = None  # share of counts within their bounds
    covered: float | None = None  # share of uncertain counts within their intervals of 95 %
    # Share of people whom somebody who knows their whole sets links to their record, on average.
    linked: float | None = None
    seconds: float | None = None  # to anonymize
    note: str = ""  # what it does not promise, or why there are no numbers


@dataclass(frozen=True)
class SetMethodsComparison:
    """All results."""

    records: int
    items: int
    lines: tuple[SetMethodsRow, ...]

    def to_arrow(self) -> pa.Table:
        """Return the results as a table.

        Returns
        -------
        pyarrow.Table
            One row for each method and guarantee, one column for each field of `SetMethodsRow`.
        """
        entries = [asdict(line) for line in self.lines]
        names = [field.name for field in fields(SetMethodsRow)]
        return pa.table({name: [entry[name] for entry in entries] for name in names})

    def _repr_html_(self) -> str:
        """Return the results as a table, for notebooks."""
        names = [field.name for field in fields(SetMethodsRow)]
        return html_table_of(self.lines, names, f"{self.records:,} sets of {self.items:,} items")


@dataclass(frozen=True)
class _Task:
    """The sets, and the questions that every result answers."""

    data: ItemSets
    questions: tuple[tuple[int, ...], ...]
    true: Float64Array
    single: BoolArray
    seed: int
    effort: float | None
    m: int
    hierarchy: Hierarchy | None

    @property
    def tree(self) -> ItemTree | None:
        """The hierarchy as k^m-anonymity takes it."""
        return None if self.hierarchy is None else ItemTree.of(self.hierarchy, self.data.names)


def compare_set_methods(
    data: object,
    guarantees: Sequence[Guarantee],
    names: Sequence[str],
    *,
    seed: int = 0,
    effort: float | None = None,
    m: int = 2,
    hierarchy: Hierarchy | None = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> SetMethodsComparison:
    """Run methods for sets under guarantees and measure each result in the same way.

    Parameters
    ----------
    data : ItemSets, path or collection of collections of str
        As for `mottle.anonymize_sets`.
    guarantees : sequence of Guarantee
        What is promised; each is a run of its own for every method.
    names : sequence of str
        Methods for sets, and ``"k-m"`` for k^m-anonymity (`mottle.evaluation.k_to_the_m`). With
        ``"+nodes"`` behind its name (``"freeform+nodes"``) a method publishes items as nodes of the
        hierarchy where that loses less.
    seed : int
        For the questions and the runs.
    effort : float, optional
        As for `mottle.anonymize_sets`.
    m : int
        For ``"k-m"``: the most items that its adversary knows, from 1 to 3.
    hierarchy : Hierarchy, optional
        Its leaves are the items; for ``"k-m"`` by default one that groups items by name.
    on_progress : callable
        Called with every step.

    Returns
    -------
    SetMethodsComparison
        One line for each guarantee and method.

    Raises
    ------
    UsageError
        No guarantee or method is named, there is no such method, or m is not supported.
    DataError
        There are no sets, or items that the hierarchy lacks.

    Examples
    --------
    >>> import mottle
    >>> sets = mottle.datasets.baskets(300, 30, 4.0, seed=1)
    >>> found = compare_set_methods(sets, [mottle.KAnonymity(5)], ["gray-ring", "k-m"])
    >>> [(line.method, line.linked, line.bounds_hold) for line in found.lines]
    [('gray-ring', 0.2, 1.0), ('k-m', 0.13, None)]
    """
    if not guarantees or not names:
        raise UsageError("There is nothing to compare.", "Name guarantees and methods: --k 5,10.")
    for name in names:
        if name == K_TO_THE_M:
            check_m(m)
        else:
            METHODS.get_named(name.removesuffix(NODES))
        if name.endswith(NODES) and hierarchy is None:
            raise UsageError(f"'{name}' needs a hierarchy.", "Give --item-hierarchy FILE.")
    sets = as_sets(data)
    task = _prepare(sets, seed, effort, m, hierarchy)
    runs = [(guarantee, name) for guarantee in guarantees for name in names]
    sorts = tuple(name for _, name in runs)
    lines = []
    for number, (guarantee, name) in enumerate(runs, start=1):
        on_progress(Step(f"{name}, {guarantee.describe()['short']}", number, sorts))
        lines.append(_line(name, guarantee, task))
    return SetMethodsComparison(sets.records, sets.universe, tuple(lines))


def _prepare(
    data: ItemSets, seed: int, effort: float | None, m: int, hierarchy: Hierarchy | None
) -> _Task:
    """Draw items by how often they are held, and pairs that some record holds."""
    random = np.random.default_rng(seed)
    asked: dict[tuple[int, ...], None] = {}
    for item in random.choice(data.items, QUESTIONS) if len(data.items) else ():
        asked[(int(item),)] = None
    several = np.flatnonzero(data.sizes > 1)
    for record in random.choice(several, QUESTIONS) if len(several) else ():
        held = data.items[data.starts[record] : data.starts[record + 1]]
        asked[tuple(sorted(random.choice(held, 2, replace=False).tolist()))] = None
    record_of = np.repeat(np.arange(data.records), data.sizes)
    index = ItemIndex.of(data.items.astype(np.int64), record_of, data.universe)
    if hierarchy is not None:
        hierarchy.check_covers(data.names.to_pylist())
    return _Task(
        data,
        tuple(asked),
        np.array([index.holding(_items(items)) for items in asked], np.float64),
        np.array([len(items) == 1 for items in asked], np.bool_),
        seed,
        effort,
        m,
        hierarchy,
    )


def _items(items: Sequence[int]) -> Int64Array:
    return np.array(items, np.int64)


def _line(name: str, guarantee: Guarantee, task: _Task) -> SetMethodsRow:
    """Run and measure one method under one guarantee, or state why it cannot be done."""
    line = SetMethodsRow(name, str(guarantee.describe()["short"]))
    try:
        began = time.perf_counter()
        if name == K_TO_THE_M:
            return _rival(line, guarantee, task)
        release = anonymize_sets(
            task.data,
            guarantee,
            method=name.removesuffix(NODES),
            effort=task.effort,
            seed=task.seed,
            item_hierarchy=task.hierarchy if name.endswith(NODES) else None,
        )
        taken = time.perf_counter() - began
    except (GuaranteeError, UsageError) as error:
        return replace(line, note=error.problem)
    assert release.links is not None, "a release that was just made has its links"
    graph = release.links.graph
    line = replace(
        line,
        error_rate=release.error_rate,
        linked=float((graph.sizes / graph.degrees).sum()) / task.data.records,
        seconds=taken,
    )
    names = task.data.names.to_pylist()
    answers = release.queries().counts(
        [
            {task.data.column: tuple(Condition(values=(names[item],)) for item in items)}
            for items in task.questions
        ]
    )
    return _with_errors(_with_bounds(line, answers, task), answers.expected, task)


def _rival(line: SetMethodsRow, guarantee: Guarantee, task: _Task) -> SetMethodsRow:
    """Measure k^m-anonymity, whose answers have neither bounds nor errors."""
    if not isinstance(guarantee, KAnonymity):
        return replace(line, note="k^m-anonymity says nothing about labels.")
    began = time.perf_counter()
    found = k_to_the_m(task.data, guarantee.k, task.m, task.tree)
    taken = time.perf_counter() - began
    line = replace(
        line,
        guarantee=f"{line.guarantee}, m = {task.m}",
        linked=found.linked,
        seconds=taken,
        note=f"Promises nothing against anybody who knows more than {task.m} items of a set, or"
        " that an item is not in it.",
    )
    return _with_errors(line, found.counts(task.questions), task)


def _with_errors(line: SetMethodsRow, expected: Float64Array, task: _Task) -> SetMethodsRow:
    """How far counts of items and of pairs are from the truth."""
    missed = np.abs(expected - task.true)
    errors = [
        float(missed[chosen].sum() / task.true[chosen].sum()) if chosen.any() else None
        for chosen in (task.single, ~task.single)
    ]
    return replace(line, item_error=errors[0], pair_error=errors[1])


def _with_bounds(line: SetMethodsRow, answers: Estimates, task: _Task) -> SetMethodsRow:
    """How often bounds and intervals hold the truth."""
    if not len(task.true):
        return line
    held = (answers.certain <= task.true) & (task.true <= answers.possible)
    open_ = answers.possible > answers.certain
    inside = np.abs(answers.expected - task.true) <= _INTERVAL * answers.error + 0.5
    covered = float(inside[open_].mean()) if open_.any() else None
    return replace(line, bounds_hold=float(held.mean()), covered=covered)

"""The registry of methods: what each gives, its paper and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from mottle.assignment import assign
from mottle.encoding.domain import Codes
from mottle.encoding.encode import along_orders
from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee, check_is_guarantee, met_by
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy, check_declared
from mottle.guarantees.demand import Demand
from mottle.methods.options import MethodOption, Value, check_options
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.csprng import Secret
from mottle.utils.registry import Registry

if TYPE_CHECKING:
    from mottle.methods.buckets.tree import Knowledge


def _insecure_tiebreak(records: int) -> Int64Array:
    """Draw a random order for experiments with a method alone; a run uses its secret."""
    return np.random.default_rng(0).permutation(records)


def _insecure_preview(graph: Graph) -> Int32Array:
    """Draw an assignment for experiments with a method alone; a run uses its secret."""
    return assign(graph, Secret.draw(seed=0), str(Draw.BUCKETS))


@dataclass(frozen=True)
class BucketDecision:
    """What `buckets` decided for a whole table, of which these records are an ordered part."""

    buckets: int  # of most tables
    profiles: Float64Array  # [values, features]: where values lie
    known: Knowledge | None  # what is public about the table; None: nothing is cut
    node: Int64Array  # [n]: the node of the tree of cuts that every record lies in
    waves: tuple[Int64Array, ...]  # by node: records of the first wave that lie in it
    spent: tuple[float, ...]  # by node: chance of failure per record that cuts above have taken


@dataclass(frozen=True)
class MethodContext:
    """The time limit of a method, its randomness, and how it reports progress."""

    seconds: float | None = None  # None: until a further pass gains too little
    seed: int = 0  # for choices that do not affect privacy, such as the order of improvements
    # Called with the loss so far.
    on_progress: Callable[[float], None] = field(default=lambda _: None)
    # Called before that, by methods that know it, with a function that measures how much of GCP is
    # each column's [d]; who wants to know calls it at once, because records go on changing.
    on_columns: Callable[[Callable[[], Float64Array]], None] = field(default=lambda _: None)
    # A secret, uniformly random order of n records, the same at every call: for choices among
    # records with equal sensitive values, on which privacy depends.
    tiebreak: Callable[[int], Int64Array] = field(default=_insecure_tiebreak)
    # The true assignment of the first blocks by permuting buckets, before the run's draw: for
    # methods that learn from blocks whose publication is already decided.
    preview: Callable[[Graph], Int32Array] = field(default=_insecure_preview)
    # Whether the same records must give the same graph again: improvement then stops by gain, never
    # by the clock, and an interruption ends the run.
    repeatable: bool = False
    # What `buckets` decided for a larger table of which these records are a part.
    bucket_decision: BucketDecision | None = None
    # What methods that follow an objective keep low.
    objective: Objective = Objective.NCP
    # Values of the method's options by name; those that are not given have their defaults.
    options: Mapping[str, int | float | str] = field(default_factory=dict)

    def option(self, declared: MethodOption[Value]) -> Value:
        """Return the value of an option of the method.

        Parameters
        ----------
        declared : MethodOption
            The option as the method declares it.

        Returns
        -------
        int, float or str
            The value that was given, or the default.
        """
        return declared.parse(self.options.get(declared.name, declared.default))

    def share(self, part: float) -> MethodContext:
        """Return a context with a part of the time, if time is limited.

        Parameters
        ----------
        part : float
            The share of the time, from 0 to 1.

        Returns
        -------
        MethodContext
            The context; the same object if time is not limited.
        """
        return self if self.seconds is None else replace(self, seconds=self.seconds * part)


class Draw(StrEnum):
    """How the true assignment has to be drawn for the guarantee to hold."""

    # The edges do not depend on sensitive values: one of k random disjoint assignments.
    WALK = "walk"
    # Each block is divided into buckets, and layer b holds preimages of bucket b: a random
    # permutation of the buckets.
    BUCKETS = "buckets"
    # The layers of a block are disjoint assignments: one of them.
    ROTATION = "rotation"
    # Nothing is drawn: blocks are complete, and their sensitive values are published in a table of
    # their own. The value "apart" is written on certificates and is a key of
    # `mottle.assignment.DRAWS`, so it stays as it is.
    TWO_TABLES = "apart"


class SetColumns(StrEnum):
    """How a method treats a quasi-identifier whose values are sets of items."""

    REFUSED = "refused"  # it raises an error
    ORDERED = "ordered"  # as positions along the Gray order of the sets
    VOTED = "voted"  # the loss of bit voting is part of the loss that it minimizes


@dataclass(frozen=True)
class Chunking:
    """How a method works on a table that is too large for memory, one chunk after the other."""

    bytes_per_edge: int  # memory per edge of the graph while a chunk is worked on
    # What guarantees may require of the method in chunks, which may be less than in memory. The
    # decisions for sensitive values are those of `buckets` (`mottle.pipeline.chunked.driver`).
    offers: Capability


@dataclass(frozen=True)
class Arrangement:
    """What a method returns: a graph, and facts about its decisions for the certificate."""

    graph: Graph
    facts: Mapping[str, object] = field(default_factory=dict)
    draw: Draw = Draw.WALK
    # The true originals, by position, of the last blocks, if these were drawn in an earlier run and
    # are published again as they were.
    drawn_before: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))


Arrange = Callable[[Codes, Demand, MethodContext], Arrangement]


@dataclass(frozen=True)
class Method:
    """A registered method."""

    name: str
    title: str  # one line for people who do not know the paper
    paper: str  # short name, as in docs/papers.md
    offers: Capability  # what guarantees may require of it
    cost: str  # time and memory, in the symbols n, k, d
    arrange: Arrange
    # How many dummy records the paper publishes. A method with dummy records is unsafe.
    dummies: Callable[[Demand], int] | None = None
    # Whether it publishes exact quasi-identifiers: every person is then linked to a record.
    exact: bool = False
    sets: SetColumns = SetColumns.REFUSED
    chunking: Chunking | None = None  # None: it needs the whole table in memory
    # What its decisions depend on when sensitive values are capped; otherwise all methods decide
    # by quasi-identifiers alone.
    decides_by: DecidesBy = DecidesBy.QUASI_IDENTIFIERS
    mixed_decision: str = ""  # the decision that depends on both, if there is one
    options: tuple[MethodOption[Any], ...] = ()  # constants that users may set
    follows_objective: bool = False  # whether it keeps the objective of the run low
    # Why it gives no other guarantee, and the remedy; None: as other methods say it.
    why_no_more: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        check_declared(self.name, self.offers, self.decides_by, self.mixed_decision)

    @property
    def unsafe(self) -> bool:
        """Whether it follows its paper although that does not keep the guarantee.

        Such a method runs only with ``unsafe_paper_randomization``.
        """
        return self.dummies is not None

    def check_options(self, given: Mapping[str, object]) -> dict[str, int | float | str]:
        """Check values for the options of the method.

        Parameters
        ----------
        given : mapping of str to object
            Values by name.

        Returns
        -------
        dict
            The same values in their types.

        Raises
        ------
        UsageError
            There is no option of a name, or a value is not allowed.
        """
        return check_options(self.name, self.options, given)

    def check_objective(self, given: Objective | None) -> Objective | None:
        """Check the objective of a run.

        Parameters
        ----------
        given : Objective or None
            What the caller named; None for the default.

        Returns
        -------
        Objective or None
            The objective that the method keeps low; None if it follows none.

        Raises
        ------
        UsageError
            One is named, and the method follows none.
        """
        if self.follows_objective:
            return given or Objective.DEFAULT
        if given is not None:
            able = [name for name, other in registered().items() if other.follows_objective]
            raise UsageError(
                f"Method '{self.name}' follows no objective: its paper fixes what it does.",
                f"Leave the objective out, or choose one of {', '.join(able)}.",
            )
        return None

    @property
    def guarantees(self) -> tuple[type[Guarantee], ...]:
        """The single guarantees that the method can give."""
        return met_by(self.offers)

    def gives(self, guarantee: Guarantee) -> bool:
        """Tell whether the method can give every part of ``guarantee``.

        Parameters
        ----------
        guarantee : Guarantee
            What is to be promised.

        Returns
        -------
        bool
            Whether the method offers what the guarantee requires; see `Guarantee.met_by`.
        """
        return guarantee.met_by(self.offers, exact=self.exact)

    def gives_in_chunks(self, guarantee: Guarantee) -> bool:
        """Tell whether the method can give ``guarantee`` while it works in chunks.

        Parameters
        ----------
        guarantee : Guarantee
            What is to be promised.

        Returns
        -------
        bool
            Whether the method works in chunks and then offers what the guarantee requires.
        """
        return self.chunking is not None and guarantee.met_by(
            self.chunking.offers, exact=self.exact
        )

    def check_gives(self, guarantee: object) -> None:
        """Check that the method can give a guarantee.

        Parameters
        ----------
        guarantee : Guarantee
            What is to be promised.

        Raises
        ------
        UsageError
            The method cannot give it, or ``guarantee`` is not a guarantee.
        """
        guarantee = check_is_guarantee(guarantee)
        if not self.gives(guarantee):
            if self.why_no_more is not None:
                raise UsageError(*self.why_no_more)
            safe = {name: other for name, other in registered().items() if not other.unsafe}
            able = [name for name, other in safe.items() if other.gives(guarantee)]
            raise UsageError(
                f"Method '{self.name}' does not give {guarantee.describe()['name']}.",
                f"Methods that do: {', '.join(able) or 'none yet'}.",
            )

    def check_counts_people(self) -> None:
        """Check that the method can count people who have several rows.

        Raises
        ------
        UsageError
            It cannot: one person may be several of a record's candidates.
        """
        if Capability.PEOPLE not in self.offers:
            able = [
                name for name, other in registered().items() if Capability.PEOPLE in other.offers
            ]
            raise UsageError(
                f"Method '{self.name}' counts rows: several of the candidates for a record may be"
                " rows of one person.",
                f"Methods that count people: {', '.join(able)}.",
            )

    def codes_to_arrange(self, codes: Codes, guarantee: Guarantee) -> Codes:
        """Return the codes in the form that the method works on.

        Parameters
        ----------
        codes : Codes
            The quasi-identifiers of all records.
        guarantee : Guarantee
            What is to be promised; an error message names methods that give it.

        Returns
        -------
        Codes
            Sets of items as positions along their Gray order, unless the method votes on items.

        Raises
        ------
        UsageError
            A quasi-identifier holds sets of items, which the method does not support.
        """
        named = [domain.name for domain in codes.domains if domain.sets is not None]
        if named and self.sets is SetColumns.REFUSED:
            able = [
                name
                for name, other in registered().items()
                if other.sets is not SetColumns.REFUSED and other.gives(guarantee)
            ]
            raise UsageError(
                f"Method '{self.name}' does not support sets of items as quasi-identifiers, and"
                f" column '{named[0]}' holds sets.",
                f"Methods that do: {', '.join(able)}. Or give the column another role or kind.",
            )
        return codes if self.sets is SetColumns.VOTED else along_orders(codes)


METHODS: Registry[Method] = Registry("method", "mottle.methods", group="mottle.methods")


def register(
    name: str,
    *,
    title: str,
    paper: str,
    offers: Capability,
    cost: str,
    dummies: Callable[[Demand], int] | None = None,
    exact: bool = False,
    sets: SetColumns = SetColumns.REFUSED,
    chunking: Chunking | None = None,
    decides_by: DecidesBy = DecidesBy.QUASI_IDENTIFIERS,
    mixed_decision: str = "",
    options: tuple[MethodOption[Any], ...] = (),
    follows_objective: bool = False,
    why_no_more: tuple[str, str] | None = None,
) -> Callable[[Arrange], Arrange]:
    """Make the decorated function available as a method.

    Parameters
    ----------
    name : str
        The name under which it is found.
    title : str
        One line for people who do not know the paper.
    paper : str
        The short name of the paper, as in docs/papers.md.
    offers : Capability
        What guarantees may require of it.
    cost : str
        Time and memory, in the symbols n, k, d.
    dummies : callable, optional
        How many dummy records the paper publishes; only for methods that are unsafe.
    exact : bool
        Whether it publishes exact quasi-identifiers.
    sets : SetColumns
        How it treats quasi-identifiers whose values are sets of items.
    chunking : Chunking, optional
        How it works in chunks; without it, it needs the whole table in memory.
    decides_by : DecidesBy
        What its decisions depend on when sensitive values are capped.
    mixed_decision : str
        The decision that depends on quasi-identifiers and sensitive values together.
    options : tuple of MethodOption
        Constants that users may set.
    follows_objective : bool
        Whether it keeps the objective of the run low.
    why_no_more : tuple of str, optional
        Why it gives no guarantee beyond those it offers, and the remedy, for the message.

    Returns
    -------
    callable
        The decorator.
    """

    def add(arrange: Arrange) -> Arrange:
        METHODS.add(
            Method(
                name,
                title,
                paper,
                offers,
                cost,
                arrange,
                dummies,
                exact,
                sets,
                chunking,
                decides_by,
                mixed_decision,
                options,
                follows_objective,
                why_no_more,
            )
        )
        return arrange

    return add


def registered() -> dict[str, Method]:
    """Return all methods by name.

    Returns
    -------
    dict of str to Method
        The methods in the order of their names.
    """
    return dict(METHODS)

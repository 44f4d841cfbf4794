"""The options of a run, checked once: the same for memory, streaming, Spark and sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

from mottle.assignment import WALKS
from mottle.errors import SchemaError, UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.release.certificate import AUDITS, OWNER_KEY
from mottle.schema.model import Objective, Representation, Schema, parse_word
from mottle.utils.option_values import check_key

__all__ = ["Settings", "check_representation", "check_schema", "parse_objective"]


@dataclass(frozen=True)
class Settings:
    """Options that say how a release is made; see `mottle.anonymize`."""

    method: str
    representation: Representation
    walk: str
    effort: float | None
    seed: int | None
    totals: bool
    unsafe: bool  # draw as the papers do even if that leaks sensitive values
    audit: str
    keyed: bool = False  # whether randomness derives from the owner's key, so that runs repeat
    # Those options of the method that were given, checked by it.
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    # What the method keeps low: as given, then as `Method.check_objective` returns it.
    objective: Objective | None = None
    item_hierarchy: Hierarchy | None = None  # of sets: nodes stand for items where that loses less
    node_holders: int | None = None  # of sets: records that each node is held by; None: tried out

    @property
    def randomness(self) -> str:
        """Where the run's random numbers come from, for the certificate."""
        if self.keyed:
            return OWNER_KEY
        return "operating system" if self.seed is None else "seed"

    @classmethod
    def of(
        cls,
        *,
        method: str = "auto",
        representation: Representation | str = Representation.RANGE,
        walk: str = "closed",
        effort: float | None = None,
        seed: int | None = None,
        totals: bool = True,
        unsafe_paper_randomization: bool = False,
        audit: str = AUDITS[0],
        key: object = None,
        objective: Objective | str | None = None,
        item_hierarchy: Hierarchy | str | Path | None = None,
        node_holders: int | None = None,
    ) -> Settings:
        """Check the options of a run.

        Parameters
        ----------
        method : str
            As for `mottle.anonymize`; checked when the method is looked up.
        representation : {"range", "set"}
            As for `mottle.anonymize`.
        walk : {"closed", "closed-printed", "backtracking"}
            As for `mottle.anonymize`.
        effort : float, optional
            As for `mottle.anonymize`.
        seed : int, optional
            As for `mottle.anonymize`.
        totals : bool
            As for `mottle.anonymize`.
        unsafe_paper_randomization : bool
            As for `mottle.anonymize`.
        audit : {"basic", "full"}
            As for `mottle.anonymize`.
        key : str, Path or bytes, optional
            As for `mottle.anonymize`; only whether there is one is kept.
        objective : {"reading", "ncp", "entropy"}, optional
            As for `mottle.anonymize`; methods check it.
        item_hierarchy : Hierarchy, str or Path, optional
            As for `mottle.anonymize_sets`.
        node_holders : int, optional
            As for `mottle.anonymize_sets`.

        Returns
        -------
        Settings
            The checked options.

        Raises
        ------
        UsageError
            An option has a value that does not exist; the message lists those that do.
        SchemaError
            The representation does not exist.
        """
        words = {"method": method, "representation": representation, "walk": walk, "audit": audit}
        for option, word in words.items():
            if not isinstance(word, str):
                raise UsageError(f"The {option} must be a string, not {type(word).__name__}.")
        for option, word, known in (("walk", walk, WALKS), ("audit", audit, AUDITS)):
            if word not in known:
                raise UsageError(f"There is no {option} '{word}'.", did_you_mean(word, known))
        seconds = _seconds(effort)
        check_key(key, seed, seconds)
        return cls(
            method=method,
            representation=check_representation(representation),
            walk=walk,
            effort=seconds,
            seed=seed,
            totals=totals,
            unsafe=unsafe_paper_randomization,
            audit=audit,
            keyed=key is not None,
            objective=parse_objective(objective),
            item_hierarchy=_item_hierarchy(item_hierarchy),
            node_holders=_node_holders(node_holders, item_hierarchy),
        )


def parse_objective(given: object) -> Objective | None:
    """Return the objective that is meant; None for the default of the method."""
    known = [str(objective) for objective in Objective]
    if given is None or isinstance(given, Objective):
        return given
    if not isinstance(given, str):
        raise UsageError(f"The objective must be a string, not {type(given).__name__}.")
    if given not in known:
        raise UsageError(f"There is no objective '{given}'.", did_you_mean(given, known))
    return Objective(given)


def check_schema(schema: object) -> None:
    """Raise `UsageError` unless the argument is a schema."""
    if not isinstance(schema, Schema):
        raise UsageError(
            f"A {type(schema).__name__} is not a schema.",
            "Build one with Schema.of(quasi_identifying=[…], …) or Schema.read(FILE).",
        )


def check_representation(value: Representation | str) -> Representation:
    """Return the representation that is meant; raise `SchemaError` if there is none."""
    try:
        return parse_word(Representation, value)
    except ValueError as error:
        raise SchemaError(f"{error}.") from None


def _item_hierarchy(given: object) -> Hierarchy | None:
    """Return the hierarchy of items, which may be the path of a file."""
    if given is None or isinstance(given, Hierarchy):
        return given
    if not isinstance(given, (str, Path)):
        raise UsageError(
            f"The hierarchy of items is a {type(given).__name__}.",
            "Give a Hierarchy or the path of a file.",
        )
    return Hierarchy.read(given)


def _node_holders(given: object, hierarchy: object) -> int | None:
    """Return how many records have to hold a node."""
    if given is None:
        return None
    if hierarchy is None:
        raise UsageError("--node-holders belongs to --item-hierarchy.", "Give the hierarchy too.")
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise UsageError("--node-holders takes a number of records, 1 or more.")
    return given


def _seconds(effort: object) -> float | None:
    """Return the time for improving as a number that a certificate can hold."""
    if effort is None:
        return None
    seconds = float(effort) if isinstance(effort, Real) else -1.0
    if isinstance(effort, bool) or not 0 <= seconds < float("inf"):
        raise UsageError(
            "The time for improving must be a number of seconds, 0 or more.",
            "Leave it out to stop when a further pass gains too little.",
        )
    return seconds

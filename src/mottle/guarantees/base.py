"""Typed guarantees that accompany a release, and what they demand of a table.

Every guarantee about sensitive values is a *cap* per value: the highest share that the value may
have among the records an individual matches. ℓ-diversity caps every value at 1/ℓ, β-likeness at
(1 + β) times its share in the whole table, and `Caps` at what the user says. One mechanism serves
all of them.

A guarantee describes itself: what it requires of a method, its command-line options, how it is
written on a certificate and read back, and how it is explained in plain words. It registers itself
in `GUARANTEES`, so that a new guarantee of this kind is one new file in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from mottle.errors import GuaranteeError, UsageError
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import REPLAYED, DecidesBy
from mottle.guarantees.demand import KNOWN_RECORDS, Demand, allowed
from mottle.utils.lazy import lazy_module
from mottle.utils.registry import Registry

if TYPE_CHECKING:
    import numpy as np

    from mottle.encoding.sensitive import SensitiveValues
    from mottle.typing import Float64Array, Int64Array
else:
    np = lazy_module("numpy")  # the command line reads the options of guarantees without it


@dataclass(frozen=True)
class GuaranteeOption:
    """A command-line option that a guarantee is written with."""

    name: str  # of the parameter: "cap_rest" is --cap-rest
    type: Any  # int, float, bool for a flag, or list[str] for an option that is repeated
    help: str
    short: str = ""  # a second spelling, such as -k
    metavar: str = ""  # placeholder of the value in ``--help``; by default its type

    @property
    def flag(self) -> str:
        """The option as it is typed on the command line."""
        return f"--{self.name.replace('_', '-')}"


class Guarantee:
    """A promise about a release; ``a & b`` promises both.

    Attributes
    ----------
    name : str
        What the guarantee is called on certificates and in messages.
    also_called : tuple of str
        Further names on certificates that mean this guarantee.
    requires : Capability
        What a method must offer to give the guarantee.
    options : tuple of GuaranteeOption
        The command-line options it is written with. The first of them is its parameter if
        ``symbol`` is set.
    symbol : str
        How papers write its parameter, such as "k"; empty for a guarantee without a single one.
    """

    name: ClassVar[str] = ""
    also_called: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[Capability] = Capability.UNDECLARED
    options: ClassVar[tuple[GuaranteeOption, ...]] = ()
    symbol: ClassVar[str] = ""

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> Guarantee | None:
        """Make the guarantee that command-line options ask for.

        Parameters
        ----------
        given : mapping of str to object
            Values of all options in ``options`` by name; None (False for a flag) if not given.

        Returns
        -------
        Guarantee or None
            None when the options do not ask for this guarantee.

        Raises
        ------
        UsageError
            The options contradict each other, or a value is out of its range.
        """
        raise NotImplementedError

    @classmethod
    def from_description(cls, described: Mapping[str, Any]) -> Guarantee | str:
        """Read the guarantee back from what `describe` wrote on a certificate.

        Parameters
        ----------
        described : mapping of str to object
            The description on the certificate.

        Returns
        -------
        Guarantee or str
            The guarantee; or a note that says why it cannot be read back, when the certificate does
            not hold all of it.
        """
        raise NotImplementedError

    @classmethod
    def command(cls, described: Mapping[str, Any]) -> list[str]:
        """Write what `describe` returned as command-line options.

        Parameters
        ----------
        described : mapping of str to object
            The description on the certificate.

        Returns
        -------
        list of str
            The words of the command line, such as ``["--k", "10"]``.
        """
        raise NotImplementedError

    @classmethod
    def plain_text(cls, described: Mapping[str, Any], known: str) -> str:
        """Explain what `describe` returned to people who have not read the papers.

        Parameters
        ----------
        described : mapping of str to object
            The description on the certificate.
        known : str
            What an adversary knows about a person, as part of a sentence.

        Returns
        -------
        str
            One or more sentences.
        """
        return str(described.get("statement", ""))

    @classmethod
    def text_on_matches(cls, described: Mapping[str, Any]) -> str:
        """Say what `describe` returned of published records alone, not of what anybody believes.

        This is all that holds if the method decided by quasi-identifiers and sensitive values
        together.

        Parameters
        ----------
        described : mapping of str to object
            The description on the certificate.

        Returns
        -------
        str
            A sentence.
        """
        return (
            f"Among the records that may be a person's, {described['name']} holds"
            f" ({described['short']})."
        )

    def statement_on_people(self, described: Mapping[str, Any]) -> str:
        """State the guarantee where people have several rows and k counts people.

        Parameters
        ----------
        described : mapping of str to object
            What `certified` returned.

        Returns
        -------
        str
            The promise in words.
        """
        return str(described["statement"])

    @property
    def belief_growth(self) -> float | None:
        """β, if belief in any value may grow by at most the factor 1 + β; None without a bound."""
        return None

    @property
    def depends_on_shares(self) -> bool:
        """Whether its bounds follow from how often values occur in the table."""
        return False

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """The single guarantees that it consists of."""
        return (self,)

    @property
    def degree(self) -> int:
        """The least number of originals that every published record can stand for."""
        return 2

    @property
    def about_values(self) -> bool:
        """Whether the guarantee is about sensitive values."""
        return True

    @property
    def known_records(self) -> int | None:
        """The most others that one known record may give away; None if it does not say."""
        return None

    def check_feasible(self, rows: int) -> None:
        """Check that a table of some size can have the guarantee.

        Parameters
        ----------
        rows : int
            The number of records.

        Raises
        ------
        GuaranteeError
            No table of that size can have it.
        """
        if rows < 2:
            raise GuaranteeError(
                "A table of one row cannot be anonymized: its record has nobody to hide among.",
                "Give more rows.",
            )

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        """Check that the sensitive columns have the values that the guarantee names.

        Parameters
        ----------
        sensitive : sequence of SensitiveValues
            As for `demand`.

        Raises
        ------
        UsageError
            A value occurs in none of them.
        """

    def caps(self, values: SensitiveValues) -> Float64Array:
        """Bound the share of each value among an individual's matches.

        Parameters
        ----------
        values : SensitiveValues
            The values of a sensitive column, and how often each occurs in the table.

        Returns
        -------
        Float64Array
            The highest share by value; 1 means that the value is not bounded.
        """
        return np.ones(len(values.counts))

    def group_caps(self, groups: SensitiveValues) -> Float64Array:
        """Bound the share of each group of similar values among an individual's matches.

        Parameters
        ----------
        groups : SensitiveValues
            The groups of a sensitive column on some levels, and how often each occurs in the
            table; or values on whose levels every value is alone.

        Returns
        -------
        Float64Array
            The highest share by group; 1 means that the group is not bounded.
        """
        return np.ones(len(groups.counts))

    def divisions(self, values: SensitiveValues) -> tuple[SensitiveValues, ...]:
        """Return the groups of values that the guarantee itself makes in order to bound them.

        Parameters
        ----------
        values : SensitiveValues
            The values of a sensitive column, or the joint values of several.

        Returns
        -------
        tuple of SensitiveValues
            Each way of dividing the values into groups; `group_caps` bounds them.
        """
        return ()

    def attributes(self, sensitive: Sequence[SensitiveValues]) -> tuple[SensitiveValues, ...]:
        """Return what is capped: sensitive values, then those groups of them that have a cap.

        Parameters
        ----------
        sensitive : sequence of SensitiveValues
            As for `demand`.

        Returns
        -------
        tuple of SensitiveValues
            The attributes of the demand, in the order of its sensitive codes.
        """
        grouped = [values.of_groups(groups) for values in sensitive for groups in values.groups]
        own = [
            each for part in self.parts for values in sensitive for each in part.divisions(values)
        ]
        grouped += {(each.columns, each.apart): each for each in own}.values()
        capped = [groups for groups in grouped if np.any(self.lowest_caps(groups) < 1)]
        return (*sensitive, *capped)

    def condition(
        self, sensitive: Sequence[SensitiveValues]
    ) -> Callable[[Int64Array], bool] | None:
        """Return the condition on an individual's matches beyond caps, or None without one.

        Parameters
        ----------
        sensitive : sequence of SensitiveValues
            As for `demand`.

        Returns
        -------
        callable or None
            Takes how many of the matches carry each sensitive code (see `Demand`), and returns
            whether that is allowed. It can be pickled.
        """
        return None

    def remedy(self, values: SensitiveValues, value: int) -> str:
        """Name the nearest feasible guarantee when a value is too frequent in the table.

        Parameters
        ----------
        values : SensitiveValues
            The values of a sensitive column, and how often each occurs in the table.
        value : int
            The code of the most frequent of the values, or groups, that are too frequent.

        Returns
        -------
        str
            A sentence for the error message.
        """
        raise NotImplementedError

    def describe(self) -> dict[str, object]:
        """Describe the guarantee for the certificate.

        Returns
        -------
        dict
            At least ``name``, ``short`` (its parameters) and ``statement`` (the promise in words).
        """
        raise NotImplementedError

    def certified(self, decides_by: DecidesBy) -> dict[str, object]:
        """Describe the guarantee as far as a method can prove it.

        Parameters
        ----------
        decides_by : DecidesBy
            What the decisions of the method depend on.

        Returns
        -------
        dict
            What `describe` returns. If decisions depend on quasi-identifiers and sensitive values
            together, the statement is about the published records, and says that it bounds no
            beliefs of those who replay the decisions.
        """
        if decides_by is not DecidesBy.BOTH:
            return self.describe()
        parts = [(part.describe(), part.text_on_matches(part.describe())) for part in self.parts]
        stated = [{**described, "statement": f"{text} {REPLAYED}"} for described, text in parts]
        if len(stated) == 1:
            return stated[0]
        texts = [text for _, text in parts]
        return {**self.describe(), "parts": stated, "statement": " ".join([*texts, REPLAYED])}

    def canonical_text(self) -> str:
        """Return a text that is the same for the same guarantee, however it was written.

        Returns
        -------
        str
            Its parts, each once, in an order of their own, as are the bounds by value: what derives
            random numbers from it draws ``K & L`` and ``L & K`` alike.

        Examples
        --------
        >>> from mottle import KAnonymity, LDiversity
        >>> one, other = KAnonymity(5) & LDiversity(3), LDiversity(3) & KAnonymity(5)
        >>> one.canonical_text() == other.canonical_text(), KAnonymity(5).canonical_text()
        (True, 'KAnonymity(k=5)')
        """
        parts = sorted({_canonical(part) for part in self.parts})
        return parts[0] if len(parts) == 1 else f"Combined(guarantees=({', '.join(parts)}))"

    def __and__(self, other: Guarantee) -> Guarantee:
        return Combined((*self.parts, *other.parts))

    def met_by(self, offered: Capability, *, exact: bool = False) -> bool:
        """Tell whether a method that offers ``offered`` can give every part of the guarantee.

        A method that keeps caps also keeps the least degree, so it gives k-anonymity along with
        a guarantee about sensitive values, unless it publishes exact quasi-identifiers.

        Parameters
        ----------
        offered : Capability
            What the method offers.
        exact : bool
            Whether the method publishes exact quasi-identifiers.

        Returns
        -------
        bool
            Whether the method can give the guarantee.
        """
        needed = reduce(or_, (part.requires for part in self.parts))
        others = needed & ~Capability.K_ANONYMITY
        return (needed if exact or not others else others) in offered

    def demand(self, rows: int, sensitive: Sequence[SensitiveValues] = ()) -> Demand:
        """Say what the guarantee demands of the graph of a table.

        Parameters
        ----------
        rows : int
            The number of records.
        sensitive : sequence of SensitiveValues
            The only sensitive column, or the joint value of several and then each of them. Groups
            of similar values are found in them.

        Returns
        -------
        Demand
            The least degree, and the caps of all sensitive values.

        Raises
        ------
        GuaranteeError
            The table cannot have the guarantee; the message names the nearest that it can have.
        UsageError
            The guarantee is about sensitive values and no column is sensitive, or it names values
            that do not occur.
        """
        self.check_feasible(rows)
        self.check_values(sensitive)
        if not self.about_values:
            if self.known_records is not None:
                raise UsageError(
                    "A bound on what one known record gives away goes along with a guarantee about"
                    " sensitive values.",
                    "Add --l, --beta or --cap, or leave out --known-records.",
                )
            return Demand(self.degree)
        if not sensitive:
            raise UsageError(
                f"{self.describe()['name']} is about sensitive values, but no column is sensitive.",
                "Name the column with --sensitive.",
            )
        attributes = self.attributes(sensitive)
        caps = [self._eligible_caps(values) for values in attributes]
        sizes = [len(values.counts) for values in attributes]
        offsets = np.cumsum([0, *sizes[:-1]])
        codes = np.stack(
            [values.codes + offset for values, offset in zip(attributes, offsets, strict=True)],
            axis=1,
        )
        return Demand(
            degree=self.degree,
            sensitive_codes=np.ascontiguousarray(codes, np.int32),
            caps=np.concatenate(caps),
            counts=np.concatenate([values.counts for values in attributes]),
            condition=self.condition(sensitive),
            known_records=KNOWN_RECORDS if self.known_records is None else self.known_records,
        )

    def _eligible_caps(self, values: SensitiveValues) -> Float64Array:
        """The caps of all parts together, after checking that the whole table is within them."""
        rows = values.rows
        for part in self.parts:
            over = np.flatnonzero(values.counts > allowed(part.lowest_caps(values), rows))
            if len(over):
                raise GuaranteeError(
                    f"{part.describe()['name']} cannot be met: {values.count_in_words(len(over))}"
                    f" {'are' if len(over) > 1 else 'is'} too frequent in the table itself for"
                    f" {part.describe()['short']}.",
                    part.remedy(values, int(over[np.argmax(values.counts[over])])),
                )
        return self.lowest_caps(values)

    def lowest_caps(self, values: SensitiveValues) -> Float64Array:
        """Bound the share of each value, or each group of values, by all parts together.

        Parameters
        ----------
        values : SensitiveValues
            One of `attributes`.

        Returns
        -------
        Float64Array
            The highest share by code.
        """
        return reduce(
            np.minimum,
            [
                np.minimum(part.caps(values), part.group_caps(values))
                if 0 in values.levels
                else part.group_caps(values)
                for part in self.parts
            ],
        )


@dataclass(frozen=True)
class Combined(Guarantee):
    """Several guarantees at once, written ``KAnonymity(5) & LDiversity(3)``."""

    guarantees: tuple[Guarantee, ...]

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        return self.guarantees

    @property
    def degree(self) -> int:
        return max(part.degree for part in self.parts)

    @property
    def about_values(self) -> bool:
        return any(part.about_values for part in self.parts)

    @property
    def known_records(self) -> int | None:
        bounds = [part.known_records for part in self.parts]
        return min((bound for bound in bounds if bound is not None), default=None)

    def check_feasible(self, rows: int) -> None:
        for part in self.parts:
            part.check_feasible(rows)

    def check_values(self, sensitive: Sequence[SensitiveValues]) -> None:
        for part in self.parts:
            part.check_values(sensitive)

    def condition(
        self, sensitive: Sequence[SensitiveValues]
    ) -> Callable[[Int64Array], bool] | None:
        found = [part.condition(sensitive) for part in self.parts]
        conditions = tuple(each for each in found if each is not None)
        return _All(conditions) if conditions else None

    def describe(self) -> dict[str, object]:
        described = [part.describe() for part in self.parts]
        return {
            "name": " and ".join(str(part["name"]) for part in described),
            "short": ", ".join(str(part["short"]) for part in described),
            "parts": described,
            "statement": " ".join(str(part["statement"]) for part in described),
        }


def _canonical(part: Guarantee) -> str:
    """A part as `repr` shows it, with mappings sorted and their numbers as floats."""
    shown = []
    for field in fields(part):  # type: ignore[arg-type]  # guarantees are dataclasses
        value = getattr(part, field.name)
        if isinstance(value, Mapping):
            value = {str(name): float(value[name]) for name in sorted(value)}
        elif isinstance(value, float | int) and field.type == "float":
            value = float(value)
        shown.append(f"{field.name}={value!r}")
    return f"{type(part).__name__}({', '.join(shown)})"


@dataclass(frozen=True)
class _All:
    """Several conditions on an individual's matches at once."""

    conditions: tuple[Callable[[Int64Array], bool], ...]

    def __call__(self, counts: Int64Array) -> bool:
        return all(condition(counts) for condition in self.conditions)


# The guarantees by name. `exposure` and `people` register nothing and load Numba, which reading
# options does not need.
GUARANTEES: Registry[type[Guarantee]] = Registry(
    "guarantee", "mottle.guarantees", leaving_out=("exposure", "people")
)

Registered = TypeVar("Registered", bound=type[Guarantee])


def register(guarantee: Registered) -> Registered:
    """Register the decorated class under its name."""
    GUARANTEES.add(guarantee)
    return guarantee


def registered() -> tuple[type[Guarantee], ...]:
    """Return all guarantees, those that require less of a method first."""
    return tuple(sorted(GUARANTEES.values(), key=lambda each: (each.requires.value, each.name)))


def met_by(offered: Capability) -> tuple[type[Guarantee], ...]:
    """Return the single guarantees that a method with these capabilities can give."""
    return tuple(each for each in registered() if each.requires in offered)


def described_as(name: object) -> type[Guarantee] | None:
    """Return the guarantee that certificates call ``name``, or None if there is none."""
    for each in registered():
        if name == each.name or name in each.also_called:
            return each
    return None


def check_is_guarantee(guarantee: object) -> Guarantee:
    """Return ``guarantee``, or raise `UsageError` when it is something else."""
    if not isinstance(guarantee, Guarantee):
        raise UsageError(
            f"The guarantee must be a Guarantee object, not of type {type(guarantee).__name__}.",
            "Write for instance KAnonymity(10) or KAnonymity(5) & LDiversity(3).",
        )
    return guarantee


def combined(guarantees: Iterable[Guarantee]) -> Guarantee | None:
    """Combine guarantees into one that promises all of them; None when there are none."""
    found = list(guarantees)
    return reduce(lambda one, other: one & other, found) if found else None

"""Proposes a role and a kind for every column, each with its reason in plain words.

Rules are tried in order; the first that applies decides. They err on the side of caution: what is
not clearly something else is a quasi-identifier, and what may name a person is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.contents import GEOGRAPHIC, UNIQUE_NUMBERS
from mottle.inspection.given_names import are_names
from mottle.inspection.orders import band_order, scale_order
from mottle.inspection.profile import Profile
from mottle.kinds.base import Kind
from mottle.schema.model import Role
from mottle.utils.arrow import dictionary_order

__all__ = ["MAY_BE_KNOWN", "Proposal", "choose_person", "propose", "propose_kind"]

MAY_BE_KNOWN = "an adversary may know it"  # where nothing says otherwise
_FEW_ROWS = 20  # below this, all-distinct says nothing
_MANY_ROWS = 100
_OWN_VALUES = 0.5  # share of distinct values from which on most rows have one of their own
_OWN_NUMBERS = 0.1  # the same for numbers of one length of more than six digits
_SHORT_NUMBER = 6  # digits
_LONGER_THAN_AMOUNTS = 8  # digits that amounts of money of one length seldom have
_FEW_ANSWERS = 5
_CODE_VALUES = 100  # most values of a code list
_CODE_ROWS = 10  # fewest rows per value of a code list
_LONG, _MANY_WORDS = 30, 5  # mean characters and words from which on a text may be free
_OWN_WORDS = 0.2  # share of distinct values from which on long texts are free
_MANY_SINGLES = 0.05  # share of rows with a weight of their own
_BODY = (20.0, 250.0)  # medians of body weights, in kilograms or pounds
_MOST_NOMINAL = 2  # whole numbers of at most so many values are codes

_DATES = "dates more exact than a year"
_AGES = "ages over 89"


@dataclass(frozen=True)
class Proposal:
    """The proposed role of a column, and why."""

    role: Role
    why: str  # follows "because"
    hipaa: str = ""  # the identifier of HIPAA's list that the column holds
    may_be_person: int = 0  # how well it says whose row it is, if people have several; 0: not
    code_list: bool = False  # whether whole numbers are codes


def propose(column: Profile) -> Proposal:
    """Propose the role of a column.

    Parameters
    ----------
    column : Profile
        The column.

    Returns
    -------
    Proposal
        The first rule's that applies.
    """
    for rule in _RULES:
        found = rule(column)
        if found is not None:
            return found
    return Proposal(Role.QUASI_IDENTIFYING, MAY_BE_KNOWN, _hipaa_of_quasi_identifier(column))


# ----------------------------------------------------------------------------------------- rules


def _constant(column: Profile) -> Proposal | None:
    if column.size > 1:
        return None
    return Proposal(Role.INSENSITIVE, "all rows have the same value")


def _by_contents(column: Profile) -> Proposal | None:
    """E-mail addresses, telephone numbers and the like in cells, whatever the column is called."""
    if column.held is None:
        return None
    title = column.held.title
    score = 1 if title in _PERSONAL and column.held.in_most else 0
    return Proposal(Role.IDENTIFYING, column.held.in_words, title, may_be_person=score)


def _by_given_names(column: Profile) -> Proposal | None:
    """Names of people, whatever the column is called."""
    if not column.is_text or column.named.is_place or not are_names(column.texts):
        return None
    return Proposal(Role.IDENTIFYING, "its values look like names of people", "names")


def _coordinates(column: Profile) -> Proposal | None:
    """Positions that show a house, also under another name if most rows have their own."""
    if not column.looks_like_coordinates:
        return None
    own = column.filled >= _FEW_ROWS and column.distinct >= _OWN_VALUES * column.filled
    if not (column.named.is_position or own):
        return None
    if column.named.why_sensitive and not column.named.is_position:
        return None
    return Proposal(
        Role.IDENTIFYING,
        "its numbers have as many decimals as coordinates of a house, and numbers so exact can be"
        " looked up in other files; to publish them on a grid, make them quasi-identifying with"
        " snap = 0.01",
        GEOGRAPHIC,
    )


_PERSONAL = ("e-mail addresses", "social security numbers")


def _weight(column: Profile) -> Proposal | None:
    named = column.named
    alone = "weight" in named.words and not _BODY[0] <= column.middle <= _BODY[1]
    if not column.is_number or not (named.is_survey_weight or alone) or named.is_count:
        return None
    if column.singles >= _MANY_SINGLES * column.rows:
        return Proposal(
            Role.IDENTIFYING,
            "it seems to be a survey weight, which says nothing about a person but is a row's own"
            " and can be looked up in other files; make it insensitive if analysts need it and"
            " nobody else has it, and name it as the survey_weight",
        )
    return Proposal(
        Role.INSENSITIVE,
        "it seems to be a survey weight, and rows share their weights; name it as the"
        " survey_weight",
    )


def _count(column: Profile) -> Proposal | None:
    """A number of things is known to acquaintances; it is no result."""
    if not (column.is_number and column.named.is_count) or _is_unique(column):
        return None
    if column.named.is_number and not _is_code_list(column):
        return None
    return Proposal(Role.QUASI_IDENTIFYING, "it is a count, which an adversary may know")


def _identifier_by_name(column: Profile) -> Proposal | None:
    named, words = column.named, column.named.words
    title = named.hipaa
    if title == "names" and column.is_number:
        title = ""  # such as "nombre", which in French is a count
    numbered, of_people = named.is_number, named.is_of_people
    people = of_people and (numbered or len(words) == 1)
    if not (title or numbered or people) or column.is_date:
        return None
    if pa.types.is_floating(column.type) and not column.is_whole_valued:
        return None
    if people and not (title or numbered) and column.distinct <= _FEW_ANSWERS:
        return None  # yes and no: whether somebody is a member, not who
    if _is_code_list(column):
        if numbered and not title and not of_people and not named.is_bare_number:
            return Proposal(
                Role.QUASI_IDENTIFYING,
                f"its name speaks of a number, but there are only {column.distinct} values:"
                " something that an adversary may know",
                code_list=words[-1] != "num",
            )
        if title in ("names", GEOGRAPHIC) and (named.is_of_another_thing or named.is_place):
            return Proposal(
                Role.QUASI_IDENTIFYING,
                "it names a place or an institution, which an adversary may know",
                code_list=True,
            )
        other = title and not numbered and not named.is_name_of_people and len(words) > 1
        if other and column.distinct <= _FEW_ROWS:
            return Proposal(
                Role.QUASI_IDENTIFYING,
                f"its name speaks of {title}, but there are only {column.distinct} values: an"
                " adversary may know it",
                code_list=True,
            )
    if named.is_of_another_thing and column.distinct * 20 <= column.filled:
        return Proposal(
            Role.QUASI_IDENTIFYING,
            "it numbers something that many rows share and an adversary may know",
            code_list=True,
        )
    score = 3 * of_people + 2 * (numbered and not named.is_of_another_thing)
    score += title in _PERSONAL
    hipaa = title or UNIQUE_NUMBERS
    if of_people and "patient" in " ".join(words):
        hipaa = "medical record numbers"
    if _is_unique(column):
        why = "its name suggests that it names people, and no two rows have the same value"
    else:
        why = (
            "its name suggests that it names people:"
            f" {column.distinct:,} values in {column.filled:,} rows"
        )
    return Proposal(Role.IDENTIFYING, why, hipaa, may_be_person=score if score >= 2 else 0)


def _place(column: Profile) -> Proposal | None:
    """Places before unique values: a postcode of a small table may be unique."""
    if not column.named.is_place:
        return None
    return Proposal(
        Role.QUASI_IDENTIFYING, "it is a place, which an adversary may know", GEOGRAPHIC
    )


def _sensitive(column: Profile) -> Proposal | None:
    why = column.named.why_sensitive
    if not why:
        return None
    if column.is_text and not column.looks_like_numbers and (found := _by_counts(column)):
        return found  # a value that is a row's own names it, whatever it says about it
    if column.common_length >= _LONGER_THAN_AMOUNTS and (found := _by_counts(column)):
        return found
    return Proposal(Role.SENSITIVE, why)


def _by_counts(column: Profile) -> Proposal | None:
    """Values that every row, or most of them, have for themselves."""
    if column.filled < _FEW_ROWS or not (column.is_text or column.is_whole):
        return None
    if column.distinct == column.filled:
        return Proposal(Role.IDENTIFYING, "no two rows have the same value", UNIQUE_NUMBERS)
    length = column.common_length
    own = _OWN_NUMBERS if length > _SHORT_NUMBER else _OWN_VALUES
    if column.filled < _MANY_ROWS or column.distinct < own * column.filled:
        return None
    if length:
        return Proposal(
            Role.IDENTIFYING,
            f"it has {column.distinct:,} numbers of one length in {column.filled:,} rows, as"
            " columns do that number people",
            UNIQUE_NUMBERS,
        )
    is_code = Kind.PREFIX.proposal(column.name, pa.chunked_array([column.values])) is not None
    if column.is_text and not is_code:
        return Proposal(
            Role.IDENTIFYING,
            f"it has {column.distinct:,} values in {column.filled:,} rows: most rows have one of"
            " their own, and sets of such values would list those of others",
            UNIQUE_NUMBERS,
        )
    return None


def _free_text(column: Profile) -> Proposal | None:
    if not _is_free_text(column):
        return None
    return Proposal(Role.IDENTIFYING, "it looks like free text, which may name people")


_RULES: tuple[Callable[[Profile], Proposal | None], ...] = (
    _by_contents,
    _by_given_names,
    _constant,
    _weight,
    _count,
    _coordinates,
    _free_text,
    _identifier_by_name,
    _place,
    _sensitive,
    _by_counts,
)


def _is_unique(column: Profile) -> bool:
    return column.distinct == column.filled


def _is_code_list(column: Profile) -> bool:
    return column.distinct <= min(_CODE_VALUES, column.filled / _CODE_ROWS)


def _is_free_text(column: Profile) -> bool:
    return (
        column.is_text
        and column.filled >= _FEW_ROWS
        and column.distinct >= _OWN_WORDS * column.filled
        and column.mean_length >= _LONG
        and column.mean_words >= _MANY_WORDS
    )


def _hipaa_of_quasi_identifier(column: Profile) -> str:
    if column.is_date:
        return _DATES
    if column.named.is_age and column.is_number and column.filled:
        return _AGES if pc.max(column.values).as_py() > 89 else ""
    return ""


# --------------------------------------------------------------------------------------- people


def choose_person(columns: Sequence[Profile], proposals: Sequence[Proposal]) -> int | None:
    """Choose the column that says whose row it is, if people have several.

    Parameters
    ----------
    columns : sequence of Profile
        The columns.
    proposals : sequence of Proposal
        Their proposed roles.

    Returns
    -------
    int or None
        The place of the column; None if no identifier repeats, or the column that names people
        best does not.
    """
    likely = [
        (proposal.may_be_person, column.distinct, -place)
        for place, (column, proposal) in enumerate(zip(columns, proposals, strict=True))
        if proposal.may_be_person
    ]
    if not likely:
        return None
    best = max(score for score, _, _ in likely)
    # The column that names people best: if there every row has its own value, rows are people.
    chosen = [(values, place) for score, values, place in likely if score == best]
    repeated = [(values, place) for values, place in chosen if values < columns[-place].filled]
    if best >= 3 and not repeated:
        return None
    own = {proposals[-place].hipaa for values, place in chosen if values == columns[-place].filled}
    if best == 1 and own & {proposals[-place].hipaa for _, place in repeated}:
        return None  # two columns of e-mail addresses: the repeated ones are others'
    others = [
        (score, values, place) for score, values, place in likely if values < columns[-place].filled
    ]
    return -max(others)[2] if others else None


# ---------------------------------------------------------------------------------------- kinds


def propose_kind(
    column: Profile, values: pa.ChunkedArray, proposal: Proposal
) -> tuple[Kind, str, tuple[str, ...] | None]:
    """Propose the kind of a quasi-identifier.

    Parameters
    ----------
    column : Profile
        The column.
    values : pyarrow.ChunkedArray
        Its values.
    proposal : Proposal
        Its role.

    Returns
    -------
    kind : Kind
        The kind.
    why : str
        The reason, unless it is that of the type.
    order : tuple of str or None
        The values from lowest to highest, of an ordered column.
    """
    if Kind.of_type(values.type) is Kind.ORDERED and column.is_text:
        stated = dictionary_order(values, column.name).to_pylist()
        return Kind.ORDERED, "the file says so", tuple(stated)
    if column.is_text:
        texts = column.values.to_pylist() if column.distinct <= _CODE_VALUES else []
        if (order := band_order(texts)) is not None:
            return Kind.ORDERED, "its values are bands of numbers", order
        if (order := scale_order(texts)) is not None:
            return Kind.ORDERED, "its values are words of a scale", order
    for kind in Kind:
        name = "postcode" if column.named.is_postcode else column.name  # kinds know English names
        reason = kind.proposal(name, values)
        if reason is not None:
            return kind, reason, None
    if column.is_whole and not column.named.is_count:
        if proposal.code_list or column.named.is_nominal:
            return Kind.CATEGORY, "its numbers are codes, whose order means nothing", None
        if column.distinct <= _MOST_NOMINAL:
            return Kind.CATEGORY, "it has only two values", None
    return Kind.of_type(column.type), "", None

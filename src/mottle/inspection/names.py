"""What the name of a column says, in several languages.

A name is split into words (`words_of`), which are looked up in the tables of
`mottle.inspection.vocabulary`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mottle.inspection.vocabulary import (
    AGES,
    COUNTED_FIRST,
    COUNTING,
    HIPAA,
    MEDICINES,
    NOMINAL,
    NUMBER_ENDS,
    NUMBERS,
    OF_NAMES,
    OF_SURVEYS,
    OTHER_THINGS,
    PEOPLE,
    PLACES,
    POSITIONS,
    POSTCODES,
    SENSITIVE,
    SURVEY_WEIGHTS,
    WEIGHTS,
    Words,
    words_of,
)

__all__ = ["ColumnName"]

_LONG_COMPOUND = 4  # letters that a word with an end such as "nr" has to exceed


@dataclass(frozen=True)
class ColumnName:
    """The words of a column's name and what they mean.

    Examples
    --------
    >>> names = [ColumnName.of(name) for name in ("e-mail", "Фамилия", "患者姓名", "age")]
    >>> [name.hipaa for name in names]
    ['e-mail addresses', 'names', 'names', '']
    >>> [ColumnName.of(name).is_number for name in ("patient_nbr", "KundenNr", "age")]
    [True, True, False]
    """

    words: Words

    @classmethod
    def of(cls, name: str) -> ColumnName:
        """Split a name into words."""
        return cls(words_of(name))

    # ------------------------------------------------------------------------------ identifiers

    @property
    def hipaa(self) -> str:
        """The identifier of HIPAA's list that the name suggests; empty if there is none."""
        return next((title for title, known in HIPAA.items() if known.fits(self.words)), "")

    @property
    def is_name_of_people(self) -> bool:
        """Whether it speaks of names and of nothing but people: full name, but not brand name."""
        names = HIPAA["names"]
        return names.fits(self.words) and all(
            names.fits((word,)) or PEOPLE.fits((word,)) or OF_NAMES.fits((word,)) or word.isdigit()
            for word in self.words
        )

    @property
    def is_number(self) -> bool:
        """Whether values are numbers or keys that stand for somebody: id, nr, number."""
        if not self.words:
            return False
        last = self.words[-1]
        return (
            last in NUMBERS.words
            or not (NUMBERS.words - COUNTED_FIRST.words).isdisjoint(self.words)
            or (NUMBERS.has_part(self.words) and not self.is_place)
            or (len(last) > _LONG_COMPOUND and last.endswith(NUMBER_ENDS))
            or (last.endswith("id") and last[:-2] in PEOPLE.words | OTHER_THINGS.words)
        )

    @property
    def is_bare_number(self) -> bool:
        """Whether the name says nothing but that values are numbers or keys: id, nr, key."""
        return bool(self.words) and set(self.words) <= NUMBERS.words | NUMBERS.parts

    @property
    def is_of_people(self) -> bool:
        """Whether it speaks of the people whom a table is about: patient, customer, member."""
        return PEOPLE.fits(self.words) or any(
            word.removesuffix("id") in PEOPLE.words for word in self.words
        )

    @property
    def is_of_another_thing(self) -> bool:
        """Whether it speaks of something other than these people: hospital, shop, product."""
        return OTHER_THINGS.fits(self.words)

    # --------------------------------------------------------------------------- other meanings

    @property
    def is_count(self) -> bool:
        """Whether values are counts: num_visits, number_of_children, Anzahl Kinder."""
        begins = (
            len(self.words) > 1
            and self.words[0] in COUNTED_FIRST.words
            and self.words[-1] not in NUMBERS.words
        )
        return begins or COUNTING.fits(self.words)

    @property
    def is_survey_weight(self) -> bool:
        """Whether values are weights of a survey; a weight alone may be that of a body."""
        of_survey = OF_SURVEYS.fits(self.words) and WEIGHTS.fits(self.words)
        return of_survey or SURVEY_WEIGHTS.fits(self.words)

    @property
    def is_nominal(self) -> bool:
        """Whether numbers are codes whose order means nothing: type, code, status."""
        return NOMINAL.fits(self.words)

    @property
    def is_place(self) -> bool:
        """Whether it speaks of a place smaller than a state: postcode, city, county."""
        return PLACES.fits(self.words)

    @property
    def is_postcode(self) -> bool:
        """Whether it speaks of postcodes."""
        return POSTCODES.fits(self.words)

    @property
    def is_position(self) -> bool:
        """Whether it speaks of coordinates: lat, longitude, gps."""
        return POSITIONS.fits(self.words)

    @property
    def is_age(self) -> bool:
        """Whether it speaks of ages."""
        return AGES.fits(self.words)

    @property
    def why_sensitive(self) -> str:
        """What it seems to hold that an adversary would like to learn; empty if nothing."""
        if MEDICINES.fits(self.words):
            return "its name is that of a medicine"
        if SENSITIVE.fits(self.words):
            return "its name suggests a result, health, money or belief, which others want to learn"
        return ""

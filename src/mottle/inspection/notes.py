"""What the owner should know about a table before publishing anything, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, takewhile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.profile import Profile, spelling_variants
from mottle.schema.model import Role

__all__ = ["notes_on"]

_MARKERS = frozenset(
    (-9999, -999, -99, -9, -1, 97, 98, 99, 997, 998, 999, 9997, 9998, 9999, 99999, 999999)
)
_FEWEST_NUMBERS = 5  # distinct ones, to know which of them are far from others
_SHOWN = 3
_MOST_VALUES = 200  # distinct values up to which one column is another one's code


def notes_on(
    profiles: Sequence[Profile], roles: Mapping[str, Role], duplicates: int
) -> Iterator[str]:
    """Say what was noticed in a table.

    Parameters
    ----------
    profiles : sequence of Profile
        Its columns.
    roles : mapping of str to Role
        Their proposed roles; values of identifying and sensitive columns are not named.
    duplicates : int
        The number of rows that are equal to an earlier one.

    Yields
    ------
    str
        One remark.
    """
    if duplicates:
        rows = "row is" if duplicates == 1 else "rows are"
        yield (
            f"{duplicates:,} {rows} equal to an earlier one in all columns: if these are the same"
            " people twice, remove them first."
        )
    for profile in profiles:
        yield from _variants(profile, roles[profile.name])
        yield from _markers(profile)
        if profile.is_text and profile.looks_like_dates:
            yield (
                f"Column '{profile.name}' holds dates as text; as dates they would be published as"
                " ranges of days. Convert them, or read a text file with --date-format."
            )
    yield from _codes_of_each_other(profiles)


def _variants(profile: Profile, role: Role) -> Iterator[str]:
    groups = list(spelling_variants(profile))
    if not groups:
        return
    more = sum(len(group) - 1 for group in groups)
    shown = ""
    if role is Role.QUASI_IDENTIFYING:
        named = ["/".join(f"'{value}'" for value in group) for group in groups[:_SHOWN]]
        shown = f" ({', '.join(named)}{', …' if len(groups) > _SHOWN else ''})"
    values = "value differs" if more == 1 else "values differ"
    yield (
        f"Column '{profile.name}': {more:,} {values} from another only in capitals or in spaces"
        f" around it{shown}. They count as different; unify them."
    )


def _markers(profile: Profile) -> Iterator[str]:
    """Numbers far from all others that are often written for a missing value: 98 and 99."""
    if not profile.is_number or profile.distinct < _FEWEST_NUMBERS:
        return
    values = np.sort(np.asarray(pc.cast(profile.values, pa.float64(), safe=False)))
    for descending in (values[::-1], values):
        marks = list(takewhile(_MARKERS.__contains__, descending))
        for end in range(1, min(len(marks), len(descending) - _FEWEST_NUMBERS + 1) + 1):
            others = descending[end:]
            if abs(descending[end - 1] - others[0]) <= 0.5 * max(float(np.ptp(others)), 1.0):
                continue
            named = ", ".join(f"{mark:.0f}" for mark in reversed(marks[:end]))
            are, it = ("is", "It") if end == 1 else ("are", "They")
            yield (
                f"Column '{profile.name}': {named} {are} far from all other values. {it} may stand"
                " for a missing value, which should be replaced before, or be a top code."
            )
            break


def _codes_of_each_other(profiles: Sequence[Profile]) -> Iterator[str]:
    """Columns that say the same in other words, such as a code and its label."""
    alike: dict[bytes, list[Profile]] = {}  # columns whose values occur equally often
    for profile in profiles:
        if 3 <= profile.size <= _MOST_VALUES:
            alike.setdefault(np.sort(profile.counts).tobytes(), []).append(profile)
    for one, other in chain.from_iterable(combinations(group, 2) for group in alike.values()):
        pairs = one.codes.astype(np.int64) * other.size + other.codes
        if np.count_nonzero(np.bincount(pairs, minlength=one.size**2)) == one.size:
            yield (
                f"Columns '{one.name}' and '{other.name}' say the same in other words: drop one of"
                " them."
            )

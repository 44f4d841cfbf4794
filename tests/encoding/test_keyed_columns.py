"""Pseudonyms and shifted dates: what they are, and where they are refused."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import logging
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle import KAnonymity, LDiversity, Schema
from mottle.encoding.keyed_columns import (
    check_pseudonyms,
    day_offsets,
    keyed_notes,
    with_keyed_columns,
)
from mottle.errors import DataError, PrivacyError, SchemaError, UsageError

KEY, OTHER = bytes(32), bytes([1] * 32)
DAY = dt.date(2024, 2, 28)


def patients(rows: int = 60, per_person: int = 1) -> pa.Table:
    random = np.random.default_rng(4)
    admitted = [DAY + dt.timedelta(int(days)) for days in random.integers(0, 300, rows)]
    stays = random.integers(0, 4, rows)
    return pa.table(
        {
            "who": [f"P{number // per_person}" for number in range(rows)],
            "age": random.integers(20, 50, rows),
            "admitted": admitted,
            "left": [day + dt.timedelta(int(n)) for day, n in zip(admitted, stays, strict=True)],
            "ill": random.choice(["a", "b", "c"], rows),
        }
    )


PSEUDONYMS = Schema.of(quasi_identifying=["age"], pseudonym="who", rest="insensitive")
SHIFTED = Schema.of(
    quasi_identifying=["age"],
    person="who",
    shifts={"admitted": 30, "left": 30},
    rest="insensitive",
)


def pseudonyms_of(values: list[object], key: bytes = KEY, column: str = "who") -> list[str]:
    table = pa.table({column: values, "age": list(range(len(values)))})
    schema = Schema.of(quasi_identifying=["age"], pseudonym=column)
    found: list[str] = with_keyed_columns(table, schema, key).column(column).to_pylist()
    return found


def test_a_pseudonym_is_the_keyed_hash_of_the_name() -> None:
    """Computed here by another way; a release of another year has to give the same."""
    own = hmac.new(KEY, b"mottle pseudonym 1\0who", hashlib.sha256).digest()
    digest = hmac.new(own, b"p1", hashlib.sha256).digest()
    assert pseudonyms_of(["P1"]) == [base64.b32encode(digest).decode().lower()[:26]]


def test_pseudonyms_depend_on_key_and_column_and_not_on_spelling() -> None:
    one = pseudonyms_of(["P1", "p2"])
    assert pseudonyms_of(["p2", " p1"]) == one[::-1]
    assert pseudonyms_of([7, 8]) == pseudonyms_of(["7", "008"])
    assert not set(one) & set(pseudonyms_of(["P1", "p2"], OTHER))
    assert not set(one) & set(pseudonyms_of(["P1", "p2"], column="name"))


def test_the_random_numbers_of_a_run_tell_nothing_about_pseudonyms() -> None:
    """The same key with another guarantee draws anew and names alike."""
    one, two = (
        mottle.anonymize(patients(), PSEUDONYMS, KAnonymity(k), key=KEY, method="nh").table
        for k in (3, 4)
    )
    assert one.column("who").to_pylist() != two.column("who").to_pylist()  # another order
    assert set(one.column("who").to_pylist()) == set(two.column("who").to_pylist())


def test_every_record_has_the_pseudonym_of_its_true_person() -> None:
    table = patients()
    release = mottle.anonymize(table, PSEUDONYMS, KAnonymity(3), key=KEY, method="nh")
    expected = with_keyed_columns(table, PSEUDONYMS.covering(table.column_names), KEY)
    by_name = dict(
        zip(expected.column("who").to_pylist(), table.column("ill").to_pylist(), strict=True)
    )
    published = release.table.select(["who", "ill"]).to_pylist()
    assert all(by_name[row["who"]] == row["ill"] for row in published)
    assert "NOT anonymous" in " ".join(release.certificate.notes)
    report = mottle.audit_release(table, release, schema=PSEUDONYMS)
    assert all(finding.passed is not False for finding in report.findings)


def test_a_release_with_several_rows_of_a_person_gets_no_pseudonyms() -> None:
    table = patients(per_person=2)
    with pytest.raises(UsageError, match="candidates for all of them"):
        mottle.anonymize(table, PSEUDONYMS, KAnonymity(3), key=KEY)
    aggregated = Schema.of(
        quasi_identifying=["age"],
        pseudonym="who",
        per_person="aggregate",
        identifying=["admitted", "left", "ill"],
    )
    release = mottle.anonymize(table, aggregated, KAnonymity(3), key=KEY, method="nh")
    assert len(set(release.table.column("who").to_pylist())) == release.num_rows == 30


def test_what_cannot_be_promised_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--key FILE"):
        mottle.anonymize(patients(), PSEUDONYMS, KAnonymity(3))
    with pytest.raises(UsageError, match="in memory only"):
        mottle.anonymize_stream(patients(), PSEUDONYMS, KAnonymity(3), tmp_path / "out", key=KEY)
    with pytest.raises(UsageError, match="in a chain of releases"):
        mottle.anonymize(patients(), PSEUDONYMS, KAnonymity(3), key=KEY, same="who")
    with pytest.raises(SchemaError, match="contradicts"):
        Schema.of(quasi_identifying=["age"], pseudonym="who", unit="row")
    with pytest.raises(SchemaError, match="both say whose row"):
        Schema.of(quasi_identifying=["age"], pseudonym="who", person="id")
    with pytest.raises(SchemaError, match="rest cannot be 'pseudonym'"):
        Schema.of(quasi_identifying=["age"], rest="pseudonym")
    with pytest.raises(SchemaError, match="by person"):
        Schema.of(quasi_identifying=["age"], shifts={"admitted": 30})
    with pytest.raises(SchemaError, match="different days"):
        Schema.of(quasi_identifying=["age"], person="who", shifts={"admitted": 30, "left": 20})
    with pytest.raises(SchemaError, match="given a role twice"):
        Schema.of(quasi_identifying=["admitted"], person="who", shifts={"admitted": 30})


def test_names_in_place_of_pseudonyms_are_an_invariant() -> None:
    schema = PSEUDONYMS
    for values in (["ann", "bob"], ["a" * 26, "a" * 26]):
        with pytest.raises(PrivacyError, match="Invariant 5"):
            check_pseudonyms(schema, pa.table({"who": values}))


# -------------------------------------------------------------------------------- exact beliefs


def strongest_belief(ring: str, k: int, *, linked: bool) -> Fraction:
    """The highest belief that a record is a person's, over all draws and all pseudonyms.

    ``ring`` names whose row each row is, around a ring in which every record may be its own row or
    one of the k - 1 after it. All assignments along the edges are equally likely, and so are all
    ways of giving people their pseudonyms, of which the adversary sees those of the records.
    """
    size, people = len(ring), sorted(set(ring))
    places = [[(record + step) % size for step in range(k)] for record in range(size)]
    assigned = [each for each in product(*places) if len(set(each)) == size]
    seen: dict[tuple[str, ...], Counter[tuple[int, str]]] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for rows in assigned:
        whose = [ring[row] for row in rows]
        for names in permutations("xyzuvw"[: len(people)]):
            name_of = dict(zip(people, names, strict=True))
            published = tuple(name_of[person] for person in whose) if linked else ()
            times[published] += 1
            seen.setdefault(published, Counter()).update(enumerate(whose))
    return max(
        Fraction(count, times[published])
        for published, beliefs in seen.items()
        for count in beliefs.values()
    )


@pytest.mark.parametrize(("ring", "k"), [("ABCD", 2), ("ABCDE", 2), ("ABC", 3), ("ABCD", 4)])
def test_pseudonyms_of_one_row_each_tell_nothing(ring: str, k: int) -> None:
    assert strongest_belief(ring, k, linked=False) == Fraction(1, k)
    assert strongest_belief(ring, k, linked=True) == Fraction(1, k)


def test_pseudonyms_of_several_rows_give_people_away() -> None:
    """Of the candidates of every record, one in two is one person's; linked, all are named."""
    assert strongest_belief("ABACDE", 2, linked=False) == Fraction(1, 2)
    assert strongest_belief("ABACDE", 2, linked=True) == 1


# --------------------------------------------------------------------------------- shifted dates


def belief_by_dates(
    ring: str, k: int, dates: dict[str, list[int]], most: int, *, known: bool
) -> tuple[Fraction, Fraction]:
    """The highest belief that a record is a person's, and how often the best guess is right.

    The ring is that of `strongest_belief`; row r has the first date of its person that no earlier
    row of the person has. All draws are gone through: assignments are equally likely, and so are
    all shifts of every person
    from ``-most`` to ``most`` days. The adversary sees the dates of the records; he either knows
    everybody's dates, or takes every way of giving the rows these dates for equally likely.
    """
    size, people = len(ring), sorted(set(ring))
    place_of = [ring[:row].count(person) for row, person in enumerate(ring)]
    own = [dates[person][place] for person, place in zip(ring, place_of, strict=True)]
    worlds = [own] if known else sorted(set(permutations(own)))
    places = [[(record + step) % size for step in range(k)] for record in range(size)]
    assigned = [each for each in product(*places) if len(set(each)) == size]
    seen: dict[tuple[int, ...], Counter[tuple[int, str]]] = {}
    times: Counter[tuple[int, ...]] = Counter()
    for days in worlds:
        for moves in product(range(-most, most + 1), repeat=len(people)):
            move_of = dict(zip(people, moves, strict=True))
            for rows in assigned:
                published = tuple(days[row] + move_of[ring[row]] for row in rows)
                times[published] += 1
                whose = ((record, ring[row]) for record, row in enumerate(rows))
                seen.setdefault(published, Counter()).update(whose)
    highest = max(
        Fraction(count, times[published])
        for published, beliefs in seen.items()
        for count in beliefs.values()
    )
    guessed = sum(
        max(count for (record, _), count in beliefs.items() if record == one)
        for beliefs in seen.values()
        for one in range(size)
    )
    return highest, Fraction(guessed, size * times.total())


@pytest.mark.parametrize(("ring", "k"), [("ABCD", 2), ("ABC", 3)])
def test_shifted_dates_that_nobody_knows_tell_nothing(ring: str, k: int) -> None:
    dates = {person: [3 * place] for place, person in enumerate(ring)}
    assert belief_by_dates(ring, k, dates, 2, known=False) == (Fraction(1, k), Fraction(1, k))


def test_shifts_never_tell_more_than_the_dates_themselves() -> None:
    """Whoever knows all dates is certain without shifts, and right less often with them."""
    dates = {person: [place] for place, person in enumerate("ABCD")}
    right = [belief_by_dates("ABCD", 2, dates, most, known=True)[1] for most in range(4)]
    assert right[0] == 1
    assert sorted(right, reverse=True) == right
    assert Fraction(1, 2) < right[3] < right[0]
    same = {person: [5] for person in "ABCD"}
    assert belief_by_dates("ABCD", 2, same, 2, known=True) == (Fraction(1, 2), Fraction(1, 2))


def test_common_shifts_of_several_rows_may_give_people_away() -> None:
    """Everybody came on one day: only the shift says which records are one person's."""
    rows = {person: [0] * "ABACDE".count(person) for person in "ABCDE"}
    assert belief_by_dates("ABACDE", 2, rows, 0, known=True)[0] == Fraction(1, 2)
    assert belief_by_dates("ABACDE", 2, rows, 1, known=True)[0] == 1


def test_a_date_that_all_share_tells_the_shift() -> None:
    """A holiday in one column gives the exact date in the other back."""
    people, holiday = ["a", "b", "c"], dt.date(2024, 12, 25)
    days = [holiday - dt.timedelta(number) for number in (10, 20, 30)]
    table = pa.table({"who": people, "age": [1, 2, 3], "holiday": [holiday] * 3, "day": days})
    schema = Schema.of(quasi_identifying=["age"], person="who", shifts={"holiday": 9, "day": 9})
    moved = with_keyed_columns(table, schema, KEY)
    found = [
        holiday + (day - anchor)
        for day, anchor in zip(
            moved.column("day").to_pylist(), moved.column("holiday").to_pylist(), strict=True
        )
    ]
    assert found == days
    assert any("as if they were exact" in note for note in keyed_notes(schema, None))


def test_dates_of_a_person_move_together_within_the_bound() -> None:
    table = patients(per_person=3)
    schema = SHIFTED.covering(table.column_names)
    moved = with_keyed_columns(table, schema, KEY)
    days: dict[str, set[int]] = {}
    for name in ("admitted", "left"):
        pairs = zip(
            table.column("who").to_pylist(),
            table.column(name).to_pylist(),
            moved.column(name).to_pylist(),
            strict=True,
        )
        for who, before, after in pairs:
            days.setdefault(who, set()).add((after - before).days)
    assert all(len(of_person) == 1 for of_person in days.values())
    offsets = [next(iter(of_person)) for of_person in days.values()]
    assert max(map(abs, offsets)) <= 30
    assert len(set(offsets)) > 10
    assert moved.equals(with_keyed_columns(table, schema, KEY))
    assert not moved.equals(with_keyed_columns(table, schema, OTHER))


def test_offsets_are_uniform() -> None:
    people = [str(number).encode() for number in range(7000)]
    counts = Counter(day_offsets(people, 3, KEY).tolist())
    assert sorted(counts) == [-3, -2, -1, 0, 1, 2, 3]
    assert all(abs(count - 1000) < 150 for count in counts.values())


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("s")])
def test_all_types_of_dates_are_shifted_and_empty_ones_stay(kind: pa.DataType) -> None:
    cells = pa.array([DAY, None], pa.date32()).cast(kind)
    table = pa.table({"who": ["a", "b"], "age": [1, 2], "day": cells})
    schema = Schema.of(quasi_identifying=["age"], person="who", shifts={"day": 9})
    moved = with_keyed_columns(table, schema, KEY).column("day")
    assert moved.type == kind
    assert moved.null_count == 1


def test_what_is_no_date_or_leaves_the_calendar_is_refused() -> None:
    schema = Schema.of(quasi_identifying=["age"], person="who", shifts={"day": 400})
    table = pa.table({"who": ["a"], "age": [1], "day": ["1.2.24"]})
    with pytest.raises(SchemaError, match="not dates"):
        with_keyed_columns(table, schema, KEY)
    people = [f"p{number}" for number in range(20)]
    table = pa.table({"who": people, "age": [1] * 20, "day": [dt.date(9999, 12, 31)] * 20})
    with pytest.raises(DataError, match="years 1 to 9999"):
        with_keyed_columns(table, schema, KEY)


def test_exact_intervals_are_measured_and_stated(caplog: pytest.LogCaptureFixture) -> None:
    table = patients(per_person=3)
    with caplog.at_level(logging.WARNING):
        release = mottle.anonymize(table, SHIFTED, KAnonymity(2), key=KEY, method="nh")
    assert "people with several dates have intervals of their own" in caplog.text
    notes = " ".join(release.certificate.notes)
    assert "shifted by up to 30 days" in notes
    assert "not bounded by k" in notes  # people have several rows
    facts = {column.name: column.shift for column in release.certificate.columns}
    assert facts["admitted"] == 30


def test_rows_that_an_offset_makes_recognizable_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Everybody came on one day: only the offset tells people apart, and it does."""
    table = patients(per_person=3)
    table = table.set_column(2, "admitted", pa.array([DAY] * 60))
    schema = Schema.of(
        quasi_identifying=["age"],
        person="who",
        shifts={"admitted": 3000},
        identifying=["left", "ill"],
    )
    with caplog.at_level(logging.WARNING):
        mottle.anonymize(table, schema, KAnonymity(2), key=KEY, method="nh")
    assert "can be recognized as one person's" in caplog.text


def test_bounds_on_values_hold_beside_pseudonyms() -> None:
    schema = Schema.of(
        quasi_identifying=["age"],
        sensitive=["ill"],
        pseudonym="who",
        identifying=["admitted", "left"],
    )
    release = mottle.anonymize(patients(), schema, LDiversity(2), key=KEY)
    assert release.certificate.guarantee.name.endswith("diversity")


def test_the_command_line_says_loudly_that_pseudonyms_are_not_anonymous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(patients(), "visits.csv")
    common = ("visits.csv", "--qi", "age", "--pseudonym", "who", "--rest", "insensitive")
    common = ("anonymize", *common, "--k", "3", "--method", "nh", "-o", "out")
    refused(mottle_command(*common), 2, "--key FILE")
    dates = ("--shift-dates", "admitted=±20", "--shift-dates", "left=20")
    result = mottle_command(*common, "--key", "owner.key", *dates)
    assert result.exit_code == 0, result.output
    assert "NOT anonymous by themselves" in said(result)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Replaced by pseudonyms" in page
    assert "shifted by a secret number of days" in page
    result = mottle_command("audit", "visits.csv", "out")
    assert result.exit_code == 0, result.output

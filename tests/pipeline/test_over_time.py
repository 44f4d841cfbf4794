"""Releases over time: who is published when, what stays the same, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import (
    BetaLikeness,
    DataError,
    GuaranteeError,
    KAnonymity,
    LDiversity,
    MaxDrop,
    PrivacyError,
    Release,
    Schema,
    UsageError,
)
from mottle.methods.base import MethodContext
from mottle.pipeline import spine
from mottle.pipeline.continued_records import ContinuedRecords
from mottle.release.history import changed_cells
from mottle.report.reproduce import command_of

NAMES = ["person_id", "age", "sex", "education", "income", "diagnosis"]
SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "education"],
    identifying=["person_id"],
    sensitive=["diagnosis"],
    rest="insensitive",
)
BUCKETS = Schema.of(
    quasi_identifying=["age", "sex"],
    identifying=["person_id", "education", "income"],
    sensitive=["diagnosis"],
)
K = KAnonymity(4)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    table = mottle.datasets.population(500, seed=4).select(NAMES)
    return table.set_column(5, "diagnosis", pa.array([f"d{row % 7}" for row in range(500)]))


def first(table: pa.Table, guarantee: Any = K, schema: Schema = SCHEMA, **options: Any) -> Release:
    return mottle.anonymize(
        table, schema, guarantee, **{"seed": 1, "method": "nh", "same": "person_id", **options}
    )


def then(
    table: pa.Table,
    previous: object,
    guarantee: Any = K,
    schema: Schema = SCHEMA,
    **options: Any,
) -> Release:
    return mottle.anonymize(
        table, schema, guarantee, **{"seed": 2, "method": "nh", "previous": previous, **options}
    )


def records(release: Release) -> list[tuple[Any, ...]]:
    return sorted(zip(*release.to_text().to_pydict().values(), strict=True), key=str)


def history(release: Release) -> Any:
    assert release.links is not None
    assert release.links.history is not None
    return release.links.history


@pytest.mark.parametrize(
    ("guarantee", "schema", "method"),
    [
        (K, SCHEMA, "nh"),
        (K, SCHEMA, "freeform"),
        (K, SCHEMA, "mondrian"),
        (LDiversity(3), BUCKETS, "buckets"),
    ],
)
def test_records_of_an_earlier_release_are_published_as_they_were(
    people: pa.Table, tmp_path: Path, guarantee: Any, schema: Schema, method: str
) -> None:
    one = first(people.slice(0, 400), guarantee, schema, method=method)
    one.save(tmp_path / "one", private=tmp_path / "links", report=False)
    two = then(
        people.slice(20, 450),
        tmp_path / "links",
        guarantee,
        schema,
        method=method,
        least_newcomers=10,
    )
    assert two.num_rows == 470
    before, now = records(one), records(two)
    for record in before:
        now.remove(record)  # raises if the record is no longer there
    assert len(now) == 70
    facts = two.certificate.history
    assert facts is not None
    assert (facts.release, facts.kept, facts.new, facts.left) == (2, 400, 70, 20)
    assert two.audit(people.slice(20, 450), adversaries=["links", "linkage"]).passed


def test_a_third_release_keeps_both_earlier_ones(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    two = then(people.slice(0, 350), one)
    three = then(people.slice(10, 400), two, seed=3)
    now = records(three)
    for record in records(two):
        now.remove(record)
    assert np.bincount(history(three).cohort).tolist() == [0, 300, 50, 60]


def test_rows_come_in_a_new_random_order(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    two = then(people.slice(0, 300), one)
    assert records(one) == records(two)
    assert one.to_text().to_pydict() != two.to_text().to_pydict()


def test_a_block_that_lost_somebody_is_dropped_with_all_its_people(people: pa.Table) -> None:
    one = first(people.slice(0, 400))
    two = then(people.slice(5, 395), one, leavers="drop")
    facts = two.certificate.history
    assert facts is not None
    assert facts.left == 0
    assert facts.withheld > 0
    assert facts.kept + facts.withheld == 395
    # nobody of a dropped block is ever drawn again, and no row of theirs is remembered
    three = then(people.slice(5, 395), two, leavers="keep")
    assert records(three) == records(two)
    assert len(history(three).rows) == facts.kept


def test_a_block_is_kept_while_one_of_its_people_is_in_the_table(people: pa.Table) -> None:
    one = first(people.slice(0, 8))
    links = one.links
    assert links is not None
    block = links.graph.members[: links.graph.starts[1]].tolist()
    others = [row for row in range(8) if row not in block]
    some = then(people.take([block[0], *others]), one)
    assert some.num_rows == 8
    if others:
        none = then(people.take(others), one)
        assert none.num_rows == len(others)


def test_newcomers_wait_until_they_are_enough(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    two = then(people.slice(0, 303), one)
    assert two.certificate.history.waiting == 3
    assert records(one) == records(two)
    three = then(people.slice(0, 304), two)
    assert three.certificate.history.new == 4
    later = then(people.slice(0, 304), two, least_newcomers=10)
    assert later.certificate.history.waiting == 4
    few = then(people.slice(0, 304), two, least_newcomers=1)  # never fewer than k
    assert few.certificate.history.least_newcomers == 4


def test_newcomers_with_sensitive_values_wait_for_a_hundred(people: pa.Table) -> None:
    one = first(people.slice(0, 300), LDiversity(3), BUCKETS, method="buckets")
    two = then(people.slice(0, 399), one, LDiversity(3), BUCKETS, method="buckets")
    assert two.certificate.history.waiting == 99
    three = then(people.slice(0, 400), two, LDiversity(3), BUCKETS, method="buckets")
    assert three.certificate.history.new == 100


def test_people_who_return_keep_their_record(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    two = then(people.slice(10, 290), one)
    three = then(people.slice(0, 300), two)
    assert records(three) == records(one)
    assert three.certificate.history.left == 0


def test_cells_that_have_no_value_or_are_not_a_number_have_not_changed() -> None:
    """Columns without any value, and NaN in lists (found by the fuzzer)."""
    before = pa.table({"none": pa.nulls(3), "list": [[float("nan"), 1.0], None, [2.0]]})
    now = pa.table({"none": pa.nulls(3), "list": [[float("nan"), 1.0], None, [2.5]]})
    found = changed_cells(before, now)
    assert [found[name].tolist() for name in ("none", "list")] == [
        [False, False, False],
        [False, False, True],
    ]


def test_other_values_are_refused_or_published_as_they_were(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    ages = pa.array([age + (row < 3) for row, age in enumerate(people["age"].to_pylist())])
    older = people.set_column(1, "age", ages).slice(0, 300)
    with pytest.raises(DataError, match=r"3 people have other values by now in 'age'"):
        then(older, one)
    two = then(older, one, changed="keep")
    assert records(two) == records(one)
    # how many have other values depends on values, so the certificate does not say it
    assert "changed" not in two.certificate.history.to_dict()
    assert two.audit(older, adversaries=["links"]).passed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guarantee": KAnonymity(5)}, "another guarantee"),
        ({"schema": SCHEMA.with_rest("insensitive"), "representation": "set"}, "representation"),
        (
            {
                "schema": Schema.of(
                    quasi_identifying=["age"], identifying=["person_id"], rest="insensitive"
                )
            },
            "roles",
        ),
        ({"same": "income"}, "tells people apart by column 'person_id'"),
        ({"leavers": "forget"}, "no rule 'forget'"),
        ({"unsafe_paper_randomization": True}, "exact or unsafe"),
        ({"guarantee": LDiversity(2), "method": "mondrian"}, "no proof for sensitive values"),
        ({"guarantee": BetaLikeness(2), "method": "auto"}, "β-likeness compares"),
        ({"guarantee": MaxDrop({"none": 0.5}), "method": "auto"}, "drop of belief compares"),
    ],
)
def test_what_has_no_proof_is_refused(
    people: pa.Table, options: dict[str, Any], message: str
) -> None:
    one = first(people.slice(0, 300))
    with pytest.raises(UsageError, match=message):
        then(people.slice(0, 310), one, **options)


def test_people_must_be_told_apart(people: pa.Table) -> None:
    with pytest.raises(UsageError, match="not an identifying column"):
        first(people, same="income")
    twice = pa.concat_tables([people.slice(0, 100), people.slice(0, 3)])
    with pytest.raises(DataError, match=r"repeats: 100 values in 103 rows"):
        first(twice)
    plain = mottle.anonymize(people, SCHEMA, K, seed=1, method="nh")
    with pytest.raises(DataError, match="does not say who is who"):
        then(people, plain)


def with_ids(table: pa.Table, ids: object) -> pa.Table:
    return table.set_column(0, "person_id", ids if isinstance(ids, pa.Array) else pa.array(ids))


@pytest.mark.parametrize(
    "spell",
    [str, "{:>8}".format, "{:08}".format, "{}.0".format, float, lambda name: str(name).encode()],
    ids=["text", "right-aligned", "padded", "as float", "float", "bytes"],
)
def test_people_are_recognized_in_another_spelling(people: pa.Table, spell) -> None:
    numbers = list(range(101, 601))
    before = first(with_ids(people, numbers).slice(0, 200))
    after = then(with_ids(people, [spell(number) for number in numbers]).slice(0, 230), before)
    facts = after.certificate.history
    assert (facts.kept, facts.new, facts.left) == (200, 30, 0)


def test_people_are_recognized_in_another_case(people: pa.Table) -> None:
    names = [f"ID-{number}\u00e9" for number in range(500)]
    before = first(with_ids(people, names).slice(0, 200))
    other = [f" id-{number}E\u0301 " for number in range(500)]
    assert then(with_ids(people, other).slice(0, 200), before).certificate.history.kept == 200


def test_spellings_of_one_name_within_a_file_are_refused(people: pa.Table) -> None:
    names = [f"n{number}" for number in range(498)] + ["7", "007"]
    with pytest.raises(DataError, match="500 values, of which 1 differ from others only in case"):
        first(with_ids(people, names))


def test_a_table_in_which_hardly_anybody_is_recognized_is_refused(people: pa.Table) -> None:
    before = first(people.slice(0, 200))
    renamed = with_ids(people, [f"new-{number}" for number in range(500)]).slice(0, 200)
    with pytest.raises(DataError, match="Of 200 people of the earlier release, 0 are") as refused:
        then(renamed, before)
    assert "--few-remain" in refused.value.remedy
    with pytest.raises(DataError, match="99 are in the table"):
        then(people.slice(101, 150), before)
    assert then(people.slice(100, 150), before).certificate.history.kept > 0
    facts = then(people.slice(101, 150), before, few_remain=True).certificate.history
    assert (facts.new, facts.left) == (51, facts.kept - 99)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (pa.array([b"\xff%d" % row for row in range(500)]), DataError, "bytes that are not text"),
        (pa.array([[row] for row in range(500)]), UsageError, "do not name people"),
    ],
)
def test_columns_that_name_nobody_are_refused(people: pa.Table, ids, error, message) -> None:
    with pytest.raises(error, match=message):
        first(with_ids(people, ids))


def test_newcomers_whose_values_cannot_be_protected_are_refused(people: pa.Table) -> None:
    one = first(people.slice(0, 300), LDiversity(3), BUCKETS, method="buckets")
    equal = people.slice(300, 20).set_column(5, "diagnosis", pa.array(["d1"] * 20))
    with pytest.raises(GuaranteeError):
        then(
            pa.concat_tables([people.slice(0, 300), equal]),
            one,
            LDiversity(3),
            BUCKETS,
            method="buckets",
            least_newcomers=10,
        )


def test_the_first_wave_that_decides_cuts_is_the_one_that_is_published(
    people: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newcomers' blocks come first, so that what a method previews is what is drawn."""
    previews, seen = [], []
    arrange, assign = ContinuedRecords.arrange, spine.assign

    def spied(self: ContinuedRecords, context: MethodContext) -> Any:
        def preview(graph: Any) -> Any:
            previews.append(context.preview(graph))
            return previews[-1]

        return arrange(self, replace(context, preview=preview))

    def drawn(graph: Any, secret: Any, walk: str = "closed") -> Any:
        seen.append(assign(graph, secret, walk))
        return seen[-1]

    big = mottle.datasets.population(5000, seed=9).select(NAMES)
    big = big.set_column(5, "diagnosis", pa.array([f"d{row % 17}" for row in range(5000)]))
    one = first(big.slice(0, 400), LDiversity(3), BUCKETS, method="buckets")
    monkeypatch.setattr(ContinuedRecords, "arrange", spied)
    monkeypatch.setattr(spine, "assign", drawn)
    two = then(big, one, LDiversity(3), BUCKETS, method="buckets", effort=0)
    assert previews
    assert two.links is not None
    assert np.array_equal(two.links.truth[: len(previews[-1])], previews[-1])
    assert len(two.links.graph.starts) > 2


def test_a_record_in_another_form_is_never_published(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    links = one.links
    assert links is not None
    forged = replace(history(one), seals=history(one).seals + np.uint64(1))
    with pytest.raises(PrivacyError, match="published in another form"):
        then(people.slice(0, 300), replace(links, history=forged))


def test_the_same_key_gives_the_same_chain(people: pa.Table, tmp_path: Path) -> None:
    releases = []
    for name in ("one", "two"):
        start = first(people.slice(0, 300), seed=None, key=tmp_path / "key")
        start.save(tmp_path / name, private=tmp_path / f"{name}.links", report=False)
        releases.append(
            then(
                people.slice(5, 400),
                tmp_path / f"{name}.links",
                seed=None,
                key=tmp_path / "key",
            )
        )
    assert releases[0].table.equals(releases[1].table)
    other = then(people.slice(5, 401), tmp_path / "one.links", seed=None, key=tmp_path / "key")
    assert not other.table.slice(0, 50).equals(releases[0].table.slice(0, 50))


def test_the_report_says_how_the_release_is_made_again(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    two = then(people.slice(5, 305), one, leavers="drop")
    assert "--same COLUMN --private LINKS" in command_of(one.certificate)
    assert "--previous LINKS --private NEW_LINKS --leavers drop" in command_of(two.certificate)


def test_a_seed_of_any_release_is_stated(people: pa.Table) -> None:
    two = then(people.slice(0, 310), first(people.slice(0, 300)), seed=None)
    assert any("drawn with a seed" in note for note in two.certificate.notes)


def test_links_keep_no_identifying_column_and_no_row_that_is_dropped(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    assert history(one).rows.column_names == NAMES[1:]
    assert str(people["person_id"][0]).encode() not in history(one).people[0]
    two = then(people.slice(5, 295), one, leavers="drop")
    kept = set(history(two).rows.column("income").to_pylist())
    gone = people.slice(0, 5).column("income").to_pylist()
    others = set(people.slice(5, 295).column("income").to_pylist())
    assert not kept & (set(gone) - others)


def test_a_repeated_run_of_an_audit_refuses_another_original(people: pa.Table) -> None:
    one = first(people.slice(0, 300))
    with pytest.raises(DataError, match="does not fit the rows in the link file"):
        one.audit(people.slice(1, 300), adversaries=["links"])

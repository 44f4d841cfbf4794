"""What the report of published sets says about them: items, sizes, and accuracy of counts.

Everything that is counted in a release is counted in base sets, its best guess. Bounds come from
the uncertain items: what a record may hold at most, and what it holds for certain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.evaluation.cell_counts import Tally, tallies
from mottle.evaluation.set_query_accuracy import ItemHolders, measure_set_accuracy
from mottle.evaluation.set_release import compare_sets
from mottle.itemsets.data import ItemSets
from mottle.methods.sets.base import METHODS
from mottle.release.certificate import Certificate
from mottle.release.column import PublishedColumn
from mottle.release.set_release import SetReleaseData, based_items
from mottle.report.body import Body, Examples, Owner, cell_text
from mottle.report.columns import ColumnReport, describe
from mottle.report.frequent_items import frequent_items
from mottle.report.identical_rows import identical_rows
from mottle.report.reproduce import command_of_sets
from mottle.report.svg import horizontal, percent, shortened
from mottle.schema.model import Role
from mottle.utils.steps import Announced

_LONGEST_SET = 200  # characters of the longest set that is shown


STEPS = ("items", "accuracy", "figures", "equal sets")


def sets_body(
    release: SetReleaseData, certificate: Certificate, owner: Owner | None, steps: Announced
) -> Body:
    """Gather items, sizes, labels, query accuracy, and how to reproduce the release."""
    steps.begin("items", "Describing items and sizes")
    original = None if owner is None else _original(owner, release)
    holders = ItemHolders.of(release)
    before = None if original is None else ItemHolders.of_originals(original, holders.names)
    known = METHODS.get(certificate.method.used)
    columns = [
        _items(release, original),
        *_sizes(release, original),
        *_labels(release, original),
    ]
    steps.begin("accuracy", "Asking counts")
    accuracy = measure_set_accuracy(release, holders, before)
    steps.begin("figures", "Measuring errors")
    figures = _figures(release, certificate, original)
    steps.begin("equal sets", "Counting equal sets")
    return Body(
        of_sets=True,
        method=certificate.method.title if known is None else known.title,
        columns=columns,
        accuracy=accuracy,
        figures=figures,
        command=command_of_sets(certificate)
        if owner is None or not owner.command
        else owner.command,
        examples=None
        if original is None or owner is None or owner.examples is None
        else _examples(original, owner.examples, release),
        identical=identical_rows(release),
    )


def _original(owner: Owner, release: SetReleaseData) -> ItemSets:
    if not isinstance(owner.original, ItemSets):
        raise UsageError(
            "The original must be a file of sets, because this release was made from sets.",
            "Give the sets that were read.",
        )
    compare_sets(owner.original, release, queries=1)  # raises if it cannot be the original
    return owner.original


def _items(release: SetReleaseData, original: ItemSets | None) -> ColumnReport:
    """The most frequent items in base sets."""
    cells = release.table.column(release.column).combine_chunks()
    before = None
    if original is not None:
        members = original.names.take(pa.array(original.items))
        lists = pa.LargeListArray.from_arrays(pa.array(original.starts), members)
        before = (lists, np.ones(len(lists), np.int64))
    bars = frequent_items(cells, np.ones(len(cells), np.int64), before)
    return ColumnReport(
        name=release.column,
        role=Role.QUASI_IDENTIFYING,
        published_as=f"share of the records that hold each of the {len(bars)} most frequent items",
        loss=None,
        exact=None,
        facts=(),
        widest=(),
        chart=horizontal(bars, release.column) if bars else None,
        why_no_chart="All sets are empty, so there is no chart.",
    )


def _sizes(release: SetReleaseData, original: ItemSets | None) -> list[ColumnReport]:
    """How many items records hold, how many of them are uncertain, and the distances."""
    cells = release.table.column(release.column)
    parts = {
        "items per record": pc.list_value_length(pc.struct_field(cells, "base")),
        "uncertain items per record": pc.list_value_length(pc.struct_field(cells, "uncertain")),
        "distance": pc.struct_field(cells, "distance"),
    }
    words = {
        "items per record": "size of the base set, the best guess",
        "uncertain items per record": "items that some people behind a record hold and some do not",
        "distance": "the largest number of uncertain items in which a person’s set differs",
    }
    found = []
    for name, numbers in parts.items():
        before = None
        if original is not None and name == "items per record":
            before = _tally(name, pa.chunked_array([original.sizes.astype(np.int32)]))
        card = describe(_tally(name, numbers), None, before)
        mean, highest = pc.mean(numbers).as_py() or 0.0, pc.max(numbers).as_py() or 0
        facts = (("on average", f"{mean:,.1f}"), ("at most", f"{highest:,}"))
        found.append(_relabel(card, words[name], facts))
    return found


def _relabel(
    card: ColumnReport, published_as: str, facts: tuple[tuple[str, str], ...]
) -> ColumnReport:
    """The same chart with another description and other facts."""
    return ColumnReport(
        name=card.name,
        role=Role.QUASI_IDENTIFYING,
        published_as=published_as,
        loss=None,
        exact=None,
        facts=facts,
        widest=(),
        chart=card.chart,
    )


def _tally(name: str, values: pa.ChunkedArray) -> Tally:
    column = PublishedColumn(name, Role.QUASI_IDENTIFYING, None, None, values.type)
    return tallies([pa.table({name: values})], [column])[name]


def _labels(release: SetReleaseData, original: ItemSets | None) -> list[ColumnReport]:
    """The sensitive labels that are published with the sets."""
    found = []
    for name in release.labels:
        values = release.table.column(name)
        column = PublishedColumn.of_unchanged(name, Role.SENSITIVE, values)
        before = None
        if original is not None and original.labels is not None:
            before = tallies([pa.table({name: original.labels})], [column])[name]
        tally = tallies([pa.table({name: values})], [column])[name]
        found.append(describe(tally, None, before))
    return found


def _figures(
    release: SetReleaseData, certificate: Certificate, original: ItemSets | None
) -> dict[str, str]:
    """A few figures that summarize the published sets."""
    figures = {
        "different items": f"{certificate.items:,}",
        "error rate (ER): misreported items per item held, mean over records": percent(
            certificate.loss
        ),
    }
    if certificate.flipped is not None:
        figures["the same over all records together"] = percent(certificate.flipped)
    unbased = (certificate.items or 0) - len(based_items(release.table.column(release.column)))
    if unbased > 0:
        figures["items in no base set, which the release says little about"] = f"{unbased:,}"
    if original is None:
        return figures
    measured = compare_sets(original, release)
    return figures | {
        "items per record in the original": f"{original.sizes.mean():,.1f} on average",
        "error of counts of two random items together (SET12’s QE, type I)": _share_of_records(
            measured.query_error_present
        ),
        "error of counts of records without four random items (SET12’s QE, type II)": (
            _share_of_records(measured.query_error_absent)
        ),
        "error of item frequencies": percent(measured.item_frequency_error),
        "error of the support of pairs of the 50 most frequent items": percent(
            measured.pair_support_error
        ),
    }


def _share_of_records(share: float) -> str:
    """A small share as text for people."""
    return f"{100 * share:.3g} % of all records"


def _examples(original: ItemSets, people: Sequence[int], release: SetReleaseData) -> Examples:
    """Ten people's sets and their records."""
    published = release.slice(0, len(people)).to_text()
    headings = published.column_names
    labels = None if original.labels is None else original.labels.take(pa.array(people)).to_pylist()
    pairs = []
    for place, (person, after) in enumerate(zip(people, published.to_pylist(), strict=True)):
        before = [shortened("{" + "|".join(original.record(person)) + "}", _LONGEST_SET), "", ""]
        before += [] if labels is None else [cell_text(labels[place])]
        pairs.append(
            (before, [shortened(cell_text(after[name]), _LONGEST_SET) for name in headings])
        )
    return Examples(headings, pairs)

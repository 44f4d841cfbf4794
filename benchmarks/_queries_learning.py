"""Accuracy and AUC of learners on four tables: originals, releases, and PrivBayes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _privbayes import epsilon_of, privbayes
from _queries_coverage import DATA, Data
from _shared import markdown_table, require_data

import mottle
from mottle import BetaLikeness, KAnonymity, Release, Schema
from mottle.evaluation.learning import Training, learn
from mottle.guarantees.base import Guarantee

ROWS, TEST_ROWS = 10_000, 10_000
TARGET = "target"
PASSES, WORLDS, SEED = 10, 3, 1
# By table: the column that the target is made of, and how; there are two classes everywhere.
TARGETS: dict[str, tuple[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {
    "adult_full": ("income", lambda column: pc.equal(column, ">50K")),
    "census_acs": ("salary_class", lambda column: pc.greater_equal(column, 20)),
    "census_acs_full": ("income", lambda column: pc.greater_equal(column, 50_000)),
    "coil2000_full": ("CARAVAN", lambda column: pc.equal(pc.cast(column, pa.string()), "1")),
}
CASES: Sequence[tuple[Guarantee, str, tuple[Training, ...]]] = (
    (KAnonymity(10), "freeform", (Training.SAMPLES, Training.RANGES)),
    (KAnonymity(10), "mondrian", (Training.SAMPLES,)),
    (BetaLikeness(1), "buckets", (Training.SAMPLES, Training.RANGES)),
)


@dataclass(frozen=True)
class Split:
    """A table for training and other rows for testing, with a target of two classes."""

    train: pa.Table
    test: pa.Table
    features: tuple[str, ...]
    kinds: dict[str, str]

    @classmethod
    def of(cls, data: Data) -> Split:
        """Random rows for training, and as many others, or what is left, for testing."""
        read = pq.read_table(require_data(f"{data.name}.parquet"))
        source, positive = TARGETS[data.name]
        labels = pc.if_else(positive(read.column(source)), "yes", "no")
        table = read.select(data.known).append_column(TARGET, labels)
        order = np.random.default_rng(SEED).permutation(table.num_rows)
        rows = min(ROWS, table.num_rows * 6 // 10)
        parts = order[:rows], order[rows : rows + TEST_ROWS]
        train, test = (table.take(pa.array(part)) for part in parts)
        return cls(train, test, data.known, dict.fromkeys(data.categories, "category"))

    def release(self, guarantee: Guarantee, method: str) -> Release:
        """The features are quasi-identifiers, the target is sensitive."""
        schema = Schema.of(quasi_identifying=self.features, sensitive=[TARGET], kinds=self.kinds)
        limited = mottle.methods.get(method).follows_objective
        return mottle.anonymize(
            self.train,
            schema,
            guarantee,
            method=method,
            options={"passes": PASSES} if limited else {},
            seed=SEED,
        )


def learning_by_table() -> Iterator[list[str]]:
    """Sections of the page, after every table."""
    rows: list[list[str]] = []
    told: list[str] = []
    for data in DATA:
        split = Split.of(data)
        classes = pc.value_counts(split.test.column(TARGET)).field("counts").to_numpy()
        majority = classes.max() / split.test.num_rows
        told.append(
            f"{data.name} ({len(split.features)} features, {split.train.num_rows:,} and"
            f" {split.test.num_rows:,} rows, {100 * majority:.1f} % in the larger class of"
            f" {TARGETS[data.name][0]})"
        )
        for name, how, source, training in _sources(split):
            found = learn(
                source,
                split.test,
                TARGET,
                features=split.features,
                training=training,
                m=WORLDS,
                seed=SEED,
            )
            cells = [f"{one.accuracy:.4f} / {one.auc:.4f}" for one in found]
            rows.append([data.name, name, how, *cells])
            print(*rows[-1], flush=True)
        yield [
            "Accuracy / area under the ROC curve on rows that were not released. Training and test"
            f" rows are drawn at random: {'; '.join(told)}. freeform and buckets are refined by"
            f" {PASSES} passes; {WORLDS} worlds.",
            markdown_table(
                [
                    "table",
                    "trained on",
                    "how",
                    "logistic regression",
                    "random forest",
                    "gradient boosting",
                ],
                rows,
            ),
        ]


def _sources(split: Split) -> Iterator[tuple[str, str, Release | pa.Table, Training]]:
    """Name, way of training, data and training of everything that is compared."""
    yield "originals", "unchanged", split.train, Training.ORIGINALS
    for guarantee, method, ways in CASES:
        release = split.release(guarantee, method)
        name = f"{method}, {guarantee.describe()['short']}"
        for training in ways:
            yield name, str(training), release, training
    synthetic = privbayes(split.train, [*split.features, TARGET], epsilon_of(1), seed=SEED)
    yield "PrivBayes, ε = ln 2", "unchanged", synthetic, Training.ORIGINALS

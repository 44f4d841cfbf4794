"""Methods compared on the user's own data: loss, query error, learning and privacy of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle import methods
from mottle.audit import audit_release
from mottle.comparison.other_tools import Released, loss_of_release, read_releases
from mottle.encoding.encode import encode
from mottle.encoding.people import People
from mottle.encoding.set_columns import sets_as_lists
from mottle.errors import GuaranteeError, UsageError, did_you_mean
from mottle.evaluation.learning import learn
from mottle.evaluation.measures import graph_measures
from mottle.evaluation.privbayes import epsilon_of, privbayes
from mottle.evaluation.workloads import cube_divergence, query_error, random_counts
from mottle.guarantees.base import Guarantee
from mottle.io.read_table import as_table
from mottle.itemsets.arrow import is_list
from mottle.pipeline.anonymize import anonymize
from mottle.pipeline.unit import Repeats, check_repeats, columns_to_count
from mottle.queries import Queries
from mottle.queries.conditions import Where
from mottle.release.data import ReleaseData
from mottle.release.per_person import one_row_per_person
from mottle.release.publish import check_publishable
from mottle.schema.model import Representation, Role, Schema, Unit
from mottle.utils.html import html_table_of
from mottle.utils.steps import Step

PRIVBAYES = "privbayes"
ORIGINAL = "original"
HELD_OUT = 0.25  # share of the rows that models are tested on and that are used for nothing else
QUESTIONS = 500  # random counts that every result answers
CONDITIONS = 3  # in each of them, if there are so many quasi-identifiers
MOST_CLASSES = 50  # a column with more values is not chosen as the target of models
_MODEL = "logistic regression"


_OF_RUNS = ("anonymize", "attack", "ask and learn")  # the steps of a method under a guarantee
_OF_OTHERS = "other tool"
_FIGURES = ("loss", "query_error", "accuracy", "linked", "guessed", "seconds")


@dataclass(frozen=True)
class ComparisonRow:
    """Measurements of one method under one guarantee; None where a number does not apply."""

    method: str
    guarantee: str  # for instance "k = 5"
    family: str = ""  # the option of its parameter: k, l, beta
    parameter: float | None = None  # the number that belongs to the family
    loss: float | None = None  # GCP
    query_error: float | None = None  # median relative error of random counts
    accuracy: float | None = None  # of a model trained on the release, on held-out rows
    # Share of people an adversary links to their record on average; where a column says whose row
    # it is, share of records that are attributed to the right person.
    linked: float | None = None
    guessed: float | None = None  # share of people whose sensitive value is guessed right
    seconds: float | None = None  # to anonymize
    # The measures of the literature (docs/measures.md).
    discernibility: float | None = None  # DM
    average_class_size: float | None = None  # C_avg
    entropy: float | None = None  # that is left about quasi-identifiers, as a share
    classification: float | None = None  # CM, of the column that models predict
    divergence: float | None = None  # KL of the cube's first level, with a sensitive column
    note: str = ""  # why there are no numbers


@dataclass(frozen=True)
class Comparison:
    """All results, and what they were measured with."""

    rows: int  # that were anonymized
    lines: tuple[ComparisonRow, ...]  # the original first, then guarantee by guarantee
    target: str | None  # the column that models predict
    conditions: int  # in each random count
    commonest: float | None = None  # share of people guessed right without any release
    held_out: bool = True  # whether a quarter of the rows was; not beside other tools' releases

    def to_arrow(self) -> pa.Table:
        """Return the results as a table.

        Returns
        -------
        pyarrow.Table
            One row for each method and guarantee, one column for each field of `ComparisonRow`.
        """
        columns = {field.name: field for field in fields(ComparisonRow)}
        entries = [asdict(line) for line in self.lines]
        return pa.table({name: [entry[name] for entry in entries] for name in columns})

    def _repr_html_(self) -> str:
        """Return the results as a table, for notebooks."""
        names = ("method", "guarantee", *_FIGURES, "note")
        return html_table_of(self.lines, names, f"Comparison on {self.rows:,} rows")


@dataclass(frozen=True)
class _Task:
    """The data, questions and target that every method is measured with."""

    train: pa.Table
    test: pa.Table
    schema: Schema
    asked: Queries
    questions: list[Where]
    target: str | None
    seed: int
    others: Mapping[str, ReleaseData]  # other tools' releases of all rows


def compare(
    data: object,
    schema: Schema,
    guarantees: Sequence[Guarantee],
    names: Sequence[str],
    *,
    target: str | None = None,
    seed: int = 0,
    effort: float | None = None,
    releases: Released | None = None,
    on_progress: Callable[[Step], None] = lambda _: None,
) -> Comparison:
    """Run methods under guarantees and measure each result in the same way.

    A quarter of the rows is held out to test models on. A method that cannot give a guarantee gets
    a row with the reason instead of numbers. Beside releases that other tools made of the table,
    all rows are anonymized, none are held out and no models are tested.

    Parameters
    ----------
    data : object
        A file name, or anything that speaks the Arrow stream protocol.
    schema : Schema
        The role of every column.
    guarantees : Sequence[Guarantee]
        What every method is to give.
    names : Sequence[str]
        Methods that ``mottle methods`` lists, and "privbayes" for the differentially private
        reference, which takes part wherever β-likeness is asked for, with ε = ln(1 + β).
    target : str or None
        The column that models predict; without it, the first sensitive column with 2 to 50 values.
    seed : int
        The same seed gives the same held-out rows, questions and releases.
    effort : float or None
        Seconds for which a method may improve its result; None: until it is no longer worth it.
    releases : mapping of str to path, optional
        By tool ("arx", "sdcmicro", "amnesia", "anonypy" or "other"): its release of ``data``.
    on_progress : Callable[[Step], None]
        Called at the beginning of each step.

    Returns
    -------
    Comparison
        A row for the original, and one for each method under each guarantee.

    Raises
    ------
    UsageError
        There is nothing to compare, a method or the target is unknown, or the table has fewer than
        eight rows.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(400, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> found = compare(people, schema, [mottle.KAnonymity(5)], ["hilbert"])
    >>> [(line.method, line.guarantee) for line in found.lines]
    [('original', '–'), ('hilbert', 'k = 5')]
    """
    if not guarantees or not names:
        raise UsageError(
            "There is nothing to compare.", "Name methods, and guarantees such as --k 5,10,20."
        )
    for name in names:
        if name != PRIVBAYES and name not in methods.registered():
            known = [*methods.registered(), PRIVBAYES]
            raise UsageError(f"There is no method '{name}'.", did_you_mean(name, known))
    table = as_table(data)
    schema = schema.without_keyed()
    to_count = columns_to_count(schema, table.schema)
    schema = schema.covering(table.column_names)
    check_repeats(schema, (Repeats.of(table, name) for name in to_count))
    schema = schema.with_unit(schema.unit or Unit.PERSON)  # which is settled now
    table = sets_as_lists(table, schema)
    if schema.per_person is not None:
        table, schema = one_row_per_person(table, schema)
    check_publishable(table, schema)
    encode(table, schema, Representation.RANGE)  # raises for values that cannot be coded
    if table.num_rows < 8:
        raise UsageError("A table of fewer than eight rows is too small to compare methods on.")
    task = _prepare(table, schema, target, seed, releases)
    runs = [(guarantee, name) for guarantee in guarantees for name in names]
    others = list(task.others.items())
    sorts = (
        ORIGINAL,
        *(_OF_OTHERS for _ in others),
        *(
            f"{what} {name}" if what == _OF_RUNS[0] else what
            for _, name in runs
            for what in _OF_RUNS
        ),
    )
    on_progress(Step(ORIGINAL, 1, sorts))
    lines = [_measured(ComparisonRow(ORIGINAL, "–", loss=0.0), task.train, task)]
    for number, (tool, release) in enumerate(others, start=2):
        on_progress(Step(tool, number, sorts))
        lines.append(_other_line(tool, release, guarantees, task))
    for number, (guarantee, name) in enumerate(runs):
        first = 2 + len(others) + len(_OF_RUNS) * number
        words = f"{name}, {guarantee.describe()['short']}"

        def report(what: str, words: str = words, first: int = first) -> None:
            on_progress(Step(f"{words}: {what}", first + _OF_RUNS.index(what), sorts))

        lines.append(_line(name, guarantee, task, effort, report))
    return Comparison(
        task.train.num_rows,
        tuple(lines),
        task.target,
        _conditions(schema),
        _commonest(task),
        held_out=not task.others,
    )


def _prepare(
    table: pa.Table, schema: Schema, target: str | None, seed: int, releases: Released | None
) -> _Task:
    others = read_releases(releases or {}, table, schema)
    test, train = (table.slice(0, 0), table) if others else _split(table, schema, seed)
    generalized = [column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)]
    sensitive = [column.name for column in schema.with_role(Role.SENSITIVE)]
    if target is not None and target not in table.column_names:
        raise UsageError(
            f"The table has no column '{target}'.", did_you_mean(target, table.column_names)
        )
    asked_about = [name for name in generalized if train.column(name).null_count < len(train)]
    return _Task(
        train=train,
        test=test,
        schema=schema,
        asked=Queries.of(train.select([*generalized, *sensitive])),
        questions=random_counts(
            train,
            asked_about,
            None,
            conditions=min(CONDITIONS, len(asked_about)),
            number=QUESTIONS,
            seed=seed,
            listed=[
                column.name
                for column in schema.columns
                if column.order is not None or column.hierarchy is not None
            ],
        ),
        target=None
        if others
        else target or next((name for name in sensitive if _is_class(train, name)), None),
        seed=seed,
        others=others,
    )


def _split(table: pa.Table, schema: Schema, seed: int) -> tuple[pa.Table, pa.Table]:
    """Rows for testing and for training; all rows of a person go the same way."""
    random = np.random.default_rng(seed)
    if schema.person is None:
        order = random.permutation(table.num_rows)
        held_out = int(table.num_rows * HELD_OUT)
        return table.take(pa.array(order[:held_out])), table.take(pa.array(order[held_out:]))
    people = People.of(table, schema.person)
    tested = random.permutation(people.count)[: int(people.count * HELD_OUT)]
    is_tested = pa.array(np.isin(people.codes, tested))
    return table.filter(is_tested), table.filter(pc.invert(is_tested))


def _conditions(schema: Schema) -> int:
    return min(CONDITIONS, len(schema.with_role(Role.QUASI_IDENTIFYING)))


def _is_class(table: pa.Table, name: str) -> bool:
    return 2 <= len(pc.unique(table.column(name)).drop_null()) <= MOST_CLASSES


def _commonest(task: _Task) -> float | None:
    """The share of people guessed right by guessing the commonest sensitive value for everybody."""
    shares = [
        max(pc.value_counts(task.train.column(column.name)).field("counts").to_pylist())
        for column in task.schema.with_role(Role.SENSITIVE)
    ]
    return max(shares) / task.train.num_rows if shares else None


def _line(
    name: str,
    guarantee: Guarantee,
    task: _Task,
    effort: float | None,
    on_progress: Callable[[str], None],
) -> ComparisonRow:
    """Run and measure one method under one guarantee, or state why it cannot be done."""
    facts = guarantee.describe()
    family = guarantee.options[0].name if guarantee.symbol else ""
    parameter = float(str(facts[family])) if family else None
    line = ComparisonRow(name, str(facts["short"]), family, parameter)
    try:
        began = time.perf_counter()
        on_progress("anonymize")
        if name == PRIVBAYES:
            return _private_line(line, guarantee, task)
        release = anonymize(
            task.train, task.schema, guarantee, method=name, effort=effort, seed=task.seed
        )
        line = replace(line, loss=release.gcp, seconds=time.perf_counter() - began)
        on_progress("attack")
        linked, guessed = _attacked(release, guarantee, task)
        on_progress("ask and learn")
        line = replace(_by_the_literature(line, release, task), linked=linked, guessed=guessed)
        return _measured(line, release, task)
    except (GuaranteeError, UsageError) as error:
        return replace(line, note=error.problem)


def _other_line(
    tool: str, release: ReleaseData, guarantees: Sequence[Guarantee], task: _Task
) -> ComparisonRow:
    """Measure another tool's release; under the guarantee, if there is only one."""
    line = ComparisonRow(tool, "as released")
    if len(guarantees) == 1 and guarantees[0].symbol:
        facts = guarantees[0].describe()
        family = guarantees[0].options[0].name
        line = replace(line, family=family, parameter=float(str(facts[family])))
    line = replace(line, loss=loss_of_release(task.train, task.schema, release))
    linked, guessed = _attacked(release, guarantees[0], task)
    return replace(_measured(line, release, task), linked=linked, guessed=guessed)


def _private_line(line: ComparisonRow, guarantee: Guarantee, task: _Task) -> ComparisonRow:
    growth = guarantee.belief_growth
    if not growth:
        return replace(line, note="differential privacy corresponds to β-likeness only")
    if any(is_list(task.train.schema.field(name).type) for name in task.asked.names):
        return replace(line, note="PrivBayes takes no sets of items")
    began = time.perf_counter()
    epsilon = epsilon_of(growth)
    names = [*task.asked.names, *([] if task.target is None else [task.target])]
    synthetic = privbayes(task.train, list(dict.fromkeys(names)), epsilon, seed=task.seed)
    line = replace(
        line,
        guarantee=f"{line.guarantee} (ε = {epsilon:.2f})",
        seconds=time.perf_counter() - began,
    )
    return _measured(line, synthetic, task)


def _measured(line: ComparisonRow, result: ReleaseData | pa.Table, task: _Task) -> ComparisonRow:
    """Measure the query error of a result and the accuracy of a model trained on it."""
    error = query_error(task.asked, result, task.questions).median
    accuracy = None
    if task.target is not None:
        features = [name for name in task.asked.names if name != task.target]
        accuracy = learn(
            result,
            task.test,
            task.target,
            features=features,
            models=(_MODEL,),
            m=3,
            seed=task.seed,
        )[0].accuracy
    known = None if math.isnan(error) else error  # no query with a known answer
    return replace(line, query_error=known, accuracy=accuracy)


def _by_the_literature(line: ComparisonRow, release: ReleaseData, task: _Task) -> ComparisonRow:
    """Measure DM, C_avg, entropy, CM and the divergence of the cube's first level."""
    generalized = [column.name for column in release.columns if column.form is not None]
    found = graph_measures(task.train, release, generalized, label=task.target)
    sensitive = [column.name for column in task.schema.with_role(Role.SENSITIVE)]
    lists = any(is_list(task.train.schema.field(name).type) for name in task.asked.names)
    divergence = None
    if generalized and sensitive and not lists:
        divergence = cube_divergence(task.asked, release, generalized, sensitive[0], 1)
    return replace(
        line,
        discernibility=found.discernibility,
        average_class_size=found.average_class_size,
        entropy=found.entropy if generalized else None,
        classification=found.classification,
        divergence=divergence,
    )


def _attacked(
    release: ReleaseData, guarantee: Guarantee, task: _Task
) -> tuple[float | None, float | None]:
    """The shares of people that an adversary who knows all quasi-identifiers links and guesses."""
    adversaries = ["linkage"] + (["sensitive"] if task.schema.with_role(Role.SENSITIVE) else [])
    if task.schema.person is not None:  # whose record it is, whichever of the person's rows
        adversaries[0] = "people"
    report = audit_release(
        task.train, release, schema=task.schema, guarantee=guarantee, adversaries=adversaries
    )
    linked = [
        float(finding.details["marketer"])
        for finding in report.of("linkage")
        if "marketer" in finding.details
    ]
    linked += [
        float(finding.details["right"])
        for finding in report.of("people")
        if "right" in finding.details
    ]
    guessed = [
        float(guess["right"])
        for finding in report.of("sensitive")
        if len(finding.details.get("columns", [])) == 1
        for name, guess in finding.details.get("guesses", {}).items()
        if name == "likeliest value, everybody"
    ]
    return max(linked, default=None), max(guessed, default=None)

"""Anonymizes a table in memory: a run of one part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle import methods
from mottle.audit.certificate_audit import public_audit
from mottle.encoding.encode import encode
from mottle.encoding.keyed_columns import (
    check_keyed,
    check_pseudonyms,
    keyed_notes,
    with_keyed_columns,
)
from mottle.encoding.people import People
from mottle.encoding.sensitive import encode_sensitive, notes_on_sensitive
from mottle.errors import DataError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.io.owner_key import owner_key
from mottle.io.read_table import as_table
from mottle.methods.base import Method
from mottle.methods.het.dummy_records import add_dummies, dummies_notice
from mottle.pipeline.calibration_sample import MOST_RECORDS, CalibrationSample
from mottle.pipeline.certify import (
    certify,
    column_facts,
    column_notes,
    method_facts,
    protected_values,
    warn_about,
    warn_about_text,
)
from mottle.pipeline.continued_records import ContinuedRecords
from mottle.pipeline.item_calibration import with_item_totals
from mottle.pipeline.over_time import CHANGED, LEAVERS, OverTime, Wishes
from mottle.pipeline.owner import OwnedTable, fingerprint_of
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.published_nodes import codes_with_nodes, notes_on_columns_of_nodes
from mottle.pipeline.release import Release
from mottle.pipeline.rules import check_rules, check_rules_hold
from mottle.pipeline.settings import Settings, check_schema
from mottle.pipeline.spine import run
from mottle.pipeline.table_records import TableRecords
from mottle.pipeline.unit import (
    Repeats,
    check_people,
    check_repeats,
    columns_to_count,
    unit_facts,
    warn_about_intervals,
    warn_recognizable,
)
from mottle.release.certificate import AUDITS, ReleaseKind
from mottle.release.data import ReleaseData
from mottle.release.limits import with_audit
from mottle.release.links import Links
from mottle.release.per_person import one_row_per_person
from mottle.release.publish import check_publishable
from mottle.release.two_tables import add_disclosure_notice
from mottle.release.unchanged import unchanged_of
from mottle.release.value_totals import least_total
from mottle.risk.certified import risk_of_rows, shares_along_edges
from mottle.schema.model import Objective, Representation, Role, Schema
from mottle.utils.csprng import Purpose, Secret
from mottle.utils.lazy import lazy_module
from mottle.utils.untrusted.memory import check_work

if TYPE_CHECKING:
    from mottle.audit import run as audit_run
    from mottle.pipeline import replay as replaying
else:  # for full audits alone
    audit_run = lazy_module("mottle.audit.run")
    replaying = lazy_module("mottle.pipeline.replay")

__all__ = ["anonymize"]

# The least memory that any method takes, for codes, graph, links and published rows: for every
# quasi-identifier, and besides (benchmarks/hostile.py work).
BYTES_PER_CELL = 25
BYTES_PER_ROW = 80


def anonymize(
    data: object,
    schema: Schema,
    guarantee: Guarantee,
    *,
    method: str = "auto",
    options: Mapping[str, object] | None = None,
    representation: Representation | str = Representation.RANGE,
    objective: Objective | str | None = None,
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    key: str | Path | bytes | None = None,
    progress: Callable[[Progress], None] | None = None,
    unsafe_paper_randomization: bool = False,
    audit: str = AUDITS[0],
    totals: bool = True,
    same: str | None = None,
    previous: str | Path | ReleaseData | Links | None = None,
    leavers: str = LEAVERS[0],
    changed: str = CHANGED[0],
    least_newcomers: int | None = None,
    few_remain: bool = False,
) -> Release:
    """Anonymize a table; nothing is returned unless all invariants hold.

    Parameters
    ----------
    data : table or path
        A pyarrow Table, anything with the Arrow stream protocol (pandas, Polars, DuckDB), or the
        path of a CSV, Parquet or Arrow file.
    schema : Schema
        The role of every column.
    guarantee : Guarantee
        What the release has to promise, for instance ``KAnonymity(10)`` or
        ``KAnonymity(5) & LDiversity(3)``.
    method : str
        A name from ``mottle methods``.
    options : mapping of str to object, optional
        Constants of the method, such as ``{"centres": 64}``; ``mottle methods NAME`` lists them.
    representation : {"range", "set"}
        "range" (numbers, dates and ordered values as ranges, hierarchies as nodes) or "set".
    objective : {"reading", "ncp", "entropy"}, optional
        What `freeform` and `buckets` keep low (docs/measures.md): "reading", what readers who know
        frequencies lose (the default); "ncp", the loss of the papers, whose mean is GCP; or
        "entropy", the bits that cells leave open.
    walk : {"closed", "closed-printed", "backtracking"}
        How the true assignment is drawn: "closed" (SET12), "closed-printed" (SET12's Algorithm 1 as
        printed, slower) or "backtracking" (NH10). If the graph depends on sensitive values, its
        method determines the draw instead.
    effort : float, optional
        Seconds for which a method may improve its result, if it can; 0 for no improvement. Without
        it, a method stops when a further pass gains less than 0.1 %.
    seed : int, optional
        For experiments only: makes the run repeatable, and its secret guessable. The certificate
        states it. Without it, randomness comes from the operating system.
    key : str, Path or bytes, optional
        The owner's key, as a file (created at first use, mode 0600) or as 32 bytes. All randomness
        then follows from the key, the table and the options, so that the same call gives the same
        release. It excludes ``seed`` and a time limit. Keep it secret, and outside the release.
    progress : callable, optional
        Called with a `Progress` at the beginning of every stage.
    unsafe_paper_randomization : bool
        For experiments only: draw by the papers' random walk although the graph depends on
        sensitive values, which leaks them. The certificate says so.
    audit : {"basic", "full"}
        "basic" puts on the certificate what the run's own measurements show; "full" runs all
        adversaries against the release, see `mottle.audit_release`.
    totals : bool
        Whether the release says how often the values of quasi-identifiers occur, which makes
        answers to queries much more accurate (docs/queries.md). Rare values are counted together.
    same : str, optional
        The identifying column that says who is who, if further releases of the same people will
        follow (docs/over-time.md): the links then hold what these need, the rows included.
    previous : str, Path, Release or Links, optional
        The links of the release that this one continues, made with ``same``: people who were
        published keep their block and their draw, newcomers are arranged among themselves.
    leavers : {"keep", "drop"}
        With ``previous``: "keep" publishes blocks as long as one of their people is in the table,
        also the records of those who left; "drop" leaves out every block that lost somebody.
    changed : {"refuse", "keep"}
        With ``previous``: what happens if published people have other values by now; "keep"
        publishes them as they were at first.
    least_newcomers : int, optional
        Fewer newcomers than this wait for a later release. By default as many as k-anonymity needs,
        and 100 with a guarantee on sensitive values.
    few_remain : bool
        With ``previous``: says that most people of the earlier release really left. Without it, a
        table that has fewer than half of them is refused: their names may have changed.

    Returns
    -------
    Release
        The published table with its certificate and the owner's links.

    Raises
    ------
    UsageError
        An option has a wrong value, or the method does not give the guarantee.
    SchemaError
        A column has no role, or the schema does not match the table.
    DataError
        The table is empty or holds values that cannot be anonymized.
    GuaranteeError
        The table cannot have the guarantee; the message names the nearest feasible one.
    PrivacyError
        An invariant does not hold: this is a defect of the program, and nothing is published.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> release.num_rows, release.certificate.degree.min
    (200, 5)
    """
    clock = Clock.of(progress)
    settings = Settings.of(
        method=method,
        representation=representation,
        walk=walk,
        effort=effort,
        seed=seed,
        totals=totals,
        unsafe_paper_randomization=unsafe_paper_randomization,
        audit=audit,
        key=key,
        objective=objective,
    )
    chosen = _method(settings, guarantee)
    settings = replace(
        settings,
        options=chosen.check_options(options or {}),
        objective=chosen.check_objective(settings.objective),
    )
    wishes = Wishes(same, previous, leavers, changed, least_newcomers, few_remain)
    wishes.check(chosen, guarantee, settings)
    check_schema(schema)
    secret = Secret.draw(seed)
    table = as_table(data, schema.reading)
    to_count = columns_to_count(schema, table.schema)
    schema = schema.covering(table.column_names)
    check_publishable(table, schema)
    if table.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with rows.")
    if table.num_rows >= 2**31:
        raise DataError("The table has more than 2,147,483,647 rows.", "Split it.")
    if chosen.dummies is not None and any(column.role.keyed for column in schema.columns):
        raise UsageError(
            "Dummy records have neither pseudonyms nor dates of their own.",
            "Leave the ending -dummies of the method out.",
        )
    if wishes.given and schema.with_role(Role.PSEUDONYM):
        raise UsageError(
            f"Column '{schema.person}' is to be published as a pseudonym, in a chain of releases:"
            " it would join the records that a person has in different releases, and the guarantee"
            " of a chain does not allow for that.",
            "Leave the column out (--person), or leave out --same and --previous.",
        )
    original_people = None
    if schema.per_person is not None:
        assert schema.person is not None
        original_people = People.of(table, schema.person)
        table, schema = one_row_per_person(table, schema)
        check_publishable(table, schema)
    _check_memory(table, schema)
    owned = None if key is None else OwnedTable.of(owner_key(key), schema, [table])
    given, over_time = table, None
    if wishes.given:
        owner = None if owned is None else owned.key
        over_time = OverTime.of(table, schema, guarantee, settings, wishes, owner)
        table = over_time.table
    if owned is not None:
        engine = {"name": "memory", **({} if over_time is None else over_time.decisive)}
        secret = owned.secret(schema, guarantee, settings, engine)
        fingerprint = owned.fingerprint(secret)
    else:
        fingerprint = fingerprint_of(schema, [given], secret)

    with clock.stage("code"):
        check_repeats(schema, (Repeats.of(given, name) for name in to_count))
        people = None if schema.person is None else People.of(table, schema.person)
        check_keyed(schema, people, keyed=owned is not None)
        if people is not None:
            check_people(people.column, people.most, table.num_rows, guarantee, chosen)
            warn_about_intervals(table, schema, people)
            if owned is not None:
                table = with_keyed_columns(table, schema, owned.key)
            warn_recognizable(table, schema, people)
        unchanged = unchanged_of(table, schema, two_tables=chosen.exact)
        warn_about(
            unchanged,
            schema.survey_weight,
            [column.name for column in schema.with_role(Role.SHIFTED)],
        )
        sensitive = encode_sensitive(table, schema) if guarantee.about_values else ()
        demand = guarantee.demand(table.num_rows, sensitive)
        if people is not None and people.several:
            demand = replace(demand, people=people.codes)
        if chosen.dummies is not None:
            demand = demand.with_dummies(chosen.dummies(demand))
            tiebreak = secret.permutation(Purpose.TIEBREAK, table.num_rows)
            table = add_dummies(table, schema, tiebreak[: demand.dummies])
        codes = encode(table, schema, settings.representation)
        if not chosen.exact:
            codes = codes_with_nodes(codes, guarantee.degree)
        warn_about_text(schema, codes.domains)
        check_rules(schema, codes.domains)
        check_rules_hold(schema, codes)
        records = TableRecords(
            method=chosen,
            table=table,
            schema=schema,
            codes=codes,
            codes_to_arrange=chosen.codes_to_arrange(codes, guarantee),
            demand=demand,
            least_total=least_total(demand, 1 if people is None else people.most)
            if totals
            else None,
        )
        if over_time is not None:
            records = ContinuedRecords.of(records, over_time, guarantee, settings)
    part = run(records, chosen.name, demand, settings, secret, clock)
    measured, published = part.measurements, part.published
    certificate = certify(
        measured,
        settings,
        guarantee,
        demand,
        kind=ReleaseKind.TABLE if published.sensitive is None else ReleaseKind.TWO_TABLES,
        method=method_facts(chosen.name, chosen.title, chosen.paper, measured.facts),
        columns=column_facts(schema, codes.domains, published.columns),
        sensitive=sensitive,
        protected=protected_values(schema),
        survey_weight=schema.survey_weight,
        rules=schema.rules,
        notes=(
            *codes.notes,
            *notes_on_sensitive(table, schema),
            *notes_on_columns_of_nodes(codes.domains),
            *column_notes(codes.domains, codes.records),
            *keyed_notes(schema, people),
            *([dummies_notice(demand.dummies)] if demand.dummies else []),
            *(() if over_time is None else over_time.notes()),
        ),
        seconds=clock.seconds,
        least_total=records.least_total,
        unchanged=unchanged,
        unit=unit_facts(
            schema,
            people=original_people or people,
            largest_share=measured.people.get("largest_share"),
            k=demand.degree,
        ),
        history=None if over_time is None else over_time.facts,
        risk_before=risk_of_rows(codes.matrix[: table.num_rows - demand.dummies], demand.people),
        shares=None
        if demand.people is None
        else shares_along_edges(part.links.graph, demand.people),
        context=schema.context,
    )
    if records.least_total is not None and published.sensitive is None and not demand.dummies:
        with clock.stage("calibrate"):
            drawn = CalibrationSample.of(
                published.table.select([domain.name for domain in codes.domains]),
                part.links.graph,
                part.links.position_of_row,
                codes.matrix,
                MOST_RECORDS,
                secret,
            )
            found = drawn.calibrate(certificate, published.columns, codes.domains)
        certificate = certificate.with_calibration(found).with_changes(seconds=dict(clock.seconds))
    check_pseudonyms(schema, published.table)
    if published.sensitive is not None:
        certificate = add_disclosure_notice(certificate, published.sensitive)
    links = part.links if over_time is None else over_time.finished(part)
    release = Release(
        published.table,
        published.columns,
        certificate,
        replace(links, fingerprint=None if demand.dummies else fingerprint),
        published.sensitive,
        reading=schema.reading,
        coded=published.coded,
    )
    if over_time is None and records.least_total is not None and published.sensitive is None:
        release = with_item_totals(release, codes, records.least_total)
    if settings.audit == "full":
        with clock.stage("audit"):
            original = table if demand.dummies else given
            replay = replaying.replay_of(
                original, release, schema=schema, guarantee=guarantee, secret=secret
            )
            audited = audit_run.audit_release(
                original,
                release,
                schema=schema,
                guarantee=guarantee,
                replay=replay,
                on_progress=partial(clock.report_step, "audit"),
            )
        # without its time, which depends on the true assignment
        certificate = with_audit(certificate, public_audit(audited, settings.audit))
        release = replace(release, certified=certificate, audited=audited)
    clock.report_end()
    return release


def _check_memory(table: pa.Table, schema: Schema) -> None:
    """Refuse tables that need more memory than there is, before anything is computed."""
    known = sum(column.role is Role.QUASI_IDENTIFYING for column in schema.columns)
    check_work(
        table.num_rows * (BYTES_PER_ROW + BYTES_PER_CELL * known),
        table.num_rows,
        "Work on chunks of the rows: --memory 4GB, or mottle.anonymize_stream.",
    )


def _method(settings: Settings, guarantee: Guarantee) -> Method:
    """Look up the method; raise unless it gives the guarantee and may be used."""
    chosen = methods.get(settings.method)
    chosen.check_gives(guarantee)
    if chosen.unsafe and not settings.unsafe:
        raise UsageError(
            f"Method '{chosen.name}' follows its paper exactly, dummy records included, and does"
            " not keep the guarantee.",
            "Leave the ending -dummies out, or, for experiments, add --unsafe-paper-randomization.",
        )
    return chosen

"""SQL gives the same answers as the same query in Python, and can access only the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mottle
from mottle import Release
from mottle.errors import UsageError
from mottle.queries import Condition, Estimate


def row_of(release: Release, sql: str) -> dict[str, Any]:
    (row,) = release.query(sql).to_pylist()
    return dict(row)


def answer(release: Release, where: str) -> Estimate:
    return Estimate(*row_of(release, f"SELECT count(*) FROM release WHERE {where}").values())


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("age BETWEEN 30 AND 40 AND sex = 'f'", {"age": (30, 40), "sex": "f"}),
        ("30 <= age AND age < 40", {"age": Condition(low=30, high=40, high_open=True)}),
        ("age > 29.5", {"age": Condition(low=29.5)}),
        ("NOT age <= 40", {"age": Condition(low=40, low_open=True)}),
        ("sex IN ('f', 'm')", {"sex": ["f", "m"]}),
        ("sex = 'f' OR sex = 'm'", {"sex": ["f", "m"]}),
        ("sex = 'f' OR sex IS NULL", {"sex": ["f", None]}),
        ("sex <> 'f'", {"sex": Condition(excluded=("f",))}),
        ("sex NOT IN ('f', 'm')", {"sex": Condition(excluded=("f", "m"))}),
        ("sex IS NULL", {"sex": None}),
        ("sex IS NOT NULL", {"sex": Condition()}),
        ("NOT sex IS NULL", {"sex": Condition()}),
        ("born >= DATE '1960-01-01'", {"born": ("1960-01-01", None)}),
        ("born < '1960-01-01'", {"born": Condition(high="1960-01-01", high_open=True)}),
        ("size >= 'M'", {"size": ("M", None)}),
        ("place = 'Europe'", {"place": "Europe"}),
        (
            "place <> 'South' AND diagnosis = ''",
            {"place": Condition(excluded=("South",)), "diagnosis": ""},
        ),
        ("AGE = 27 AND \"Sex\" = 'm'", {"age": 27, "sex": "m"}),
        ("release.age = 27", {"age": 27}),
    ],
)
def test_sql_conditions_mean_the_same_as_in_python(
    release: Release, sql: str, where: dict[str, Any]
) -> None:
    assert answer(release, sql) == release.count(where)


def test_several_aggregates_with_names_and_filters(release: Release) -> None:
    row = row_of(
        release,
        "SELECT count(*) AS n, count(age), sum(age), avg(age) AS mean,"
        " count(*) FILTER (WHERE sex = 'f') AS women FROM release WHERE size = 'S'",
    )
    where = {"size": "S"}
    assert row["n"] == release.count(where).expected
    known = release.count({**where, "age": Condition()})
    assert (row["count_age"], row["count_age_low"]) == (known.expected, known.certain)
    total, mean = release.total("age", where), release.average("age", where)
    assert (row["sum_age"], row["sum_age_high"]) == (total.expected, total.possible)
    assert (row["mean_low"], row["mean_error"]) == (mean.certain, mean.error)
    assert row["women"] == release.count({**where, "sex": "f"}).expected


def test_groups_cubes_order_and_limit(release: Release) -> None:
    grouped = release.query(
        "SELECT size, count(*) AS n, avg(age) FROM release GROUP BY size ORDER BY n DESC LIMIT 2"
    ).to_pylist()
    assert len(grouped) == 2
    assert grouped[0]["n"] >= grouped[1]["n"]
    for row in grouped:
        assert row["n"] == pytest.approx(release.count({"size": row["size"]}).expected)
        average = release.average("age", {"size": row["size"]})
        assert row["avg_age"] == pytest.approx(average.expected)
    cube = release.query("SELECT size, sex, count(*) FROM release GROUP BY CUBE(size, sex)")
    assert cube.num_rows == release.cube(["size", "sex"]).num_rows
    rollup = release.query("SELECT size, count(*) FROM release GROUP BY ROLLUP(size) ORDER BY 1")
    assert [row["size"] for row in rollup.to_pylist()] == ["L", "M", "S", None]
    everything = release.query("SELECT size, count(*) FROM release GROUP BY ALL").to_pylist()
    assert sum(row["count"] for row in everything) == pytest.approx(40)


def test_sums_in_a_cube_are_those_of_their_groups(release: Release) -> None:
    rows = release.query("SELECT sex, sum(age) FROM release GROUP BY CUBE(sex)").to_pylist()
    assert rows[0]["sum_age"] == pytest.approx(release.total("age").expected)
    for row in rows[1:]:
        assert row["sum_age"] == pytest.approx(release.total("age", {"sex": row["sex"]}).expected)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELEC count(*)", "cannot be read"),
        ("SELECT count(*) FROM relase", "named 'release'"),
        ("SELECT count(*) FROM 'other.csv'", "named 'release'"),
        ("SELECT count(*) FROM release WHERE agee = 3", "Did you mean 'age'"),
        ("SELECT * FROM release", "--plain"),
        ("SELECT age FROM release GROUP BY age", "without count"),
        ("SELECT sex, count(*) FROM release", "GROUP BY sex"),
        ("SELECT max(age) FROM release", "'max'"),
        ("SELECT min(age) FROM release", "quantile_cont"),
        ("SELECT quantile_disc(age, 0.5) FROM release", "quantile_cont"),
        ("SELECT quantile_cont(age, 2) FROM release", "between 0 and 1"),
        ("SELECT median(sex) FROM release", "cannot be added up"),
        ("SELECT median(age * 2) FROM release", "calculate with the answer"),
        ("SELECT sum(DISTINCT age) FROM release", "DISTINCT"),
        ("SELECT DISTINCT count(*) FROM release", "DISTINCT"),
        ("SELECT DISTINCT ON (age) sex FROM release", "DISTINCT ON"),
        ("SELECT sum(age * age) FROM release", "multiplied by itself"),
        ("SELECT sum(1 / age) FROM release", "divided by a column"),
        ("SELECT sum(age * 1e308 * 10) FROM release", "too large"),
        ("SELECT sum(age || 'x') FROM release", "'\\|\\|'"),
        ("SELECT sum(age + 1) / 2 FROM release", "inside another expression"),
        ("SELECT count(*) / 2 FROM release", r"count\(\*\) inside another expression"),
        (
            "SELECT count(*) FROM release JOIN 'a/b.csv' USING (sex)",
            r"--with b=FILE\.csv \(.*\)\.$",
        ),
        ("SELECT count(*) FROM release WHERE age + 1 > 3", "Compare the column itself"),
        ("SELECT count(*) FROM release WHERE age", "Compare with a value"),
        ("SELECT count(*) FROM release WHERE sex > 'a'", "text without an order"),
        ("SELECT count(*) FROM release WHERE sex BETWEEN 'a' AND 'm'", "Name the values"),
        (
            "SELECT count(*) FROM release WHERE CASE WHEN age < 40 THEN 'a' END > 'b'",
            "text without an order",
        ),
        ("SELECT count(*) FROM release WHERE CASE WHEN age < 40 THEN 'a' END = 1", "in quotes"),
        ("SELECT count(*) FROM release JOIN codes ON sex = code", "--with codes=FILE"),
        ("SELECT count(*) FROM release CROSS JOIN codes", "LEFT JOIN"),
        ("SELECT count(*) FROM release FULL JOIN codes ON sex = code", "LEFT JOIN"),
        ("SELECT count(*) FROM release GROUP BY count(*)", "HAVING"),
        ("SELECT count(*) FROM release HAVING agee > 3", "no column 'agee'"),
        ("SELECT count(*) FROM release WHERE sex LIKE 'f%'", "LIKE"),
        ("SELECT count(*) FROM release WHERE sex = NULL", "IS NULL"),
        ("SELECT count(*) FROM release WHERE age = 1 + 2", "Write the value itself"),
        ("SELECT count(*) FROM release WHERE age = sex", "two columns"),
        ("SELECT count(*) FROM release WHERE upper(sex) = 'F'", "'upper'"),
        ("SELECT count(*) FROM release WHERE age IN (SELECT 1)", "subquery"),
        ("SELECT count(*) FROM release a, release b", "joins"),
        ("SELECT count(*) FROM (SELECT * FROM release)", "subqueries"),
        ("SELECT count(*) FROM release UNION SELECT 2", "UNION"),
        ("WITH a AS (SELECT 1) SELECT count(*) FROM release", "WITH"),
        ("SELECT count(*), count(*) FROM release", "AS n"),
        ("SELECT count(*) FROM release; SELECT count(*) FROM release", "2 statements"),
        ("COPY release TO 'x'", "SELECT"),
        ("SELECT sum(sex) FROM release", "cannot be added up"),
        ("SELECT count(*) FROM release GROUP BY age / 10", "breaks"),
        ("SELECT count(*) FROM release ORDER BY age", "no column 'age' to order by"),
        ("SELECT count(*) FROM release LIMIT 10%", "LIMIT"),
    ],
)
def test_unsupported_sql_is_refused_by_name(release: Release, sql: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        release.query(sql)


def test_plain_sql_runs_on_the_cells_and_has_share_macros(release: Release) -> None:
    table = release.query(
        "SELECT sum(share(age, 30, 40)) AS expected, sum(certain(age, 30, 40)::INT) AS certain,"
        " sum(possible(age, 30, 40)::INT) AS possible, sum(share_of(sex, 'f')) AS women"
        " FROM release",
        plain=True,
    )
    (row,) = table.to_pylist()
    found = release.count({"age": (30, 40)}, fit="uniform")
    assert row["expected"] == pytest.approx(found.expected)
    assert (row["certain"], row["possible"]) == (found.certain, found.possible)
    women = release.count({"sex": "f"}, fit="uniform")
    assert row["women"] == pytest.approx(women.expected)


def test_plain_sql_can_access_only_the_release(release: Release, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    in_scope = release.table  # a Python variable that DuckDB could find by its name
    for sql in (
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM read_text('{secret}')",
        f"COPY release TO '{tmp_path / 'out.csv'}'",
        f"ATTACH '{tmp_path / 'out.db'}'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT * FROM in_scope",
    ):
        with pytest.raises(UsageError, match="DuckDB cannot answer"):
            release.query(sql, plain=True)
    assert in_scope.num_rows == 40
    assert [file.name for file in tmp_path.iterdir()] == ["secret.csv"]


def test_two_tables_joined_in_plain_sql_give_the_estimated_count(tmp_path: Path) -> None:
    people = mottle.datasets.population(200, seed=3).select(["age", "sex", "diagnosis"])
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    found = row_of(
        release, "SELECT count(*) FROM release WHERE sex = 'male' AND diagnosis = 'none'"
    )
    joined = release.query(
        'SELECT sum(s."count" / (SELECT sum("count") FROM sensitive t WHERE t."group" = s."group"))'
        ' AS expected FROM release r JOIN sensitive s ON r."group" = s."group"'
        " WHERE sex = 'male' AND diagnosis = 'none'",
        plain=True,
    )
    assert joined.to_pylist()[0]["expected"] == pytest.approx(found["count"])

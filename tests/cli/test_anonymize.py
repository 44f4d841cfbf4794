"""The command line as its users meet it: results, messages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle.release.certificate import Certificate

COLUMNS = ("--qi", "age,sex", "--sensitive", "diagnosis", "--rest", "insensitive")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = mottle.datasets.population(300, seed=1)
    path = tmp_path / "people.parquet"
    pq.write_table(table.select(["age", "sex", "origin", "income", "diagnosis"]), path)
    return path


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = [f"{20 + i % 40},{'fm'[i % 2]},{i % 7}" for i in range(60)]
    path.write_text("\n".join(["age,sex,diagnosis", *rows]) + "\n")
    return path


def test_anonymize_writes_the_three_files_and_prints_the_loss(people: Path, tmp_path: Path) -> None:
    result = mottle_command("anonymize", people, *COLUMNS, "--k", "5", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "certificate.json",
        "release.csv",
        "release.parquet",
        "report.html",
    ]
    assert "information lost (GCP)" in result.output
    certificate = Certificate.from_json((tmp_path / "out" / "certificate.json").read_text())
    assert certificate.seed is None
    assert certificate.degree.min == 5
    assert all(check.passed for check in certificate.checks)
    assert "read" in certificate.seconds


def test_json_output_is_the_certificate_as_written(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = mottle_command("anonymize", people, *COLUMNS, "--k", "5", "-o", folder, "--json")
    assert result.stdout == (folder / "certificate.json").read_text()


def test_inspect_writes_a_schema_that_anonymize_takes(people: Path, tmp_path: Path) -> None:
    schema = tmp_path / "mottle.toml"
    result = mottle_command("inspect", people, "-o", schema)
    assert result.exit_code == 0, result.output
    assert "single out" in said(result)
    text = schema.read_text()
    assert "# " in text
    assert "distinct values" in text
    done = mottle_command("anonymize", people, "--schema", schema, "-k", "3", "-o", tmp_path / "o")
    assert done.exit_code == 0, done.output


def test_inspect_does_not_replace_an_edited_schema(people: Path, tmp_path: Path) -> None:
    schema = tmp_path / "mottle.toml"
    schema.write_text("# mine")
    refused(mottle_command("inspect", people, "-o", schema), 5, "already holds mottle.toml")
    assert schema.read_text() == "# mine"
    assert mottle_command("inspect", people, "-o", schema, "--overwrite").exit_code == 0


def test_inspect_json_counts_what_is_there(people: Path, tmp_path: Path) -> None:
    result = mottle_command("inspect", people, "-o", tmp_path / "m.toml", "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == 300
    by_name = {column["name"]: column for column in found["columns"]}
    assert by_name["sex"]["distinct"] == 2
    assert by_name["diagnosis"]["role"] == "sensitive"
    assert 0 <= found["unique_share"] <= 1


def test_methods_lists_what_each_gives_and_its_paper() -> None:
    listed = json.loads(mottle_command("methods", "--json").stdout)
    nh = next(method for method in listed if method["name"] == "nh")
    assert nh["paper"] == "NH10"
    assert nh["gives"] == ["KAnonymity", "EntropyLDiversity", "LDiversity"]
    shown = mottle_command("methods").output
    assert "NH10" in shown
    assert "Options: --k, --entropy-l, --l;" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_methods_says_what_each_decides_by_and_what_that_means() -> None:
    listed = {each["name"]: each for each in json.loads(mottle_command("methods", "--json").stdout)}
    assert listed["nh"]["decides_by"] == "quasi-identifiers and sensitive values together"
    assert "ℓ-diverse" in listed["nh"]["mixed_decision"]
    assert "never both" in listed["buckets"]["decides_by"]
    assert "mixed_decision" not in listed["buckets"]
    shown = said(mottle_command("methods"))
    assert "decides by quasi-identifiers and sensitive values, each alone" in shown
    assert "replays its decisions may infer more" in shown


def test_version_is_printed() -> None:
    assert mottle.__version__ in mottle_command("--version").output


def test_demo_makes_a_population_and_a_release_from_it(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    result = mottle_command("demo", "-o", folder, "--rows", "500", "-k", "4")
    assert result.exit_code == 0, result.output
    assert (folder / "population.csv").exists()
    release = mottle.read_release(folder / "release")
    assert release.table.num_rows == 500
    again = mottle_command(
        "anonymize",
        folder / "population.csv",
        "--schema",
        folder / "mottle.toml",
        "--k",
        "4",
        "-o",
        tmp_path / "again",
    )
    assert again.exit_code == 0, again.output


def test_options_reach_the_schema(people: Path, tmp_path: Path) -> None:
    hierarchy = tmp_path / "origin.csv"
    mottle.Hierarchy.from_rows(mottle.datasets.origin_hierarchy()).write(hierarchy)
    result = mottle_command(
        "anonymize",
        people,
        "--qi",
        "age",
        "--qi",
        "sex,origin",
        "--id",
        "income",
        "--rest",
        "insensitive",
        "--kind",
        "age=category",
        "--importance",
        "sex=3",
        "--hierarchy",
        f"origin={hierarchy}",
        "--k",
        "4",
        "-o",
        tmp_path / "out",
        "--representation",
        "range",
        "--walk",
        "backtracking",
        "--seed",
        "7",
        "--json",
    )
    assert result.exit_code == 0, result.output
    certificate = Certificate.from_json(result.stdout)
    by_name = {column.name: column for column in certificate.columns}
    assert by_name["age"].form == "set"
    assert by_name["origin"].form == "node"
    assert by_name["sex"].importance == 3
    assert certificate.seed == 7
    assert certificate.parameters.draw == "backtracking"
    assert "income" not in mottle.read_release(tmp_path / "out").table.column_names


def test_private_links_are_written_only_when_asked_for(people: Path, tmp_path: Path) -> None:
    private = tmp_path / "links.parquet"
    result = mottle_command(
        "anonymize", people, *COLUMNS, "--k", "5", "-o", tmp_path / "out", "--private", private
    )
    assert result.exit_code == 0, result.output
    assert private.stat().st_mode & 0o777 == 0o600
    links = pq.read_table(private)
    assert links.column_names == ["published", "original", "true"]
    assert links.num_rows == 5 * 300


@pytest.mark.parametrize(
    ("content", "options", "exit_code", "words"),
    [
        (b"", (), 4, ("empty",)),
        (b"age,sex,diagnosis\n", (), 4, ("no rows",)),
        (b"age,sex,diagnosis\n30,f,1\n", (), 3, ("one row", "nobody to hide among")),
        (b"age,sex,diagnosis\n30,f,1\n31,m,2\n", (), 3, ("k = 5", "2 rows", "largest feasible")),
        (b"age,sex,age,diagnosis\n1,f,2,3\n", (), 4, ("duplicate column names: age",)),
        ("age,sex,diagnosis\n30,fé,1\n".encode("latin-1"), ("--encoding", "utf-8"), 4, ("utf-8",)),
        (b"age,sex,diagnosis\n30,f\xff\xfe,1\n", ("--encoding", "klingon"), 2, ("klingon",)),
        (b"age,sex,diagnosis\n30,f,1\n31,m,2\n", ("--delimiter", ";"), 2, ("delimiter ','",)),
        (b"age,sex,diagnosis\n30,f,1\n31,m\n", (), 4, ("line",)),
        (b"\x00\x01\x02\x89PNG\x00", (), 4, ("text",)),
    ],
    ids=[
        "empty file",
        "header only",
        "one row",
        "k above n",
        "column twice",
        "wrong encoding",
        "unknown encoding",
        "wrong delimiter",
        "ragged row",
        "binary file",
    ],
)
def test_bad_files_are_refused_with_the_way_out(
    content: bytes, options: tuple[str, ...], exit_code: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(content)
    folder = tmp_path / "out"
    result = mottle_command("anonymize", data, *COLUMNS, "--k", "5", "-o", folder, *options)
    refused(result, exit_code, *words)
    assert not folder.exists()


def test_missing_input_file_is_named(tmp_path: Path) -> None:
    result = mottle_command("anonymize", tmp_path / "no.csv", *COLUMNS, "--k", "2", "-o", tmp_path)
    refused(result, 5, "no.csv")


@pytest.mark.parametrize(
    ("options", "exit_code", "words"),
    [
        (("--qi", "agee,sex", "--rest", "insensitive"), 2, ("'agee'", "Did you mean 'age'?")),
        (("--qi", "age"), 2, ("without a role: sex, diagnosis", "--rest insensitive")),
        (("--qi", "age,sex,age", "--rest", "insensitive"), 2, ("'age'", "twice")),
        (("--qi", "age", "--rest", "insensitve"), 2, ("Did you mean 'insensitive'?",)),
        (("--sensitive", "diagnosis"), 2, ("--qi",)),
        ((*COLUMNS, "--kind", "age=numbr"), 2, ("numbr", "Did you mean 'number'?")),
        ((*COLUMNS, "--kind", "sex=number"), 4, ("'sex'", "'number'")),
        ((*COLUMNS, "--kind", "age"), 2, ("--kind COLUMN=VALUE",)),
        ((*COLUMNS, "--importance", "age=heavy"), 2, ("--importance age=heavy",)),
        ((*COLUMNS, "--importance", "age=-1"), 2, ("age", "greater than 0")),
        ((*COLUMNS, "--kind", "sex=ordered"), 2, ("'sex'", "--order sex=")),
        ((*COLUMNS, "--order", "sex=f,x"), 4, ("'sex'", "not in its order")),
        ((*COLUMNS, "--hierarchy", "sex=missing.csv"), 5, ("missing.csv",)),
        ((*COLUMNS, "--method", "nhh"), 2, ("Did you mean 'nh'?",)),
        ((*COLUMNS, "--walk", "close"), 2, ("Did you mean 'closed'?",)),
        ((*COLUMNS, "--representation", "sets"), 2, ("Did you mean 'set'?",)),
        ((*COLUMNS, "--schema", "mottle.toml"), 2, ("--schema", "combined")),
        (("--schema", "nowhere.toml"), 5, ("nowhere.toml", "mottle inspect")),
    ],
)
def test_bad_options_name_the_option_and_the_way_out(
    csv: Path, options: tuple[str, ...], exit_code: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    refused(mottle_command("anonymize", csv, *options, "--k", "3", "-o", folder), exit_code, *words)
    assert not folder.exists()


@pytest.mark.parametrize(("k", "exit_code"), [("1", 2), ("0", 2), ("-3", 2), ("61", 3), ("x", 2)])
def test_impossible_k_is_refused(csv: Path, k: str, exit_code: int, tmp_path: Path) -> None:
    refused(mottle_command("anonymize", csv, *COLUMNS, "--k", k, "-o", tmp_path / "out"), exit_code)


def test_unreadable_hierarchy_names_every_row_that_is_wrong(csv: Path, tmp_path: Path) -> None:
    hierarchy = tmp_path / "sex.csv"
    hierarchy.write_text("f;*\nm;\nf;*\n")
    options = (*COLUMNS, "--hierarchy", f"sex={hierarchy}")
    result = mottle_command("anonymize", csv, *options, "--k", "3", "-o", tmp_path / "out")
    refused(result, 4, "sex.csv:2", "sex.csv:3")
    lint = mottle_command("lint-hierarchy", hierarchy)
    assert lint.exit_code == 4
    assert "2 errors" in lint.output
    assert "Label: 'f'" in lint.output  # of the file that was asked about


def test_hierarchy_without_a_value_of_the_data_names_the_column(csv: Path, tmp_path: Path) -> None:
    hierarchy = tmp_path / "sex.csv"
    hierarchy.write_text("f;*\n")
    options = (*COLUMNS, "--hierarchy", f"sex={hierarchy}")
    result = mottle_command("anonymize", csv, *options, "--k", "3", "-o", tmp_path / "out")
    refused(result, 4, "'sex'", "lacks 1")
    lint = mottle_command("lint-hierarchy", hierarchy, "--data", csv, "--column", "sex", "--json")
    assert [found["code"] for found in json.loads(lint.stdout)] == ["missing-leaf"]


def test_infinite_numbers_are_refused_and_nan_counts_as_missing(tmp_path: Path) -> None:
    numbers = [1.0, float("nan"), 3.0, 4.0]
    for value, exit_code in ((float("inf"), 4), (2.0, 0)):
        data = tmp_path / f"data{exit_code}.parquet"
        pq.write_table(pa.table({"size": [*numbers, value]}), data)
        result = mottle_command(
            "anonymize", data, "--qi", "size", "--k", "2", "-o", tmp_path / f"out{exit_code}"
        )
        assert result.exit_code == exit_code, result.output
        expected = "'size' has 1 infinite" if exit_code else "'size': 1 NaN cells are taken"
        assert expected in said(result)


def test_nulls_everywhere_and_constants_are_anonymized_with_a_note(tmp_path: Path) -> None:
    data = tmp_path / "data.parquet"
    columns = {"empty": pa.nulls(6, pa.int64()), "same": ["x"] * 6, "text": pa.nulls(6)}
    pq.write_table(pa.table(columns), data)
    result = mottle_command(
        "anonymize", data, "--qi", "empty,same,text", "--k", "3", "-o", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    assert "Column 'same' has the same value in all rows" in said(result)
    assert mottle.read_release(tmp_path / "out").gcp == 0


def test_existing_release_is_kept_unless_told_otherwise(csv: Path, tmp_path: Path) -> None:
    run = ("anonymize", csv, *COLUMNS, "--k", "3", "-o", tmp_path / "out")
    assert mottle_command(*run).exit_code == 0
    before = (tmp_path / "out" / "release.csv").read_bytes()
    refused(mottle_command(*run), 5, "already holds", "--overwrite")
    refused(mottle_command(*run, "--overwrite"), 2, "two releases", "--key", "--another-draw")
    assert (tmp_path / "out" / "release.csv").read_bytes() == before
    assert mottle_command(*run, "--overwrite", "--another-draw").exit_code == 0
    assert (tmp_path / "out" / "release.csv").read_bytes() != before


@pytest.mark.parametrize("engine", [(), ("--memory", "1GB")])
def test_same_command_with_a_key_gives_the_same_release(
    csv: Path, tmp_path: Path, engine: tuple[str, ...]
) -> None:
    out, key = tmp_path / "out", tmp_path / "key"
    run = ("anonymize", csv, *COLUMNS, "--l", "2", "-o", out, "--key", key, *engine)
    first = mottle_command(*run)
    assert first.exit_code == 0, first.output
    assert "key (keep it, and keep it secret)" in said(first)
    before = (out / "release.csv").read_bytes()
    assert mottle_command(*run, "--overwrite").exit_code == 0
    assert (out / "release.csv").read_bytes() == before
    refused(mottle_command(*run, "--k", "4", "--overwrite"), 2, "--another-draw")
    refused(mottle_command(*run, "--overwrite", "--seed", "1"), 2, "--key and --seed")
    refused(mottle_command(*run, "--overwrite", "--seconds", "2"), 2, "--seconds", "--key")
    inside = (*run[: -2 - len(engine)], "--key", out / "key", *engine)
    refused(mottle_command(*inside, "--overwrite"), 2, "--key", "release folder")
    assert (out / "release.csv").read_bytes() == before


def test_no_cell_value_appears_in_an_error(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,sex,diagnosis\nSECRETVALUE,f,1\n31,m,2\n")
    result = mottle_command(
        "anonymize", data, *COLUMNS, "--kind", "age=number", "--k", "2", "-o", tmp_path / "out"
    )
    refused(result, 4, "'age'")
    assert "SECRETVALUE" not in result.output


@pytest.mark.parametrize("method", ["hilbert", "hilbert-fast", "idistance", "mondrian"])
def test_l_and_k_together_reach_methods_of_groups(csv: Path, tmp_path: Path, method: str) -> None:
    result = mottle_command(
        "anonymize",
        csv,
        *COLUMNS,
        "--l",
        "3",
        "--k",
        "5",
        "--method",
        method,
        "-o",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    assert "k-anonymity and ℓ-diversity, k = 5, ℓ = 3" in said(result)
    certificate = Certificate.from_json((tmp_path / "out" / "certificate.json").read_text())
    assert certificate.degree.min >= 5
    assert "sensitive values together" in certificate.method.decides_by


def test_anatomy_writes_two_tables_and_says_what_it_discloses(csv: Path, tmp_path: Path) -> None:
    run = ("anonymize", csv, *COLUMNS, "--l", "4", "--method", "anatomy", "-o", tmp_path / "out")
    result = mottle_command(*run, "--private", tmp_path / "links.parquet")
    assert result.exit_code == 0, result.output
    assert "Note: PRESENCE IS DISCLOSED." in said(result)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "certificate.json",
        "release.csv",
        "release.parquet",
        "report.html",
        "sensitive.csv",
        "sensitive.parquet",
    ]
    assert (tmp_path / "out" / "release.csv").read_text().startswith("age,sex,group\n")
    assert (tmp_path / "out" / "sensitive.csv").read_text().startswith("group,diagnosis,count\n")
    refused(mottle_command(*run), 5, "already holds", "sensitive.csv")
    again = mottle_command(*run, "--k", "3", "--overwrite", "--another-draw")
    refused(again, 2, "does not give k-anonymity")


def test_l_that_the_table_cannot_have_is_refused_with_the_largest(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("age,sex,diagnosis\n" + "".join(f"{i},f,{min(i, 3)}\n" for i in range(9)))
    for method in ("hilbert", "mondrian", "anatomy"):
        result = mottle_command(
            "anonymize", data, *COLUMNS, "--l", "2", "--method", method, "-o", tmp_path / "out"
        )
        refused(result, 3, "1 value of column 'diagnosis' is", "No ℓ is feasible")


def test_sensitive_guarantees_by_their_options(csv: Path, tmp_path: Path) -> None:
    for number, options in enumerate(
        (
            ("--l", "3"),
            ("--k", "5", "--l", "2"),
            ("--beta", "2", "--enhanced"),
            ("--cap", "3=0.2", "--cap-rest", "0.5"),
        )
    ):
        out = tmp_path / f"out{number}"
        result = mottle_command("anonymize", csv, *COLUMNS, *options, "--seconds", "0", "-o", out)
        assert result.exit_code == 0, result.output
        certificate = Certificate.from_json((out / "certificate.json").read_text())
        assert certificate.method.picked == "buckets"
        assert all(check.passed for check in certificate.checks)
        assert certificate.sensitive[0].columns == ("diagnosis",)


def test_sensitive_numbers_by_bins_and_breaks(people: Path, tmp_path: Path) -> None:
    columns = ("--qi", "age,sex", "--sensitive", "income", "--rest", "identifying")
    for number, option in enumerate(
        (("--bins", "income=8"), ("--breaks", "income=10000,20000,40000"))
    ):
        out = tmp_path / f"out{number}"
        result = mottle_command("anonymize", people, *columns, *option, "--l", "2", "-o", out)
        assert result.exit_code == 0, result.output
        certificate = Certificate.from_json((out / "certificate.json").read_text())
        assert "bins" in certificate.sensitive[0].binned


def test_similar_values_are_capped_by_hierarchy_and_by_groups(csv: Path, tmp_path: Path) -> None:
    codes = tmp_path / "codes.csv"
    codes.write_text("".join(f"{n};{'low' if n < 4 else 'high'};*\n" for n in range(10)))
    options = ("--l", "2", "--group-cap", "diagnosis=0.6", "--seconds", "0", "--seed", "1")
    out = tmp_path / "out"
    columns = (*COLUMNS, "--hierarchy", f"diagnosis={codes}")
    result = mottle_command("anonymize", csv, *columns, *options, "-o", out)
    assert result.exit_code == 0, result.output
    certificate = Certificate.from_json((out / "certificate.json").read_text())
    assert certificate.guarantee.short == "ℓ = 2, diagnosis ≤ 0.6"
    values, groups = certificate.sensitive
    assert (values.levels, groups.levels, groups.values, groups.cap) == (None, (1,), 2, 0.6)
    assert "at most 0.6 for groups of 'diagnosis'" in certificate.guarantee.statement
    report = (out / "report.html").read_text()
    assert "Similar values are protected together" in report
    assert "--group-cap diagnosis=0.6" in report
    result = mottle_command("audit", csv, out, *columns, "--json")
    assert result.exit_code == 0, result.output
    assert "diagnosis, groups of level 1" in result.output
    schema = tmp_path / "mottle.toml"
    schema.write_text(
        'rest = "insensitive"\n[columns.age]\nrole = "quasi-identifying"\n'
        '[columns.sex]\nrole = "quasi-identifying"\n[columns.diagnosis]\nrole = "sensitive"\n'
        'groups.low = ["0", "1", "2", "3"]\ngroups.high = ["4", "5", "6", "7", "8", "9"]\n'
    )
    again = tmp_path / "again"
    result = mottle_command("anonymize", csv, "--schema", schema, *options, "-o", again)
    assert result.exit_code == 0, result.output
    assert (again / "release.csv").read_bytes() == (out / "release.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "exit_code", "words"),
    [
        (("--group-cap", "diagnosis=0.5"), 2, ("no groups of similar values", "--hierarchy")),
        (("--group-cap", "age=0.5"), 2, ("'age', which is not sensitive",)),
        (("--group-cap", "diagnosis"), 2, ("--group-cap COLUMN=SHARE",)),
        (("--group-cap", "diagnosis=2"), 2, ("above 0 and at most 1",)),
    ],
)
def test_group_caps_that_cannot_be_right(csv, tmp_path, options, exit_code, words) -> None:
    result = mottle_command("anonymize", csv, *COLUMNS, *options, "-o", tmp_path / "out")
    refused(result, exit_code, *words)


def test_no_guarantee_asked_for(csv: Path, tmp_path: Path) -> None:
    result = mottle_command("anonymize", csv, *COLUMNS, "-o", tmp_path / "out")
    refused(result, 2, "No guarantee is given.", "--l 3")


@pytest.mark.parametrize(
    ("options", "exit_code", "words"),
    [
        (("--l", "8"), 3, ("7 values of column 'diagnosis'", "largest feasible ℓ is 6")),
        (("--cap", "0=0.01"), 3, ("smallest feasible cap", "is 0.15")),
        (("--cap", "0"), 2, ("--cap VALUE=SHARE",)),
        (("--cap", "nine=0.5"), 2, ("'nine'",)),
        (("--enhanced", "--k", "2"), 2, ("--enhanced belongs to --beta",)),
        (("--beta", "-1"), 2, ("β must be 0 or more",)),
        (("--l", "2", "--bins", "diagnosis=x"), 2, ("whole number",)),
        (("--l", "2", "--bins", "age=3"), 2, ("sensitive columns",)),
        (("--l", "2", "--method", "freeform"), 2, ("does not give ℓ-diversity", "buckets")),
        (("--k", "2", "--unsafe-paper-randomization"), 2, ("no unsafe randomization",)),
    ],
)
def test_sensitive_options_that_cannot_be_right(csv, tmp_path, options, exit_code, words) -> None:
    result = mottle_command("anonymize", csv, *COLUMNS, *options, "-o", tmp_path / "out")
    refused(result, exit_code, *words)
    assert not (tmp_path / "out").exists()


def test_unsafe_randomization_says_so(csv: Path, tmp_path: Path) -> None:
    result = mottle_command(
        "anonymize",
        csv,
        *COLUMNS,
        "--l",
        "3",
        "--unsafe-paper-randomization",
        "-o",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    certificate = Certificate.from_json((tmp_path / "out" / "certificate.json").read_text())
    assert not certificate.checks[3].passed
    assert any(note.startswith("UNSAFE") for note in certificate.notes)
    assert "UNSAFE" in said(result)


# ------------------------------------------------------------------------------- columns of sets


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    diagnoses = ['"asthma"', '"asthma,flu"', "", '","', '"flu,migraine"']  # missing, empty set
    rows = [f"{20 + i % 40},{'fm'[i % 2]},{diagnoses[i % 5]}" for i in range(60)]
    path.write_text("\n".join(["age,sex,diagnoses", *rows]) + "\n")
    return path


def test_a_column_of_sets_is_anonymized_and_asked(patients: Path, tmp_path: Path) -> None:
    result = mottle_command(
        "anonymize",
        patients,
        "--qi",
        "age,sex,diagnoses",
        "--kind",
        "diagnoses=set",
        "--separator",
        "diagnoses=,",
        "--k",
        "3",
        "--seed",
        "1",
        "--private",
        tmp_path / "links.parquet",
        "-o",
        tmp_path / "out",
    )
    assert result.exit_code == 0, result.output
    release = mottle.read_release(tmp_path / "out")
    assert [column.form for column in release.columns][-1] == "worlds"
    assert "diagnoses.base" in (tmp_path / "out" / "release.csv").read_text()
    asked = "SELECT count(*) FROM release WHERE diagnoses = 'asthma'"
    counted = mottle_command("query", tmp_path / "out", asked)
    assert counted.exit_code == 0, counted.output
    for format_ in ("csv", "parquet"):
        drawn = mottle_command(
            "sample", tmp_path / "out", "-m", "1", "--format", format_, "-o", tmp_path / "worlds"
        )
        assert drawn.exit_code == 0, drawn.output
        world = mottle.read_table(tmp_path / "worlds" / f"sample-1.{format_}")
        assert world.num_rows == 60
    audited = mottle_command(
        "audit", patients, tmp_path / "out", "--private", tmp_path / "links.parquet"
    )
    assert audited.exit_code == 0, audited.output


def test_methods_without_sets_refuse_the_column_and_streaming_takes_it(
    patients: Path, tmp_path: Path
) -> None:
    named = ("--qi", "age,sex,diagnoses", "--separator", "diagnoses=,", "--k", "3")
    result = mottle_command(
        "anonymize", patients, *named, "--method", "mondrian", "-o", tmp_path / "out"
    )
    refused(result, 2, "does not support sets", "'diagnoses'", "freeform")
    result = mottle_command(
        "anonymize", patients, *named, "--memory", "1GB", "-o", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    assert "diagnoses.base" in (tmp_path / "out" / "release.csv").read_text("utf-8")


@pytest.mark.parametrize("as_text", [False, True])
def test_lists_and_text_with_separators_are_proposed_as_sets(as_text: bool, tmp_path: Path) -> None:
    people = mottle.datasets.with_diagnoses(mottle.datasets.population(200, seed=1))
    if as_text:
        lists = people.column("diagnoses")
        people = people.drop(["diagnoses"])
        people = people.append_column("diagnoses", pc.binary_join(lists, ";"))
    pq.write_table(people, tmp_path / "people.parquet")
    result = mottle_command("inspect", tmp_path / "people.parquet", "-o", tmp_path / "mottle.toml")
    assert result.exit_code == 0, result.output
    described = (tmp_path / "mottle.toml").read_text()
    assert '[columns.diagnosis]\nrole = "sensitive"' in described
    assert '[columns.diagnoses]\nrole = "quasi-identifying"\nkind = "set"' in described

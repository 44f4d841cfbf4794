"""The figures of the papers: complete, runnable, resumable, and their page made of kept points."""

from __future__ import annotations

import re
from dataclasses import replace
from math import isfinite

import pytest

from benchmarks.reproduce.__main__ import main, selected
from benchmarks.reproduce.claims import as_printed, below, grows, surrounds
from benchmarks.reproduce.data import FOLDER_VARIABLE
from benchmarks.reproduce.figure import Claim, Figure, Found, Job, Outcome, Panel, Point
from benchmarks.reproduce.page import PAGE, page_of, write_page
from benchmarks.reproduce.registry import FIGURES
from benchmarks.reproduce.run import Run, measure, planned_seconds
from benchmarks.reproduce.store import (
    METHOD_REVISIONS,
    REVISIONS,
    Store,
    fingerprint,
    key_of,
)
from benchmarks.reproduce.sweeps import sweep
from benchmarks.reproduce.work import WORK, check_jobs

EVALUATIONS = [
    *(f"FAST07-{number}" for number in range(12, 21)),
    *(f"NH10-{number}" for number in range(9, 16)),
    *(f"HET-{number}" for number in range(2, 12)),
    *(f"SET12-{number}" for number in (6, 7)),
]
BY_ID = {figure.id: figure for figure in FIGURES}
IDS = re.compile(r"\b(?:FAST07|NH10|HET|SET12)-[\w-]+")


@pytest.fixture
def data(generated_data, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(generated_data))


def small_figure(**changes) -> Figure:
    panels = [Panel("", "loss"), Panel("time", "seconds", y_title="seconds")]
    series = {"HS": {"method": "hilbert"}, "NH": {"method": "nh"}}
    points = sweep("generalize", series, "k", (2, 5), data="census", rows=200, columns=3)
    figure = Figure("NH10-9", "Loss over k", "All.", "Few.", "k", panels, points, 1)
    return replace(figure, **changes)


# -------------------------------------------------------------------------------- what is defined


def test_no_figure_of_the_evaluations_is_missing() -> None:
    assert [figure.id for figure in FIGURES if not figure.is_experiment] == EVALUATIONS
    assert len({figure.slug for figure in FIGURES}) == len(FIGURES)


def test_nh10_has_the_papers_numbers_beside_all_its_figures() -> None:
    for number in range(9, 16):
        figure = BY_ID[f"NH10-{number}"]
        shown = {(point.group, point.series, point.x) for point in figure.points}
        with_loss = {place for place, numbers in figure.printed.items() if "loss" in numbers}
        assert shown <= with_loss
        assert any("seconds" in numbers for numbers in figure.printed.values())


def test_every_job_can_be_run_and_shown() -> None:
    check_jobs([(point.job.work, point.job.settings) for f in FIGURES for point in f.points])
    assert set(REVISIONS) == set(WORK)
    for figure in FIGURES:
        groups = {point.group for point in figure.points}
        assert groups == {panel.group for panel in figure.panels}, figure.id


def test_explanations_name_figures_that_exist() -> None:
    for figure in FIGURES:
        for text in (figure.ours, *(claim.why for claim in figure.claims)):
            for name in IDS.findall(text):
                assert name.rstrip("-") in BY_ID, f"{figure.id} names {name}"
        assert figure.claims, figure.id


def test_all_figures_fit_into_three_hours_of_two_processes() -> None:
    assert sum(planned_seconds(FIGURES).values()) / 2 < 3 * 3600


def test_figures_that_take_least_time_come_first_and_share_their_points(data, tmp_path) -> None:
    dear = small_figure(minutes=9)
    cheap = small_figure(id="NH10-10", points=dear.points[:1], minutes=1)
    said: list[str] = []
    Run([dear, cheap], Store.read(tmp_path), said.append, warms_up=False).go()
    assert [line.split()[1] for line in said] == ["NH10-10", *["NH10-9"] * 3]
    assert len(Store.read(tmp_path).outcomes) == 4


def test_two_processes_measure_what_one_does(data, tmp_path) -> None:
    figure = small_figure(panels=[Panel("", "loss")])
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    Run([figure], one, lambda line: None, warms_up=False).go()
    Run([figure], two, lambda line: None, warms_up=False, processes=2).go()
    losses = [
        {job: outcome.numbers["loss"] for job, outcome in store.outcomes.items()}
        for store in (one, two)
    ]
    assert losses[0] == losses[1]
    assert Store.read(tmp_path / "two").outcomes.keys() == one.outcomes.keys()


def test_figures_are_selected_by_name_paper_and_kind(capsys) -> None:
    assert [figure.id for figure in selected(["nh10-11"])] == ["NH10-11"]
    assert {figure.id for figure in selected(["SET12"])} >= {"SET12-6", "SET12-7"}
    assert all(figure.is_experiment for figure in selected(["experiments"]))
    assert selected([]) == FIGURES
    with pytest.raises(SystemExit, match="Did you mean NH10-1"):
        selected(["NH10-111"])


# --------------------------------------------------------------------------------- what is measured


@pytest.mark.parametrize(
    ("figure", "series", "number"),
    [
        ("FAST07-12", "Mondrian", 0),
        ("FAST07-20", "Hilb", 0),
        ("FAST07-why-mondrian", "Mondrian, by nodes", -1),
        ("NH10-9", "HS", 0),
        ("NH10-14", "AT", 0),
        ("NH10-why-order", "names, last first", 0),
        ("NH10-why-diversity", "HS, largest buckets", 0),
        ("NH10-why-people", "natives", 0),
        ("NH10-why-people", "up to 85 years", 0),
        ("NH10-why-people", "education more even", -1),
        ("HET-2", "HGτ", 0),
        ("HET-3", "nh", -1),
        ("HET-9", "BuReL", 0),
        ("HET-11", "BuReL", 0),
        ("HET-why-partitions", "HG in random parts", 0),
        ("SET12-6", "Gray-TSP", 0),
        ("SET12-6", "NR", 0),
        ("SET12-7", "backtracking, as printed", 0),
    ],
)
def test_a_point_of_a_figure(data, figure: str, series: str, number: int) -> None:
    points = [point for point in BY_ID[figure].points if point.series == series]
    point = points[number]
    outcome = measure(point.job.small(200))
    assert outcome.numbers, outcome.note
    shown = {panel.measure for panel in BY_ID[figure].panels if panel.group == point.group}
    assert shown <= set(outcome.numbers)
    assert all(isfinite(value) and value >= 0 for value in outcome.numbers.values())


def test_a_method_that_refuses_and_one_that_is_missing_say_so(data) -> None:
    settings = {"data": "census", "rows": 200, "columns": 2}
    refused = measure(Job("generalize", {**settings, "method": "buckets", "l": 150}))
    assert refused.numbers is None
    assert refused.note
    missing = measure(Job("generalize", {**settings, "method": "no-such-method", "k": 2}))
    assert missing.note == "method not available: no-such-method"
    option = measure(Job("generalize", {**settings, "method": "nh", "options": {"x": 1}, "k": 2}))
    assert option.note == "method not available: nh with x"


def test_a_run_goes_on_where_it_was_stopped(data, tmp_path) -> None:
    figure = small_figure()

    class StoppedError(Exception):
        pass

    def stop(line: str) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Run([figure], Store.read(tmp_path), stop).go()
    kept = Store.read(tmp_path)
    assert len(kept.outcomes) == 1
    said: list[str] = []
    Run([figure], Store.read(tmp_path), said.append).go()
    assert len(said) == len(figure.points) - 1
    assert said[-1].endswith("under a minute left")
    done = Store.read(tmp_path)
    assert set(done.outcomes) == {key_of(point.job) for point in figure.points}
    assert done.outcomes.items() >= kept.outcomes.items()
    said.clear()
    Run([figure], done, said.append).go()
    assert not said


def test_points_of_other_figures_are_taken_over_and_old_ones_renewed(data, tmp_path) -> None:
    figure = small_figure()
    other = small_figure(id="NH10-10", points=figure.points[:2])
    store = Store(tmp_path)
    for point in figure.points:
        store.keep(point.job, Outcome({"loss": 0.5, "seconds": 1.0}, "", 1.0, "older"))
    said: list[str] = []
    Run([other], store, said.append).go()
    assert not said
    assert len(Store.read(tmp_path).outcomes) == 2
    Run([other], store, said.append, renew=True).go()
    assert len(said) == 2
    codes = {store.outcomes[key_of(point.job)].code for point in other.points}
    assert codes == {fingerprint()}


def test_points_of_earlier_revisions_are_not_used(monkeypatch, tmp_path) -> None:
    figure = small_figure()
    store = Store(tmp_path)
    for point in figure.points:
        store.keep(point.job, Outcome({"loss": 0.5, "seconds": 1.0}))
    monkeypatch.setitem(METHOD_REVISIONS, "hilbert", 2)
    known = {point.series for point in figure.points if store.outcome(point.job) is not None}
    assert known == {"NH"}
    monkeypatch.setitem(REVISIONS, "generalize", 1 + REVISIONS["generalize"])
    assert all(store.outcome(point.job) is None for point in figure.points)


def test_what_is_not_available_is_not_kept(data, tmp_path) -> None:
    job = Job("generalize", {"data": "census", "rows": 200, "method": "no-such-method", "k": 2})
    figure = small_figure(points=[Point("NH", 2, job)])
    store = Store(tmp_path)
    Run([figure], store, lambda line: None).go()
    assert not store.outcomes


def test_a_trial_keeps_nothing(data, capsys) -> None:
    before = PAGE.read_text("utf-8")
    main(["NH10-why-order", "--quick"])
    told = capsys.readouterr().out
    assert "nothing was kept" in told
    assert "names, last first" in told
    assert not (Store().folder / "nh10-why-order.json.unfinished").exists()
    assert PAGE.read_text("utf-8") == before


# ------------------------------------------------------------------------------------ what is shown


def found_of(figure: Figure, **losses: float) -> Found:
    outcomes = {
        (point.group, point.series, point.x): Outcome({"loss": losses[point.series] * point.x})
        for point in figure.points
        if point.series in losses
    }
    return Found(figure, outcomes)


def test_claims_are_decided_by_the_points() -> None:
    figure = small_figure(printed={("", "NH", 2): {"loss": 0.2}})
    assert below("NH", "HS")(found_of(figure, HS=0.3, NH=0.1)).holds is True
    verdict = below("NH", "HS")(found_of(figure, HS=0.1, NH=0.1))
    assert verdict.holds is False
    assert verdict.measured == "NH / HS: 1; not at 2, 5"
    assert below("NH", "HS")(found_of(figure, NH=0.1)).holds is None
    assert grows(("NH",))(found_of(figure, NH=0.1)).holds is True
    assert grows(("NH",), falling=True)(found_of(figure, NH=0.1)).holds is False
    assert as_printed("NH", most=1.06)(found_of(figure, NH=0.1)).holds is True
    assert as_printed("NH", most=1.06)(found_of(figure, NH=0.11)).holds is False
    assert as_printed("HS")(found_of(figure, HS=0.1, NH=0.1)).holds is None
    assert surrounds("NH")(found_of(figure, HS=0.05, NH=0.12)).holds is True
    assert surrounds("NH")(found_of(figure, HS=0.11, NH=0.12)).holds is False
    assert surrounds("NH")(found_of(figure, HS=0.11)).holds is None


def test_the_page_is_made_of_kept_points(tmp_path) -> None:
    nine, later = BY_ID["NH10-9"], BY_ID["NH10-13"]
    why = "Because of NH10-13."
    nine = replace(
        nine,
        claims=[
            Claim("NH as printed.", as_printed("NH")),
            Claim("HS below NH.", below("HS", "NH"), why),
        ],
    )
    store = Store(tmp_path / "kept")
    for point in nine.points:
        printed = nine.printed["", point.series, point.x]
        store.keep(point.job, Outcome(dict(printed), "", 1.0, fingerprint()))
    store.keep(nine.points[0].job, Outcome(None, "It refuses.", 1.0, "older"))
    store.write(nine)
    store = Store.read(tmp_path / "kept")
    write_page([nine, later], store, tmp_path / "page.md", tmp_path / "images")
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "NH as printed. **Holds** (ours / the paper's: 1)." in page
    assert "Because of [NH10 Fig. 13](#nh10-fig-13)." in page
    assert "8.85e-05 (8.85e-05)" in page
    assert "No number: HR at 100,000: It refuses." in page
    assert "1 of 15 points were made with earlier sources" in page
    assert "### NH10 Fig. 13" in page
    assert "Not run yet." in page
    svg = (tmp_path / "images" / "nh10-9.svg").read_text("utf-8")
    assert svg.startswith("<svg")
    assert "(paper)" in svg
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["nh10-9.svg"]


def test_the_page_in_the_documentation_is_that_of_the_kept_points() -> None:
    age = re.compile(r"^(All points were made|[\d,]+ of [\d,]+ points were made).*$", re.MULTILINE)
    made = page_of(FIGURES, Store.read())
    kept = PAGE.read_text("utf-8")
    assert age.sub("", kept) == age.sub("", made), "run python -m benchmarks.reproduce --page"

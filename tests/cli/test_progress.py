"""Progress is told in plain words, with the time left, and in logs only now and then."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command

import mottle
from mottle.cli import _progress
from mottle.cli._progress import (
    KEEPS_BEST,
    ProgressLines,
    ProgressWords,
    StepWords,
    Telling,
    steps_bar,
)
from mottle.pipeline.progress import STAGES, LossSoFar, Progress
from mottle.utils.progress_lines import PROGRESS_FD
from mottle.utils.steps import Step, StepTimes


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def test_no_stage_is_shown_by_its_name_in_the_code():
    words = ProgressWords()
    for stage in (*STAGES, "chunks", "sort", "cut", "survey", "shuffle", "audit", "write"):
        text, _ = words.of(Progress(stage))
        assert stage not in text.split()


def test_improving_says_how_long_it_takes_and_that_the_best_is_kept():
    clock = Hands()
    words = ProgressWords(60.0, keeps_best=True, now=clock)
    assert words.of(Progress("arrange")) == ("Choosing who may stand for whom", None)
    first, _ = words.of(Progress("arrange", 0.05))
    assert first == f"Improving the cells, 60 s left, loss 0.0500. {KEEPS_BEST}"
    clock.time = 45.0
    text, share = words.of(Progress("arrange", 0.04))
    assert ("15 s left" in text, share) == (True, 0.75)


def test_a_run_that_has_to_repeat_does_not_promise_to_keep_the_best():
    text, share = ProgressWords(keeps_best=False).of(Progress("arrange", 0.05))
    assert (text, share) == ("Improving the cells, loss 0.0500", None)


def test_logs_get_a_line_at_most_every_half_minute():
    clock, written = Hands(), []
    lines = ProgressLines(written.append, now=clock)
    for clock.time in (0.0, 10.0, 29.0, 31.0, 40.0, 62.0):
        lines.show(f"at {clock.time:.0f}")
    assert written == ["at 31 (31 s)", "at 62 (62 s)"]


def test_previews_say_what_they_preview():
    text, _ = ProgressWords().of(Progress("preview", 0.031, detail="k = 12, nh"))
    assert text == "Previewing: k = 12, nh, loss 0.0310"


def test_programs_are_told_now_and_then_and_the_loss_that_the_run_will_state():
    clock, told = Hands(), []
    telling = Telling(lambda *said: told.append((clock.time, *said)), clock)
    for clock.time in (0.0, 0.04, 0.11, 0.15, 0.3):
        telling.of(Progress("arrange", 0.2), "Improving", None)
    for clock.time in (1.0, 1.2, 1.6):
        known = LossSoFar(0.1, {"age": 0.3})
        progress = Progress("arrange", 0.2, measure=lambda known=known: known)
        telling.of(progress, "Improving", None)
    telling.of(Progress("write", 0.1), "Writing", None)  # another stage is told at once
    assert [said[0] for said in told] == [0.0, 0.11, 0.3, 1.0, 1.6, 1.6]
    assert [said[4] for said in told] == [0.2, 0.2, 0.2, 0.1, 0.1, 0.1]
    assert [said[5] for said in told] == [None, None, None, {"age": 0.3}, {"age": 0.3}, None]


def test_programs_are_told_nothing_about_keys_of_a_terminal():
    words = ProgressWords(60.0, keeps_best=True, now=Hands())
    assert words.alone(Progress("arrange", 0.05)) == "Improving the cells, 60 s left"
    assert words.alone(Progress("write", 0.05)) == "Writing the files"


def test_steps_say_their_number_and_the_time_left_as_it_passes():
    clock = Hands()
    words = StepWords(StepTimes(clock))
    first, second = (Step(name, 1 + number, ("a", "b")) for number, name in enumerate(("A", "B")))
    assert words.of(first) == "1 of 2: A"
    clock.time = 20.0
    assert words.of(second) == "2 of 2: B, about 20 s left"
    clock.time = 32.0
    assert words.of(second) == "2 of 2: B, about 8 s left"


def test_the_audit_of_a_run_is_told_with_its_adversary_and_the_time_left():
    clock = Hands()
    words = ProgressWords(steps=StepTimes(clock))
    step = Step("learning", 1, ("learning", "order"), (30.0, 10.0))
    text, share = words.of(Progress("audit", 0.1, step.share, step.words, step=step))
    assert text == "Attacking the release: learning, about 40 s left, loss 0.1000"
    assert share == 0.0


def test_a_log_gets_a_line_while_a_step_reports_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_progress, "_LOOK", 0.001)
    written = threading.Event()
    saying = [lambda: "at the only step"]
    lines = ProgressLines(lambda text: written.set(), interval=0.0)
    with lines.due(saying, needed=True):
        assert written.wait(60)


def test_a_log_of_a_comparison_has_a_line_for_every_step(capsys: pytest.CaptureFixture[str]):
    with steps_bar("Reading the table", each=True) as on_progress:
        on_progress(Step("[bold]nh, k = 5", 1, ("a", "a")))
        on_progress(Step("nh, k = 10", 2, ("a", "a")))
    assert capsys.readouterr().err.splitlines() == ["1 of 2: [bold]nh, k = 5", "2 of 2: nh, k = 10"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its release and the owner's links."""
    place = tmp_path_factory.mktemp("place")
    people = mottle.datasets.population(60, seed=1).select(["age", "sex", "diagnosis"])
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.KAnonymity(3), method="nh", seed=1)
    release.save(place / "released", private=place / "links")
    pq.write_table(people, place / "people.parquet")
    return place


@pytest.mark.parametrize(
    ("typed", "last"),
    [
        ("audit people.parquet released --adversary linkage --adversary order", "2 of 2: order"),
        ("evaluate people.parquet released --private links", "3 of 3: Asking random counts"),
        ("sample released -o samples --tables 2", "3 of 3: Drawing table 2 of 2"),
        ("report released -o again.html --original people.parquet", "7 of 7: Making the page"),
        ("risk people.parquet released --population-size 900", "4 of 4: Uniques"),
        ("verify released --original people.parquet --private links", "5 of 5: Checking every"),
        ("suggest people.parquet --qi age,sex --rest insensitive --max-loss 0.2", "Previewing: k"),
    ],
)
def test_every_command_that_may_take_long_tells_its_steps(
    released: Path, monkeypatch: pytest.MonkeyPatch, typed: str, last: str
):
    monkeypatch.chdir(released)
    reading, writing = os.pipe()
    monkeypatch.setenv(PROGRESS_FD, str(writing))
    try:
        result = mottle_command(*typed.split())
    finally:
        os.close(writing)
        with open(reading, encoding="utf-8") as lines:
            told = [json.loads(line) for line in lines]
    assert result.exit_code == 0, result.output
    assert told[-1]["words"].startswith(last)
    shares = [each["share"] for each in told if each["stage"] == "steps"]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)

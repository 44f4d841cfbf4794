"""Progress is told in plain words, with the time left, and in logs only now and then."""

from __future__ import annotations

from mottle.cli._progress import KEEPS_BEST, ProgressLines, ProgressWords, Telling
from mottle.pipeline.progress import STAGES, LossSoFar, Progress


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

"""The estimate of the remaining time follows what steps take, and is not 0 while one still runs."""

from __future__ import annotations

import pytest

from mottle.utils.steps import Announced, Step, StepTimes

# Seconds that adversaries took on the census (3-diversity) and on ADULT, one after the other:
# algorithm, assignments, association, classic, corruption, decision (which did not apply),
# learning, links, order, sensitive, unchanged; and what is expected for a million people.
CENSUS = (5.0, 8.0, 27.0, 0.4, 0.6, 0.0, 12.0, 0.3, 1.0, 34.0, 0.9)
ADULT = (1.8, 3.2, 0.6, 2.7, 0.5, 0.0, 3.1, 0.4, 0.1, 1.1, 0.8)
EXPECTED = (25.0, 40.0, 50.0, 10.0, 5.0, 15.0, 50.0, 3.0, 3.0, 70.0, 8.0)


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.mark.parametrize(
    ("taken", "rows", "slower"), [(CENSUS, 295_243, 1), (ADULT, 48_842, 1), (ADULT, 48_842, 6)]
)
def test_the_estimate_neither_jumps_up_nor_reaches_0_before_the_end(taken, rows, slower):
    """Also on a machine that is several times slower than the one that was measured."""
    clock = Hands()
    times = StepTimes(clock)
    seconds = tuple(each * rows / 1e6 for each in EXPECTED)
    total = slower * sum(taken)
    sorts = tuple(map(str, range(len(taken))))
    last = None
    for number, needed in enumerate(taken, start=1):
        end = clock.time + slower * needed
        while True:
            left = times.left(Step("", number, sorts, seconds))
            if last is not None:  # seconds that are added at once, beside all that it takes
                assert left - last < 0.35 * total
            if total - clock.time > 5:
                assert left > 1
            last = left
            if clock.time >= end:
                break
            clock.time = min(clock.time + 1.0, end)


def test_steps_that_were_not_played_do_not_make_the_rest_look_quick():
    clock = Hands()
    times = StepTimes(clock)
    sorts, seconds = ("replay", "attack"), (10.0, 50.0)
    before = times.left(Step("", 1, sorts, seconds))
    clock.time = 0.01  # it does not apply to the release
    assert (before, times.left(Step("", 2, sorts, seconds))) == (60.0, 50.0)


def test_a_step_under_way_is_estimated_by_its_share_where_that_is_known():
    clock = Hands()
    times = StepTimes(clock)
    assert times.left(Step("", 1, ("ask",), (5.0,))) == 5.0
    clock.time = 30.0
    assert times.left(Step("", 1, ("ask",), (5.0,))) == 7.5  # a quarter of what it has taken
    assert times.left(Step("", 1, ("ask",), (5.0,), done=0.25)) == 90.0


def test_a_bar_that_still_shows_the_last_step_does_not_set_the_estimate_back():
    clock = Hands()
    times = StepTimes(clock)
    first, second = (Step("", number, ("ask",) * 4) for number in (1, 2))
    times.left(first)
    clock.time = 10.0
    assert times.left(second) == 30.0
    assert times.left(first) == 30.0
    clock.time = 12.0
    assert times.left(second) == 28.0


def test_shares_follow_what_steps_take_and_steps_can_be_left_out():
    told: list[Step] = []
    steps = Announced(told.append, ["read", "ask", "write"], [1.0, 8.0, 1.0])
    steps.begin("read", "Reading")
    steps.begin("ask")
    steps.reached(1, 2)
    steps.begin("write", "Writing")
    assert [(step.words, step.share) for step in told] == [
        ("Reading", 0.0),
        ("ask", 0.1),
        ("ask", 0.5),
        ("Writing", 0.9),
    ]
    quiet = Announced(None, ["read", "ask"])
    quiet.begin("ask")
    with pytest.raises(ValueError, match="not in"):
        quiet.begin("read")

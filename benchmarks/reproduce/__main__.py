"""Run figures of the papers, draw them and write docs/reproduction.md.

    python -m benchmarks.reproduce [FIGURE ...] [--quick | --page | --list] [--renew] [--jobs N]

A FIGURE is the name of one (NH10-11), of a paper (NH10), or "experiments"; without any, all are
run. Points that are known already are not run again: after a break, the same command goes on, also
on another machine that has the files in benchmarks/results/reproduce.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence

from benchmarks.reproduce.figure import Figure
from benchmarks.reproduce.page import PAPERS, WORDS, write_page
from benchmarks.reproduce.registry import FIGURES
from benchmarks.reproduce.run import Run, planned_seconds, trial
from benchmarks.reproduce.store import KEPT, Store, forget, key_of

PROCESSES = 2  # seconds are those of a process, so that two do not disturb each other's


def selected(names: Sequence[str]) -> list[Figure]:
    """The figures that names stand for, in the order of the registry."""
    chosen = set()
    for name in names:
        wanted = name.upper()
        if wanted == "EXPERIMENTS":
            found = [figure.id for figure in FIGURES if figure.is_experiment]
        elif wanted in PAPERS:
            found = [figure.id for figure in FIGURES if figure.id.startswith(f"{wanted}-")]
        else:
            found = [figure.id for figure in FIGURES if figure.id.upper() == wanted]
        if not found:
            known = [*(figure.id for figure in FIGURES), *PAPERS, "experiments"]
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"Did you mean {near[0]}?" if near else "--list shows all."
            sys.exit(f"There is no figure '{name}'. {hint}")
        chosen.update(found)
    return [figure for figure in FIGURES if figure.id in chosen or not names]


def listed(figures: Sequence[Figure], store: Store) -> None:
    """Print all figures, those that take least time first: points known, time left of the plan."""
    planned = planned_seconds(FIGURES)
    waiting: set[str] = set()
    lines = []
    for figure in figures:
        jobs = {key_of(p.job) for p in figure.points if store.outcome(p.job) is None}
        known = sum(store.outcome(point.job) is not None for point in figure.points)
        minutes = sum(planned[job] for job in jobs) / 60
        spent = sum(each.cost for p in figure.points if (each := store.outcome(p.job))) / 60
        lines.append(
            (
                minutes,
                f"{figure.id:20} {known:4} of {len(figure.points):4} points,"
                f" {spent:5.1f} minutes spent, {minutes:5.1f} left: {figure.title}",
            )
        )
        waiting |= jobs
    for _, line in sorted(lines):
        print(line)
    hours = sum(planned[job] for job in waiting) / 3600
    print(
        f"Left, what figures share counted once: {hours:.1f} hours of one processor,"
        f" {hours / PROCESSES:.1f} in {PROCESSES} processes."
    )


def tried(figures: Sequence[Figure]) -> None:
    """Run small versions and print what would be judged; nothing is kept."""
    for found in trial(figures):
        for claim in found.figure.claims:
            verdict = claim.decide(found)
            print(f"{found.figure.id}: {claim.says} {WORDS[verdict.holds]} ({verdict.measured})")
    print("A trial on few rows: nothing was kept, and the verdicts mean nothing.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help="NH10-11, NH10, experiments; default: all"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="a trial on few rows; keeps nothing")
    how.add_argument("--page", action="store_true", help="only write charts and page anew")
    how.add_argument("--list", action="store_true", help="list figures, points and planned time")
    parser.add_argument(
        "--renew", action="store_true", help="also run points made with earlier sources"
    )
    parser.add_argument(
        "--jobs", type=int, default=PROCESSES, help=f"processes; {PROCESSES} by default"
    )
    given = parser.parse_args(arguments)
    figures = selected(given.figures)
    if given.quick:
        tried(figures)
        return
    store = Store.read()
    if given.list:
        listed(figures, store)
        return
    if not given.page:
        forget(KEPT, FIGURES)
        try:
            Run(
                figures,
                store,
                lambda line: print(line, flush=True),
                renew=given.renew,
                processes=given.jobs,
            ).go()
        except KeyboardInterrupt:
            print("Stopped. The same command goes on where it stopped.")
    write_page(FIGURES, store)


if __name__ == "__main__":
    main()

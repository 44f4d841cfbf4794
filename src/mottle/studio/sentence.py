"""The sentence on top of every page: what is asked for, and what the run of this state reached."""

from __future__ import annotations

from mottle.errors import MottleError
from mottle.schema.model import Unit
from mottle.studio.state import Studio


def sentence(studio: Studio) -> list[str]:
    """Return the parts of the sentence.

    Every figure is made from the current state, or from the run that belongs to it; where there is
    none, the sentence says what is open.

    Parameters
    ----------
    studio : Studio
        The state.

    Returns
    -------
    list of str
        The parts, without any cell of the table.
    """
    try:
        if studio.opened is None:
            return ["no table is open"]
        unit = _unit(studio)
    except MottleError:
        return ["the table or its schema cannot be read"]
    asked = _asked(studio)
    if not asked:
        return [unit, "nothing is promised yet"]
    run = studio.project.current_run()
    if run is None:
        return [unit, *(f"asked for: {part}" for part in asked), "no release of this yet"]
    held = "all held" if run["held"] else "not all held"
    return [unit, *asked, f"{100 * run['loss']:.1f} % lost", f"checks and audit: {held}"]


def _unit(studio: Studio) -> str:
    schema = studio.project.schema()
    if schema.person is not None:
        return f"k counts people, by column {schema.person}"
    return "one row = one row" if schema.unit is Unit.ROW else "one row = one person"


def _asked(studio: Studio) -> list[str]:
    """What is promised, in words."""
    options = studio.project.state.wishes.options
    parts = []
    if "k" in options:
        parts.append(f"nobody is linked with more than 1 in {options['k']}")
    if "l" in options:
        parts.append(f"sensitive values are believed with at most 1 in {options['l']}")
    if "beta" in options:
        growth = 1 + float(options["beta"])
        parts.append(f"belief in sensitive values grows at most {growth:g}-fold")
    return parts

"""The sentence on top of every page: what is asked for, and what the run of this state reached."""

from __future__ import annotations

from mottle.errors import MottleError
from mottle.schema.model import Role, Unit
from mottle.studio.state import Studio

_NOBODY = {Unit.HOUSEHOLD: "no household", Unit.ROW: "no row"}


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
    return f"one row = one {schema.unit or Unit.PERSON}"


def _asked(studio: Studio) -> list[str]:
    """What is promised, in words."""
    wishes = studio.project.state.wishes
    options = wishes.options
    schema = studio.project.schema()
    names = [column.name for column in schema.with_role(Role.SENSITIVE)]
    values = f"a value of {', '.join(names)}" if names else "a sensitive value"
    parts = []
    if "k" in options:
        nobody = _NOBODY.get(schema.unit or Unit.PERSON, "nobody")
        parts.append(f"{nobody} is linked with more than 1 in {options['k']}")
    if "l" in options:
        parts.append(f"{values} is believed with at most 1 in {options['l']}")
    if "beta" in options:
        growth = 1 + float(options["beta"])
        parts.append(f"belief in {values} grows at most {growth:g}-fold")
    if wishes.caps or "cap_rest" in options:
        lowest = min(float(each) for each in (*wishes.caps.values(), options.get("cap_rest", 1)))
        parts.append(f"own caps on {values}, from {100 * lowest:g} %")
    if "known_records" in options and wishes.guarantee is not None:
        parts.append(f"one known record gives away at most {options['known_records']}")
    return parts

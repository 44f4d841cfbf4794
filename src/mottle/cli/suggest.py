"""The command ``mottle suggest``: the strongest guarantee within a loss budget."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict

from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._progress import progress_bar
from mottle.cli.commands import Suggest
from mottle.pipeline.suggest import Suggestion, suggest

_SYMBOLS = {"k": "k", "l": "ℓ", "beta": "β"}


def run(command: Suggest) -> None:
    """Find the strongest guarantee within a loss budget, and print it with all previews."""
    schema = command.columns.schema
    schema = schema.with_reading(command.source.options.over(schema.reading))
    with progress_bar() as on_progress:
        found = suggest(
            command.source.read(command.data, schema.reading),
            schema,
            max_loss=command.max_loss,
            vary=command.vary,
            method=command.method,
            representation=command.representation,
            objective=command.objective,
            progress=on_progress,
        )
    if command.as_json:
        print_json(json.dumps(_described(found), indent=2, ensure_ascii=False))
        return
    show_suggestion(found, Console(), command.typed)


def show_suggestion(found: Suggestion, out: Console, typed: tuple[str, ...]) -> None:
    """Print the previews, the guarantee, and the command that runs it."""
    symbol = _SYMBOLS[found.varied]
    shown = Table(
        title=f"Previews for a loss of at most {found.max_loss:.2%}", title_justify="left"
    )
    for heading in (symbol, "method", "loss in the preview", ""):
        shown.add_column(heading, justify="left" if heading in ("method", "") else "right")
    for each in sorted(found.previews, key=lambda one: (one.method, one.value)):
        fits = each.loss is not None and each.loss <= found.max_loss
        loss = "not feasible" if each.loss is None else f"{each.loss:.2%}"
        shown.add_row(f"{each.value:g}", each.method, loss, "fits" if fits else "")
    out.print(shown)
    described = found.needed.describe()
    out.print(
        f"{described['short']} loses {found.loss:.2%} by {found.method} without refinement; a run"
        " that refines loses less.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if found.next_stronger is not None and found.next_stronger.loss is not None:
        stronger = found.next_stronger
        out.print(
            f"The next stronger one, {symbol} = {stronger.value:g}, loses {stronger.loss:.2%}.",
            highlight=False,
        )
    if found.varied == "k":
        out.print(f"No risk will be above {1 / described['k']:.3g}.", highlight=False)  # type: ignore[operator]
    else:
        out.print(_MIXED.format(symbol), highlight=False, markup=False, soft_wrap=True)
    out.print(f"  {_command(found, typed)}", highlight=False, markup=False, soft_wrap=True)


_MIXED = (
    "Note: what {0} loses depends on quasi-identifiers and sensitive values together. Take this as"
    " advice and settle on a round value that you would also defend without the figure: a value"
    " picked for its loss says something about both."
)


def _command(found: Suggestion, typed: tuple[str, ...]) -> str:
    """The same words with anonymize and the guarantee."""
    words = list(typed[1:])
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--max-loss", "--vary"):
            skip = True
        elif not word.startswith(("--max-loss=", "--vary=")) and word != "--json":
            kept.append(word)
    guarantee = found.needed
    value = type(guarantee).command(guarantee.describe())
    return shlex.join(["mottle", "anonymize", *kept, *value, "-o", "released"])


def _described(found: Suggestion) -> dict[str, object]:
    return {
        "vary": found.varied,
        "max_loss": found.max_loss,
        "guarantee": None if found.guarantee is None else found.guarantee.describe(),
        "loss": found.loss,
        "method": found.method,
        "previews": [asdict(each) for each in found.previews],
        "next_stronger": None if found.next_stronger is None else asdict(found.next_stronger),
    }

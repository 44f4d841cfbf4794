"""The strongest guarantee within a loss budget (the dual problem of FAST07 §7), by previews.

A preview arranges and covers the table and measures the loss; nothing is drawn or published. The
fast method `nh` is bisected first. The method that would run, without its refinement, is previewed
from there on, where a power of k predicts the budget. Loss need not grow evenly with k, so what is
found is the strongest value that was previewed within the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from mottle import methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.people import People
from mottle.encoding.sensitive import SensitiveValues, encode_sensitive
from mottle.errors import DataError, GuaranteeError, UsageError, did_you_mean
from mottle.guarantees.base import Guarantee
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.io.read_table import as_table
from mottle.methods.auto import expected_seconds
from mottle.methods.base import MethodContext
from mottle.pipeline.progress import Progress
from mottle.pipeline.published_nodes import codes_with_nodes
from mottle.pipeline.settings import check_representation, check_schema, parse_objective
from mottle.pipeline.table_records import TableRecords
from mottle.release.per_person import one_row_per_person
from mottle.release.publish import check_publishable
from mottle.schema.model import Objective, Representation, Role, Schema
from mottle.utils import parallel
from mottle.utils.steps import Step

__all__ = ["VARIED", "Preview", "Suggestion", "check_budget", "suggest"]

VARIED = ("k", "l", "beta")  # parameters that can be chosen
_FAST = "nh"  # the method of the first previews
_PATIENCE = 120.0  # most core-seconds of one preview by the method that would run
_OWN_PREVIEWS = 10  # most previews by that method
_USUAL_OWN = 4  # how many it usually takes
_LIKENESS = np.round(np.geomspace(16, 0.05, 41), 2)  # values of β that are tried, weakest first


@dataclass(frozen=True)
class Preview:
    """The loss of one guarantee, by one method without refinement."""

    value: float  # of the parameter
    method: str
    loss: float | None  # None: the table cannot have the guarantee


@dataclass(frozen=True)
class Suggestion:
    """The strongest guarantee that was found within a loss budget."""

    varied: str  # the parameter: "k", "l" or "beta"
    max_loss: float
    guarantee: Guarantee | None  # None: even the weakest one loses more
    loss: float | None  # its loss in the preview; a run that refines loses less
    method: str  # that previewed it
    previews: tuple[Preview, ...]  # all that were made, in order
    next_stronger: Preview | None  # the weakest one beyond the budget that was previewed

    @property
    def needed(self) -> Guarantee:
        """The guarantee.

        Raises
        ------
        GuaranteeError
            There is none within the budget.
        """
        if self.guarantee is None:
            least = min(
                (each.loss for each in self.previews if each.loss is not None), default=None
            )
            loses = "cannot be had" if least is None else f"loses {least:.2%} in the preview"
            raise GuaranteeError(
                f"No {self.varied} stays within a loss of {self.max_loss:.2%}: the weakest one"
                f" {loses}.",
                "Allow more loss, or have fewer or coarser quasi-identifiers.",
            )
        return self.guarantee


def suggest(
    data: object,
    schema: Schema,
    *,
    max_loss: float,
    vary: str = VARIED[0],
    method: str = "auto",
    representation: Representation | str = Representation.RANGE,
    objective: Objective | str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Suggestion:
    """Find the strongest guarantee whose loss stays within a budget.

    This is advice for the owner of the data. The loss under k-anonymity follows from
    quasi-identifiers alone; under ℓ and β it depends on sensitive values as well, so that a value
    chosen by it says something about both (docs/guarantees.md).

    Parameters
    ----------
    data : table or path
        As for `mottle.anonymize`.
    schema : Schema
        The role of every column.
    max_loss : float
        The highest information loss (GCP), above 0 and below 1.
    vary : {"k", "l", "beta"}
        What is chosen: the largest k or ℓ, or the smallest β.
    method : str
        The method that would run; a name from ``mottle methods``.
    representation : {"range", "set"}
        As for `mottle.anonymize`.
    objective : {"reading", "ncp", "entropy"}, optional
        As for `mottle.anonymize`.
    progress : callable, optional
        Called with a `Progress` before and after every preview.

    Returns
    -------
    Suggestion
        The guarantee, its loss, and all previews.

    Raises
    ------
    UsageError
        An option has a wrong value.
    SchemaError
        The schema does not match the table.
    DataError
        The table is empty or holds values that cannot be anonymized.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(400, seed=1).select(["age", "sex"])
    >>> schema = Schema.of(quasi_identifying=["age", "sex"])
    >>> found = mottle.suggest(people, schema, max_loss=0.05)
    >>> found.guarantee.k > 4, found.loss <= 0.05 < found.next_stronger.loss
    (True, True)
    """
    check_budget(max_loss)
    if vary not in VARIED:
        raise UsageError(f"There is no parameter '{vary}'.", did_you_mean(str(vary), VARIED))
    check_schema(schema)
    chosen = methods.get(method)
    table = as_table(data, schema.reading)
    schema = schema.covering(table.column_names)
    check_publishable(table, schema)
    if table.num_rows < 2:
        raise DataError("The table has fewer than two rows.", "Give a table with rows.")
    if schema.per_person is not None:
        table, schema = one_row_per_person(table, schema)
    if vary != "k" and not schema.with_role(Role.SENSITIVE):
        raise UsageError(
            f"{vary} is about sensitive values, and no column is sensitive.",
            "Name one with --sensitive.",
        )
    codes = encode(table, schema, check_representation(representation))
    if vary == "k":  # a function of the quasi-identifiers, whatever the order of the rows is
        order = np.lexsort(codes.matrix.T[::-1])
        table, codes = table.take(pa.array(order)), replace(codes, matrix=codes.matrix[order])
    search = _Search(
        table,
        schema,
        codes,
        vary,
        max_loss,
        chosen.name,
        chosen.check_objective(parse_objective(objective)) or Objective.NCP,
        progress or (lambda _: None),
    )
    return search.run()


def check_budget(max_loss: object) -> None:
    """Raise `UsageError` unless the loss budget is a share."""
    if isinstance(max_loss, bool) or not isinstance(max_loss, int | float) or not 0 < max_loss < 1:
        raise UsageError(
            "The highest loss is a share above 0 and below 1.", "For instance 0.05, which is 5 %."
        )


@dataclass(frozen=True)
class _Search:
    """A table, and the previews that were made of it."""

    table: pa.Table
    schema: Schema
    codes: Codes
    vary: str
    max_loss: float
    method: str
    objective: Objective
    on_progress: Callable[[Progress], None]
    made: dict[tuple[str, int], Preview] = field(default_factory=dict)

    @cached_property
    def values(self) -> Sequence[float]:
        """The values of the parameter, from the weakest to the strongest."""
        if self.vary == "beta":
            return [float(value) for value in _LIKENESS]
        return range(2, self.table.num_rows + 1)

    @cached_property
    def sensitive(self) -> tuple[SensitiveValues, ...]:
        return () if self.vary == "k" else tuple(encode_sensitive(self.table, self.schema))

    @cached_property
    def people(self) -> People | None:
        return None if self.schema.person is None else People.of(self.table, self.schema.person)

    def run(self) -> Suggestion:
        """Bisect by the fast method, then look where the method that would run is."""
        fast = _FAST if self.vary == "k" and self.people is None else self.method
        best = self._bisect(fast, -1, self.max_loss)
        high = best + 1
        if fast != self.method:
            best, high = self._by_own(fast, best)
        fitting = None if best < 0 else self.made[self._own(best, fast), best]
        beyond = self.made.get((self._own(high, fast), high)) if high < len(self.values) else None
        return Suggestion(
            varied=self.vary,
            max_loss=self.max_loss,
            guarantee=None if fitting is None else self.guarantee(best),
            loss=None if fitting is None else fitting.loss,
            method=self.method if fitting is None else fitting.method,
            previews=tuple(self.made.values()),
            next_stronger=beyond,
        )

    def _own(self, place: int, fast: str) -> str:
        """The method that previews a value as it would run, or the fast one if that takes long."""
        if self.vary != "k" or self.method not in ("auto", "freeform"):
            return self.method
        seconds = expected_seconds(self.codes.records, int(self.values[place]))
        work = seconds * parallel.thread_count()  # the same choice on every machine
        return fast if work > _PATIENCE else "freeform"

    def _by_own(self, fast: str, found: int) -> tuple[int, int]:
        """The last place within the budget that is found, and the first beyond it, by previews.

        ``found`` is the last place by the fast method; -1 if there is none. Loss is close to a
        power of k, so the next preview is where the line through both ends, on logarithmic scales,
        meets the budget.
        """
        low, high, place = -1, len(self.values), max(found, 0)
        ends: dict[bool, tuple[float, float]] = {}  # by whether it fits: logs of k and of its loss
        previews = 0
        while high - low > 1 and (previews < _OWN_PREVIEWS or low < 0):
            further = max(_USUAL_OWN - previews - 1, 1)
            loss = self.loss(self._own(place, fast), place, further)
            previews += 1
            fits = self._fits(loss, self.max_loss)
            low, high = (place, high) if fits else (low, place)
            if loss:
                ends[fits] = float(np.log(self.values[place])), float(np.log(loss))
            place = min(max(self._meeting(ends, low, high), low + 1), high - 1)
        return low, high

    def _meeting(self, ends: Mapping[bool, tuple[float, float]], low: int, high: int) -> int:
        """The place at which the loss is expected to meet the budget."""
        budget = float(np.log(self.max_loss))
        if True in ends and False in ends:
            (weak, less), (strong, more) = ends[True], ends[False]
            value = weak + (strong - weak) * (budget - less) / (more - less)
        elif ends:
            ((value, loss),) = ends.values()
            value += budget - loss  # as if loss were proportional to k
        else:
            return (low + high) // 2
        return int(min(np.exp(value), len(self.values))) - int(self.values[0])

    def _bisect(self, method: str, low: int, budget: float) -> int:
        """The last place from ``low`` on within a budget by one method; ``low`` if none is."""
        last, step = len(self.values) - 1, 1
        high = last + 1
        while low < last:  # gallop first: strong guarantees are costly to preview
            place = min(low + step, last)
            halvings = step.bit_length() - 1  # if this place is beyond the budget
            if not self._fits(self.loss(method, place, halvings), budget):
                high = place
                break
            low, step = place, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            halvings = (high - low - 1).bit_length() - 1
            if self._fits(self.loss(method, middle, halvings), budget):
                low = middle
            else:
                high = middle
        return low

    @staticmethod
    def _fits(loss: float | None, budget: float) -> bool:
        return loss is not None and loss <= budget

    def guarantee(self, place: int) -> Guarantee:
        """The guarantee of a value."""
        value = self.values[place]
        if self.vary == "beta":
            return BetaLikeness(value)
        return KAnonymity(int(value)) if self.vary == "k" else LDiversity(int(value))

    def _progress(self, words: str, method: str, further: int) -> Progress:
        """What is said of a preview; ``further`` ones of its method are about to follow."""
        done = [preview.method for preview in self.made.values()]
        own = [self.method] * (_USUAL_OWN if method == _FAST != self.method else 0)
        step = Step(words, len(done) + 1, (*done, *[method] * (further + 1), *own))
        return Progress("preview", None, step.share, words, step=step)

    def loss(self, method: str, place: int, further: int) -> float | None:
        """The loss of a preview; None if the table cannot have the guarantee.

        ``further`` is about how many previews will follow by the same method.
        """
        if (method, place) not in self.made:
            value = self.values[place]
            progress = self._progress(f"{self.vary} = {value:g}, {method}", method, further)
            self.on_progress(progress)
            try:
                lost = self._lost(method, self.guarantee(place))
            except GuaranteeError:
                lost = None
            self.made[method, place] = Preview(value, method, lost)
            self.on_progress(replace(progress, gcp=lost))
        return self.made[method, place].loss

    def _lost(self, name: str, guarantee: Guarantee) -> float:
        method = methods.get(name)
        method.check_gives(guarantee)
        demand = guarantee.demand(self.table.num_rows, self.sensitive)
        if self.people is not None and self.people.several:
            demand = replace(demand, people=self.people.codes)
        codes = codes_with_nodes(self.codes, guarantee.degree)
        records = TableRecords(
            method=method,
            table=self.table,
            schema=self.schema,
            codes=codes,
            codes_to_arrange=method.codes_to_arrange(codes, guarantee),
            demand=demand,
        )
        graph = records.arrange(MethodContext(seconds=0.0, objective=self.objective)).graph
        return records.loss(graph, records.cover(graph), None).mean

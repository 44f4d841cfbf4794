"""What methods decide by, what is promised therefore, and that no promise is broader than true.

The enumerations play an adversary who knows all quasi-identifiers, how often each value occurs and
the algorithm. He replays the method on every world (who has which value) and every random order.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import BetaLikeness, Caps, GroupCaps, KAnonymity, LDiversity, Schema, anonymize, methods
from mottle.encoding.cover import cover
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph, is_complete
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import REPLAYED, DecidesBy
from mottle.methods import Draw, Method, MethodContext
from mottle.methods.sets import registered as set_methods
from mottle.schema.model import Representation

ALL = methods.registered()
BELIEF = "Anyone who knows the quasi-identifiers of everyone in the table, "


# ------------------------------------------------------------------------------- declarations


def test_every_method_declares_what_it_decides_by() -> None:
    by_both = {name for name, method in ALL.items() if method.decides_by is DecidesBy.BOTH}
    assert by_both == {
        *("nh", "nh-letter", "hilbert", "hilbert-fast", "idistance", "idistance-fast", "burel"),
        *("mondrian", "mondrian-strict", "mondrian-relaxed", "ordered"),
        *(f"{groups}-ring" for groups in ("hilbert", "idistance", "mondrian", "ordered")),
        *(f"het-{rule}-dummies" for rule in ("greedy", "sortgreedy", "hungarian")),
        *(f"het-{rule}-threshold" for rule in ("greedy", "sortgreedy", "hungarian")),
        *(f"het-{rule}-partitioned" for rule in ("greedy", "sortgreedy", "hungarian")),
    }
    of_sets = {n for n, method in set_methods().items() if method.decides_by is DecidesBy.BOTH}
    assert of_sets == {"cahd", "closed-walk-greedy"}


@pytest.mark.parametrize(
    ("offers", "declared"),
    [
        (Capability.EQUAL_CAPS, {}),
        (Capability.GROUP_CAPS, {}),
        (Capability.K_ANONYMITY, {"decides_by": DecidesBy.SEPARATELY}),
        (Capability.CAPS, {"decides_by": DecidesBy.BOTH}),
        (Capability.CAPS, {"decides_by": DecidesBy.SEPARATELY, "mixed_decision": "a cut"}),
    ],
)
def test_a_method_that_keeps_caps_cannot_leave_out_by_what(offers, declared) -> None:
    with pytest.raises(ValueError, match="must"):
        Method("new", "", "", offers, "", ALL["nh"].arrange, **declared)


@pytest.mark.parametrize(
    "guarantee",
    [
        KAnonymity(3),
        LDiversity(2),
        BetaLikeness(2),
        Caps({}, 0.6),
        KAnonymity(4) & LDiversity(2),
        LDiversity(2) & GroupCaps({"diagnosis": 0.7}),
    ],
    ids=str,
)
@pytest.mark.parametrize("effort", [0, None])
def test_auto_never_picks_a_method_that_decides_by_both(people, guarantee, effort) -> None:
    table, schema = people
    made = anonymize(table, schema, guarantee, effort=effort, seed=1).certificate
    assert made.method.picked is not None
    assert not made.method.decided_by_both
    if guarantee.about_values:
        assert ALL[made.method.picked].decides_by is DecidesBy.SEPARATELY
    assert BELIEF in made.guarantee.statement


# ------------------------------------------------------------------------------- what is said


@pytest.fixture(scope="module")
def people() -> tuple[pa.Table, Schema]:
    random = np.random.default_rng(3)
    values = random.permutation(np.resize(list("abcdef"), 90))
    table = pa.table(
        {
            "age": random.integers(20, 60, 90),
            "sex": random.choice(["f", "m"], 90),
            "diagnosis": values,
        }
    )
    schema = Schema.of(
        quasi_identifying=["age", "sex"],
        sensitive=["diagnosis"],
        groups={"diagnosis": {"first": ["a", "b"], "second": ["c", "d"]}},
    )
    return table, schema


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, method in ALL.items()
        if method.gives(LDiversity(2)) and method.dummies is None
    ],
)
def test_a_certificate_promises_no_more_than_the_method_proves(people, name) -> None:
    made = anonymize(*people, LDiversity(2), method=name, effort=0, seed=1).certificate
    mixed = ALL[name].decides_by is DecidesBy.BOTH
    assert made.method.decided_by_both is mixed
    assert (BELIEF in made.guarantee.statement) is not mixed
    assert (REPLAYED in made.guarantee.statement) is mixed
    assert any("replays its decisions" in note for note in made.notes) is mixed
    if mixed:
        assert made.method.mixed_decision == ALL[name].mixed_decision
        assert made.guarantee.statement.startswith("Of the records that may be a person's")
        assert "confidence" not in made.guarantee.statement


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (KAnonymity(4) & LDiversity(2), ["at least 4 published records", "1 in 2 (50 %)"]),
        (BetaLikeness(2), ["more than 3 times as frequent"]),
        (BetaLikeness(2, enhanced=True), ["less for frequent values"]),
        (Caps({"a": 0.4}, 0.6), ["1 values have their own, from 0.4; all others 0.6"]),
        (LDiversity(2) & GroupCaps({"diagnosis": 0.6}), ["60 % for groups of 'diagnosis'"]),
    ],
    ids=str,
)
def test_every_guarantee_has_words_about_shares_alone(people, guarantee, words, tmp_path) -> None:
    release = anonymize(*people, guarantee, method="mondrian", seed=1)
    said = release.certificate.guarantee
    for part in [said, *said.each]:
        assert BELIEF not in part.statement
        assert part.statement.endswith(REPLAYED)
    for each in words:
        assert each in said.statement
    release.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text()
    assert "This is a property of the published records" in report
    assert "kept among a person" in report
    assert "can infer no" not in report
    assert "This holds against somebody" not in report


def test_without_sensitive_values_every_method_decides_by_quasi_identifiers(people) -> None:
    made = anonymize(*people, KAnonymity(3), method="nh", seed=1).certificate
    assert made.method.decides_by == DecidesBy.QUASI_IDENTIFIERS
    assert made.method.mixed_decision is None
    assert BELIEF in made.guarantee.statement


def test_an_unsafe_draw_promises_nothing(people, tmp_path) -> None:
    release = anonymize(
        *people, LDiversity(3), method="het-greedy", seed=1, unsafe_paper_randomization=True
    )
    assert release.certificate.guarantee.statement.startswith("Nothing is promised")
    release.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Nothing is promised" in report
    assert "can infer no" not in report


def test_labels_of_sets_are_stated_in_the_same_way() -> None:
    baskets = [{"tea"}, {"tea", "milk"}, {"rum"}, {"milk"}, {"rum", "tea"}, {"milk", "rum"}] * 4
    data = mottle.ItemSets.of(baskets, labels=list("abcdef") * 4)
    mixed = mottle.anonymize_sets(data, LDiversity(2), method="cahd", seed=1).certificate
    assert mixed.method.decided_by_both
    assert mixed.guarantee.statement.endswith(REPLAYED)
    sound = mottle.anonymize_sets(data, LDiversity(2), effort=0, seed=1).certificate
    assert sound.method.picked == "buckets"
    assert BELIEF in sound.guarantee.statement


# ------------------------------------------------------------------------------ what is true


def released(codes, graph: Graph, truth, world, draw: Draw) -> tuple:
    """What is published, in no order; a complete block hides which record is whose."""
    if draw is Draw.TWO_TABLES:  # exact quasi-identifiers with group numbers, values by group
        return tuple(
            (
                tuple(sorted(graph.members[start:end].tolist())),
                tuple(sorted(world[row] for row in graph.members[start:end])),
            )
            for start, end in pairwise(graph.starts.tolist())
        )
    cells = cover(graph, codes)
    (ages,) = cells.cells
    rows = [cells.row_of[position] for position in range(graph.records)]
    return tuple(
        sorted(
            (int(ages.lowest[row]), int(ages.highest[row]), world[graph.members[original]])
            for row, original in zip(rows, truth, strict=True)
        )
    )


def possible_draws(graph: Graph, draw: Draw):
    """Every assignment that the draw can give; one where a complete block hides the others."""
    by_block = []
    for block, (start, end) in enumerate(pairwise(graph.starts.tolist())):
        degree, size = int(graph.degrees[block]), end - start
        places = np.arange(start, end)
        if is_complete(graph, block) and draw is not Draw.BUCKETS:
            by_block.append([places])
        elif draw is Draw.ROTATION:
            by_block.append([start + (places - start + turn) % size for turn in range(degree)])
        else:
            each = [[int(p) for p in graph.preimages(place)] for place in places]
            in_bucket = size // degree
            by_block.append(
                [
                    [each[place][order[place // in_bucket]] for place in range(size)]
                    for order in permutations(range(degree))
                ]
            )
    return [np.concatenate(parts).astype(np.int32) for parts in product(*by_block)]


def highest_belief(name: str, ages: list[int], values: str, guarantee, orders) -> Fraction:
    """The highest exact belief in a value of a person, over all worlds, orders and draws."""
    table = pa.table({"age": ages})
    codes = encode(table, Schema.of(quasi_identifying=["age"]), Representation.RANGE)
    sensitive = Schema.of(quasi_identifying=[], sensitive=["illness"])
    likelihood: dict[tuple, dict[tuple, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for world in sorted(set(permutations(values))):
        encoded = encode_sensitive(pa.table({"illness": world}), sensitive)
        demand = guarantee.demand(len(world), encoded)
        for order in orders:
            context = MethodContext(0, tiebreak=lambda n, order=order: np.argsort(order[:n]))
            made = ALL[name].arrange(codes, demand, context)
            truths = possible_draws(made.graph, made.draw)
            for truth in truths:
                seen = released(codes, made.graph, truth, world, made.draw)
                likelihood[seen][world] += Fraction(1, len(truths))
    worst = Fraction(0)
    for by_world in likelihood.values():
        total = sum(by_world.values())
        for person in range(len(values)):
            belief: dict[str, Fraction] = defaultdict(Fraction)
            for world, chance in by_world.items():
                belief[world[person]] += chance / total
            worst = max(worst, *belief.values())
    return worst


ORDERS = [
    np.array([*records, *(4 + np.array(buckets))])
    for records in permutations(range(4))
    for buckets in ([0, 1, 2, 3], [1, 0, 2, 3])
]


@pytest.mark.parametrize("name", ["het-greedy", "het-hungarian", "anatomy"])
@pytest.mark.parametrize("ages", [[20, 21, 40, 60], [20, 20, 20, 60]])
def test_beliefs_stay_within_the_cap_where_decisions_are_separate(name, ages) -> None:
    orders = ORDERS if name != "anatomy" else [order[:4] for order in ORDERS[::2]]
    assert highest_belief(name, ages, "aabc", LDiversity(2), orders) == Fraction(1, 2)


@pytest.mark.parametrize("name", ["mondrian", "hilbert", "idistance"])
def test_beliefs_exceed_the_cap_where_decisions_look_at_both(name) -> None:
    """Six people, ninety worlds: the statement about shares is all that such methods keep."""
    ages = [20, 21, 30, 31, 60, 61]
    assert highest_belief(name, ages, "aabbcc", LDiversity(2), [np.arange(6)]) > Fraction(1, 2)


def test_beliefs_exceed_the_cap_in_rings_that_look_at_both() -> None:
    orders = [np.array(order) for order in permutations(range(4))]
    assert highest_belief("nh", [20, 21, 40, 60], "aabc", LDiversity(2), orders) == 1

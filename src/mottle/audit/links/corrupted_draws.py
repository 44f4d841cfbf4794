"""Simulated draws that measure how well others can be guessed when one link is known."""

from __future__ import annotations

import numpy as np

from mottle.assignment import assign
from mottle.audit.links.edges import Edges
from mottle.graph.model import Graph
from mottle.typing import Int32Array
from mottle.utils.csprng import Secret

_COMPONENTS = 8  # components of the graph whose draws are simulated
_LARGEST = 64  # records of the largest such component
_DRAWS = 4000  # simulated draws of each


def simulate_one_known_link(edges: Edges, draw: str, seed: int) -> dict[str, object]:
    """Redraw some components of the graph many times, and guess people from one known link.

    Half of the draws determine which guess is best, the other half how often it is right.
    """
    component = edges.components
    sizes = np.bincount(component)
    small = np.flatnonzero((sizes > 2) & (sizes <= _LARGEST))
    chosen = np.random.default_rng(seed).permutation(small)[:_COMPONENTS]
    if len(chosen) == 0:
        return {"not_simulated": f"no part of the graph has 3 to {_LARGEST} records"}
    right, unknowing = [], []
    for part in chosen:
        people = np.flatnonzero(component == part).astype(np.int32)
        degree, slots = _draws(edges, people, draw, seed)
        learned, tested = slots[: _DRAWS // 2], slots[_DRAWS // 2 :]
        for person in range(slots.shape[1]):
            for slot in np.unique(slots[:, person]):
                accuracy = _accuracy(learned, tested, person, int(slot))
                if accuracy is not None:
                    right.append(accuracy)
                    unknowing.append(1 / degree)
    return {
        "parts_of_the_graph": len(chosen),
        "draws": _DRAWS,
        "best_guess_nobody_known": float(np.mean(unknowing)),
        "best_guess_one_known": float(np.mean(right)),
    }


def _accuracy(learned: Int32Array, tested: Int32Array, person: int, slot: int) -> float | None:
    """How often the best guess about others is right when the person's slot is known."""
    given, then = learned[learned[:, person] == slot], tested[tested[:, person] == slot]
    if len(given) < 50 or len(then) < 50:
        return None
    size = learned.shape[1]
    others = np.delete(np.arange(size), person)
    guesses = [np.bincount(given[:, other], minlength=size).argmax() for other in others]
    return float((then[:, others] == np.array(guesses)).mean())


def _draws(edges: Edges, people: Int32Array, draw: str, seed: int) -> tuple[int, Int32Array]:
    """Many draws of one component: its degree, and [draws, people] the slot of everybody."""
    number = np.full(edges.records, -1, np.int32)
    number[people] = np.arange(len(people), dtype=np.int32)
    rows = np.flatnonzero(number[edges.truth] >= 0)
    degree = int(edges.degrees[rows[0]])
    size = len(people)
    preimages = np.concatenate(
        [number[edges.originals[edges.offsets[row] : edges.offsets[row + 1]]] for row in rows]
    )
    starts = np.arange(_DRAWS + 1, dtype=np.int64) * size
    graph = Graph.explicit(
        np.arange(_DRAWS * size, dtype=np.int32),
        starts,
        np.full(_DRAWS, degree, np.int32),
        np.tile(preimages, _DRAWS),
    )
    truth = assign(graph, Secret.draw(seed=seed), draw).reshape(_DRAWS, size)
    truth = truth - starts[:-1, None].astype(np.int32)
    slots = np.empty_like(truth)
    np.put_along_axis(slots, truth, np.arange(size, dtype=np.int32)[None, :].repeat(_DRAWS, 0), 1)
    return degree, slots

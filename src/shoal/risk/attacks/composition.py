"""Several releases about the same people: what is left when their candidate values are intersected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.risk.attacks.case import AttackCase, People, View
from shoal.risk.attacks.guess import pools
from shoal.utility.randomised import wilson

_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Intersection(Attack):
    """The attacker holds several releases in which a person appears and keeps the values that are possible in all.

    Every release leaves a set of candidate sensitive values of the person. Each may be large although what they have
    in common is one value: no model of a single release prevents it.
    """

    name: ClassVar = "intersection"
    needs: ClassVar = ("people", "sensitive", "others")

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column that all releases have."""
        shared = [
            name
            for name in case.view.sensitive
            if name in case.people.truth and all(name in other.view.sensitive for other in case.others)
        ]
        found, sizes = [], {}
        for name in shared:
            one, sizes[name] = self._column(case, name)
            found.append(one)
        note = "" if case.control is not None else case.no_control
        return self.result(found, note if shared else "The releases have no sensitive column in common.", sizes=sizes)

    def _column(self, case: AttackCase, name: str) -> tuple[AttackFigure, dict[str, float]]:
        views = [case.view, *(other.view for other in case.others)]
        texts = sorted({text for view in views for text in view.sensitive[name].texts.to_list()})
        code = {text: at for at, text in enumerate(texts)}
        people = [case.people, *(other.people for other in case.others)]
        sets = [_candidates(view, name, one, code) for view, one in zip(views, people, strict=True)]
        truth = _common_truth(case.view.sensitive[name], case.people.truth[name], code)
        known = np.flatnonzero(truth != -1)
        value = _single(np.bitwise_and.reduce(sets))[known]
        right = (value == truth[known]).astype(np.float64)
        alone = max(float((_single(one)[known] == truth[known]).mean()) if known.size else 0.0 for one in sets)
        generator = case.keys.generator(f"attack intersection {name}")
        dealt = [(value == generator.permutation(truth[known])).mean() for _ in range(_ROUNDS)] if known.size else [0.0]
        baseline = max(alone, float(np.mean(dealt)))
        share, trials = clustered(right, np.arange(right.size))
        control = _control(case, views, name, code)
        sizes = [float(np.bitwise_count(one).sum(axis=1).mean()) for one in [np.bitwise_and.reduce(sets), *sets]]
        sentence = (
            f"Intersecting {len(sets)} releases leaves the '{name}' of {share:.1%} of {known.size:,} people as the "
            f"only one possible; the best of them alone does so for {alone:.1%}. {sizes[0]:.1f} values are left on "
            f"average, of {min(sizes[1:]):.1f} in the best release."
        )
        made = figure(
            f"intersection:{name}", share, trials, sentence, baseline=baseline,
            control=None if control is None else control[0],
            control_interval=None if control is None else wilson(*control),
        )  # fmt: skip
        return made, {"intersection": sizes[0], "best_alone": min(sizes[1:])}


def _candidates(view: View, name: str, people: People, code: dict[str, int]) -> np.ndarray:
    """Packed bits a person: which values of the common dictionary the person's records could have."""
    column = view.sensitive[name]
    place = np.array([code[text] for text in column.texts.to_list()])
    groups = view.n_classes if people.vectors is None else people.vectors.shape[0]
    bits = np.zeros((groups, (len(code) + 7) // 8), dtype=np.uint8)
    for pool in pools(view, people, column):
        flags = np.zeros((pool.groups.size, len(code)), dtype=bool)
        flags[:, place[pool.codes]] = pool.counts > 0
        bits[pool.groups] = np.packbits(flags, axis=1)
    of = people.classes if people.vector is None else people.vector
    return bits[of]


def _single(bits: np.ndarray) -> np.ndarray:
    """The value of sets of one, -2 for others."""
    one = np.bitwise_count(bits).sum(axis=1) == 1
    found = np.full(bits.shape[0], -2, dtype=np.int64)
    found[one] = np.unpackbits(bits[one], axis=1).argmax(axis=1)
    return found


def _common_truth(column: Column, truth: np.ndarray, code: dict[str, int]) -> np.ndarray:
    """Codes of a release's dictionary as codes of the common one; -1 unknown, -3 in no release."""
    return np.append([code[text] for text in column.texts.to_list()], [-3, -1])[truth].astype(np.int64)


def _control(case: AttackCase, views: Sequence[View], name: str, code: dict[str, int]) -> tuple[float, int] | None:
    people = [case.control, *(other.control for other in case.others)]
    if case.control is None or name not in case.control.truth or any(one is None for one in people):
        return None
    sets = [_candidates(view, name, one, code) for view, one in zip(views, people, strict=True) if one is not None]
    truth = _common_truth(case.view.sensitive[name], case.control.truth[name], code)
    known = truth != -1
    right = _single(np.bitwise_and.reduce(sets))[known] == truth[known]
    return (float(right.mean()), int(right.size)) if right.size else None

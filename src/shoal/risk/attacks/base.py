"""What an attack is, and what it hands back: success rates with intervals, and what they are compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.recoding.kinds import Trait
from shoal.utility.randomised import wilson

if TYPE_CHECKING:
    from shoal.risk.attacks.case import AttackCase


@dataclass(frozen=True, kw_only=True)
class AttackFigure:
    """One figure of one attack.

    Attributes
    ----------
    name
        Short name, such as ``"linkage"``.
    value
        Success rate, from 0 to 1.
    low, high
        95 % Wilson interval of it.
    baseline
        What a naive guess achieves, None where there is no such guess.
    control
        What the attack achieves on people whose records it did not use, None where there are none.
    sentence
        What it means, in one plain sentence.
    trials
        People or records the share is of; as many as they are worth where they succeed or fail together.
    control_interval
        95 % interval of the control.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float | None
    control: float | None
    sentence: str
    trials: int = 0
    control_interval: tuple[float, float] | None = None

    @property
    def beats(self) -> bool:
        """Whether the attack is better than its naive baseline, beyond what chance explains."""
        return self.baseline is None or self.low > self.baseline

    @property
    def excess(self) -> float | None:
        """What is due to being in the data: how much of the way from the control to certainty the attack goes.

        Without a control the baseline takes its place; None where there is neither.
        """
        known = self.control if self.control is not None else self.baseline
        if known is None:
            return None
        return max(0.0, (self.value - known) / (1.0 - known)) if known < 1.0 else 0.0

    def told(self) -> str:
        """The sentence, with what an attack that does not beat its baseline has to add."""
        return self.sentence if self.beats else f"{self.sentence} This does not beat its naive baseline."


def figure(
    name: str,
    share: float,
    trials: int,
    sentence: str,
    *,
    baseline: float | None = None,
    control: float | None = None,
    control_interval: tuple[float, float] | None = None,
) -> AttackFigure:
    """A share of some trials with its interval."""
    low, high = wilson(share, trials)
    return AttackFigure(
        name=name, value=share, low=low, high=high, baseline=baseline, control=control, sentence=sentence,
        trials=trials, control_interval=control_interval,
    )  # fmt: skip


def clustered(success: np.ndarray, cluster: np.ndarray) -> tuple[float, int]:
    """A share, and the trials it is worth: members of one cluster (a class) succeed or fail together.

    As many independent trials as would give the share the variance that it has between clusters.

    Parameters
    ----------
    success
        From 0 to 1, one a person.
    cluster
        Cluster of each person, any whole numbers.
    """
    n = success.size
    if n == 0:
        return 0.0, 0
    _, of = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(of).astype(np.float64)
    share = float(success.mean())
    spread = share * (1.0 - share)
    variance = float(((np.bincount(of, weights=success) - share * sizes) ** 2).sum()) / n**2
    if spread <= 1e-12 or variance <= 0.0:
        worth = n if spread > 1e-12 else n * n / float((sizes**2).sum())
        return share, max(1, round(worth))
    return share, int(min(n, max(1.0, spread / variance)))


def by_person(
    success: np.ndarray, cluster: np.ndarray, person: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Successes and clusters a person, where these are given a row: the mean success, the cluster of the first row.

    Parameters
    ----------
    person
        Whose row each is, any whole numbers; None where every row is a person.
    """
    if person is None:
        return success, cluster
    _, first, of = np.unique(person, return_index=True, return_inverse=True)
    return np.bincount(of, weights=success) / np.maximum(np.bincount(of), 1), cluster[first]


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackResult:
    """What one attack found.

    Attributes
    ----------
    name
        The attack's name.
    figures
        The main figure first, others beside it; none where the attack had nothing to work on.
    story
        What the attacker does, in one sentence.
    note
        Why there are no figures, or no control, or what was left out; empty where there is nothing to say.
    also
        Further plain data, such as a distribution of match counts.
    asked
        What it was asked for by, with parameters, where that is not its name alone.
    """

    name: str
    figures: Sequence[AttackFigure]
    story: str = ""
    note: str = ""
    also: Mapping[str, Any] = field(default_factory=dict)
    asked: str = ""

    @property
    def value(self) -> float | None:
        """The largest success rate among the figures that carry the attack's own name; None without any."""
        return max((one.value for one in self.main), default=None)

    @property
    def excess(self) -> float | None:
        """The largest excess among the same figures."""
        return max((one.excess for one in self.main if one.excess is not None), default=None)

    @property
    def main(self) -> list[AttackFigure]:
        """Figures named after the attack, one a sensitive attribute where there are several."""
        return [one for one in self.figures if one.name.split(":")[0] == self.name]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attack with its parameters; the docstring of each is the attacker's story.

    Class attributes
    ----------------
    name
        As in ``shoal attack --only``.
    aim
        What of a release it is about: kinds that lack it are not attacked so.
    needs
        What it needs beside the release: ``"people"`` (an identified table), ``"input"`` (the publisher's side, as a
        recipe gives it), ``"sensitive"`` (a sensitive column), ``"others"`` (further releases), ``"subjects"`` (to know
        whose rows are whose), ``"everybody"`` (no sample of the people, since it counts how many of them fit
        something).
    """

    name: ClassVar[str]
    aim: ClassVar[Trait] = Trait.GENERALISED
    needs: ClassVar[Sequence[str]] = ()

    def run(self, case: AttackCase) -> AttackResult:
        """Attack a release."""
        raise NotImplementedError

    @property
    def story(self) -> str:
        """What the attacker does: the first sentence of the docstring."""
        return " ".join((type(self).__doc__ or "").split("\n\n")[0].split())

    def parameters(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.name} | {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}

    def result(self, figures: Sequence[AttackFigure], note: str = "", **also: Any) -> AttackResult:
        """A result that tells the attack's own story."""
        return AttackResult(name=self.name, figures=list(figures), story=self.story, note=note, also=also)

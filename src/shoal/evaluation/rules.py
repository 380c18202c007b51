"""``rules``: association rules from quasi-identifiers to sensitive values, before and after (Yang & Qiao, Def. 11).

A rule says that records with some items (a value of each of one or more quasi-identifiers) often have a sensitive
value. Supports of a generalised release are expected ones under uniform spread; those of a bucketised release are those
of one pairing drawn within its groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.errors import ParameterError
from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.coded import read_back
from shoal.evaluation.mining import Mined, Rule, mine
from shoal.evaluation.queries import known_feature
from shoal.evaluation.view import Reading
from shoal.params import choice, real, whole


@dataclass(frozen=True, kw_only=True)
class AssociationRules(Evaluation):
    """Mine association rules on the original and on the release, and compare.

    Parameters
    ----------
    support
        Smallest share of records that have what ``support_of`` says.
    confidence
        Smallest share of records with the items that have the sensitive value.
    longest
        Most items of a rule; None for any number.
    support_of
        ``"rule"``: items and sensitive value together, as Apriori has it. ``"antecedent"``: the items, a value
        combination whose support is that of Yang & Qiao's Definition 9.
    on
        The sensitive attribute; every one by default.
    """

    support: float = 0.01
    confidence: float = 0.15
    longest: int | None = 4
    support_of: str = "rule"
    on: str | None = None
    name: ClassVar[str] = "rules"

    def __post_init__(self) -> None:
        real("rules", "support", self.support, low=0.0, high=1.0, open_low=True)
        real("rules", "confidence", self.confidence, low=0.0, high=1.0)
        choice("rules", "support_of", self.support_of, ("rule", "antecedent"))
        if self.longest is not None:
            whole("rules", "longest", self.longest, least=1)

    def refusal(self, reading: Reading) -> str | None:
        """Rules need both sides."""
        after, _ = reading.mined
        if after.quasi and after.sensitive:
            return None
        return "Rules lead from quasi-identifiers to sensitive values, and the release does not have both as values."

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """Quasi-identifiers and sensitive attributes."""
        after, _ = reading.mined
        return [*after.quasi, *(after.sensitive if self.on is None else [self.on])]

    def run(self, reading: Reading) -> list[Finding]:
        """Recovered and artificial rules, and single items, for each sensitive attribute."""
        found, (after, _) = [], reading.mined
        for name in after.sensitive if self.on is None else [self.on]:
            if known_feature(after, name).role != "sensitive":
                raise ParameterError(f"The 'on' of rules must be a sensitive attribute. Got '{name}'.")
            title = self.name if len(after.sensitive) == 1 else f"{self.name} on {name}"
            ours, theirs = self.mined(reading, name)
            if reading.paired:
                found += self._compare(title, ours, theirs)
            else:
                found.append(self._counted(title, ours, theirs))
        return found

    def mined(self, reading: Reading, sensitive: str) -> tuple[Mined, Mined]:
        """Rules of the original and of the release; codes are read back where it is known what they stand for."""
        after, before = reading.mined
        given: dict[str, Any] = {
            "support": self.support, "confidence": self.confidence,
            "longest": len(after.quasi) if self.longest is None else self.longest,
            "antecedent": self.support_of == "antecedent",
        }  # fmt: skip
        ours, theirs = (
            mine([one.features[name] for name in one.quasi], one.features[sensitive], original=original, **given)
            for one, original in ((before, True), (after, False))
        )
        return ours, _read_back(theirs, sensitive, reading) if reading.coded and reading.paired else theirs

    def _counted(self, title: str, ours: Mined, theirs: Mined) -> Finding:
        """Numbers of rules alone, where nobody said what codes stand for."""
        sentence = (
            f"The original has {len(ours.rules)} rules and the release {len(theirs.rules)} (support {self.support:g}, "
            f"confidence {self.confidence:g}). Whether they are the same is known to who can read the codes."
        )
        value = len(theirs.rules) / len(ours.rules) if ours.rules else None
        also = {"rules": len(ours.rules), "release": len(theirs.rules)}
        return Finding(name=f"{title} number", value=value, better="up", sentence=sentence, also=also)

    def _compare(self, title: str, ours: Mined, theirs: Mined) -> list[Finding]:
        kept = ours.rules.keys() & theirs.rules.keys()
        made_up = theirs.rules.keys() - ours.rules.keys()
        items = len(ours.items.keys() & theirs.items.keys())
        what = " of the items" if self.support_of == "antecedent" else ""
        limits = f"support {self.support:g}{what}, confidence {self.confidence:g}"
        told = f"{len(kept)} of the original's {len(ours.rules)} rules are also found in the release ({limits})."
        none = f"The original has no rule at {limits}, so that none can be recovered."
        return [
            Finding(
                name=f"{title} recovered", value=len(kept) / len(ours.rules) if ours.rules else None, better="up",
                baseline=self._by_chance(ours), sentence=told if ours.rules else none,
                also={"rules": len(ours.rules), "by length": _by_length(ours.rules, kept, made_up)},
            ),
            Finding(
                name=f"{title} artificial", value=float(len(made_up)), better="down",
                sentence=f"The release has {len(made_up)} rules that the original does not have ({limits}).",
            ),
            Finding(
                name=f"{title} items", value=items / len(ours.items) if ours.items else None, better="up",
                sentence=f"{items} of {len(ours.items)} single values with a share of {self.support:g} keep it.",
            ),
        ]  # fmt: skip

    def _by_chance(self, ours: Mined) -> float | None:
        """Share of the rules that somebody would state who has one-way tables and takes columns for independent."""
        if not ours.rules:
            return None
        kept = 0
        for items, text in ours.rules:
            share = ours.targets[text]
            chance = share if self.support_of == "rule" else 1.0
            for item in items:
                chance *= ours.items[item]
            kept += share >= self.confidence and chance >= self.support
        return kept / len(ours.rules)


def _read_back(mined: Mined, sensitive: str, reading: Reading) -> Mined:
    """Rules and items with values in the place of codes."""
    values = {name: read_back(reading, name) for name in reading.coded}

    def value(column: str, text: str) -> str:
        return values[column].get(text, text) if column in values else text

    rules = {
        (tuple((column, value(column, text)) for column, text in items), value(sensitive, last)): strength
        for (items, last), strength in mined.rules.items()
    }
    items = {(name, value(name, text)): share for (name, text), share in mined.items.items()}
    return Mined(rules, items, {value(sensitive, text): share for text, share in mined.targets.items()})


def _by_length(ours: Iterable[Rule], kept: Iterable[Rule], made_up: Iterable[Rule]) -> dict[str, dict[str, int]]:
    """Rules by their number of items."""
    found: dict[int, dict[str, int]] = {}
    for what, rules in (("rules", ours), ("kept", kept), ("artificial", made_up)):
        for items, _ in rules:
            one = found.setdefault(len(items), {"rules": 0, "kept": 0, "artificial": 0})
            one[what] += 1
    return {str(length): found[length] for length in sorted(found)}

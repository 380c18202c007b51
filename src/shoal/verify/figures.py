"""The figures of attacks that each kind of release has to give, with the one sentence that each of them may say.

The list is closed: a manifest that lacks one of these figures, or has another one, is refused. A sentence is a fixed
template; the numbers in it have to be those of the figure, so that nobody can write anything else there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims

ATTESTED = math.nan
# Codings of values, of which it is told how many can be read back.
READ = ("graded", "mapping")
# Sets of columns that exact Bayes looks at; of more, only unchanged records are counted.
_SETS = 1 << 14
# People whose nearest record is looked for; every other one of them is scored.
_LINKED = 2000
# Sizes of the attacker's samples of true values, as shares of the records.
_SHARES = (0.01, 0.1)
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})*"
_PARTS = {
    "share": r"(?P<share>[0-9]+\.[0-9])%",
    "naive": r"(?P<naive>[0-9]+\.[0-9])%",
    "control": r"(?P<control>[0-9]+\.[0-9])%",
    "whole_share": r"(?P<share>[0-9]+)%",
    "whole_naive": r"(?P<naive>[0-9]+)%",
    "people": f"(?P<people>{_NUMBER})",
    "size": f"(?P<size>{_NUMBER})",
    "spread": r"(?: \(from (?P<low>[0-9]+)% to (?P<high>[0-9]+)%, by the sample\))?",
}
_SAMPLE = f" Measured on a sample of (?P<drawn>{_NUMBER}) of the (?P<records>{_NUMBER}) records."
_TOO_HIGH = " Among all of them there are more to take somebody for, so that this is rather too high than too low."
_TOO_LOW = " Whoever has all of them learns from more, so that this is rather too low than too high."
# Figures that others are in the way of, and figures that are learnt from all records.
_CROWDED = (
    "unique-and-unchanged", "record-linkage", "recovered", "posterior", "trajectories", "gap patterns", "linkage",
    "confident",
)  # fmt: skip
_LEARNT = ("relinking", "rank matching", "frequency matching")
_UNCHANGED = "{share} of the records are released exactly as they were"
_RANKS = ("exactly", "within one unit", "within 5 % of the range")


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Numbers that the verifier counts in the release.

    Attributes
    ----------
    everybody
        Rows that are in a class.
    alone
        Share of them that no other row equals on all quasi-identifiers.
    rows
        Rows that were attacked: everybody, or those of a sample.
    answers, codes
        By sensitive and by coded column, the fewest and the most attacked rows that have an answer or a code.
    commonest
        By sensitive column, the share of its most frequent value among all rows; missing is a value here.
    single, best
        By sensitive column, among its rows with an answer: the share in groups that hold one value only, and the share
        that the most frequent value of each group has.
    paths
        By column of tokens, the fewest and the most people, and the share of them whose classes nobody else has.
    """

    everybody: int
    alone: float
    rows: int
    answers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    codes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    commonest: Mapping[str, float] = field(default_factory=dict)
    single: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    paths: Mapping[str, tuple[tuple[int, int], float]] = field(default_factory=dict)

    def of_sample(self, rows: int) -> Counted:
        """Keep what holds for figures of a sample: the verifier knows how many rows it has, and not which."""
        left_out = self.everybody - rows
        if not left_out:
            return self
        answers, codes = (
            {name: (max(low - left_out, 0), min(high, rows)) for name, (low, high) in ranges.items()}
            for ranges in (self.answers, self.codes)
        )
        return Counted(everybody=self.everybody, alone=self.alone, rows=rows, answers=answers, codes=codes)


@dataclass(frozen=True, kw_only=True)
class Template:
    """One figure that a manifest has to give.

    Attributes
    ----------
    name
        Its name, and with ``column`` behind it that of the column.
    sentence
        What it has to say, with names of ``_PARTS``, and ``column``, in braces.
    column
        The column that it is about.
    value
        The share as counted in the release; nan where it is attested.
    baseline
        The same of the naive guess; None where there is none.
    trials
        The fewest and the most people or records that the share can be of.
    whole
        Whether the share is a whole number of these.
    within
        Name of a figure that it cannot exceed.
    part
        Name of a figure whose share of the rows the trials are.
    counted
        Whether it is of all rows even where the rest was measured on a sample.
    optional
        Whether a manifest may lack it, since the sample may have had too few codes.
    nobody
        What it says instead where there was nobody to attack; empty where there always is.
    """

    name: str
    sentence: str
    column: str = ""
    value: float = ATTESTED
    baseline: float | None = None
    trials: tuple[int, int]
    whole: bool = False
    within: str | None = None
    part: str | None = None
    counted: bool = False
    optional: bool = False
    nobody: str = ""

    @property
    def attested(self) -> bool:
        """Whether the verifier cannot derive the value from the release."""
        return math.isnan(self.value)

    def pattern(self, sampled: bool) -> re.Pattern[str]:
        """Compile the sentence to a pattern, with what a figure of a sample has to add."""
        parts = _PARTS | {"column": re.escape(self.column)}
        said = "|".join(re.escape(text) for text in (self.sentence, self.nobody) if text)
        text = re.sub(r"\\{(\w+)\\}", lambda part: parts[part[1]], f"(?:{said})")
        if sampled and not self.counted:
            text += _SAMPLE + (re.escape(_TOO_HIGH) if self.name.startswith(_CROWDED) else "")
            text += re.escape(_TOO_LOW) if self.name.startswith(_LEARNT) else ""
        return re.compile(text)


def wanted_figures(manifest: Mapping[str, Any], claims: Claims, counted: Counted) -> list[Template]:
    """List the figures that a release has to give, by how it was made and by how its columns are coded."""
    kinds = {"randomised": _randomised, "perturbed": _perturbed, "bucketised": _bucketised}
    found = kinds[claims.made](manifest, claims, counted) if claims.made in kinds else []
    if claims.made == "pseudonymised":
        told = "{share} of the records are alone with their quasi-identifiers, which are published as they are."
        found.append(_alone("unique", told, counted))
    for column in claims.columns:
        if column.coded in READ:
            found += _read_back(column, counted)
    for column in claims.role("pseudonym"):
        people, share = counted.paths.get(column.name, ((0, counted.rows), ATTESTED))
        told = "{share} of the {people} people with a token have a combination of records that nobody else has."
        found.append(_linking("trajectories", told, people, share))
    if any(column.coded == "shifted" for column in claims.columns):
        told = "{share} of the {people} people have gaps between their dates that nobody else has."
        found.append(_linking("gap patterns", told, (0, counted.rows)))
    return found


def _alone(name: str, told: str, counted: Counted) -> Template:
    many = (counted.everybody, counted.everybody)
    return Template(name=name, sentence=told, value=counted.alone, trials=many, whole=True, counted=True)


def _linking(name: str, told: str, trials: tuple[int, int], value: float = ATTESTED) -> Template:
    """Give the figure of people whose linked records single them out; its sentence tells how many people there are."""
    return Template(name=name, sentence=told, value=value, baseline=ATTESTED, trials=trials, whole=True)


def _unchanged(n: int, baseline: float | None) -> list[Template]:
    """List the records that are as they were, and those among them who can be found."""
    alone = f"{_UNCHANGED}, and nobody else had their quasi-identifiers."
    return [
        Template(name="unchanged", sentence=f"{_UNCHANGED}.", baseline=baseline, trials=(n, n), whole=True),
        Template(name="unique-and-unchanged", sentence=alone, baseline=baseline, trials=(n, n), whole=True,
                 within="unchanged"),
    ]  # fmt: skip


def _randomised(manifest: Mapping[str, Any], claims: Claims, counted: Counted) -> list[Template]:
    n = counted.rows
    found = _unchanged(n, ATTESTED)
    drawn = sum(column.get("p", 0) > 0 for column in manifest["columns"])
    if sum(math.comb(drawn, size) for size in range(manifest["redraw"] + 1)) > _SETS:
        return found
    told = (
        "Somebody who knows everybody's quasi-identifiers recovers those behind {share} of the released records.",
        "On average the true quasi-identifiers of a released record have a probability of {share}.",
    )
    found += [
        Template(name="recovered", sentence=told[0], baseline=ATTESTED, trials=(n, n)),
        Template(name="posterior", sentence=told[1], trials=(n, n)),
    ]
    above = None
    for name, words in (("above-half", "above 50%"), ("above-0.9", "above 90%"), ("certain", "of 100%")):
        sentence = f"For {{share}} of the records one original has a probability {words}."
        found.append(Template(name=name, sentence=sentence, trials=(n, n), whole=True, within=above))
        above = name
    for column in claims.role("sensitive"):
        found += _linked(column.name, n, counted.commonest.get(column.name, ATTESTED))
    return found


def _linked(column: str, n: int, commonest: float) -> list[Template]:
    """List what is guessed of a sensitive column whose links are noisy."""
    guessed = (
        "The {column} of {share} of the people is guessed right, against {naive} by the commonest value and {control} "
        "from similar other people."
    )
    raw = "On the raw table the same attack would guess {share} right."
    sure = "Of {share} of the people the attacker is more than 90% sure."
    right = "Of the people the attacker is sure of, the {column} of {share} is right."
    known: dict[str, Any] = {"column": column, "trials": (n, n)}
    return [
        Template(name=f"linkage:{column}", sentence=guessed, baseline=commonest, **known),
        Template(name=f"linkage-raw:{column}", sentence=raw, baseline=commonest, **known),
        Template(name=f"confident:{column}", sentence=sure, whole=True, **known),
        Template(name=f"confident-right:{column}", sentence=right, baseline=commonest, column=column, trials=(0, n),
                 part=f"confident:{column}"),
    ]  # fmt: skip


def _perturbed(manifest: Mapping[str, Any], claims: Claims, counted: Counted) -> list[Template]:
    n = counted.rows
    told = (
        "Somebody who knows everybody's quasi-identifiers and takes the nearest record finds the right one for {share} "
        "of the people."
    )
    scored = (min(n, _LINKED) + 1) // 2
    linked = Template(name="record-linkage", sentence=told, baseline=1.0 / max(n, 1), trials=(scored, scored))
    return [*_unchanged(n, None), linked]


def _bucketised(manifest: Mapping[str, Any], claims: Claims, counted: Counted) -> list[Template]:
    told = "{share} of the records are alone with their exact quasi-identifiers, so that being in it is known."
    one = "{share} of the records are in a group with a single value of '{column}', which is theirs."
    none = "No value of '{column}' is known, so there is none to guess."
    learnt = (
        "By learning from the release alone, {share} of the values of '{column}' are guessed right within their "
        "groups; the commonest value of each group is right for {naive}."
    )
    found = [_alone("uniqueness", told, counted)]
    for column in claims.role("sensitive"):
        name, many = column.name, counted.answers[column.name]
        known: dict[str, Any] = {"column": name, "trials": many}
        single, best = counted.single.get(name, ATTESTED), counted.best.get(name, ATTESTED)
        # Without an answer among the attacked rows nothing is guessed, which has a sentence of its own.
        guessed, nobody = learnt if many[1] else none, "" if many[0] else none
        found += [
            Template(name=f"homogeneity of {name}", sentence=one, value=single, whole=True, **known),
            Template(name=f"relinking of {name}", sentence=guessed, nobody=nobody, baseline=best, **known),
        ]
    return found


def _read_back(column: Column, counted: Counted) -> list[Template]:
    """List how many codes of a column are read back with a sample of true values, by the size of the sample."""
    low, high = counted.codes[column.name]
    ways = [("frequency matching", "Counting the codes", "", "guessing the commonest value")]
    if column.coded == "graded":
        ways = [(f"rank matching, {what}", "Sorting the codes", f" {what}", "one guess for all") for what in _RANKS]
    return [
        Template(
            name=f"{name}: {column.name}",
            sentence=f"Column '{{column}}': {what} against {f'{size:,}' if low == high else '{size}'} true values "
            f"reads {{whole_share}} of the other records{how}{{spread}}; {guess} would be right for {{whole_naive}}.",
            column=column.name,
            baseline=ATTESTED,
            trials=(1, high - size if low == high else counted.rows),
            optional=place >= len(_sample_sizes(low)),
        )
        for place, size in enumerate(_sample_sizes(high))
        for name, what, how, guess in ways
    ]


def _sample_sizes(codes: int) -> list[int]:
    """List the sizes of the attacker's samples of a number of codes that leave some to read; few codes have fewer."""
    return sorted(size for size in {max(1, round(share * codes)) for share in _SHARES} if size < codes)


def drawn_rows(figures: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
    """Read on how many of how many records figures were measured; None where they speak of no sample."""
    for figure in figures:
        found = re.search(_SAMPLE, figure["sentence"])
        if found is not None:
            return number(found["drawn"]), number(found["records"])
    return None


def number(text: str) -> int:
    """Read a whole number with commas."""
    return int(text.replace(",", ""))

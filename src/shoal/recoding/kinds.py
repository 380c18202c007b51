"""What a kind of release says about itself: facts, words, and the names of the functions that do its work.

A kind imports nothing of ours but the registry, so that every room can ask it. What has to be done for it, in rooms
further up, it names as the registry does: ``"module:function"``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from shoal.registry import load


class Trait(enum.Enum):
    """What releases of some kinds have, and attacks and measures look at."""

    GENERALISED = "cells that stand for several values, in styles, with stars where all is suppressed"
    COVERING = "cells that cover the values of the people behind them"
    MATCHING = "cells that a person's values can be held against"
    ALIKE = "records that look the same because the people behind them are alike"
    CENTROIDS = "centroids of classes instead of cells"
    CLASSES = "classes whose sensitive values are those of their people"
    GROUPS = "published groups, by which sensitive values are known and not by record"
    NOISE = "quasi-identifiers redrawn at random"
    CODES = "codes in the place of values"
    PERTURBED = "quasi-identifiers that were swapped between records, redrawn by themselves or made up"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of release.

    Attributes
    ----------
    name
        As in manifests.
    lacks
        The traits that its releases do not have, each with the reason why what looks at it does not apply.
    classes
        Function that recodes: (open rows, recoding) to the coded release with its classes.
    attack
        Function that measures what its releases give away, (coded release, keys) to figures, None where the manifest
        has no such figures.
    code, meaning, implies
        The warning code that a release needs, whatever models hold, what it means, and the codes that whoever accepts
        it need not accept too. None for kinds without one.
    exact
        How quasi-identifiers are read that are published as values; None where they are cells.
    known
        What is said of sensitive columns beside that they are as collected.
    remark
        Stands between the kind and the models in a statement.
    not_protected
        Sentences on what it leaves open, whatever models hold.
    class_figures
        Sentences on what figures about classes mean for it.
    foreign
        Whether a file that no manifest explains can be taken for it: others need what their publisher knows.
    undone
        Whether there are secrets that undo it.
    """

    name: str
    lacks: Mapping[Trait, str] = field(compare=False, repr=False)
    classes: str = field(compare=False, repr=False)
    attack: str | None = field(compare=False, repr=False)
    code: str | None = field(compare=False, repr=False)
    meaning: str | None = field(compare=False, repr=False)
    implies: tuple[str, ...] = field(compare=False, repr=False)
    exact: str | None = field(compare=False, repr=False)
    known: str = field(compare=False, repr=False)
    remark: str = field(compare=False, repr=False)
    not_protected: tuple[str, ...] = field(compare=False, repr=False)
    class_figures: tuple[str, ...] = field(compare=False, repr=False)
    foreign: bool = field(compare=False, repr=False)
    undone: bool = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def has(self, *traits: Trait) -> bool:
        """Whether its releases have all of some traits."""
        return not any(trait in self.lacks for trait in traits)

    @property
    def generalises(self) -> bool:
        """Whether quasi-identifiers are cells, which have styles and may be stars."""
        return self.has(Trait.GENERALISED)

    def part(self, name: str) -> Callable[..., Any]:
        """One of the functions that it names: ``"classes"`` or ``"attack"``."""
        module, _, function = getattr(self, name).partition(":")
        found: Callable[..., Any] = getattr(import_module(module), function)
        return found

    def statement(self, made: Kind, models: str) -> str:
        """A release of this kind in words, before what its models say of it.

        Parameters
        ----------
        made
            How its quasi-identifiers were made.
        models
            The models met, in words; empty without any.
        """
        if self.generalises:
            return models or "no model"
        if not models:
            return f"{self}; no model holds"
        return f"{self}{made.remark}; {models}"


def named(name: str) -> Kind:
    """The kind of a name, built in or a plug-in's."""
    found: Kind = load("kind", name)
    return found


def kind_of(manifest: Mapping[str, Any]) -> Kind:
    """What a release is called."""
    return named(manifest["kind"])


def made_of(manifest: Mapping[str, Any]) -> Kind:
    """How the quasi-identifiers of a release were made: one with tokens is pseudonymised, and may be generalised."""
    return named(manifest.get("made", manifest["kind"]))


def either_has(manifest: Mapping[str, Any], trait: Trait) -> bool:
    """Whether a release has a trait by what it is called or by how it was made."""
    return kind_of(manifest).has(trait) or made_of(manifest).has(trait)


# ----------------------------------------
# Codes in the place of values, and quasi-identifiers as they were collected.


PSEUDONYMISED = Kind(
    name="pseudonymised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "sensitive values are coded, so that classes do not show those of their people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:unchanged",
    attack="shoal.risk.attacks.required:on_codes",
    code="W-PP-REV",
    meaning="Codes are pseudonymisation, not anonymisation",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="exactly as it was collected",
    known="",
    remark="",
    not_protected=(
        "Links to people: quasi-identifiers that are not generalised are published exactly.",
        "Coded values: codes are the same for equal values, so they can be read back by rank or by frequency, and by "
        "whoever holds the secrets.",
    ),
    class_figures=(
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data. What codes give away they do not show: the attacks 'rank-matching' and 'frequency-matching' do.",
    ),
    foreign=False,
    undone=True,
)  # fmt: skip


# ----------------------------------------
# How a column's codes stand for its values, whatever the kind of the release.


_READ_BACK = (
    "Some columns are coded: the attacks 'rank-matching' and 'frequency-matching' measure what codes give away."
)
# The second of what a pseudonymised release leaves open.
_CODED = PSEUDONYMISED.not_protected[1]
_SAME_CODES = (
    "Other releases with the same codes: whoever reads a code in one has read it in all, and releases of overlapping "
    "people can be intersected by their codes."
)
_JOINABLE = (
    "People in other releases made with the same token key: the releases can be joined on the token, record by record."
)


@dataclass(frozen=True, kw_only=True)
class Coding:
    """A way of coding a column.

    Attributes
    ----------
    name, words
        As in manifests, and as a report explains it.
    hides
        Whether it hides values, which makes a release pseudonymised.
    of_values
        Whether equal values of the column have equal codes, which attacks on codes read back.
    not_protected, joinable
        What it leaves open, and what it does where other releases are made with the same key or codes.
    class_figures
        What figures about classes do not show of it.
    """

    name: str
    words: str
    hides: bool = True
    of_values: bool = False
    not_protected: str | None = None
    joinable: str | None = None
    class_figures: str | None = None


GRADED = Coding(
    name="graded",
    words="a code that rises with the value",
    of_values=True,
    not_protected=_CODED,
    joinable=_SAME_CODES,
)
MAPPING = Coding(
    name="mapping",
    words="a code, the same for equal values",
    of_values=True,
    not_protected=_CODED,
    joinable=_SAME_CODES,
)
TOKEN = Coding(
    name="token",
    words="a token, the same for equal values",
    not_protected="People with several records: a token links them, and a history can be as telling as a name.",
    joinable=_JOINABLE,
    class_figures=(
        "Tokens link the rows of a person, and these figures look at one row at a time: the share of people whose "
        "history stands alone is among the measured figures of the manifest."
    ),
)
SHIFTED = Coding(
    name="shifted",
    words="a date, moved by a secret number of days that is the same for all of a person",
    hides=False,
    not_protected="Gaps between the dates of a person: shifting moves all of them alike.",
)
CODINGS = {one.name: one for one in (GRADED, MAPPING, TOKEN, SHIFTED)}


def called(made: Kind, coded: Collection[str]) -> Kind:
    """What a release is called: pseudonymised as soon as a column of it is coded, however the rest was made."""
    return PSEUDONYMISED if any(CODINGS[how].hides for how in coded) else made


def left_open(made: Kind, coded: Collection[str], joinable: bool, same_codes: bool = False) -> list[str]:
    """Sentences on what a release leaves open by its kind and its codes, whatever models hold.

    Parameters
    ----------
    coded
        Names of the codings of its columns.
    joinable
        Whether the key of its tokens is used for other releases too.
    same_codes
        Whether codes of its values are those of another release.
    """
    found = list(made.not_protected)
    for one in CODINGS.values():
        if one.name in coded:
            again = same_codes if one.of_values else joinable
            told = (one.not_protected, one.joinable if again else None)
            found += [text for text in told if text is not None and text not in found]
    return found


def class_figures(made: Kind, coded: Collection[str]) -> list[str]:
    """Sentences to read before figures about classes; none where a release is generalised and nothing is coded."""
    found = list(made.class_figures)
    used = [one for one in CODINGS.values() if one.name in coded]
    if not made.has(Trait.CODES) and any(one.of_values for one in used):
        found.append(_READ_BACK)
    return found + [one.class_figures for one in used if one.class_figures is not None]


# ----------------------------------------
# Cells that cover the values behind them, the same for all records of a class.


GENERALISED = Kind(
    name="generalised",
    lacks={
        Trait.CENTROIDS: "its cells are no centroids",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.recoded:generalised",
    attack=None,
    code=None,
    meaning=None,
    implies=(),
    exact=None,
    known="",
    remark="",
    not_protected=(),
    class_figures=(),
    foreign=True,
    undone=False,
)


# ----------------------------------------
# Exact quasi-identifiers in groups, and sensitive values that are known by group only.


BUCKETISED = Kind(
    name="bucketised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:groups",
    attack="shoal.risk.attacks.required:on_groups",
    code="W-EXACT-QI",
    meaning="Quasi-identifiers are published exactly, so nobody's identity is protected",
    implies=("W-NO-K",),
    exact="exactly as it was collected",
    known=", but known by group only",
    remark=", quasi-identifiers exact",
    not_protected=(
        "Identity and membership: quasi-identifiers are exact, so whoever knows a person's sees whether and in which "
        "group they are.",
        "Values of a group whose other members are known, or that go together with quasi-identifiers throughout the "
        "release.",
    ),
    class_figures=(
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data, and say who can be seen to be in it.",
        "Sensitive values are known by group and not by record, so they are left out here: the attacks 'homogeneity', "
        "'background' and 'relinking' measure what groups give away.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip


# ----------------------------------------
# Means, medians or modes of classes in the place of their members' values.


MICROAGGREGATED = Kind(
    name="microaggregated",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: "cells are centroids, which cover no set of values",
        Trait.MATCHING: "cells are centroids, which cover no set of values",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:centroids",
    attack=None,
    code=None,
    meaning=None,
    implies=(),
    exact="the mean, median or mode of the class, nobody's own",
    known="",
    remark="",
    not_protected=(
        "The last member of a class whose other members are known: a mean gives the missing value away.",
    ),
    class_figures=(
        "Cells of this release are means, medians or modes, which nobody need have: figures about finding people hold "
        "for somebody who knows the person's class, and figures about the population hold for nobody. The attack "
        "'nearest' measures how often the nearest class is the right one.",
    ),
    foreign=True,
    undone=False,
)  # fmt: skip


# ----------------------------------------
# Quasi-identifiers that are swapped between records, or made up from those of similar ones: nobody's own.


PERTURBED = Kind(
    name="perturbed",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: "cells are values that need not be those of the people behind them",
        Trait.MATCHING: "cells are values that need not be those of the people behind them",
        Trait.ALIKE: "records were perturbed and only happen to agree, so that its classes say nothing",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "records that agree only happen to, so it has no classes of people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn from a distribution that is known",
        Trait.CODES: "nothing is coded",
    },
    classes="shoal.recoding.exact:perturbed",
    attack="shoal.risk.attacks.required:on_perturbed",
    code="W-PERTURBED",
    meaning="Perturbed quasi-identifiers hide nobody among others",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="a value, swapped with another record's, redrawn, with noise, or made up; nothing says which are true",
    known="",
    remark="",
    not_protected=(
        "Links to people: a perturbed record is often still the nearest to its person, and nothing bounds how often.",
        "Sensitive values of whoever is linked: they are published as they are.",
    ),
    class_figures=(
        "Quasi-identifiers of this release were swapped, redrawn or made up, so records of a class only happen to "
        "agree: figures about finding people count what is written, and do not say how likely somebody is found. The "
        "attack 'record-linkage' measures that, from the recipe.",
        "Figures about sensitive values are of classes that the perturbation made, so they bound nobody's guess.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip


# ----------------------------------------
# Quasi-identifiers redrawn at random: every cell is a value, and nothing says whose.


RANDOMISED = Kind(
    name="randomised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: (
            "cells were redrawn at random, and none tells what a wrong value loses: the evaluations count-queries and "
            "rules measure that"
        ),
        Trait.ALIKE: "records were redrawn at random and only happen to agree, so that its classes say nothing",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "records that agree only happen to, so it has no classes of people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:redrawn",
    attack="shoal.risk.attacks.required:on_noise",
    code="W-RA-LINK",
    meaning="Random anonymisation is noise, not anonymity",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="a value; in every record one or several were drawn anew, and nothing says which",
    known="",
    remark="",
    not_protected=(
        "Links to people: all quasi-identifiers of a record but those redrawn are exact, and often all of them are.",
        "Sensitive values of whoever is re-linked: they are published as they are. The noise's entropy (Pa) bounds no "
        "attacker.",
    ),
    class_figures=(
        "Quasi-identifiers of this release were redrawn at random, so records of a class only happen to agree: figures "
        "about finding people count what is written, and do not say how likely somebody is found. The attacks "
        "'posterior' and 'ra-linkage' measure that, from the recipe.",
        "Figures about sensitive values are of classes that the noise made, so they bound nobody's guess: 'ra-linkage' "
        "measures it.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip

"""How a column's codes stand for its values, whatever the kind of the release."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shoal.kinds.base import Kind, Trait
from shoal.kinds.pseudonymised import PSEUDONYMISED

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

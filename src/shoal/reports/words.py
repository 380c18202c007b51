"""What warning codes accept, in a sentence each: for those who read that they were accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.recoding.kinds import Trait, kind_of, made_of, named
from shoal.registry import names

_MEANINGS = {
    "W-UNMODELLED": "no model protects this sensitive column, so that a class may give its values away",
    "W-NO-K": "no model limits how small a class may be",
    "W-TEXT": "this column may hold free text, which may say anything about anybody",
    "W-NAMES": "this column holds words that are also words of identifiers",
    "W-IDENTIFIES": "this column identifies people by itself, as a number of a person does",
    "W-DETERMINES": "this column tells a quasi-identifier more finely than its cells do",
    "W-ROWS": "models count rows, and people have several of them",
    "W-NEUTRAL": "many rows are unique on quasi-identifiers and neutral columns together",
    "W-TIGHT": "the ends of intervals are exact values",
    "W-ORDER": "rows stand in the order of the source",
    "W-TRAJECTORY": "rows of a person are linked, or gaps between their dates are as they were",
    "W-REPEAT": "all releases of the source together leave some people with less than the models ask for",
}


def meaning(code: str) -> str:
    """What somebody who accepts a code accepts."""
    known = _MEANINGS | {
        kind.code: kind.meaning[0].lower() + kind.meaning[1:]
        for kind in map(named, names("kind"))
        if kind.code is not None and kind.meaning
    }
    return known.get(code.partition(":")[0], "")


# ----------------------------------------
# How analysts should use the cells of a release, in sentences that follow from its manifest.


_BY_CELLS = {
    "interval": (
        "An interval covers the value, both ends included: count its row evenly over what it covers, or ask for ranges "
        "that no interval is cut by. Intervals of one column may overlap: do not count by their text."
    ),
    "label": "A label stands for all values under it in the hierarchy: count by a level that every label has reached.",
    "set": "A set has the value among its members: count its row evenly over them.",
    "bounds": "Two columns hold the lowest and the highest possible value: neither of them is the value.",
    "representative": "One value stands for a whole class: means are about right, and the spread is less than it was.",
}
_BY_TRAIT = {
    Trait.NOISE: "Quasi-identifiers were redrawn at random: counts have to be corrected, as shoal estimate does.",
    Trait.GROUPS: "Sensitive values are known by group: count shares within groups, and pair no row with a value.",
    Trait.CENTROIDS: (
        "Quasi-identifiers are means, medians or modes of classes: means are about right, and the spread is less than "
        "it was."
    ),
    Trait.PERTURBED: (
        "Quasi-identifiers were swapped, redrawn or made up: the values of a row may be nobody's, and relations "
        "between columns are weaker than they were."
    ),
}
_ITEMS = (
    "Cells of items name what a record has, each label once, as fine as its class allows: count records by label, or "
    "by a level that every label has reached, and take one that is not there as unknown."
)
_CODES = "Codes stand for values: they can be counted and compared, and say nothing else."
_LEFT_OUT = "Records may have been left out, unusual ones first: what is rare may be more frequent than it is here."
_STARRED = "Rows of stars were suppressed: leave them out, and count what is rare as a lower limit."
_EXACT = "Columns that are as they were collected are exact for the rows here, as long as nothing else is asked for."
_DRAWN = "The {of} here are a random sample{strata}"
_PEOPLE = "One person may have several rows: count rows and people apart."


def use_of_cells(manifest: Mapping[str, Any]) -> list[str]:
    """Sentences for whoever is going to analyse a release."""
    made, kind = made_of(manifest), kind_of(manifest)
    cells = [column["cells"] for column in manifest["columns"] if column["role"] == "quasi" and "coded" not in column]
    found = [told for one, told in _BY_CELLS.items() if one in cells]
    found += [told for trait, told in _BY_TRAIT.items() if made.has(trait)]
    coded = any("coded" in column for column in manifest["columns"]) or kind.has(Trait.CODES)
    plain = [one for one in manifest["columns"] if one["role"] != "quasi" and one["cells"] == "value"]
    if any("coded" not in one for one in plain) and not made.has(Trait.GROUPS):
        found.append(_EXACT)
    found += [_ITEMS] if any(one["cells"] == "items" for one in manifest["columns"]) else []
    found += [_CODES] if coded else []
    found += [_PEOPLE] if manifest["people"] else []
    found += [_drawn(manifest["sample"])] if "sample" in manifest else []
    return [*found, _STARRED if manifest["suppressed"] == "star" else _LEFT_OUT]


def _drawn(sample: Mapping[str, Any]) -> str:
    """What a sample means for counts."""
    told = _DRAWN.format(of=sample["of"], strata=", drawn by strata" if sample["stratified"] else "")
    if "share" not in sample:
        return f"{told}: shares and means are those of the source, but for chance, and counts are smaller."
    return f"{told}, each drawn with a chance of {sample['share']:g}: divide counts by it, and allow for chance."

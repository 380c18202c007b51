"""What warning codes accept, in a sentence each: for those who read that they were accepted."""

from __future__ import annotations

from shoal.catalogue import names
from shoal.recoding.kinds import named

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

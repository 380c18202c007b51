"""What was not turned back: numbers beside graded columns that stand in no known form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shoal.vault.forms import NUMBER, SIGN

# Stands in a line for what was turned back or reported: neither a letter nor a space.
DONE = "\0"
Range = tuple[float, float]

# Words that lead from a column to a number of its own; a number behind any other word and a sign is that word's.
_LEADS = "and|or|not|is|in|to|than|between|from|of|over|under|above|below|about|least|most|at|by|if|when|where"
# Figures that are values of a column: in its codes, where it has codes.
FIGURES = (
    "mean|median|mode|average|avg|minimum|maximum|min|max|lowest|highest|lower|upper|thresholds?|cut|cutoff|cutpoint|split"
    "|bound|limit|quantile|quartile|percentile|centre|center|centroid|sd|std"
)
_WORD = rf"(?<![\w.$-])(?!(?:{_LEADS}|{FIGURES})\b)(?=[^\W\d])[\w.$-]*\w[\"'`]?\s*"
_OTHERS = re.compile(
    rf"(?P<rank>^\s*[\[(]?\d+[\])]|^\s*\d+[.:]\s|\b(?:rule|cluster|node|leaf|fold|class|group)\s*#?\d+\b)"
    rf"|(?P<named>{_WORD}(?:{SIGN})\s*(?:[\"'`]?{NUMBER}|\[[^\]]*\]))"
    rf"|(?P<told>{_WORD}:\s*(?:{NUMBER}|\(\s*{NUMBER}\s*\)|\[[^\]]*\]))"
    rf"|(?P<mirrored>{NUMBER}\s*(?:{SIGN})\s*(?=[^\W\d][\w.$]*(?:[^\w.$\[(\"'{DONE}]|$)))"
    rf"|(?P<percent>{NUMBER}\s*%)"
    # Counts as Weka writes them behind a rule and beside an association, figures as arules does.
    rf"|(?P<weka>\(\s*\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)?\)\s*$|\b\d+(?=\s*==>)|\b\d+(?=\s+<?conf\b)|\[\d+\])"
    rf"|(?P<arules>=>\s*\{{[^}}]*\}}(?:\s+{NUMBER})+\s*$)",
    re.I,
)
_RPART = re.compile(rf"\s*\d+\).*?(?P<tail>\s\d+\s+{NUMBER}\s+\S+(?:\s+\([\d.\s]+\))?\s*\*?\s*)$")
_LOOSE = re.compile(rf"(?<![\w.]){NUMBER.removeprefix('[+-]?')}")
_DANGLING = re.compile(rf"(?:^|-\s|[^\w\s\"'`\])=<>-])\s*(?:{SIGN})\s*(?P<number>{NUMBER})")


@dataclass(frozen=True)
class Left:
    """A place in a text that was not turned back.

    Attributes
    ----------
    line, at
        From 1.
    text
        What stands there, as the analyst wrote it.
    why
        One sentence without a value of the original data.
    """

    line: int
    at: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}, character {self.at}: '{self.text}' {self.why}"


def loose_numbers(text: str, ranges: Sequence[Range], *, read: bool) -> Iterator[tuple[int, int]]:
    """Numbers within the range of a named column's codes that no form and nothing else on the line accounts for.

    Parameters
    ----------
    text
        A line in which everything that was turned back is blanked out.
    ranges
        Lowest and highest code of the columns that the line names.
    read
        Whether every such column was followed by a form: else what is said with a colon (``mean age of the class:
        1.9``) may be about it.
    """
    others = [found.span() for found in _OTHERS.finditer(text) if read or found["told"] is None]
    others += [found.span("tail") for found in [_RPART.match(text)] if found is not None]
    for found in _LOOSE.finditer(text):
        if _within(found[0], ranges) and not any(low <= found.start() < high for low, high in others):
            yield found.span()


def dangling_numbers(text: str, ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """Numbers behind a sign that has no column before it, such as a rule that was broken over two lines."""
    for found in _DANGLING.finditer(text):
        if _within(found["number"], ranges):
            yield found.span("number")


def numbers_of_a_row(text: str, ranges: Sequence[Range]) -> Iterator[tuple[int, int]]:
    """The same on a line that is a row of figures: a third of its words or more are numbers."""
    words = re.findall(r"[^\s,;|\[\](){}]+", text)  # arrays are printed in brackets
    if 3 * sum(re.fullmatch(NUMBER, word) is not None for word in words) >= len(words):
        yield from loose_numbers(text, ranges, read=True)


def _within(number: str, ranges: Sequence[Range]) -> bool:
    return any(low <= float(number) <= high for low, high in ranges)

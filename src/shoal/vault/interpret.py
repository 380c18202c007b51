"""Analysis results back into the terms of the original data (Poovammal & Ponnavaikko, Sec. 5.2).

A small grammar, applied line by line. COLUMN is a column of the secrets, also as ``H-COLUMN`` or ``hiding COLUMN`` (the
paper's spellings) or under a given alias, alone or in quotes, in any case, with ``.``, ``_`` or ``-`` for a space::

    COLUMN OP NUMBER                  H-age < 1.9                 ->  age < 42
    NUMBER OP COLUMN                  1.2 <= H-age                ->  21 <= age
    COLUMN OP NUMBER and OP NUMBER    age >= 1.2 and < 1.9        ->  age >= 21 and < 42
    COLUMN in (NUMBER, NUMBER]        age='(1.2-1.9]'             ->  age='(21-42]'
    COLUMN in {NUMBER, NUMBER}        age %in% c(1, 1.5)          ->  age %in% c(15, 30)
    COLUMN between NUMBER and NUMBER  age between 1.2 and 1.9     ->  age between 21 and 42
    CODE                              disease = illness_3         ->  disease = Bronchitis
    COLUMN and CODE as one word       disease_illness_3 <= 0.5    ->  disease_Bronchitis <= 0.5

Nothing passes silently: a code in a larger word, what looks like a code and is none, what a coded column is compared
with, and a number beside a graded column, or in a row below its name, that stands in no form are listed in
:attr:`Interpreted.left`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shoal.data.hierarchy import MISSING, ROOT
from shoal.errors import DomainError, InputError, ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault.forms import (
    NUMBER,
    SIGN,
    Codes,
    Names,
    before_span,
    behind_span,
    is_calculated,
    turned_before,
    turned_behind,
)

# ----------------------------------------
# What was not turned back: numbers beside graded columns that stand in no known form.


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
_NAME_BEFORE = rf"(?<![\w.$-])(?!(?:{_LEADS}|{FIGURES})\b)(?=[^\W\d])[\w.$-]*\w[\"'`]?\s*"
_OTHERS = re.compile(
    rf"(?P<rank>^\s*[\[(]?\d+[\])]|^\s*\d+[.:]\s|\b(?:rule|cluster|node|leaf|fold|class|group)\s*#?\d+\b)"
    rf"|(?P<named>{_NAME_BEFORE}(?:{SIGN})\s*(?:[\"'`]?{NUMBER}|\[[^\]]*\]))"
    rf"|(?P<told>{_NAME_BEFORE}:\s*(?:{NUMBER}|\(\s*{NUMBER}\s*\)|\[[^\]]*\]))"
    rf"|(?P<mirrored>{NUMBER}\s*(?:{SIGN})\s*(?=[^\W\d][\w.$]*(?:[^\w.$\[(\"'{DONE}]|$)))"
    rf"|(?P<percent>{NUMBER}\s*%)"
    # Counts as Weka writes them behind a rule and beside an association, figures as arules does.
    rf"|(?P<weka>\(\s*\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)?\)\s*$|\b\d+(?=\s*==>)|\b\d+(?=\s+<?conf\b)|\[\d+\])"
    rf"|(?P<arules>=>\s*\{{[^}}]*\}}(?:\s+{NUMBER})+\s*$)",
    re.I,
)
_RPART = re.compile(rf"\s*\d+\).*?(?P<tail>\s\d+\s+{NUMBER}\s+\S+(?:\s+\([\d.\s]+\))?\s*\*?\s*)$")
_LOOSE_NUMBER = re.compile(rf"(?<![\w.]){NUMBER.removeprefix('[+-]?')}")
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
    for found in _LOOSE_NUMBER.finditer(text):
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


_NO_VALUE = {"", ROOT, MISSING.lower(), "?", "na", "nan", "null", "none", "."}
_NO_CODE = "is no code of this entry"
_SEVERAL = "is a code of several columns: name one before it"
_BOTH = "is a code and the name of a column: compare it with something, or name the code's column before it"
_UNREADABLE = "stands beside a graded column in no form that can be read"
_BELOW = "stands in a row below the name of a graded column: hand it in as CSV to have it turned back"
_LONGEST_HEADER = 100_000
# What a mapped column is compared with: one word, or words in brackets.
_COMPARED = re.compile(
    rf"[\"'`\])]*\s*(?:(?:{SIGN})\s*(?![\s\[({{])|(?:{SIGN}|\bnot\s+in\b|\bin\b|%in%|∈)?\s*(?:c\s*\(|[\[({{])(?P<many>))"
    r"\s*",
    re.I,
)
# What says something of the column before it, and is no arrow of a rule.
_SAID = re.compile(rf"[\"'`\])]*\s*(?!=+>)(?:{SIGN}|\b(?:not\s+)?(?:in|between)\b|%in%|∈)", re.I)
_WORD = re.compile(r"[^\s,;|&\"'`\])}]+")


@dataclass(frozen=True)
class Interpreted:
    """A text with what could be turned back, and what could not."""

    text: str
    left: Sequence[Left] = field(default_factory=list)


class _Line:
    """One line while it is turned back: its pieces as they become, and what is left of it to be searched."""

    def __init__(self, text: str, number: int, left: list[Left]) -> None:
        self.text, self.number, self._left = text, number, left
        self._made, self._rest = list(text), list(text)
        self.named: list[str] = []
        self.forms = 0

    def put(self, low: int, high: int, text: str) -> None:
        """Turn a piece back."""
        self._made[low:high] = [text, *[""] * (high - low - 1)]
        self._rest[low:high] = DONE * (high - low)

    def leave(self, low: int, high: int, why: str) -> None:
        """Report a piece once, and leave it as it is."""
        if self.rest[low:high].strip(DONE):
            self._left.append(Left(self.number, low + 1, self.text[low:high].strip(), why))
            self._rest[low:high] = DONE * (high - low)

    @property
    def made(self) -> str:
        return "".join(self._made)

    @property
    def rest(self) -> str:
        return "".join(self._rest)


class Interpreter:
    """Turns codes in texts back, given the secrets of one release.

    Parameters
    ----------
    secrets
        Mapping tables and gradings; keys are left aside, because tokens cannot be decoded.
    aliases
        What the texts call a column, to its name, such as ``{"H_age": "age"}``.
    """

    def __init__(self, secrets: Sequence[Secret], aliases: Mapping[str, str] | None = None) -> None:
        self._graded = {one.column: one for one in secrets if isinstance(one, GradingTable)}
        mapped = [one for one in secrets if isinstance(one, MappingTable)]
        columns = [*self._graded, *(one.column for one in mapped)]
        if not columns:
            raise ParameterError("There is neither a mapping nor a grading in this entry: nothing can be interpreted.")
        self._names, self._codes = Names(columns, aliases or {}), Codes(mapped)
        self._ranges = {name: _range(table) for name, table in self._graded.items()}
        name = rf"(?<![\w-])(?P<quote>[\"'`]?)(?P<name>{self._names.pattern})(?P=quote)(?:(?![\w-]|\.\w)|(?=_[\[(]))"
        # Codes first: what one begins with is often the name of its column.
        self._pattern = re.compile(rf"(?P<code>{self._codes.pattern})|{name}", re.I)
        self._like_code = re.compile(self._codes.pattern, re.I)
        # A figure and a column in one word, `mean_age` or `age.max`, which is no column.
        figure = rf"(?:{FIGURES})[._-](?:{self._names.pattern})|(?:{self._names.pattern})[._-](?:{FIGURES})"
        self._figure = re.compile(rf"(?<![\w.-])(?:{figure})[\"'`]?\s*(?:{SIGN}|:)\s*[\"'`]?(?P<number>{NUMBER})", re.I)
        names = rf"(?:{self._names.pattern})"
        header = rf"(?:{FIGURES})[\W_]+(?:of[\W_]+)?{names}\W*|{names}[\W_]+(?:{FIGURES})\W*"
        self._figure_header = re.compile(header, re.I)
        self._joined = re.compile(rf"(?<![\w-])(?P<name>{self._names.pattern})(?P<join>[._:-]?)$", re.I)

    def text(self, text: str) -> Interpreted:
        """A text with everything that the grammar knows put back."""
        left: list[Left] = []
        made: list[str] = []
        above: list[str] = []
        for number, text_line in enumerate(text.splitlines(keepends=True), 1):
            line = self._read(text_line, number, left)
            if not line.named:
                for low, high in numbers_of_a_row(line.rest, [self._ranges[name] for name in above]):
                    line.leave(low, high, _BELOW)
            made.append(line.made)
            headed = [name for name in line.named if name in self._ranges] if not line.forms else []
            above = [] if line.forms or not text_line.strip() else [*above, *headed]
        return Interpreted("".join(made), left)

    def is_table(self, text: str) -> bool:
        """Whether a text is CSV whose header names a column of the secrets, and all rows are as long as it."""
        first = text.removeprefix("\ufeff").partition("\n")[0].rstrip("\r")
        if not first or len(first) > _LONGEST_HEADER:
            return False
        delimiter = self._delimiter(first)
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter) if row]
        except csv.Error:
            return False
        header = [cell.strip() for cell in rows[0]] if len(rows) > 1 else []
        named = any(self._names.column(cell) for cell in header)
        bare = all(re.fullmatch(r"[\w .%()-]*", cell) for cell in header)
        return named and bare and all(len(row) == len(header) for row in rows)

    def table(self, text: str) -> Interpreted:
        """The same for CSV with a header: cells of coded columns are decoded, others are read as text."""
        delimiter = self._delimiter(text.partition("\n")[0].rstrip("\r"))
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter))
        except csv.Error:
            raise InputError("The text cannot be read as CSV: check its quotes, or interpret it as text.") from None
        if not rows:
            return Interpreted(text)
        left: list[Left] = []
        header = [self._names.column(name) or self._line(name, 1, left) for name in rows[0]]
        made = io.StringIO()
        writer = csv.writer(made, lineterminator="\n", delimiter=delimiter)
        writer.writerow(header)
        figures = [at for at, name in enumerate(header) if self._figure_header.fullmatch(name) or _is_figure(name)]
        for number, row in enumerate(rows[1:], 2):
            if row and len(row) != len(header):
                raise InputError(f"Line {number} has {len(row)} cells and the header {len(header)}: check the file.")
            writer.writerow([self._cell(name, cell, number, left) for name, cell in zip(header, row, strict=bool(row))])
            left += [one for at in figures if row for one in self._figures(header[at], row[at], row, number)]
        return Interpreted(made.getvalue(), left)

    def _figures(self, name: str, cell: str, row: Sequence[str], number: int) -> Iterator[Left]:
        """A number under ``mean_age``, or under ``mean`` in a row about ``age``: it may be in codes."""
        told = {self._names.column(one.strip()) for one in row} if _is_figure(name) else set(self._ranges)
        ranges = [self._ranges[column] for column in told if column in self._ranges]
        if re.fullmatch(NUMBER, cell.strip()) and any(low <= float(cell) <= high for low, high in ranges):
            yield Left(number, 1, cell.strip(), f"under '{name}' {_UNREADABLE}")

    def _delimiter(self, header: str) -> str:
        """The one that finds most columns of the secrets in the header, a comma where none does."""

        def known(delimiter: str) -> int:
            return sum(self._names.column(cell.strip().strip('"')) is not None for cell in header.split(delimiter))

        return max(",;\t|", key=known)

    def _line(self, text: str, number: int, left: list[Left], within: str | None = None) -> str:
        """One line, or one cell of the column it is ``within``, turned back."""
        return self._read(text, number, left, within).made

    def _read(self, text: str, number: int, left: list[Left], within: str | None = None) -> _Line:
        line = _Line(text, number, left)
        at = 0
        if within is not None:
            line.named.append(within)
            at = self._form(line, within, 0, 0) if within in self._graded else 0
        while found := self._pattern.search(text, at):
            at = found.end()
            if found["code"] and not (self._is_both(line, found) and _SAID.match(line.text, found.end()) is not None):
                self._code(line, found)
                continue
            part = "code" if found["code"] else "name"
            column = self._names.column(found[part])
            if column is None:  # two columns are spelt like this
                continue
            line.named.append(column)
            line.put(found.start(part), found.end(part), column)
            if column in self._graded:
                at = self._form(line, column, found.start(), at)
            else:
                self._compared(line, column, at)
        ranges = [self._ranges[name] for name in line.named if name in self._ranges]
        loose = list(loose_numbers(line.rest, ranges, read=len(ranges) == line.forms))
        everywhere = list(self._ranges.values())
        figures = [found.span("number") for found in self._figure.finditer(line.rest) if everywhere]
        for low, high in loose + figures + list(dangling_numbers(line.rest, everywhere)):
            line.leave(low, high, _UNREADABLE)
        return line

    def _form(self, line: _Line, column: str, low: int, high: int) -> int:
        """Turn back what stands before and behind the name of a graded column; where it ends."""
        table, text = self._graded[column], line.text
        if is_calculated(text, low, high):
            return high
        before = None
        try:
            if before := turned_before(table, text[:low]):
                line.put(before[1], low, before[0])
                line.forms += 1
        except DomainError:
            line.leave(*before_span(text[:low]), _NO_CODE)
        try:
            if behind := turned_behind(table, text, high):
                line.put(high, behind[1], behind[0])
                line.forms += 0 if before else 1
                return behind[1]
        except DomainError:
            line.leave(*behind_span(text, high), _NO_CODE)
        return high

    def _is_both(self, line: _Line, found: re.Match[str]) -> bool:
        """Whether a code is spelt like a column's name, and was not read as what its own column is compared with."""
        low, high = found.span()
        known = self._names.column(found[0]) is not None and not _in_word(line.text[low - 1 : low])
        return known and bool(line.rest[low:high].strip(DONE))

    def _code(self, line: _Line, found: re.Match[str]) -> None:
        """Turn a code back, alone or joined to the name of its column; one within another word is left."""
        low, high, text = found.start(), found.end(), line.text
        owners = list(self._codes.owners(found[0]))
        alone = not _in_word(text[low - 1 : low])
        if not alone and (joined := self._joined.search(text[:low])):
            column = self._names.column(joined["name"])
            if column in owners:
                line.put(joined.start("name"), joined.end("name"), column)
                alone, owners = True, [column]
        if not alone or not owners or _in_word(text[high : high + 1]) or re.match(r"\.\d", text[high:]):
            line.leave(*_word(text, low, high), _NO_CODE)
            return
        mine = [owner for owner in owners if owner in line.named[-1:]] or owners
        if self._is_both(line, found):
            line.leave(low, high, _BOTH)
        elif len(mine) > 1:
            line.leave(low, high, _SEVERAL)
        else:
            line.put(low, high, self._codes.value(mine[0], found[0]) or "")

    def _compared(self, line: _Line, column: str, at: int) -> None:
        """What a mapped column is compared with is a code, or is reported."""
        found = _COMPARED.match(line.text, at)
        if found is None:
            return
        for word in _WORD.finditer(line.text, found.end()):
            value = self._codes.value(column, word[0])
            if value is not None:
                line.put(*word.span(), value)
            elif word[0].lower() not in _NO_VALUE and not self._has_code(line.text, word):
                line.leave(*word.span(), _NO_CODE)
            if found["many"] is None or line.text[word.end() :].lstrip(" \"'`")[:1] in ("", *"])}"):
                return

    def _has_code(self, text: str, word: re.Match[str]) -> bool:
        """Whether a code, or what looks like one, begins in a word."""
        found = self._like_code.search(text, word.start())
        return found is not None and found.start() < word.end()

    def _cell(self, column: str, cell: str, number: int, left: list[Left]) -> str:
        given = cell.strip()
        if given.lower() in _NO_VALUE or column not in (*self._graded, *self._codes):
            return self._line(cell, number, left)
        if column in self._graded and re.fullmatch(NUMBER, given):
            value = self._graded[column].value_text(float(given))
        else:
            value = self._codes.value(column, given) if column in self._codes else None
        if value is not None:
            return value
        known = len(left)
        made = self._line(cell, number, left, within=column)
        if made == cell and len(left) == known:
            left.append(Left(number, 1, given, f"in column '{column}' {_NO_CODE}"))
        return made


def _range(table: GradingTable) -> tuple[float, float]:
    """Where codes of a column lie."""
    names = table.reveal()["names"]
    return float(names[0]), float(names[-1] + 1)


def _is_figure(name: str) -> bool:
    return re.fullmatch(FIGURES, name.strip(), re.I) is not None


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _word(text: str, low: int, high: int) -> tuple[int, int]:
    """The whole word around a piece of a text."""
    while _in_word(text[low - 1 : low]):
        low -= 1
    while _in_word(text[high : high + 1]):
        high += 1
    return low, high

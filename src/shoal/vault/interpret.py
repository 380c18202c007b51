"""Analysis results back into the terms of the original data (Poovammal & Ponnavaikko, Sec. 5.2).

A small grammar, applied line by line. COLUMN is a column of the secrets, also as ``H-COLUMN`` (the paper's spelling) or
under a given alias, alone or in quotes::

    COLUMN OP NUMBER            H-age < 1.9           ->  age < 42       OP: < <= > >= = == != <> and their symbols
    NUMBER OP COLUMN            1.2 <= H-age          ->  21 <= age
    COLUMN in [NUMBER, NUMBER]  age in (1.2, 1.9]     ->  age in (21, 42]
    CODE                        disease = illness_3   ->  disease = Bronchitis
    COLUMN                      H-age                 ->  age

Numbers beside other columns and all other text stay as they are. In CSV, whole cells of a column of the secrets are
decoded, and the grammar is applied to all other cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from shoal.errors import DomainError, InputError, ParameterError
from shoal.recoding.grades import GradingTable
from shoal.recoding.secrets import MappingTable, Secret

_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
_END = r"[+-]?(?:inf(?:inity)?|∞)|" + _NUMBER
_SIGN = r"<=|>=|<>|!=|==|[<>=≤≥≠]"
_PLAIN = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


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
        self._values = {
            one.column: {code: value for value, code in one.reveal()["mapping"].items()} for one in mapped
        }
        columns = [*self._graded, *self._values]
        if not columns:
            raise ParameterError("There is neither a mapping nor a grading in this entry: nothing can be interpreted.")
        self._names = {name: column for column in columns for name in (column, f"H-{column}")}
        for alias, column in (aliases or {}).items():
            if column not in columns:
                raise ParameterError(f"The alias '{alias}' names a column '{column}' that the entry does not have.")
            self._names[alias] = column
        self._owners: dict[str, list[str]] = {}
        for column, values in self._values.items():
            for code in values:
                self._owners.setdefault(code, []).append(column)
        self._pattern = self._compiled()

    def text(self, text: str) -> str:
        """A text with everything that the grammar knows put back."""
        lines = text.splitlines(keepends=True)
        return "".join(self._line(line, number) for number, line in enumerate(lines, 1))

    def table(self, text: str) -> str:
        """The same for CSV with a header: cells of coded columns are decoded, others are read as text."""
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error:
            raise InputError("The text cannot be read as CSV: check its quotes, or interpret it as text.") from None
        if not rows:
            return text
        header = [self._names.get(name, name) for name in rows[0]]
        made = io.StringIO()
        writer = csv.writer(made, lineterminator="\n")
        writer.writerow(header)
        for number, row in enumerate(rows[1:], 2):
            if row and len(row) != len(header):
                raise InputError(f"Line {number} has {len(row)} cells and the header {len(header)}: check the file.")
            writer.writerow([self._cell(name, cell, number) for name, cell in zip(header, row, strict=bool(row))])
        return made.getvalue()

    def _compiled(self) -> re.Pattern[str]:
        """One pattern for comparisons, columns and codes; longer names first, so that none is taken for another."""
        names = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        prefixes = sorted({code.rpartition("_")[0] for code in self._owners}, key=len, reverse=True)
        codes = "|".join(map(re.escape, prefixes))
        graded = (
            rf"(?:(?<![\w.])(?P<before>{_NUMBER})(?P<gap1>\s*)(?P<turned>{_SIGN})(?P<gap2>\s*))?"
            rf"(?<![\w-])(?P<quote>[\"'`]?)(?P<name>{names})(?P=quote)(?![\w-])"
            rf"(?:(?P<gap3>\s*)(?P<sign>{_SIGN})(?P<gap4>\s*)(?P<after>{_NUMBER})(?![\w.]*\d)"
            rf"|(?P<gap5>\s+in\s+)(?P<open>[\[(])\s*(?P<low>{_END})\s*,\s*(?P<high>{_END})\s*(?P<close>[\])]))?"
        )
        code = rf"|(?<![\w-])(?P<code>(?:{codes})_\d+)(?!\w)" if codes else ""
        # Codes first: the prefix of one is often the name of its column.
        return re.compile(f"{code.removeprefix('|')}|{graded}" if code else graded)

    def _line(self, line: str, number: int) -> str:
        current: list[str] = []  # the column last named, which a code belongs to where several could own it

        def put_back(found: re.Match[str]) -> str:
            given = found.groupdict()
            if given.get("code"):
                return self._decoded(given["code"], current, number)
            column = self._names[given["name"]]
            current[:] = [column]
            shown = f"{given['quote']}{column}{given['quote']}"
            if column in self._graded:
                return self._comparison(self._graded[column], shown, given, number)
            return found.group().replace(f"{given['quote']}{given['name']}{given['quote']}", shown, 1)

        return self._pattern.sub(put_back, line)

    def _comparison(self, table: GradingTable, shown: str, given: Mapping[str, str | None], number: int) -> str:
        text = shown
        if given["before"] is not None:
            sign, value = self._threshold(table, _MIRRORED[_plain(given["turned"])], given["before"], number)
            text = f"{value}{given['gap1']}{_MIRRORED[sign]}{given['gap2']}{text}"
        if given["after"] is not None:
            sign, value = self._threshold(table, _plain(given["sign"]), given["after"], number)
            text += f"{given['gap3']}{sign}{given['gap4']}{value}"
        if given["low"] is not None:
            low_sign, low = self._end(table, ">=" if given["open"] == "[" else ">", given["low"], number)
            high_sign, high = self._end(table, "<=" if given["close"] == "]" else "<", given["high"], number)
            opened, closed = "[" if low_sign == ">=" else "(", "]" if high_sign == "<=" else ")"
            text += f"{given['gap5']}{opened}{low}, {high}{closed}"
        return text

    def _end(self, table: GradingTable, sign: str, end: str | None, number: int) -> tuple[str, str]:
        """One end of an interval; an infinite one stays."""
        if end is not None and end.lstrip("+-")[:1] in ("i", "∞"):
            return sign, end
        return self._threshold(table, sign, end, number)

    @staticmethod
    def _threshold(table: GradingTable, sign: str, text: str | None, number: int) -> tuple[str, str]:
        try:
            return table.threshold(sign, float(text or ""))
        except DomainError as error:
            raise DomainError(f"Line {number}: {error}") from None

    def _decoded(self, code: str, current: Sequence[str], number: int) -> str:
        owners = self._owners.get(code, [])
        mine = [column for column in owners if column in current] or owners
        if len(mine) != 1:
            what = "belongs to several columns: name one before it" if mine else "is in no mapping of this entry"
            raise DomainError(f"Line {number} has a code that {what}.")
        return self._values[mine[0]][code]

    def _cell(self, column: str, cell: str, number: int) -> str:
        if column in self._graded and _is_number(cell):
            value = self._graded[column].value_text(float(cell))
            if value is None:
                raise DomainError(f"Line {number} has a number in column '{column}' that is no code of its grades.")
            return value
        if cell in self._values.get(column, ()):
            return self._values[column][cell]
        return self._line(cell, number)


def _plain(sign: str | None) -> str:
    return _PLAIN.get(sign or "", sign or "")


def _is_number(cell: str) -> bool:
    return re.fullmatch(_NUMBER, cell.strip()) is not None

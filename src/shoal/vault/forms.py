"""What analysts write behind a graded column: comparisons, chains, intervals, sets, ``between``; turned back whole.

A form is turned back only where it is read to its end. A number that stands in no form stays, and is reported by
:mod:`shoal.vault.interpret`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from shoal.errors import DomainError, ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable

NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
SIGN = r"<=|>=|=<|=>|<>|!=|==|~=|[<>=≤≥≠]"
# A comma before a digit may be a decimal comma: `age < 1,9` is not `age < 1`.
_LAST = r"(?!\w|[.,]\d|\s*[*/^+]\s*[\w(])"
_INSIDE = r"(?!\w|\.\d)"
_QUOTE = r"(?:\\?[\"'`]){0,2}"
_END = rf"[+-]?(?:inf(?:inity)?\b|∞)|{NUMBER}"
_SHUT = r"[\"'`\])_]*\s*"  # what may close a column's name, as in df["age"]
_PLAIN = {"==": "=", "<>": "!=", "~=": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "=<": "<=", "=>": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}

_BEFORE = re.compile(rf"(?<![\w.,])(?P<number>{NUMBER})(?P<gap>\s*)(?P<sign>{SIGN})(?P<rest>\s*)$")
_COMPARED = re.compile(rf"(?P<gap>{_SHUT})(?P<sign>{SIGN})(?P<rest>\s*{_QUOTE})(?P<number>{NUMBER}){_LAST}")
_MORE = re.compile(
    rf"(?:(?P<gap>\s*(?:\band\b|\bor\b|&&?|\|\|?|,)\s*)(?P<sign>{SIGN})(?P<rest>\s*)|(?P<or>\s*(?:\bor\b|\|\|?)\s*))"
    rf"(?P<number>{NUMBER}){_LAST}",
    re.I,
)
_INTERVAL = re.compile(
    rf"(?P<gap>{_SHUT}(?:(?:{SIGN}|\bnot\s+in\b|\bin\b|%in%|∈|:)\s*)?{_QUOTE})(?P<open>[\[(\]])\s*(?P<low>{_END})"
    rf"(?P<comma>\s*(?:,|;|\.\.+|:|\bto\b|-|–)\s*)(?P<high>{_END})\s*(?P<close>[\])\[])",
    re.I,
)
_SET = re.compile(
    rf"(?P<gap>{_SHUT}(?:=|==|\bnot\s+in\b|\bin\b|%in%|∈)\s*(?:c\s*\(|[\[({{])\s*)"
    rf"(?P<numbers>{NUMBER}(?:\s*[,;|]\s*{NUMBER})*){_INSIDE}(?=\s*[\])}}])",
    re.I,
)
_BETWEEN = re.compile(
    rf"(?P<gap>{_SHUT}(?:(?:is|lies)\s+)?(?:not\s+)?between\s+)(?P<low>{NUMBER})(?P<comma>\s+and\s+)"
    rf"(?P<high>{NUMBER}){_LAST}",
    re.I,
)
_FLAG = re.compile(rf"\s*(?:{SIGN})\s*[01](?:\.\d+)?{_LAST}")
_CALL = re.compile(r"(?<!\w)(?!(?:and|or|not|if|when|where)\()\w+\([\"'`]?$", re.I)
_SUM = re.compile(r"[\w)\]]\s*[*/+^-]\s*$")
Found = tuple[str, int]


def is_calculated(text: str, low: int, high: int) -> bool:
    """Whether a name is an argument (``log(age) < 1``) or a term (``2 * age < 3``): what follows is not about it."""
    return (_CALL.search(text[:low]) is not None and text[high : high + 1] == ")") or (
        _SUM.search(text[:low]) is not None
    )


def before_span(text: str) -> tuple[int, int]:
    """Where the number is that a text ends with a comparison of."""
    found = _BEFORE.search(text)
    return (0, 0) if found is None else found.span("number")


def behind_span(text: str, at: int) -> tuple[int, int]:
    """Where the first number behind a place is."""
    found = re.compile(NUMBER).search(text, at)
    return (at, at) if found is None else found.span()


def turned_before(table: GradingTable, text: str) -> Found | None:
    """The comparison that a text ends with, ``1.2 <=``, turned back, and where it begins."""
    found = _BEFORE.search(text)
    if found is None:
        return None
    sign, value = table.threshold(_MIRRORED[_plain(found["sign"])], float(found["number"]))
    return f"{value}{found['gap']}{_MIRRORED[sign]}{found['rest']}", found.start()


def turned_behind(table: GradingTable, text: str, at: int) -> Found | None:
    """The form that follows a column's name at a place in a text, turned back, and where it ends.

    Raises
    ------
    DomainError
        A form was read, and its number stands for no value of the column.
    """
    for form in (_interval, _set, _between, _compared):
        found = form(table, text, at)
        if found is not None:
            return found
    return None


def _compared(table: GradingTable, text: str, at: int) -> Found | None:
    found = _COMPARED.match(text, at)
    if found is None:
        return None
    sign, value = table.threshold(_plain(found["sign"]), float(found["number"]))
    made, end = f"{found['gap']}{sign}{found['rest']}{value}", found.end()
    while more := _MORE.match(text, end):
        # `age = 1.2 or 1.9` goes on with the sign it has; behind an inequality a bare number is something else.
        if more["sign"] is None and sign not in ("=", "!="):
            break
        following, value = table.threshold(_plain(more["sign"] or sign), float(more["number"]))
        made += (more["or"] or f"{more['gap']}{following}{more['rest']}") + value
        end = more.end()
    return made, end


def _interval(table: GradingTable, text: str, at: int) -> Found | None:
    found = _INTERVAL.match(text, at)
    if found is None:
        return None
    low_sign, low = _end(table, ">=" if found["open"] == "[" else ">", found["low"])
    high_sign, high = _end(table, "<=" if found["close"] == "]" else "<", found["high"])
    comma = ", " if "-" in found["comma"] and "-" in low.lstrip("-") + high else found["comma"]
    opened, closed = "[" if low_sign == ">=" else "(", "]" if high_sign == "<=" else ")"
    # Behind a name and an interval in one word stands what an indicator is compared with, 0 or 1.
    flag = _FLAG.match(text, found.end()) if re.fullmatch(r"[_\s]*", found["gap"]) else None
    made = f"{found['gap']}{opened}{low}{comma}{high}{closed}"
    return (made, found.end()) if flag is None else (made + flag[0], flag.end())


def _set(table: GradingTable, text: str, at: int) -> Found | None:
    found = _SET.match(text, at)
    if found is None:
        return None
    values = re.sub(NUMBER, lambda one: table.threshold("=", float(one[0]))[1], found["numbers"])
    return found["gap"] + values, found.end()


def _between(table: GradingTable, text: str, at: int) -> Found | None:
    found = _BETWEEN.match(text, at)
    if found is None:
        return None
    low_sign, low = table.threshold(">=", float(found["low"]))
    high_sign, high = table.threshold("<=", float(found["high"]))
    if (low_sign, high_sign) != (">=", "<="):
        raise DomainError(f"A range lies outside all grades of column '{table.column}'.")
    return f"{found['gap']}{low}{found['comma']}{high}", found.end()


def _end(table: GradingTable, sign: str, end: str) -> tuple[str, str]:
    """One end of an interval; an infinite one stays."""
    return (sign, end) if end.lstrip("+-")[:1].lower() in ("i", "∞") else table.threshold(sign, float(end))


def _plain(sign: str) -> str:
    return _PLAIN.get(sign, sign)


# ----------------------------------------
# What analysts call the columns of a release, and what they call its codes.


_JOINS = r"[\s._-]"


class Names:
    """Columns by what texts call them: by name, as the paper writes hidden ones, by alias; in any case.

    R writes ``H.age`` for ``H-age`` and ``marital.status`` for ``marital-status``, so that one join is as good as
    another, unless it tells two columns apart.
    """

    def __init__(self, columns: Sequence[str], aliases: Mapping[str, str]) -> None:
        for alias, column in aliases.items():
            if not re.search(r"\w", alias):
                raise ParameterError(f"An alias of column '{column}' has neither a letter nor a digit: change it.")
            if column not in columns:
                raise ParameterError(f"The alias '{alias}' names a column '{column}' that the entry does not have.")
        given = {name: column for column in columns for name in (f"H-{column}", f"hiding {column}")}
        self._exact = given | {column: column for column in columns} | dict(aliases)
        alike: dict[str, set[str]] = {}
        for name, column in self._exact.items():
            alike.setdefault(_alike(name), set()).add(column)
        self._alike = {name: min(owners) for name, owners in alike.items() if len(owners) == 1}
        longest = sorted(filter(None, self._exact), key=len, reverse=True)  # no name is found everywhere
        self.pattern = "|".join(_JOINS.join(map(re.escape, re.split(_JOINS, name))) for name in longest)

    def column(self, text: str) -> str | None:
        """The column that a text is a name of."""
        return self._exact.get(text) or self._alike.get(_alike(text))


class Codes:
    """The codes of the mapped columns, and what looks like one."""

    def __init__(self, mapped: Sequence[MappingTable]) -> None:
        self._values = {
            one.column: {code: value for value, code in one.reveal()["mapping"].items()} for one in mapped
        }
        self._owners: dict[str, list[str]] = {}
        for column, values in self._values.items():
            for code in values:
                self._owners.setdefault(code, []).append(column)
        self.pattern = looks_like(self._owners)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def owners(self, code: str) -> Sequence[str]:
        """The columns that have a code."""
        return self._owners.get(code, ())

    def value(self, column: str, code: str) -> str | None:
        """The value behind a code of a column."""
        return self._values[column].get(code)


def looks_like(codes: Iterable[str]) -> str:
    """A pattern for codes and what looks like them: ``illness_7`` and ``illness-7`` beside ``illness_3``.

    Codes that are mere numbers are left out: they are read only where a column is compared with them.
    """
    tails: dict[tuple[str, str], bool] = {}
    whole = []
    for code in codes:
        split = re.fullmatch(r"(.*\w)([-_.:])(\w+)", code, re.S)
        if split is not None:
            stem, join = split[1], split[2]
            tails[stem, join] = tails.get((stem, join), True) and split[3].isdecimal()
        elif not re.fullmatch(r"[\d.+-]+", code):
            whole.append(re.escape(code))
    for (stem, join), numbered in tails.items():
        whole.append(re.escape(stem) + (r"[._:-]?\d+" if numbered else re.escape(join) + r"\w+"))
    return "|".join(sorted(whole, key=lambda one: (-len(one), one))) or r"(?!)"


def _alike(text: str) -> str:
    return re.sub(_JOINS, "-", text).casefold()

"""Conditions in a text: comparisons, chains, intervals, sets, ``between``, and indicators such as ``sex_F > 0.5``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from shoal.vault.forms import NUMBER, Names, is_calculated
from shoal.vault.protocol.statements import SIGNS, Condition, Figure, Released

_SIGN = r"<=|>=|=<|<>|!=|==|~=|[<>=≤≥≠]"
_PLAIN = {"==": "=", "<>": "!=", "~=": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "=<": "<="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_SHUT = r"[\"'`\])_]*\s*"
_QUOTE = r"(?:\\?[\"'`]){0,2}"
_END = rf"[+-]?(?:inf(?:inity)?\b|∞)|{NUMBER}"
_LAST = r"(?!\w|[.,]\d|\s*[*/^+]\s*[\w(])"

_BEFORE = re.compile(rf"(?<![\w.,])(?P<number>{NUMBER})\s*(?P<sign>{_SIGN})\s*[\"'`]?$")
_COMPARED = re.compile(rf"{_SHUT}(?P<sign>{_SIGN})\s*(?P<quote>{_QUOTE})")
_NUMBER = re.compile(rf"(?P<number>{NUMBER}){_LAST}{_QUOTE}")
_MORE = re.compile(rf"\s*(?:\band\b|&&?|,)\s*(?P<sign>{_SIGN})\s*(?P<number>{NUMBER}){_LAST}", re.I)
_INTERVAL = re.compile(
    rf"{_SHUT}(?:(?:{_SIGN}|\bin\b|%in%|∈|:)\s*)?{_QUOTE}(?P<open>[\[(\]])\s*(?P<low>{_END})\s*(?:,|;|\.\.+|:|\bto\b|-|–)"
    rf"\s*(?P<high>{_END})\s*(?P<close>[\])\[]){_QUOTE}",
    re.I,
)
_SET = re.compile(
    rf"{_SHUT}(?P<not>\bnot\s+)?(?:=|==|\bin\b|%in%|∈)\s*(?:c\s*\(|[\[({{])(?P<many>[^\])}}]*)[\])}}]", re.I
)
# All but an interval, which would be two conditions of which one is enough.
_EXCLUDED = re.compile(rf"{_SHUT}not\s+in\s*[\[(\]]\s*(?:{_END})\s*[,;:–-]\s*(?:{_END})\s*[\])\[]", re.I)
_BETWEEN = re.compile(
    rf"{_SHUT}(?:(?:is|lies)\s+)?between\s+(?P<low>{NUMBER})\s+and\s+(?P<high>{NUMBER}){_LAST}", re.I
)
_COMPARE = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORD = re.compile(r"[^\s,;|&\"'`\\\])}:]+")
_FLAG = rf"\s*(?P<sign>{_SIGN})\s*(?P<number>[01](?:\.\d+)?)(?![\w.])"
_MOST = 5000  # values that a column may have to be told in one word with its name
_LONGEST = 100_000
LONGEST_LINE = 1_000


@dataclass
class Read:
    """Conditions of a piece of text, and what is left of it, blanks in the place of what was read."""

    conditions: list[Condition] = field(default_factory=list)
    rest: str = ""
    has_bar: bool = False
    """Whether a bar stands behind something, which is an alternative and no branch of a tree."""


@dataclass(frozen=True)
class Heading:
    """What cells below a name are: conditions, of a side of a rule or a column, or a figure, perhaps of a column."""

    kind: str
    column: str | None
    figure: str | None
    of: str | None


class _Texts:
    """The different values of a release's columns of texts, which may be very many: gathered once for all questions.

    Attributes
    ----------
    values
        Of coded columns, and of those that have few. Of others there are 8 bytes a value, to look texts up.
    """

    def __init__(self, released: Released) -> None:
        self.values: dict[str, frozenset[str]] = {}
        self._hashes: dict[str, np.ndarray] = {}
        self._lengths: dict[str, list[int]] = {}
        for name in (name for name in released.frame.columns if not released.is_number(name)):
            different = released.frame[name].drop_nulls().unique()
            self._lengths[name] = different.str.len_chars().unique().sort(descending=True).to_list()
            if name in released.coded or len(different) <= _MOST:
                self.values[name] = frozenset(different.to_list())
            else:
                self._hashes[name] = np.sort(np.fromiter(map(hash, different), np.int64, len(different)))
        self.flags = re.compile("|".join(self._flagged()) or r"(?!)", re.I)

    def has(self, column: str, text: str) -> bool:
        """Whether a text is a value of a column."""
        if column in self.values:
            return text in self.values[column]
        hashes, mine = self._hashes[column], hash(text)
        at = int(np.searchsorted(hashes, mine))
        return at < len(hashes) and bool(hashes[at] == mine)

    def longest(self, column: str, text: str, at: int) -> str | None:
        """The longest value of a column that stands at a place of a text."""
        parts = (text[at : at + length] for length in self._lengths[column] if at + length <= len(text))
        return next((part for part in parts if self.has(column, part)), None)

    def _flagged(self) -> Iterator[str]:
        """An indicator's name is that of a column and a value of it."""
        for name, values in self.values.items():
            if 0 < len(values) <= _MOST and sum(map(len, values)) <= _LONGEST:
                told = "|".join(map(re.escape, sorted(values, key=lambda one: (-len(one), one))))
                yield rf"(?<![\w-]){re.escape(name)}[_.:=-]?(?:{told})[\"'`]?{_named(_FLAG)}"


def _texts_of(released: Released) -> _Texts:
    """What was gathered of a release, for as long as it is at hand."""
    found = _known.get(released)
    if found is None:
        _known[released] = found = _Texts(released)
    return found


_known: WeakKeyDictionary[Released, _Texts] = WeakKeyDictionary()


class Conditions:
    """Reads conditions on the columns of a release.

    Parameters
    ----------
    aliases
        What texts call a column, to its name.

    Attributes
    ----------
    headings
        Of tables, by the names that they have had.
    """

    def __init__(self, released: Released, aliases: Mapping[str, str] | None = None) -> None:
        self._released = released
        self.names = Names(released.frame.columns, aliases or {})
        self.headings: dict[str, Heading] = {}
        self._texts = _texts_of(released)
        name = rf"(?<![\w-])(?P<quote>[\"'`]?)(?P<name>{self.names.pattern})(?P=quote)(?:(?![\w-]|\.\w)|(?=_[\[(]))"
        self._pattern = re.compile(name, re.I)

    def read(self, text: str) -> Read:
        """Everything in a text that is a condition; nothing in one that is longer than a line can be."""
        found, rest, at = Read(rest=text), list(text), 0
        if len(text) > LONGEST_LINE:
            return found
        while at < len(text):
            flag = self._texts.flags.search(text, at)
            name = self._pattern.search(text, at)
            if flag is not None and (name is None or flag.start() <= name.start()):
                condition = self._flag(flag[0])
                if condition is not None:
                    found.conditions.append(condition)
                    rest[flag.start() : flag.end()] = " " * len(flag[0])
                at = flag.end()
                continue
            if name is None:
                break
            at = name.end()
            column = self.names.column(name["name"])
            if column is None or is_calculated(text, name.start(), name.end()):
                continue
            made, low, high = self._form(column, text, name.start(), name.end())
            if made:
                found.conditions += made
                rest[low:high] = " " * (high - low)
                at = max(at, high)
        found.rest = "".join(rest)
        first = re.search(r"\w", text)
        found.has_bar = first is not None and "|" in found.rest[first.start() :]
        return found

    def columns_in(self, text: str) -> list[str]:
        """Columns that a text names."""
        named = (self.names.column(found["name"]) for found in self._pattern.finditer(text))
        return [name for name in named if name is not None]

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers."""
        return self._released.is_number(column)

    def is_value(self, column: str, text: str) -> bool:
        """Whether a column of texts has a value; every number may be one of a column of numbers."""
        if self.is_number(column):
            return re.fullmatch(NUMBER, text) is not None
        return self._texts.has(column, text)

    def codes(self, column: str) -> frozenset[str]:
        """Different codes of a mapped column."""
        return self._texts.values[column]

    def equal(self, column: str, text: str) -> Condition | None:
        """That a column has the value in a cell; None where a number is meant and is none."""
        text = text.strip().strip("\"'`")
        if not self._released.is_number(column):
            return Condition(column, "=", (text,))
        return Condition(column, "=", (float(text),)) if re.fullmatch(NUMBER, text) else None

    def _flag(self, text: str) -> Condition | None:
        """``sex_F <= 0.5`` is that the sex is not F."""
        parts = re.search(rf"[\"'`]?{_FLAG}$", text)
        assert parts is not None
        told = text[: parts.start()]
        for name, values in self._texts.values.items():
            value = re.sub(r"^[_.:=-]", "", told[len(name) :]) if told.lower().startswith(name.lower()) else None
            bare = told[len(name) :] if value is not None else None
            for one in (value, bare):
                if one in values:
                    sign, number = _plain(parts["sign"]), float(parts["number"])
                    yes, no = _COMPARE[sign](1.0, number), _COMPARE[sign](0.0, number)
                    return None if yes == no else Condition(name, "=" if yes else "!=", (str(one),))
        return None

    def _form(self, column: str, text: str, low: int, high: int) -> tuple[list[Condition], int, int]:
        """The conditions around a name, and from where to where they stand."""
        if not self._released.is_number(column):
            return self._text_form(column, text, low, high)
        made: list[Condition] = []
        before = _BEFORE.search(text[:low])
        start = low
        if before is not None:
            made.append(_compared(column, _MIRRORED[_plain(before["sign"])], before["number"]))
            start = before.start()
        if found := _INTERVAL.match(text, high):
            ends = [(">=" if found["open"] == "[" else ">", found["low"])]
            ends.append(("<=" if found["close"] == "]" else "<", found["high"]))
            made += [_compared(column, sign, end) for sign, end in ends if re.fullmatch(NUMBER, end)]
            return made, start, found.end()
        if _EXCLUDED.match(text, high):
            return [], low, high
        if found := _SET.match(text, high):
            numbers = [one.strip().strip("\"'") for one in re.split(r"[,;|]", found["many"])]
            if all(re.fullmatch(NUMBER, one) for one in numbers):
                made.append(Condition(column, "!=" if found["not"] else "=", tuple(map(float, numbers))))
                return made, start, found.end()
        if found := _BETWEEN.match(text, high):
            made += [_compared(column, ">=", found["low"]), _compared(column, "<=", found["high"])]
            return made, start, found.end()
        found, number = _COMPARED.match(text, high), None
        if found is not None and (number := _NUMBER.match(text, found.end())):
            made.append(_compared(column, _plain(found["sign"]), number["number"]))
            end = number.end()
            while more := _MORE.match(text, end):
                made.append(_compared(column, _plain(more["sign"]), more["number"]))
                end = more.end()
            return made, start, end
        return made, start, high

    def _text_form(self, column: str, text: str, low: int, high: int) -> tuple[list[Condition], int, int]:
        if found := _SET.match(text, high):
            values = tuple(one.strip().strip("\"'`") for one in re.split(r"[,;|]", found["many"]) if one.strip())
            if values:
                return [Condition(column, "!=" if found["not"] else "=", values)], low, found.end()
        found = _COMPARED.match(text, high)
        if found is None or _plain(found["sign"]) not in ("=", "!="):
            return [], low, high
        at = found.end()
        value = self._texts.longest(column, text, at)
        if value is None or re.match(r"[\w-]|\.\w", text[at + len(value) : at + len(value) + 2]):
            word = _WORD.match(text, at)  # no value of the column: nothing will be counted
            if word is None:
                return [], low, high
            value = word[0]
        end = at + len(value)
        quote = re.match(_QUOTE, text[end:]) if found["quote"] else None
        end += 0 if quote is None else quote.end()
        return [Condition(column, _plain(found["sign"]), (value,))], low, end


def opposite(condition: Condition) -> Condition:
    """The condition that all other rows meet."""
    return Condition(condition.column, SIGNS[condition.sign], condition.values)


def _compared(column: str, sign: str, number: str) -> Condition:
    return Condition(column, sign, (float(number),))


def _plain(sign: str) -> str:
    return _PLAIN.get(sign, sign)


def _named(pattern: str) -> str:
    """A pattern without names, so that it can stand several times in another."""
    return re.sub(r"\?P<\w+>", "?:", pattern)


# ----------------------------------------
# Figures that stand beside a rule: counts, support, confidence, lift, as Weka, scikit-learn and R write them.


_NAMES = {
    "rows": ("n", "count", "counts", "rows", "records", "instances", "size", "supported", "samples"),
    "covered": ("covered", "covers"),
    "right": ("right", "correct", "hits"),
    "wrong": ("wrong", "errors", "misclassified", "loss"),
    "support": ("support", "supp", "sup"),
    "coverage": ("coverage",),
    "confidence": ("confidence", "conf", "accuracy", "precision", "probability", "prob"),
    "error": ("error", "err"),
    "lift": ("lift",),
}
_SHARES = ("support", "coverage", "confidence", "lift")
_CALLED = {word: name for name, words in _NAMES.items() for word in words}
_WORDS = "|".join(sorted(_CALLED, key=len, reverse=True))
_NAMED = re.compile(
    rf"<?(?<![\w.])(?P<name>{_WORDS})\b\s*(?:[:=]|\bis\b|\bof\b)?\s*\(?\s*(?P<number>{NUMBER})\s*(?P<percent>%)?\s*\)?>?",
    re.I,
)
# Behind a leaf or a rule of Weka's: rows that it covers, and those of them that it is wrong about.
_LEAF = re.compile(r"\(\s*(?P<covered>\d+(?:\.\d+)?)(?:/(?P<wrong>\d+(?:\.\d+)?))?\s*\)\s*$")
_NUMBERS = re.compile(rf"\[?(?<![\w.])({NUMBER})(?![\w.%])\]?")


def called(word: str) -> str | None:
    """What a word means, such as ``conf`` confidence; None where it is no figure's name."""
    return _CALLED.get(word.strip().lower())


def figure(name: str, text: str, column: str | None = None) -> Figure:
    """A figure as it is written: it may be off by half of its last digit, within reason; infinite is no figure."""
    percent = text.strip().endswith("%")
    text = text.strip().rstrip("% ")
    number = float(text)
    if not math.isfinite(number):  # 1e400, which is near to anything
        return Figure("confidence" if name == "error" else name, math.nan, 0.0, column)
    mantissa, _, power = text.lower().partition("e")
    slack = 0.5 * 10.0 ** (max(-300, min(300, int(power[:6] or 0))) - len(mantissa.partition(".")[2]))
    if percent:
        number, slack = number / 100.0, slack / 100.0
    if name == "error":
        name, number = "confidence", 1.0 - number
    elif name == "support" and number > 1.0:
        name = "rows"
    # Written as 0, 1 or 0e9 it is still no figure that any number of rows would bear out.
    widest = 0.05 * max(1.0, abs(number)) if name == "mean" else 0.05 if name in _SHARES else 0.5
    return Figure(name, number, min(slack, widest) + 1e-9 * max(1.0, abs(number)), column)


def named_figures(text: str) -> tuple[list[Figure], str]:
    """Figures with their names (``support = 0.3``, ``<conf:(0.83)>``, ``n = 12``), and what is left of the text."""
    found = [
        figure(_CALLED[one["name"].lower()], one["number"] + (one["percent"] or "")) for one in _NAMED.finditer(text)
    ]
    return found, _NAMED.sub(lambda one: " " * len(one[0]), text)


def leaf_figures(text: str) -> tuple[list[Figure], str]:
    """``(120.0/3.0)`` at the end of a text, and what is left of it."""
    found = _LEAF.search(text)
    if found is None:
        return [], text
    made = [figure("covered", found["covered"])]
    if found["wrong"] is not None:
        made.append(figure("wrong", found["wrong"]))
    return made, text[: found.start()]


def listed_figures(text: str, names: list[str]) -> tuple[list[Figure], str]:
    """Bare numbers in the order of a header, as arules prints them: support, confidence, coverage, lift, count."""
    numbers = [one[1] for one in _NUMBERS.finditer(text)]
    if not names:
        by_length = {3: "support confidence lift", 4: "support confidence lift rows", 2: "support confidence"}
        names = by_length.get(len(numbers), "support confidence coverage lift rows").split()
    if not numbers or len(numbers) > len(names):
        return [], text
    return [figure(name, one) for name, one in zip(names, numbers, strict=False)], _NUMBERS.sub(" ", text)

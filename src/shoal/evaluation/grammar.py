r"""Count queries in words.

::

    query      := condition ("and" condition)*
    condition  := column "=" value
                | column "in" "{" value ("," value)* "}"
                | column "in" "[" value "," value "]"          both ends included; numbers, dates and ordered values

Columns and values stand bare, or in single or double quotes where they hold spaces or one of ``= { } [ ] , " ' \ #``;
within quotes a backslash escapes. A label of a column's hierarchy stands for all values below it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np

from shoal.data.hierarchy import MISSING
from shoal.data.values import format_number
from shoal.errors import InputError
from shoal.evaluation.queries import Condition, Query, known_feature
from shoal.evaluation.view import Feature, Reading
from shoal.params import nearest

_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[={}\[\],])|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s={}\[\],"'\\#]+))"""
)
_EPOCH = date(1970, 1, 1).toordinal()
_END = ("end", "the end")


def parse_queries(lines: Sequence[str], reading: Reading) -> list[Query]:
    """Every query of a file; an error names its line."""
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse_query(line, reading))
        except InputError as error:
            raise InputError(f"Query {number}: {error}") from None
    if not found:
        raise InputError("There is no query: write one a line, such as 'age in [30, 40] and sex = Female'.")
    return found


def parse_query(text: str, reading: Reading) -> Query:
    """Read one query and hold its columns and values against a release.

    Raises
    ------
    InputError
        When it does not follow the grammar, or names a column or value that there is not.
    """
    tokens = _tokens(text)
    conditions: list[Condition] = []
    while True:
        conditions.append(_condition(tokens, reading))
        word = tokens.pop(0)
        if word == _END:
            break
        if word[0] != "bare" or word[1].lower() != "and":
            raise InputError(f"'{word[1]}' stands where 'and' or the end was expected.")
    names = [one.column for one in conditions]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Column '{name}' has two conditions: join them into one.")
    return Query(tuple(conditions))


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(
                f"Its character {at + 1} cannot be read: put names and values with special characters in quotes."
            )
        kind = str(match.lastgroup)
        value = match[kind]
        found.append((kind, re.sub(r"\\(.)", r"\1", value) if kind in ("double", "single") else value))
        at = match.end()
    return [*found, _END]


def _condition(tokens: list[tuple[str, str]], reading: Reading) -> Condition:
    feature = known_feature(reading, _word(tokens, "a column"))
    kind, text = tokens.pop(0)
    if (kind, text) == ("mark", "="):
        return Condition(feature.name, _values(feature, _word(tokens, "a value")))
    if kind != "bare" or text.lower() != "in":
        raise InputError(f"After column '{feature.name}' there has to be '=' or 'in'.")
    opening = tokens.pop(0)
    if opening == ("mark", "["):
        low = _word(tokens, "a lowest value")
        _mark(tokens, ",")
        high = _word(tokens, "a highest value")
        _mark(tokens, "]")
        return _interval(feature, low, high)
    if opening != ("mark", "{"):
        raise InputError(f"After '{feature.name} in' there has to be a list {{a, b}} or an interval [lo, hi].")
    listed = [*_values(feature, _word(tokens, "a value"))]
    while tokens[0] == ("mark", ","):
        tokens.pop(0)
        listed += _values(feature, _word(tokens, "a value"))
    _mark(tokens, "}")
    return Condition(feature.name, tuple(dict.fromkeys(listed)))


def _word(tokens: list[tuple[str, str]], what: str) -> str:
    kind, text = tokens.pop(0)
    if kind in ("mark", "end"):
        raise InputError(f"{'It ends' if kind == 'end' else repr(text) + ' stands'} where {what} was expected.")
    return text


def _mark(tokens: list[tuple[str, str]], mark: str) -> None:
    kind, text = tokens.pop(0)
    if (kind, text) != ("mark", mark):
        raise InputError(f"{'It ends' if kind == 'end' else repr(text) + ' stands'} where '{mark}' was expected.")


def _values(feature: Feature, text: str) -> tuple[str, ...]:
    """The values that a text stands for: itself, or all below a label of the hierarchy."""
    for one in (text, _canonical(feature, text)):
        if one in feature.place:
            return (one,)
    tree = feature.hierarchy
    if tree is not None:
        for labels, nodes in zip(tree.labels, tree.ancestors, strict=True):
            if text in labels:
                below = np.flatnonzero(nodes == labels.index(text))
                return tuple(tree.labels[0][leaf] for leaf in below if tree.labels[0][leaf] != MISSING)
    # A domain of sensitive values is nobody's business; those of quasi-identifiers may be named.
    near = nearest(text, feature.values) if feature.role == "quasi" else None
    raise InputError(f"Column '{feature.name}' has no value '{text}'." + (f" Did you mean '{near}'?" if near else ""))


def _canonical(feature: Feature, text: str) -> str:
    if feature.type != "numeric":
        return text
    try:
        return format_number(float(text))
    except (ValueError, OverflowError, InputError):
        return text


def _interval(feature: Feature, low: str, high: str) -> Condition:
    if feature.numbers is not None:
        ends = [as_number(feature, end) for end in (low, high)]
        if ends[0] > ends[1]:
            raise InputError(f"The interval of column '{feature.name}' is upside down: give the lowest value first.")
        return Condition(feature.name, low=low, high=high)
    if feature.type != "ordinal":
        raise InputError(f"Column '{feature.name}' has no order: list its values as {{a, b}}.")
    first, last = (feature.place[_values(feature, end)[0]] for end in (low, high))
    if first > last:
        raise InputError(f"The interval of column '{feature.name}' is upside down: give the lowest value first.")
    return Condition(feature.name, tuple(feature.values[first : last + 1]))


def as_number(feature: Feature, text: str) -> float:
    """An end of an interval as a number, days for dates."""
    what = "a date such as 2024-03-31" if feature.type == "date" else "a number"
    try:
        if feature.type == "date":
            return float(date.fromisoformat(text).toordinal() - _EPOCH)
        number = float(text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"An end of the interval of column '{feature.name}' is not {what}.")
    return number

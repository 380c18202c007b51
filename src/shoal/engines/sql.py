"""The SQL of engines that count elsewhere: whole numbers are grouped and joined, and no value stands in a text.

The rows of a source are a relation ``coded``: ``r`` numbers them, ``c0``, ``c1``, ... are the codes of its columns,
``s`` is whose row it is. Classes are a relation ``classes``: by row (``r``) or by combination of quasi-identifier codes
(``k0``, ``k1``, ..., in mixed radix), and ``g``, the class. All of it is plain enough for DuckDB, PostgreSQL and Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.data.domain import Packing


def code(place: int) -> str:
    """The codes of a column."""
    return f"c{place}"


def packed(packing: Packing, places: Sequence[int]) -> dict[str, str]:
    """Name and expression of every word of some columns."""
    found = {}
    for number, word in enumerate(packing.words):
        text = "CAST(0 AS BIGINT)"
        for at in word:
            text = f"({text} * {max(packing.cards[at], 1)} + {code(places[at])})"
        found[f"k{number}"] = text
    return found


def counted(
    keys: dict[str, str], *, source: str = "coded", people: bool = False, where: str = "", most: int | None = None
) -> str:
    """Rows, and people where they count, of every combination of some expressions, or of so many of them."""
    listed = "".join(f"{text} AS {name}, " for name, text in keys.items())
    who = ", count(DISTINCT s) AS p" if people else ""
    # By the expressions themselves: not every database knows places in a list, or names, there.
    by = f" GROUP BY {', '.join(keys.values())}" if keys else ""
    limit = "" if most is None else f" LIMIT {most}"
    return f"SELECT {listed}count(*) AS n{who} FROM {source}{where}{by}{limit}"


def in_classes(words: dict[str, str] | None, *, some_gone: bool = False) -> str:
    """The rows beside their classes, which are given by row or by the words of their codes.

    Rows that are listed in ``gone`` are left out, if some are.
    """
    if words is None:
        return "coded JOIN classes ON coded.r = classes.r"
    on = " AND ".join(f"{text} = classes.{name}" for name, text in words.items())
    if some_gone:
        left = "SELECT coded.* FROM coded LEFT JOIN gone ON coded.r = gone.r WHERE gone.r IS NULL"
        return f"({left}) coded JOIN classes ON {on}"
    return f"coded JOIN classes ON {on}"


def in_several(group: str, source: str, codes: Sequence[str], where: str) -> str:
    """The classes of people who are in several of them; a person is numbered, ``p``, by the first of their rows.

    People are left out whose rows differ in some codes, among the rows that a condition is true of.
    """
    differ = " OR ".join(f"min({code}) < max({code})" for code in codes)
    changing = f"SELECT s FROM {source}{where} GROUP BY s HAVING {differ}"
    pairs = f"SELECT s, {group} AS g, min(coded.r) AS r FROM {source} GROUP BY s, {group}"
    counts = "min(r) OVER (PARTITION BY s) AS p, count(*) OVER (PARTITION BY s) AS n"
    each = f"(SELECT s, g, {counts} FROM ({pairs}) u) w"
    return f"SELECT p, g FROM {each} LEFT JOIN ({changing}) x ON w.s = x.s WHERE n > 1 AND x.s IS NULL"


def rows_beside(rows: str) -> str:
    """All rows of the people who have rows that a relation lists."""
    people = f"SELECT s FROM coded JOIN {rows} ON coded.r = {rows}.r"
    return f"SELECT coded.r AS r FROM coded JOIN ({people}) u ON coded.s = u.s"


def known(place_codes: dict[str, Sequence[int]]) -> str:
    """Rows whose codes are none of those that count as unknown."""
    parts = [f"{name} NOT IN ({', '.join(map(str, codes))})" for name, codes in place_codes.items() if len(codes)]
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def extremes(places: Sequence[int], where: str) -> str:
    """Lowest and highest codes of some columns."""
    listed = ", ".join(f"min({code(at)}) AS l{at}, max({code(at)}) AS h{at}" for at in places)
    return f"SELECT {listed} FROM coded{where}"


def within(places: Sequence[int], low: Iterable[int], high: Iterable[int]) -> str:
    """Rows whose codes lie within bounds, both ends among them."""
    parts = [f"{code(at)} BETWEEN {int(a)} AND {int(b)}" for at, a, b in zip(places, low, high, strict=True)]
    return f" WHERE {' AND '.join(parts)}"


def between(text: str, low: int, high: int) -> str:
    """Rows for which an expression lies within bounds, both ends among them."""
    return f" WHERE {text} BETWEEN {int(low)} AND {int(high)}"


def combinations(keys: dict[str, str]) -> str:
    """How many combinations of some expressions there are."""
    listed = ", ".join(f"{text} AS {name}" for name, text in keys.items())
    return f"SELECT count(*) AS n FROM (SELECT DISTINCT {listed} FROM coded) t"


def about(keys: dict[str, str]) -> str:
    """About how many combinations of some expressions there are, by a sketch of a few hundred bytes; no PostgreSQL."""
    return f"SELECT approx_count_distinct(({', '.join(keys.values())})) AS n FROM coded"


def alone(columns: Sequence[str], *, people: bool = False) -> str:
    """How many rows no other row equals on some columns, or how many people have rows that nobody else's equals."""
    by = ", ".join(columns)
    if people:
        owned = f"SELECT min(s) AS one, max(s) AS other FROM coded GROUP BY {by}"
        return f"SELECT count(DISTINCT t.one) AS n FROM ({owned}) t WHERE t.one = t.other"
    return f"SELECT count(*) AS n FROM (SELECT count(*) AS n FROM coded GROUP BY {by}) t WHERE t.n = 1"

"""What analysts call the columns of a release, and what they call its codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from shoal.errors import ParameterError
from shoal.recoding.secrets import MappingTable

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

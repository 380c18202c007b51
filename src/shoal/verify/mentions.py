"""Every text and number of a public file, with where it stands: in a column's description, or in our own sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

_WORD = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
# Figures about the release that anybody can count again, by where they stand; "#" is any place of a list.
_FIGURES = re.compile(
    r"manifest|data(/sensitive)?/rows|classes/(count|smallest)|verdicts/#/(value|limit)|redraw|counterfeits|"
    r"measured/#/(value|interval/#|baseline)|columns/#/(days|p|stay|noise)|sample/share"
)
# Texts of ours, by where they stand; all others are judged without regard to our words.
_TEXTS = re.compile(
    r"shoal|kind|made|source|statement|not_protected/#|data/.*|report/.*|suppressed|order|group|publication|leftovers|"
    r"perturbation|acknowledged/#|classes/digest/[^/]*|models/#/.*|verdicts/#/.*|measured/#/(name|sentence)|"
    r"quasi_sets/#/#|across_classes/#(/#)?|sample/of|columns/#/(name|role|type|cells|several|coded|null|columns/#|prepared/#)"
)
_SENTENCE = re.compile(r"measured/#/sentence")
_NAMES = """
shoal manifest kind made source statement not_protected data report suppressed order people columns models verdicts
classes date acknowledged measured redraw group publication leftovers counterfeits file sha256 rows format sensitive
copies formulas name role type cells coded days answers null hierarchy whole builder domain policy part non_answers
count smallest digest model on holds by value limit vouched_by interval baseline sentence quasi intervals sets each
nodes level else prefix mask widths origin dates quantiles edges k l c t alpha p e v eps m u default relative distance
guard_level reference review several prepared quasi_sets across_classes perturbation stay noise sample of share
stratified
"""
_KEYS = frozenset(_NAMES.split())
_SHORT = 4


@dataclass(frozen=True, eq=False)
class Described:
    """A column as the manifest describes it, as far as its cells are found by it."""

    name: str
    type: str
    files: tuple[str, ...]
    mark: str | None = None


@dataclass(frozen=True, eq=False)
class Mention:
    """A text that stands in a public file.

    Attributes
    ----------
    column
        The column that it describes, None elsewhere.
    loose
        Whether it stands where nothing of ours does, so that our words are no excuse.
    numbers
        Numbers that may stand there; all short ones where it is None.
    given
        Whether the recipe gave it.
    """

    file: str
    text: str
    column: Described | None
    loose: bool = False
    numbers: Collection[str] | None = frozenset()
    given: bool = False

    def judges(self, words: str, ours: Collection[str]) -> bool:
        """Whether these words, which are a value's, may not stand here."""
        if self.given:
            return False
        if self.column is not None:  # its own values are looked for there as a whole
            return self.loose
        if len(words) < 2 and not words.isdigit():
            return False
        if self.loose:
            return True
        if _NUMBER.fullmatch(words):
            short = len(re.sub(r"[.,]", "", words)) <= _SHORT
            return not short if self.numbers is None else words not in self.numbers and words not in ours
        return not all(word in ours for word in words.split())


def phrase(text: str) -> str:
    """The words of a text in small letters."""
    return " ".join(_WORD.findall(text.lower()))


def phrases(text: str, longest: int) -> set[str]:
    """Every run of up to so many words."""
    words = _WORD.findall(text.lower())
    return {" ".join(words[at : at + size]) for size in range(1, longest + 1) for at in range(len(words) - size + 1)}


def manifest_mentions(data: bytes) -> list[Mention]:
    """Every key, text and number of a manifest; of entries that stand there twice, both."""
    spare: list[Any] = []

    def pairs(given: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in given:
            if key in found:
                spare.append(found[key])
            found[key] = value
        return found

    manifest = json.loads(data, object_pairs_hook=pairs)
    file = "manifest.json"
    columns = [
        Described(
            entry["name"], entry["type"], tuple(entry.get("columns", [entry["name"]])),
            entry.get("several") if entry.get("cells") == "items" else None,
        )  # fmt: skip
        for entry in manifest["columns"]
    ]
    found = [_mention(file, path, value, columns) for path, value in _walk(manifest, ())]
    # Names of columns that nothing is said about beyond their types still tell how their values are read.
    found += [Mention(file, "", column) for column in columns]
    found += [Mention(file, str(value), None, loose=True) for one in spare for _, value in _walk(one, ())]
    return [one for one in found if one is not None]


def _mention(file: str, path: tuple[Any, ...], value: Any, columns: Sequence[Described]) -> Mention | None:
    place = "/".join("#" if isinstance(part, int) else part for part in path)
    number = isinstance(value, int | float)
    if (number and _FIGURES.fullmatch(place)) or isinstance(value, bool) or value is None:
        return None
    text = str(value)
    if place == "date" or path[0] == "review":  # the recipe's, whoever has it too
        return Mention(file, text, None, given=True)
    if _TEXTS.fullmatch(place):
        return Mention(file, text, None, numbers=None if _SENTENCE.fullmatch(place) else frozenset())
    if path[0] == "columns":
        return Mention(file, text, columns[path[1]], loose=path[2] not in _KEYS)
    return Mention(file, text, None, loose=True)


def _walk(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Leaves with their paths; an unknown key is a text of its own."""
    if isinstance(value, dict):
        for key, entry in value.items():
            if key not in _KEYS:
                yield (*path, "?"), key
            yield from _walk(entry, (*path, key))
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            yield from _walk(entry, (*path, at))
    else:
        yield path, value


def figures(data: bytes) -> set[str]:
    """Every number of a manifest in the ways that a page may write it."""
    found = set()
    for _, number in _walk(json.loads(data), ()):
        if isinstance(number, int | float) and not isinstance(number, bool):
            found.update({str(number), f"{number:,}", f"{number:g}", f"{number:.6g}", f"{number * 100:.1f}"})
    # A very small one is written with an exponent, which reads as a number of its own.
    exponents = {text.split("e")[1].lstrip("+-") for text in found if "e" in text}
    return {text.lstrip("-").removesuffix(".0") for text in found} | found | exponents


def page_mentions(page: str, numbers: Collection[str]) -> list[Mention]:
    """Texts, tags, scripts, comments and declarations of a page of HTML, on which these numbers may stand."""
    reader = _Page(numbers)
    reader.feed(page)
    reader.close()
    return reader.found


class _Page(HTMLParser):
    def __init__(self, numbers: Collection[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Mention] = []
        self.numbers = numbers

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag)
        for name, value in attrs:
            self._add(name)
            self._add(value or "")

    def handle_endtag(self, tag: str) -> None:
        self._add(tag)

    def handle_decl(self, decl: str) -> None:
        self._add(decl)

    def handle_comment(self, data: str) -> None:
        self._add(data, loose=True)

    handle_pi = handle_comment
    unknown_decl = handle_comment

    def _add(self, text: str, loose: bool = False) -> None:
        if text.strip():
            self.found.append(Mention("report.html", text, None, loose=loose, numbers=self.numbers))

"""Submitted results as statements, whatever form they are in."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shoal.errors import InputError
from shoal.params import choice
from shoal.vault.forms import NUMBER, looks_like
from shoal.vault.interpret import Left, Range, loose_numbers
from shoal.vault.protocol.conditions import LONGEST_LINE, Conditions
from shoal.vault.protocol.rules_trees import Sheet, read_rules, read_tree, target_of, tree_form, with_label
from shoal.vault.protocol.statements import GRADING, MAPPING, Condition, Figure, Released, Statement
from shoal.vault.protocol.tables import read_centres, read_csv, read_json

# ----------------------------------------
# Codes of a submission that stand in no statement: each is listed, so that none vanishes.


_NO_STATEMENT = "stands in no statement that was read, and is no part of the answer"
_SHORT = 4  # codes of fewer letters are parts of many words
_EDGE = 50  # letters that a word may have which is whole in every part of a piece
_MANY = 500  # codes above which only those are looked for that a text has


def unread(sheet: Sheet, released: Released, reader: Conditions) -> list[Left]:
    """Codes in pieces of a submission that no statement holds and that are not listed yet."""
    text = "\n".join(line for _, line in sheet.pieces)
    codes = _Codes(released, reader, text)
    stated: set[Condition | str] = set(sheet.labels.values())
    for one in sheet.statements:
        stated.update((*one.everything(), *one.coordinates()))
    listed: dict[int, str] = {}
    for left in sheet.left:
        listed[left.line] = f"{listed.get(left.line, '')}\n{left.text}"
    found: list[Left] = []
    for number, line in sheet.pieces:
        took = sheet.took.get(number, [])
        is_read = bool(took) and all(one in stated for one in took)
        known = {str(value) for one in took if one in stated for value in _spelt(one)}
        beside = None if is_read else stated
        places = [(start + at, text) for start, part in _parts(line) for at, text in codes.within(part, beside)]
        first = {text: at for at, text in reversed(places) if text not in known}
        new = [(at, text) for text, at in first.items() if not _has(listed.get(number, ""), text)]
        found += [Left(number, at + 1, text, _NO_STATEMENT) for at, text in sorted(new)]
    return found


class _Codes:
    """Where codes of mapped columns, and what looks like them, stand in a line."""

    def __init__(self, released: Released, reader: Conditions, text: str) -> None:
        mapped = [name for name, kind in released.coded.items() if kind == MAPPING]
        codes = frozenset[str]().union(*map(reader.codes, mapped))
        if len(codes) > _MANY:
            codes = _present(codes, text)
        self._numbers = {code for code in codes if re.fullmatch(r"[\d.+-]+", code)}
        self._pattern = re.compile(looks_like(codes), re.I)
        self._graded = {name for name, kind in released.coded.items() if kind == GRADING}
        self._reader, self._ranges = reader, _ranges(released)

    def within(self, line: str, stated: Container[Condition | str] | None) -> Iterator[tuple[int, str]]:
        """Codes with their places; numbers where figures are not meant: in what holds no statement, beside those."""
        for found in self._pattern.finditer(line):
            low, high = found.span()
            alone = not (line[low - 1 : low].isalnum() or line[high : high + 1].isalnum())
            if alone or high - low >= _SHORT:
                yield low, found[0]
        if stated is None:
            return
        for found in re.finditer(r"(?<![\w.])[\d.+-]*\d(?![\w.])", line) if self._numbers else ():
            if found[0] in self._numbers:
                yield found.start(), found[0]
        made = self._reader.read(line)
        yield from ((0, str(one)) for one in made.conditions if one.column in self._graded and one not in stated)
        yield from ((low, line[low:high]) for low, high in loose_numbers(made.rest, self._ranges, read=True))


def _parts(piece: str) -> Iterator[tuple[int, str]]:
    """A piece in parts as long as a line can be, with their places: patterns that look beside them stay quick.

    They overlap, and end at blanks where there are some, so that every word is whole in one of them.
    """
    for start in range(0, max(len(piece) - 4 * _EDGE, 1), LONGEST_LINE - 4 * _EDGE):
        low, high = start, min(start + LONGEST_LINE, len(piece))
        if start > 0:
            low = piece.find(" ", start, start + _EDGE) + 1 or start
        if high < len(piece):
            high = piece.rfind(" ", high - _EDGE, high) + 1 or high
        yield low, piece[low:high]


def _present(codes: frozenset[str], text: str) -> frozenset[str]:
    """Codes that a text has: of each length all pieces of it are looked up, however many codes there are."""
    lengths = {*map(len, codes)}
    pieces = (text[at : at + length] for length in lengths for at in range(len(text) - length + 1))
    return frozenset(piece for piece in pieces if piece in codes)


def _has(listed: str, text: str) -> bool:
    """Whether a text stands in another as a word, and not as a part of a longer code or number."""
    at = listed.find(text)
    while at >= 0:
        before, behind = listed[max(at - 1, 0) : at], listed[at + len(text) : at + len(text) + 2]
        if not (before.isalnum() or before == "." or re.match(r"[^\W_]|\.\d", behind)):
            return True
        at = listed.find(text, at + 1)
    return False


def _spelt(one: Condition | str) -> tuple[float | str, ...]:
    """What a label or condition is made of; a column can be called like a code."""
    return (one,) if isinstance(one, str) else (one.column, *one.values)


def _ranges(released: Released) -> list[Range]:
    """From the lowest to the highest code of every graded column."""
    cells = [released.frame[name].drop_nulls() for name, kind in released.coded.items() if kind == GRADING]
    return [(float(one.min()), float(one.max())) for one in cells if len(one)]  # type: ignore[arg-type]


FORMS = ("auto", "text", "tree", "rules", "csv", "json")
LONGEST = 200_000
_ALIASES, _ALIAS = 500, 200
_BLANKS = re.compile(r"(?<=\S)[ \t]{17,}")


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Results as a researcher hands them in.

    Attributes
    ----------
    form
        ``auto`` looks; ``text`` is a tree or rules, and centres as Weka prints them.
    target
        The column that conclusions without one are about, such as the classes of a tree.
    aliases
        What the text calls a column, to its name, such as ``{"feature_0": "age"}``.
    """

    text: str
    form: str = "auto"
    target: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Readings:
    """Statements of a submission, and what could not be read."""

    statements: Sequence[Statement]
    left: Sequence[Left]


def read_results(given: Submission, released: Released) -> Readings:
    """All statements of a submission, conclusions with their columns, no condition twice.

    Raises
    ------
    InputError
        It is too long, cannot be read in its form, or nobody can tell which column its classes are of.
    """
    if len(given.text) > LONGEST:
        raise InputError(f"The results have more than {LONGEST:,} characters: submit fewer at a time.")
    form = choice("results", "form", given.form, FORMS)
    if len(given.aliases) > _ALIASES or max(map(len, given.aliases), default=0) > _ALIAS:
        raise InputError(f"There may be {_ALIASES} aliases of up to {_ALIAS} characters: give fewer or shorter ones.")
    reader = Conditions(released, given.aliases)
    text, long = _readable(given.text)
    target = given.target
    stripped = given.text.lstrip("\ufeff \t\r\n")
    if form == "json" or (form == "auto" and stripped[:1] in ("{", "[") and _looks_json(stripped)):
        sheet, told = read_json(stripped, reader)
        target = target or told
    elif form == "csv" or (form == "auto" and _looks_csv(stripped, reader)):
        sheet = read_csv(stripped, reader)
    else:
        centres, text = read_centres(text, reader) if form in ("auto", "text") else (Sheet(), text)
        if form == "tree" or (form != "rules" and tree_form(text) is not None):
            sheet, target = read_tree(text, reader), target or target_of(text)
        else:
            sheet = read_rules(text, reader)
        sheet.add(centres)
        sheet.left += long
    missed = unread(sheet, released, reader)
    statements = _concluded(sheet, target, reader, released)
    sheet.left += missed
    return Readings([replace(one, conditions=_tightest(one.conditions)) for one in statements], sheet.left)


def _readable(text: str) -> tuple[str, list[Left]]:
    """A text without lines that nobody would write, which might take long to read, and these lines.

    Words that mean nothing stand for them, so that nothing is read as if it had been whole without.
    """
    lines = [_BLANKS.sub(" " * 16, line.rstrip()) for line in text.splitlines()]
    why = f"has more than {LONGEST_LINE:,} characters, and was not read"
    long = [Left(number, 1, line[:80], why) for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]
    return "\n".join("(too long)" if len(line) > LONGEST_LINE else line for line in lines), long


def _looks_json(text: str) -> bool:
    return re.match(r"(?!\[\[\s*[-+.\d])[\[{]\s*(?:[\[{]|\"[^\"]*\"\s*:|\])", text) is not None


def _looks_csv(text: str, reader: Conditions) -> bool:
    """A first line of bare names, two or more, of which one is a column or begins a rule."""
    cells = [cell.strip().strip("\"'") for cell in re.split(r"[,;\t]", text.partition("\n")[0])]
    named = sum(reader.names.column(cell) is not None or cell.lower() in ("antecedents", "lhs") for cell in cells)
    return len(cells) > 1 and named > 0 and all(re.fullmatch(r"[\w .%-]*", cell) for cell in cells)


def _concluded(sheet: Sheet, target: str | None, reader: Conditions, released: Released) -> list[Statement]:
    """Statements whose labels and means have got their column."""
    loose = [place for place, one in enumerate(sheet.statements) if any(_is_loose(figure) for figure in one.stated)]
    if not sheet.labels and not loose:
        return sheet.statements
    column = _target(target, set(sheet.labels.values()), reader, released)
    made = list(sheet.statements)
    for place, label in sheet.labels.items():
        value = _label(label, column, released)
        if value is None:  # a number where classes are texts, or the mean of a regression tree
            sheet.leave(made[place].line, label, f"is no value of column '{column}'")
            made[place] = replace(made[place], stated=())
        else:
            made[place] = with_label(made[place], column, value)
    for place in loose:
        figures = [replace(one, column=column) if _is_loose(one) else one for one in made[place].stated]
        made[place] = replace(made[place], stated=tuple(figures))
    return made


def _is_loose(figure: Figure) -> bool:
    return figure.name == "mean" and figure.column is None


def _label(label: str, column: str, released: Released) -> float | str | None:
    if not released.is_number(column):
        return label
    return float(label) if re.fullmatch(NUMBER, label) else None


def _target(target: str | None, labels: set[str], reader: Conditions, released: Released) -> str:
    """The column that labels are values of: the one named, or the only one that has them all."""
    if target is not None:
        column = reader.names.column(target)
        if column is None:
            raise InputError("The target that was named is no column of the release: check its spelling.")
        return column
    fitting = []
    for name in released.frame.columns:
        numbers = _numbers(released, name) if released.is_number(name) else None
        known = (reader.is_value(name, one) if numbers is None else one in numbers for one in labels)
        if labels and all(known):
            fitting.append(name)
    if len(fitting) != 1:
        raise InputError("The results do not say which column their classes or means are of: name it as the target.")
    return fitting[0]


def _numbers(released: Released, column: str) -> set[str]:
    """The numbers of a column, as they may be written."""
    values = released.frame[column].drop_nulls().unique().to_list()
    return {written for value in values for written in (str(value), f"{value:g}")}


def _tightest(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """No condition, and no code in one, that others of the same column make idle: paths in trees have such ones."""
    kept: list[Condition] = []
    for one in conditions:
        if one in kept:
            continue
        same = [other for other in kept if other.column == one.column and other.sign[:1] == one.sign[:1]]
        if one.sign[:1] in "<>" and same and isinstance(one.values[0], float):
            pick = min if one.sign[0] == "<" else max
            strict = pick([one, *same], key=lambda each: (each.values[0], len(each.sign) * (1 if pick is min else -1)))
            kept = [other for other in kept if other not in same] + [strict]
        else:
            kept.append(one)
    return _listed_once(kept)


def _listed_once(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """What is listed of a column in one condition: what all lists have in common, without what is not meant."""
    made: dict[object, Condition] = {}
    for one in conditions:
        lists = [each for each in conditions if each.column == one.column and each.sign in ("=", "!=")]
        if one not in lists or len(lists) == 1:
            made[one] = one
            continue
        meant = [set(each.values) for each in lists if each.sign == "="]
        never = set().union(*(each.values for each in lists if each.sign == "!="))
        left = set.intersection(*meant) - never if meant else never
        order = dict.fromkeys(value for each in lists for value in each.values if value in left)
        if not left:  # contradictory, and so about nobody
            made |= {each: each for each in lists}
        else:
            made[one.column] = Condition(one.column, "=" if meant else "!=", tuple(order))
    return tuple(made.values())

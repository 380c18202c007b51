"""The small grammars of text: lists of columns, ``key=value``, models and attacks, in options and in limits."""

from __future__ import annotations

import csv
import dataclasses
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shoal.errors import ParameterError
from shoal.registry import load, make, names


def split_columns(text: str | None, option: str = "--columns") -> list[str] | None:
    """The names in a comma-separated list; a name with a comma in it stands in double quotes."""
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise ParameterError(f"{option} needs names with commas between them, none of them empty.")
    return names


def combination(columns: Sequence[str]) -> str:
    """Columns that are judged as one attribute, in words.

    Examples
    --------
    >>> combination(["disease", "ward", "job"])
    'the combination of disease, ward and job'
    """
    return f"the combination of {', '.join(columns[:-1])} and {columns[-1]}"


def target_words(model: str, on: str | Sequence[str] | None) -> str:
    """The columns that a model is judged on as tables show them: one, a combination, or several in one mean."""
    if on is None:
        return "–"
    several = not isinstance(on, str) and len(on) > 1
    # A plug-in that is not installed here can only have been judged on a combination.
    if several and not (model in names("model") and load("model", model).together):
        return combination(on)
    return on if isinstance(on, str) else ", ".join(on)


def separator_character(text: str | None) -> str | None:
    """The separator, with the two characters backslash and t read as a tab."""
    return "\t" if text == r"\t" else text


def pairs(option: str, entries: Sequence[str] | None) -> dict[str, str]:
    """Entries of the form ``key=value``, each key given once."""
    found: dict[str, str] = {}
    for entry in entries or ():
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not (key and equals and value):
            raise ParameterError(f"{option} needs the form key=value. Got '{entry}'.")
        if key in found:
            raise ParameterError(f"{option} gives '{key}' twice: keep one.")
        found[key] = value
    return found


def typed_value(text: str) -> Any:
    """A number, true, false, list or table as a recipe writes it; anything else is text.

    Examples
    --------
    >>> typed_value("0.02"), typed_value("lm"), typed_value("{age = 2}")
    (0.02, 'lm', {'age': 2})
    """
    try:
        found = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = found["value"]
    return value if len(found) == 1 and isinstance(value, bool | int | float | str | list | dict) else text


def parse_hierarchy(text: str) -> Any:
    """The path of a file, or a builder such as ``{prefix = [4, 3]}``."""
    return typed_value(text) if text.startswith("{") else text


def parse_code(text: str) -> Any:
    """How a column is coded: a name, or a table such as ``{how = "graded", categories = 8}``."""
    return typed_value(text) if text.startswith("{") else text


def parse_sample(text: str | None) -> dict[str, Any] | None:
    """What is drawn of a source: a share below 1 or a number, and behind ``by`` the columns whose values are strata.

    Examples
    --------
    >>> parse_sample("0.1 by region,sex"), parse_sample("1000")
    ({'share': 0.1, 'by': ['region', 'sex']}, {'number': 1000})
    """
    if text is None:
        return None
    amount, _, strata = text.partition(" by ")
    value = typed_value(amount.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(
            "The --sample must be a share such as 0.1, or a number such as 1000, and may end in 'by COLUMN'. Got "
            f"'{text}'."
        )
    by = {"by": split_columns(strata, "'by' in --sample")} if strata.strip() else {}
    return {"number" if isinstance(value, int) else "share": value} | by


def parse_policy(text: str) -> dict[str, Any]:
    """Sensitive ranges as a recipe writes them: ``value``, a file, ranges, a level, or all of it with ``else``.

    ``level:2`` is short for ``{level = 2}``.

    Examples
    --------
    >>> parse_policy("value"), parse_policy('{ranges = [[0, 9]], else = "value"}')
    ({'ranges': 'value'}, {'ranges': [[0, 9]], 'else': 'value'})
    """
    if (level := text.removeprefix("level:")) != text and level.isdecimal():
        return {"ranges": {"level": int(level)}}
    value = typed_value(text) if text[:1] in ("[", "{") else text
    return value if isinstance(value, dict) and "ranges" in value else {"ranges": value}


def parse_model(text: str) -> dict[str, Any]:
    """A model as a recipe writes it, from ``NAME[=MAIN] [key=value ...] [on COLUMN[,COLUMN...]]``.

    Examples
    --------
    >>> parse_model("entropy-l=3 on occupation")
    {'name': 'entropy-l', 'l': 3, 'on': 'occupation'}
    """
    return _parse("model", text)


def parse_attack(text: str) -> dict[str, Any]:
    """An attack with its parameters, written as models are; MAIN is the attack's first parameter.

    Examples
    --------
    >>> parse_attack("proximity eps=30 on income"), parse_attack("proximity=30")
    ({'name': 'proximity', 'eps': 30, 'on': 'income'}, {'name': 'proximity', 'eps': 30})
    """
    return _parse("attack", text)


def parse_evaluation(text: str) -> dict[str, Any]:
    """An evaluation with its parameters, written as attacks are.

    Examples
    --------
    >>> parse_evaluation("rules support_of=antecedent support=0.08")
    {'name': 'rules', 'support_of': 'antecedent', 'support': 0.08}
    """
    return _parse("evaluation", text)


def as_made(kind: str, given: Any) -> Any:
    """A model, algorithm or the like, however it is given: made already, as a recipe's table, or as text.

    Examples
    --------
    >>> as_made("model", "k=5"), as_made("model", {"name": "k", "k": 5})
    (KAnonymity(k=5), KAnonymity(k=5))
    """
    if isinstance(given, str):
        return make(kind, _parse(kind, given))
    if isinstance(given, Mapping):
        return make(kind, given)
    if not hasattr(given, "parameters") or isinstance(given, type):
        raise ParameterError(
            f"A {kind} is given as text, as a mapping with its 'name', or made. Got a {type(given).__name__}."
        )
    return given


def as_list(kind: str, given: Any) -> list[Any]:
    """Several of them, or one that stands alone."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    return [as_made(kind, one) for one in (given if several else [given])]


def _parse(kind: str, text: str) -> dict[str, Any]:
    words, on = _before_on(kind, text)
    if not words:
        raise ParameterError(f"Write {kind}s in the form NAME[=MAIN] [key=value ...] [on COLUMN]. Got '{text}'.")
    name, equals, main = words[0].partition("=")
    words = [f"{_main(kind, name)}={main}", *words[1:]] if equals else words[1:]
    given = {key: typed_value(value) for key, value in pairs(f"The {kind} '{name}'", words).items()}
    return {"name": name} | given | ({} if on is None else {"on": on[0] if len(on) == 1 else on})


def _main(kind: str, name: str) -> str:
    """The parameter that a bare value is for."""
    made = load(kind, name)
    found = getattr(made, "main", None) or next((field.name for field in dataclasses.fields(made)), None)
    if found is None:
        raise ParameterError(f"The {kind} '{name}' has no parameter: leave out what stands behind '='.")
    return str(found)


def _before_on(kind: str, text: str) -> tuple[list[str], list[str] | None]:
    """The words of a model or attack up to ``on``, and the columns behind it."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise ParameterError(f"The {kind} '{text}' has a quote that is not closed.") from None
    if "on" not in words[1:]:
        return words, None
    at = words.index("on", 1)
    return words[:at], split_columns(" ".join(words[at + 1 :]), f"'on' in the {kind} '{text}'")

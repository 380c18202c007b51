"""One sentence for what is wrong with a manifest, from the errors that its schema finds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic_core import ErrorDetails

from shoal.verify.manifest_column import WAYS, Column

_WHERE = {
    "": "The manifest", "data": "The manifest's 'data'", "data.copies.*": "A copy in the manifest's 'data'",
    "data.sensitive": "The manifest's table of sensitive values", "report": "The manifest's 'report'",
    "verdicts.*": "An entry of the manifest's 'verdicts'", "measured.*": "An entry of the manifest's 'measured'",
    "classes": "The manifest's 'classes'", "sample": "The manifest's 'sample'", "review": "The manifest's 'review'",
}  # fmt: skip
# Parts of a column that say nothing where they are of the wrong kind.
_ODD = {"null", "prepared", "builder", "stay", "noise"}
_FILE = "The 'data' of the manifest must be the file release.csv or release.parquet."
_APART_FILE = "The table of sensitive values in the manifest must be the file sensitive.csv or sensitive.parquet."
_ROWS = "The 'data' of the manifest must give its number of rows."
_HASH = "The '{}' of the manifest must give its SHA-256 in hexadecimal."
_PARTS = "The 'measured' of the manifest must have all of their parts."
_NUMBERS = "The 'measured' of the manifest must be numbers."
_INCOMPLETE = "The manifest has a verdict that is incomplete."
_NO_NUMBER = "The manifest has a verdict whose value or limit is not a number."
_SAMPLE = "The 'sample' of the manifest must say of what it is, and of which share."
# What is said where a part is lacking or of the wrong kind; a key that ends with a colon and the kind of error first.
SENTENCES = {
    "shoal:string_pattern_mismatch": "The 'shoal' of the manifest must be a version.",
    "not_protected.*": "The 'not_protected' of the manifest must be texts.",
    "acknowledged.*": "The 'acknowledged' of the manifest must be texts.",
    "data.file": _FILE, "data.format": _FILE, "data.rows": _ROWS, "data.sha256": _HASH.format("data"),
    "data.formulas": "The 'formulas' of the manifest's data can only be 'escaped', in a CSV file.",
    "data.sensitive": _APART_FILE, "data.sensitive.file": _APART_FILE, "data.sensitive.rows": _ROWS,
    "data.sensitive.sha256": _HASH.format("data"),
    "data.copies": "The 'copies' of the manifest's data must be a list of files.",
    "data.copies.*": "The 'copies' of the manifest's data must be a list of files.",
    "data.copies.*.file": "The 'copies' of the manifest's data must be files such as release.xlsx, each once.",
    "data.copies.*.sha256": _HASH.format("copies"),
    "report.file": "The 'report' of the manifest must be the file report.html.",
    "report.sha256": _HASH.format("report"),
    "columns.*.p": "The manifest must give each quasi-identifier its chance 'p' to be redrawn, in all 1.",
    "perturbation": f"The 'perturbation' of the manifest must be one of {', '.join(WAYS)}.",
    "models.*": "The 'models' of the manifest must be JSON objects.",
    "verdicts.*": "The 'verdicts' of the manifest must be JSON objects.",
    "verdicts.*.model": _INCOMPLETE, "verdicts.*.on": _INCOMPLETE, "verdicts.*.holds": _INCOMPLETE,
    "verdicts.*.by": _INCOMPLETE, "verdicts.*.value:missing": _INCOMPLETE, "verdicts.*.limit:missing": _INCOMPLETE,
    "verdicts.*.value": _NO_NUMBER, "verdicts.*.limit": _NO_NUMBER,
    "verdicts.*.vouched_by": "The manifest has a verdict whose 'vouched_by' is no distribution with its version.",
    "measured.*": "The 'measured' of the manifest must be JSON objects.", "measured.*.name": _PARTS,
    "measured.*.sentence": _PARTS, "measured.*.interval": _PARTS, "measured.*.baseline:missing": _PARTS,
    "measured.*.baseline": _NUMBERS, "measured.*.value": _NUMBERS, "measured.*.interval.*": _NUMBERS,
    "sample.of": _SAMPLE, "sample.share": _SAMPLE, "sample.stratified": _SAMPLE,
}  # fmt: skip


def unknown(where: str, key: str) -> str:
    """Say that a part has a key that it should not have."""
    return f"{where} has a key '{key}' that is not known, so nothing checks it."


def lacks(key: str, where: str = "The manifest") -> str:
    """Say that a part lacks something that the release is judged by."""
    return f"{where} lacks a valid '{key}', so the release cannot be verified."


def first_sentence(errors: Sequence[ErrorDetails], manifest: Mapping[str, Any]) -> str:
    """The first thing that is wrong; of keys that are not known the first by name."""
    error = errors[0]
    kind, place = error["type"], error["loc"]
    path, in_column = _path(place), place[:1] == ("columns",) and len(place) > 1
    column = f"Column {int(place[1]) + 1} of the manifest" if in_column else ""
    if kind == "idle" or (in_column and {*place} & _ODD):
        return f"{column} has a '{place[2]}' that says nothing about it."
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "extra_forbidden":
        alike = [one["loc"] for one in errors if one["type"] == kind and one["loc"][:-1] == place[:-1]]
        return unknown(_WHERE.get(_path(place[:-1]), column), str(min(map(str, (loc[-1] for loc in alike)))))
    if (said := SENTENCES.get(f"{path}:{kind}") or SENTENCES.get(path)) is not None:
        return said
    if in_column:
        return _column_sentence(error, manifest["columns"])
    return _part_sentence(error)


def _part_sentence(error: ErrorDetails) -> str:
    """What is said of parts that have no sentence of their own."""
    kind, (part, *rest) = error["type"], error["loc"]
    if part == "review" and rest:
        return f"The '{rest[0]}' in the manifest's 'review' is of the wrong kind."
    if part == "classes" and rest:
        return lacks(str(rest[-1]), _WHERE["classes"] if len(rest) == 1 else "The manifest's digest of the classes")
    if kind == "missing":
        return f"The manifest lacks '{part}'."
    if kind == "literal_error" and isinstance(error["input"], str):
        return f"The manifest has an unknown '{part}': it must be one of {_options(error)}."
    return f"The '{part}' of the manifest is of the wrong kind."


def _column_sentence(error: ErrorDetails, columns: Sequence[Mapping[str, Any]]) -> str:
    at, key = int(error["loc"][1]), str(next(iter(error["loc"][2:]), "name"))
    if key == "name":
        return f"Column {at + 1} of the manifest has no name."
    if key in ("role", "type", "cells"):
        options = ", ".join(get_args(Column.model_fields[key].annotation))
        return f"The {key} of column {at + 1} of the manifest must be one of {options}."
    where = f"The manifest's column '{columns[at]['name']}'"
    if error["type"] == "literal_error":
        return f"{where} has an unknown '{key}': it must be one of {_options(error)}."
    return lacks(key, where)


def _options(error: ErrorDetails) -> str:
    return ", ".join(re.findall("'([^']*)'", error["ctx"]["expected"]))


def _path(place: Sequence[int | str]) -> str:
    return ".".join("*" if isinstance(part, int) else part for part in place)

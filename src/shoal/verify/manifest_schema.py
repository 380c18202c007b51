"""The outer shape of a manifest: every part that has to be there, of its kind, and nothing else.

What nobody reads nobody checks, and a reader would believe it all the same: an unknown key is refused.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.errors import VerificationError

VERSION = 1
REPORT = "report.html"
_ROLES = ("quasi", "sensitive", "neutral", "pseudonym")
_TYPES = ("numeric", "date", "ordinal", "categorical")
_CELLS = ("interval", "label", "set", "value", "bounds", "representative", "items")
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "shoal": str,
    "manifest": int,
    "kind": str,
    "source": (str, type(None)),
    "statement": str,
    "not_protected": list,
    "data": dict,
    "report": dict,
    "suppressed": str,
    "order": str,
    "people": bool,
    "columns": list,
    "models": list,
    "verdicts": list,
    "classes": dict,
    "acknowledged": list,
}
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    "date": str,
    "made": str,
    "group": str,
    "publication": str,
    "leftovers": str,
    "redraw": int,
    "perturbation": str,
    "measured": list,
    "quasi_sets": list,
    "across_classes": list,
    "counterfeits": int,
    "review": dict,
    "sample": dict,
}
# What a publisher may say in words of their own: texts, lists of texts, and reasons for accepted codes.
_SAID: dict[str, type] = {
    "title": str, "purpose": str, "controller": str, "contact": str, "context": str, "use": str, "re_evaluation": str,
    "recipients": list, "earlier": list, "accepted": dict,
}  # fmt: skip
_COLUMN = (
    "name", "role", "type", "cells", "columns", "null", "hierarchy", "whole", "builder", "order", "domain", "policy",
    "non_answers", "coded", "days", "answers", "p", "several", "prepared", "stay", "noise",
)  # fmt: skip
# Where it alone says something; anywhere else nobody would check it.
_BELONGS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "columns": lambda column: column["cells"] == "bounds",
    "null": lambda column: column["cells"] in ("bounds", "representative") and column["null"] == "*",
    "several": lambda column: column["cells"] in ("set", "interval", "items"),
    "prepared": lambda column: _are_techniques(column["prepared"]),
    "whole": lambda column: "hierarchy" in column,
    "builder": lambda column: "hierarchy" in column and _is_builder(column["builder"]),
    "order": lambda column: column["type"] == "ordinal",
    "domain": lambda column: column["type"] in ("numeric", "date"),
    "non_answers": lambda column: column["role"] == "sensitive",
    "days": lambda column: column.get("coded") == "shifted",
    "answers": lambda column: "coded" in column and column["role"] == "sensitive",
    "p": lambda column: column["role"] == "quasi" and column["cells"] == "value",
    "stay": lambda column: column["role"] == "quasi" and _within(column["stay"], 0.0, 1.0),
    "noise": lambda column: column["role"] == "quasi" and _within(column["noise"], 0.0, math.inf),
}
_BUILDERS = ({"prefix", "mask"}, {"widths", "origin"}, {"intervals"}, {"dates"}, {"quantiles"})
_DATE_LEVELS = ("month", "quarter", "year", "decade")
# Numbers are texts in a manifest, or they would be rounded.
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_TECHNIQUES = ("derived", "recoded", "top-coded", "bottom-coded", "rounded")
# What only some kinds say, by how quasi-identifiers were made.
_APART = {
    "bucketised": ("group", "publication", "leftovers"), "randomised": ("redraw",), "perturbed": ("perturbation",),
}
# How quasi-identifiers are perturbed.
_WAYS = ("swapped", "shuffled", "condensed", "pram", "invariant-pram", "noise")
_COPY = re.compile(r"(release|sensitive)\.(xlsx|sav|dta)")
_SUM = 1e-9
_VERDICT = ("model", "on", "holds", "by", "value", "limit", "vouched_by")
# The name and the version of a distribution, as they may stand on a command line.
_VOUCHED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]* [0-9][A-Za-z0-9.+!]*")
_MEASURED = ("name", "value", "interval", "baseline", "sentence")


def check_manifest(manifest: Any) -> None:
    """Refuse a manifest that lacks a part, has one too many, or in which a part is of the wrong kind.

    What the parts say is judged elsewhere.
    """
    if not isinstance(manifest, Mapping):
        raise VerificationError("The manifest is not a JSON object.")
    if manifest.get("manifest") is not VERSION:
        raise VerificationError(
            f"The manifest is not of version {VERSION}: verify it with the Shoal that wrote it."
        )
    for name, kind in (_FIELDS | _OPTIONAL).items():
        if name not in manifest:
            if name in _FIELDS:
                raise VerificationError(f"The manifest lacks '{name}'.")
        elif not _is(manifest[name], kind):
            raise VerificationError(f"The '{name}' of the manifest is of the wrong kind.")
    made = manifest.get("made", manifest["kind"])
    apart = [name for kind, names in _APART.items() if kind != made for name in names]
    _no_others("The manifest", manifest, [name for name in (*_FIELDS, *_OPTIONAL) if name not in apart])
    _check_data(manifest["data"])
    _check_report(manifest["report"])
    _check_texts(manifest)
    names = [
        _checked_column(position, column) for position, column in enumerate(manifest["columns"], start=1)
    ]
    if not names or len(set(names)) != len(names):
        raise VerificationError("The 'columns' of the manifest must be at least one, each named once.")
    _check_chances(manifest, made)
    _check_changes(manifest, made)
    for part, keys in (("models", None), ("verdicts", _VERDICT), ("measured", _MEASURED)):
        for entry in manifest.get(part, ()):
            if not isinstance(entry, Mapping):
                raise VerificationError(f"The '{part}' of the manifest must be JSON objects.")
            if keys is not None:
                _no_others(f"An entry of the manifest's '{part}'", entry, keys)
    _check_verdicts(manifest["verdicts"])
    _no_others("The manifest's 'classes'", manifest["classes"], ("count", "smallest", "digest"))
    _check_measured(manifest.get("measured", ()))
    _check_review(manifest.get("review", {}), manifest["acknowledged"])
    if "sample" in manifest:
        _check_sample(manifest["sample"], manifest["people"])


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and (kind is not int or not isinstance(value, bool))


def _no_others(where: str, entry: Mapping[str, Any], known: Sequence[str]) -> None:
    extra = sorted(str(key) for key in entry if key not in known)
    if extra:
        raise VerificationError(f"{where} has a key '{extra[0]}' that is not known, so nothing checks it.")


def _check_texts(manifest: Mapping[str, Any]) -> None:
    for part in ("not_protected", "acknowledged"):
        if not all(isinstance(entry, str) for entry in manifest[part]):
            raise VerificationError(f"The '{part}' of the manifest must be texts.")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)+[0-9a-z.+]*", manifest["shoal"]):
        raise VerificationError("The 'shoal' of the manifest must be a version.")
    if "date" in manifest:
        try:
            right = datetime.date.fromisoformat(manifest["date"]).isoformat() == manifest["date"]
        except ValueError:
            right = False
        if not right:
            raise VerificationError("The 'date' of the manifest must be an ISO date.")


def _check_review(review: Mapping[str, Any], acknowledged: Sequence[str]) -> None:
    """The publisher's own words are nobody's to check, as long as they are words."""
    _no_others("The manifest's 'review'", review, tuple(_SAID))
    for key, entry in review.items():
        words = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else [entry]
        if not isinstance(entry, _SAID[key]) or not all(isinstance(one, str) and one.strip() for one in words):
            raise VerificationError(f"The '{key}' in the manifest's 'review' is of the wrong kind.")
    if not set(review.get("accepted", {})) <= set(acknowledged):
        raise VerificationError("The manifest's 'review' gives a reason for a code that is not acknowledged.")


def _check_sample(sample: Mapping[str, Any], people: bool) -> None:
    """That rows or people were drawn, by which share, and whether by strata."""
    _no_others("The manifest's 'sample'", sample, ("of", "share", "stratified"))
    share = sample.get("share", 0.5)
    right = sample.get("of") == ("people" if people else "rows") and isinstance(sample.get("stratified"), bool)
    if not right or not _within(share, 0.0, 1.0) or share in (0, 1):
        raise VerificationError("The 'sample' of the manifest must say of what it is, and of which share.")


def _check_data(data: Mapping[str, Any]) -> None:
    file, format, rows = data.get("file"), data.get("format"), data.get("rows")
    # A manifest comes from somebody else, so its file name must not lead out of its folder.
    if format not in ("csv", "parquet") or file != f"release.{format}":
        raise VerificationError("The 'data' of the manifest must be the file release.csv or release.parquet.")
    if not _is(rows, int) or rows < 0:  # type: ignore[operator]
        raise VerificationError("The 'data' of the manifest must give its number of rows.")
    _check_hash(data, "data")
    _no_others("The manifest's 'data'", data, ("file", "format", "rows", "sha256", "sensitive", "formulas", "copies"))
    _check_copies(data.get("copies", []))
    if "formulas" in data and (data["formulas"] != "escaped" or format != "csv"):
        raise VerificationError("The 'formulas' of the manifest's data can only be 'escaped', in a CSV file.")
    if "sensitive" in data:
        apart = data["sensitive"]
        if not isinstance(apart, Mapping) or apart.get("file") != f"sensitive.{format}":
            raise VerificationError("The table of sensitive values in the manifest must be the file sensitive.csv or "
                                    "sensitive.parquet.")  # fmt: skip
        _no_others("The manifest's table of sensitive values", apart, ("file", "rows", "sha256"))
        _check_data({**apart, "file": file, "format": format})


def _check_copies(copies: Any) -> None:
    """Copies of the data in other formats, which nothing but their hashes is known of."""
    if not isinstance(copies, list) or not all(isinstance(copy, Mapping) for copy in copies):
        raise VerificationError("The 'copies' of the manifest's data must be a list of files.")
    names = [copy.get("file") for copy in copies]
    if len(set(map(str, names))) != len(names) or not all(_COPY.fullmatch(str(name)) for name in names):
        raise VerificationError("The 'copies' of the manifest's data must be files such as release.xlsx, each once.")
    for copy in copies:
        _check_hash(copy, "copies")
        _no_others("A copy in the manifest's 'data'", copy, ("file", "sha256"))


def _check_report(report: Mapping[str, Any]) -> None:
    if report.get("file") != REPORT:
        raise VerificationError(f"The 'report' of the manifest must be the file {REPORT}.")
    _check_hash(report, "report")
    _no_others("The manifest's 'report'", report, ("file", "sha256"))


def _check_hash(entry: Mapping[str, Any], part: str) -> None:
    if not isinstance(entry.get("sha256"), str) or not re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]):
        raise VerificationError(f"The '{part}' of the manifest must give its SHA-256 in hexadecimal.")


def _checked_column(position: int, column: Any) -> str:
    if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
        raise VerificationError(f"Column {position} of the manifest has no name.")
    for key, options in (("role", _ROLES), ("type", _TYPES), ("cells", _CELLS)):
        if column.get(key) not in options:
            raise VerificationError(
                f"The {key} of column {position} of the manifest must be one of {', '.join(options)}."
            )
    _no_others(f"Column {position} of the manifest", column, _COLUMN)
    odd = [key for key, belongs in _BELONGS.items() if key in column and not belongs(column)]
    if odd:
        raise VerificationError(f"Column {position} of the manifest has a '{odd[0]}' that says nothing about it.")
    if column["cells"] in ("set", "items") and "several" not in column:
        raise VerificationError(
            f"Column {position} of the manifest does not say how several values are written: verify it with the Shoal "
            "that wrote it."
        )
    return str(column["name"])


def _check_chances(manifest: Mapping[str, Any], made: str) -> None:
    """Of a randomised release, how likely each quasi-identifier is to be redrawn; of others nothing of the kind."""
    quasi = [column for column in manifest["columns"] if column["role"] == "quasi"]
    chances = [column["p"] for column in quasi if "p" in column]
    if made != "randomised":
        if chances:
            raise VerificationError("The manifest gives chances to be redrawn, and nothing of the release was.")
        return
    right = len(chances) == len(quasi) and all(_is(p, (int, float)) and not isinstance(p, bool) for p in chances)
    if not right or min(chances, default=0) < 0 or abs(sum(chances) - 1.0) > _SUM:
        raise VerificationError("The manifest must give each quasi-identifier its chance 'p' to be redrawn, in all 1.")
    drawn = [p for p in chances if p > 0]
    if not _is(manifest.get("redraw"), int) or not 1 <= manifest["redraw"] <= len(drawn):
        raise VerificationError("The 'redraw' of the manifest must be a number of its columns with a chance above 0.")
    if manifest["redraw"] > 1 and max(drawn) - min(drawn) > _SUM:
        raise VerificationError("The manifest redraws several columns of a record, and their chances are not equal.")


def _are_techniques(words: Any) -> bool:
    """Whether words are those for what is done to a column before it is coded, each once and in our order."""
    return isinstance(words, list) and bool(words) and words == [word for word in _TECHNIQUES if word in words]


def _check_changes(manifest: Mapping[str, Any], made: str) -> None:
    """How likely values stay, and how much noise there is, where the release was made so, and nowhere else."""
    way = manifest.get("perturbation") if made == "perturbed" else None
    if made == "perturbed" and way not in _WAYS:
        raise VerificationError(f"The 'perturbation' of the manifest must be one of {', '.join(_WAYS)}.")
    for name, ways in (("stay", ("pram", "invariant-pram")), ("noise", ("noise",))):
        if (way in ways) != any(name in column for column in manifest["columns"]):
            raise VerificationError(f"The manifest gives a column its '{name}' exactly where the release was made so.")


def _within(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_builder(rule: Any) -> bool:
    """Whether a rule is one of the builders', by its parameters: numbers, names of levels, one character."""
    if not isinstance(rule, Mapping) or set(rule) not in _BUILDERS:
        return False
    levels = rule.get("intervals", {"edges": [[]]})
    if not isinstance(levels, Mapping) or set(levels) != {"edges"} or not isinstance(levels["edges"], list):
        return False
    kinds = {"prefix": _is_count, "quantiles": _is_count, "widths": _is_decimal, "dates": _is_date_level}
    lists = [(rule[key], right) for key, right in kinds.items() if key in rule]
    lists += [(edges, _is_decimal) for edges in levels["edges"] if "intervals" in rule]
    if not lists or not all(isinstance(one, list) and one and all(map(right, one)) for one, right in lists):
        return False
    mask, origin = rule.get("mask", "*"), rule.get("origin", "0")
    return isinstance(mask, str) and len(mask) == 1 and _is_decimal(origin)


def _is_count(part: Any) -> bool:
    return _is(part, int) and part >= 0


def _is_decimal(part: Any) -> bool:
    return isinstance(part, str) and _DECIMAL.fullmatch(part) is not None


def _is_date_level(part: Any) -> bool:
    return part in _DATE_LEVELS


def _check_verdicts(verdicts: Sequence[Mapping[str, Any]]) -> None:
    """Attested figures tell something about the input; who vouches is looked up by whoever reads it."""
    if any(entry.get("by") == "attested" and entry.get("value") is not None for entry in verdicts):
        raise VerificationError("The manifest gives a figure to an attested verdict, which nothing checks.")
    vouched = [entry["vouched_by"] for entry in verdicts if "vouched_by" in entry]
    if not all(isinstance(by, str) and _VOUCHED.fullmatch(by) for by in vouched):
        raise VerificationError("The manifest has a verdict whose 'vouched_by' is no distribution with its version.")


def _check_measured(figures: Sequence[Mapping[str, Any]]) -> None:
    """Figures of attacks rest on evidence; what they cannot be is refused."""
    for figure in figures:
        interval = figure.get("interval")
        texts = isinstance(figure.get("name"), str) and isinstance(figure.get("sentence"), str)
        if not texts or "baseline" not in figure or not isinstance(interval, list) or len(interval) != 2:
            raise VerificationError("The 'measured' of the manifest must have all of their parts.")
        numbers = [figure.get("value"), *interval, *([] if figure.get("baseline") is None else [figure["baseline"]])]
        if not all(_is(number, (int, float)) and not isinstance(number, bool) for number in numbers):
            raise VerificationError("The 'measured' of the manifest must be numbers.")
        if not interval[0] <= figure["value"] <= interval[1]:
            raise VerificationError("The 'measured' of the manifest has a figure outside its interval.")
        if not all(0.0 <= part <= 1.0 for part in numbers):
            raise VerificationError("The 'measured' of the manifest must be shares from 0 to 1.")

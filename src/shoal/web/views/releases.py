"""A written release: what it states, what was checked, what it does not protect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.grammar import target_words
from shoal.verify.folder import read_manifest
from shoal.web.views.models import model_words


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release as its manifest tells it, which is public: counts of suppressed rows are its publisher's alone."""

    statement: str
    kind: str
    rows: int
    classes: int
    smallest: int
    verdicts: tuple[tuple[str, ...], ...]
    not_protected: tuple[str, ...]
    acknowledged: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, int], ...]
    signed: bool


def release_view(folder: Path, *, signed: bool) -> ReleaseView:
    """What is known of a release in a folder, and whether it has a signature, which is kept elsewhere."""
    try:
        manifest = read_manifest(folder)
    except OSError:
        raise InputError("The files of this release are not there any more: run the recipe again.") from None
    classes = manifest.get("classes") or {}
    return ReleaseView(
        statement=manifest["statement"], kind=str(manifest["kind"]), rows=manifest["data"]["rows"],
        classes=classes.get("count") or 0, smallest=classes.get("smallest") or 0,
        verdicts=tuple(_verdict(one) for one in manifest["verdicts"]),
        not_protected=tuple(manifest["not_protected"]), acknowledged=tuple(manifest["acknowledged"]),
        columns=tuple((str(one["name"]), str(one["role"])) for one in manifest["columns"]),
        files=tuple((one.name, one.stat().st_size) for one in sorted(folder.iterdir()) if one.is_file()),
        signed=signed,
    )  # fmt: skip


def _verdict(one: Mapping[str, Any]) -> tuple[str, ...]:
    target = target_words(one["model"]["name"], one["on"])
    words = model_words({key: value for key, value in one["model"].items() if key != "on"})
    return words, target, "holds" if one["holds"] else "fails", _number(one["value"]), _number(one["limit"]), one["by"]


def _number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else "–"

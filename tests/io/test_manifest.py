"""Manifests: stable bytes, and a shape that is checked before anybody relies on it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.errors import InputError, InternalError, VerificationError
from shoal.io.evidence import manifest_bytes
from shoal.results import Score
from shoal.verify.folder import read_manifest
from shoal.verify.manifest_schema import check_manifest


def manifest() -> dict[str, Any]:
    return {
        "shoal": "0.1.0",
        "manifest": 1,
        "kind": "generalised",
        "source": None,
        "statement": "2-anonymous",
        "not_protected": ["Membership."],
        "data": {"file": "release.csv", "format": "csv", "sha256": "0" * 64, "rows": 2},
        "report": {"file": "report.html", "sha256": "0" * 64},
        "suppressed": "drop",
        "order": "shuffled",
        "people": False,
        "columns": [{"name": "age", "role": "quasi", "type": "numeric", "cells": "interval"}],
        "models": [{"name": "k", "k": 2}],
        "verdicts": [],
        "classes": {"count": 1, "smallest": 2, "digest": {"quasi": "0"}},
        "acknowledged": [],
    }


def test_bytes_are_stable_and_readable() -> None:
    shuffled = dict(reversed(list(manifest().items())))
    assert manifest_bytes(manifest()) == manifest_bytes(shuffled)
    text = manifest_bytes({"b": "é", "a": [1]}).decode()
    assert text == '{\n  "a": [\n    1\n  ],\n  "b": "é"\n}\n'


def test_values_of_other_libraries() -> None:
    score = Score(name="ncp", value=np.float64(0.5), better="down", low=0, high=float("inf"), suppression=0)
    given = {
        "n": np.int64(3),
        "a": np.arange(2),
        "t": (1, 2),
        "s": {"b", "a"},
        "x": float("nan"),
        "p": Path("a"),
        "m": score,
    }
    found = json.loads(manifest_bytes(given))
    assert found["n"] == 3
    assert found["a"] == [0, 1]
    assert found["t"] == [1, 2]
    assert found["s"] == ["a", "b"]
    assert found["x"] == "nan"
    assert found["p"] == "a"
    assert found["m"]["value"] == 0.5
    assert found["m"]["high"] == "inf"
    with pytest.raises(InternalError, match="object"):
        manifest_bytes({"x": object()})


def test_a_good_one_passes() -> None:
    check_manifest(manifest())


@pytest.mark.parametrize("key", sorted(manifest()))
def test_every_part_is_needed_and_of_its_kind(key: str) -> None:
    lacking = manifest()
    del lacking[key]
    with pytest.raises(VerificationError, match=key):
        check_manifest(lacking)
    with pytest.raises(VerificationError, match=key):
        check_manifest(manifest() | {key: 3.5})


def _changed(path: list[Any], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(manifest())
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return changed


@pytest.mark.parametrize(
    "path, value, part",
    [
        (["manifest"], 2, "version"),
        (["data", "file"], "../release.csv", "release.csv"),
        (["data", "file"], "other.csv", "release.csv"),
        (["data", "format"], "xml", "release.csv"),
        (["data", "rows"], -1, "rows"),
        (["data", "rows"], True, "rows"),
        (["data", "sha256"], "xyz", "SHA-256"),
        (["columns"], [], "columns"),
        (["columns"], [3], "no name"),
        (["columns", 0, "role"], "identifier", "role of column 1"),
        (["columns", 0, "cells"], "other", "cells of column 1"),
        (["columns", 0, "type"], None, "type of column 1"),
        (["models"], [3], "models"),
        (["verdicts"], ["x"], "verdicts"),
    ],
)
def test_refusals(path: list[Any], value: Any, part: str) -> None:
    with pytest.raises(VerificationError) as caught:
        check_manifest(_changed(path, value))
    assert part in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_column_named_twice() -> None:
    twice = manifest()
    twice["columns"] *= 2
    with pytest.raises(VerificationError, match="named once"):
        check_manifest(twice)


def test_not_an_object() -> None:
    with pytest.raises(VerificationError, match="object"):
        check_manifest([])


def test_reading(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no manifest\.json"):
        read_manifest(tmp_path)
    with pytest.raises(InputError, match=r"holds no manifest\.json"):
        read_manifest(tmp_path / "absent")
    for content in (b"{", b"\xff", b""):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(InputError, match="not JSON"):
            read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_bytes(manifest_bytes(manifest()))
    assert read_manifest(tmp_path) == manifest()

"""Which verdicts the models of a manifest ask for, by whom each can be derived, and how it is called."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.verify.judge import Slot, judge, slots, verdict_check
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Verdict
from shoal.verify.terms.base import size_asked, term_of
from tests.verify.cases import judged, manifest
from tests.verify.test_facts import facts

TREE = [["a", "x", "*"], ["b", "x", "*"]]
VALUE = {"role": "sensitive", "cells": "value"}
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"role": "quasi", "type": "numeric", "cells": "interval", "domain": ["0", "9"]},
    "weight": {"role": "quasi", "type": "numeric", "cells": "interval"},
    "plain": {"type": "categorical", **VALUE},
    "number": {"type": "numeric", **VALUE},
    "bounded": {"type": "numeric", "domain": ["0", "9"], **VALUE},
    "ranked": {"type": "ordinal", "order": ["lo", "hi"], **VALUE},
    "tree": {"type": "categorical", "hierarchy": TREE, **VALUE},
    "whole": {"type": "categorical", "hierarchy": TREE, "whole": True, **VALUE},
    "code": {"type": "categorical", "coded": "mapping", **VALUE},
    "sorted": {"type": "ordinal", "coded": "mapping", **VALUE},
    "ranges": {"type": "categorical", "policy": {"sets": [["a", "b"]], "else": "value"}, **VALUE},
    "part": {"type": "categorical", "policy": {"sets": [["a", "b"]], "else": "value", "part": True}, **VALUE},
    "wide": {"type": "numeric", "domain": ["0", "9"], "policy": {"intervals": [["0", "9"]], "else": "value"}, **VALUE},
}


def claims(model: dict[str, Any], names: list[str], **changes: Any) -> Claims:
    columns = [{"name": name, **COLUMNS[name]} for name in names]
    coded = any("coded" in COLUMNS[name] for name in names)
    form = {"kind": "pseudonymised", "made": "generalised"} if coded else {}
    return read_claims(manifest(columns, [model], **form, **changes))


def found(model: dict[str, Any], names: list[str], **changes: Any) -> list[tuple[Any, str, str]]:
    return [(slot.on, slot.side, slot.by) for slot in slots(claims(model, names, **changes))]


K: dict[str, Any] = {"name": "k", "k": 2}
DISTINCT: dict[str, Any] = {"name": "distinct-l", "l": 2}
RANGE: dict[str, Any] = {"name": "max-range", "limit": 1}
NEAR: dict[str, Any] = {"name": "range-diversity", "p": 1}
SURE: dict[str, Any] = {"name": "range-confidence", "p": 1}
UTILITY: dict[str, Any] = {"name": "worst-group-utility", "u": 1}
STEADY: dict[str, Any] = {"name": "m-invariance", "m": 2}
CLOSE: dict[str, Any] = {"name": "t-closeness", "t": 1}
AGAIN, ASKED = "rechecked", "attested"


@pytest.mark.parametrize(
    "model, names, changes, expected",
    [
        (K, ["age", "plain"], {}, [(None, "", AGAIN)]),
        (K, ["age", "plain"], {"people": True}, [(None, "", ASKED)]),
        (DISTINCT, ["age", "plain", "number"], {}, [("plain", "", AGAIN), ("number", "", AGAIN)]),
        (DISTINCT, ["age", "plain", "code"], {}, [("plain", "", AGAIN), ("code", "", ASKED)]),
        (DISTINCT | {"on": "plain"}, ["plain", "number"], {}, [("plain", "", AGAIN)]),
        (DISTINCT | {"on": ["plain", "number"]}, ["plain", "number"], {}, [(["plain", "number"], "", AGAIN)]),
        (DISTINCT | {"on": ["plain", "code"]}, ["plain", "code"], {}, [(["plain", "code"], "", ASKED)]),
        (CLOSE, ["plain"], {}, [("plain", "input", ASKED)]),
        (CLOSE | {"reference": "released"}, ["plain"], {}, [("plain", "released", AGAIN)]),
        (CLOSE | {"reference": "released"}, ["plain"], {"people": True}, [("plain", "released", ASKED)]),
        (STEADY, ["plain"], {}, [("plain", "released", AGAIN), ("plain", "history", ASKED)]),
        (STEADY, ["plain"], {"people": True}, [("plain", "released", AGAIN), ("plain", "history", ASKED)]),
        (UTILITY, ["age"], {}, [(None, "", AGAIN)]),
        (UTILITY, ["age"], {"people": True}, [(None, "", AGAIN)]),
        (UTILITY, ["weight"], {}, [(None, "", ASKED)]),
        (UTILITY, ["age", "weight"], {}, [(None, "", ASKED)]),
        (RANGE, ["plain", "number"], {}, [(["plain", "number"], "", ASKED)]),
        (RANGE, ["bounded", "ranked", "whole"], {}, [(["bounded", "ranked", "whole"], "", AGAIN)]),
        (RANGE | {"on": "bounded"}, ["bounded"], {}, [("bounded", "", AGAIN)]),
        (RANGE | {"on": "number"}, ["number"], {}, [("number", "", ASKED)]),
        (RANGE | {"on": "plain"}, ["plain"], {}, [("plain", "", ASKED)]),
        (RANGE | {"on": "ranked"}, ["ranked"], {}, [("ranked", "", AGAIN)]),
        (RANGE | {"on": "tree"}, ["tree"], {}, [("tree", "", ASKED)]),
        (RANGE | {"on": "whole"}, ["whole"], {}, [("whole", "", AGAIN)]),
        (RANGE | {"on": ["bounded", "number"]}, ["bounded", "number"], {}, [(["bounded", "number"], "", ASKED)]),
        (NEAR, ["number"], {}, [("number", "", AGAIN)]),
        (NEAR, ["ranges"], {}, [("ranges", "", ASKED)]),
        (NEAR, ["wide"], {}, [("wide", "", AGAIN)]),
        (NEAR, ["part"], {}, [("part", "", ASKED)]),
        (SURE, ["number"], {}, [("number", "", AGAIN)]),
        (SURE, ["ranges"], {}, [("ranges", "", AGAIN)]),
        (SURE, ["part"], {}, [("part", "", ASKED)]),
        (DISTINCT, ["part"], {}, [("part", "", AGAIN)]),
        ({"name": "personalised", "p": 1, "on": "whole"}, ["whole"], {}, [("whole", "", ASKED)]),
    ],
)
def test_what_a_reader_can_derive(model: Any, names: list[str], changes: Any, expected: Any) -> None:
    """Not what needs the input, its subjects, a domain that is not public, or values behind codes."""
    assert found(model, names, **changes) == expected


@pytest.mark.parametrize("made_up, by", [(0, AGAIN), (1, ASKED), (2, ASKED)])
def test_sizes_are_attested_where_rows_are_made_up(made_up: int, by: str) -> None:
    described = manifest(
        [{"name": name, **COLUMNS[name]} for name in ("age", "plain")], [K, DISTINCT, STEADY], counterfeits=made_up
    )
    assert [slot.by for slot in slots(read_claims(described))] == [by, AGAIN, AGAIN, ASKED]


def test_what_a_model_measures_by() -> None:
    said = claims(K, ["age", "bounded", "sorted"])
    assert term_of(K).needs_input(said, ()) is False
    assert term_of(RANGE).needs_input(said, [said.column("bounded")]) is False
    assert term_of(RANGE).needs_input(said, [said.column("sorted")]) is True


@pytest.mark.parametrize(
    "model, names, side, label, promise",
    [
        ({"name": "k", "k": 1_000_000}, (), "", "k", "k = 1000000"),
        ({"name": "entropy-l", "l": 3.0}, ("s",), "", "entropy-l on s", "entropy-l = 3 on s"),
        ({"name": "variance", "v": 0.1 + 0.2}, ("s",), "", "variance on s", "variance = 0.3 on s"),
        ({"name": "distinct-l", "l": 2}, ("s", "t"), "", "distinct-l on the combination of s and t",
         "distinct-l = 2 on the combination of s and t"),
        ({"name": "alpha-k-complete"}, ("s",), "", "alpha-k-complete on s", "alpha-k-complete on s"),
        (CLOSE, ("s",), "input", "t-closeness on s against the input", "t-closeness = 1 on s against the input"),
        (CLOSE, ("s",), "released", "t-closeness on s", "t-closeness = 1 on s"),
        (STEADY, ("s",), "history", "m-invariance on s against earlier releases",
         "m-invariance = 2 on s against earlier releases"),
    ],
)  # fmt: skip
def test_names_of_verdicts(model: Any, names: Any, side: str, label: str, promise: str) -> None:
    slot = Slot(model=model, on=None, names=names, side=side, by=AGAIN)
    assert (slot.label, slot.promise) == (label, promise)


@pytest.mark.parametrize(
    "model, size",
    [(K, 2), ({"name": "p-sensitive", "p": 2, "k": 3}, 3), ({"name": "k-e", "k": 5, "e": 1}, 0), (DISTINCT, 0)],
)
def test_sizes_that_models_ask_for(model: Any, size: int) -> None:
    assert size_asked(model) == size


def test_classes_that_fail() -> None:
    held = judged([["a", "b"], ["a", "b", "c"]], DISTINCT)
    assert (held.holds, held.classes, held.smallest) == (True, 0, 0)
    failed = judged([["a", "a", "a"], ["a", "b"], ["b", "b"]], DISTINCT)
    assert (failed.holds, failed.classes, failed.smallest) == (False, 2, 2)


def test_nothing_holds_without_a_class() -> None:
    found = judge(Slot(model=K, on=None, names=(), side="", by=AGAIN), facts([]))
    assert (found.holds, found.value, found.limit, found.classes, found.smallest) == (False, 0.0, 2.0, 0, 0)
    assert (found.model, found.on, found.by) == (K, None, AGAIN)


@pytest.mark.parametrize(
    "model, verdict, people, detail",
    [
        (K, (True, 2, 0, 0), False, "k = 2 holds in every class."),
        (K, (False, 0, 0, 0), False, "k = 2 cannot hold: the release has no class."),
        (K, (False, 1, 1, 1), False, "k = 2 fails: 1 class has fewer, the smallest 1 row."),
        (K, (False, 1, 2, 3000), False, "k = 2 fails: 2 classes have fewer, the smallest 3,000 rows."),
        (K, (False, 1, 2, 3), True, "k = 2 fails: 2 classes have fewer, the smallest 1 person."),
        (K, (False, 2000, 1, 3), True, "k = 2 fails: 1 class has fewer, the smallest 2,000 people."),
        (DISTINCT, (False, 1, 1, 2), False, "distinct-l = 2 on s fails in 1 class, the smallest 2 rows."),
        (DISTINCT, (False, 1, 2, 1), True, "distinct-l = 2 on s fails in 2 classes, the smallest 1 row."),
    ],
)
def test_verdicts_in_words(model: Any, verdict: tuple[bool, float, int, int], people: bool, detail: str) -> None:
    slot = Slot(model=model, on=None, names=() if model is K else ("s",), side="", by=AGAIN)
    holds, value, classes, smallest = verdict
    given = Verdict(
        model=model, on=None, holds=holds, by=AGAIN, value=value, limit=2, classes=classes, smallest=smallest
    )
    check = verdict_check(slot, given, people)
    assert (check.name, check.passed, check.detail) == (slot.label, holds, detail)

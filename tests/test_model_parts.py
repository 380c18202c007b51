"""A model is a class, a term of the verifier, a line of the catalogue, a section of the docs and tests of its own.

What one of them says and another does not is found here, for every model of the catalogue.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import shoal
from shoal.errors import ParameterError, VerificationError
from shoal.models.base import Model, Reference, Rule, size_rule
from shoal.registry import load, names
from shoal.verify.facts import Sample
from shoal.verify.recheck import recheck
from shoal.verify.report import Outcome
from shoal.verify.terms import base
from shoal.verify.terms.base import Term, check_model, register_term, term_names, term_of

ROOT = Path(__file__).parent.parent
# What the class and the term state, each for itself.
STATED = ("main", "words", "group_words", "leaves_open", "closed_by", "identity", "valued", "together", "of_cells",
          "membership", "remembers", "numeric")  # fmt: skip


@dataclass(frozen=True)
class Parts:
    """All that there is about one model."""

    name: str
    model: type[Model] | None
    term: Term | None
    page: str
    tests: Mapping[str, str] = field(default_factory=dict)
    public: Collection[str] = ()


def parts_of(name: str) -> Parts:
    """What this repository has of a model."""
    return Parts(
        name=name,
        model=load("model", name) if name in names("model") else None,
        term=term_of({"name": name}) if name in term_names() else None,
        page=(ROOT / "docs" / "models.md").read_text(),
        tests={path.name: path.read_text() for path in (ROOT / "tests" / "models").glob("test_*.py")},
        public=shoal.__all__,
    )


def forgotten(parts: Parts) -> list[str]:
    """What is missing of a model, or said differently in two places."""
    found = [f"no {what}" for what, there in (("class", parts.model), ("term", parts.term)) if there is None]
    section = parts.page.partition(f"\n## `{parts.name}`\n")[2].partition("\n## ")[0]
    found += [f"no {what} in docs/models.md" for what in _unsaid(section)]
    if not any(re.search(rf"[\"']{re.escape(parts.name)}[\"']", text) for text in parts.tests.values()):
        found.append("no test in tests/models")
    if parts.model is None:
        return found
    if parts.model.__name__ not in parts.public:
        found.append("no public name")
    found += [f"no '{stated}' in the class" for stated in ("name", "main", "words") if not hasattr(parts.model, stated)]
    return found if parts.term is None else [*found, *_differing(parts.name, parts.model, parts.term)]


def _unsaid(section: str) -> list[str]:
    if not section:
        return ["section"]
    return [what for what in ("Parameters", "Direction", "Does not protect") if f"**{what}" not in section]


def _differing(name: str, model: type[Model], term: Term) -> list[str]:
    """What class and term say differently."""
    fields = {one.name: one for one in dataclasses.fields(model) if one.name != "on"}
    needed = {one.name for one in fields.values() if {one.default, one.default_factory} == {dataclasses.MISSING}}
    found = []
    if {*term.required, *term.optional} != set(fields):
        found.append("other parameters in the term")
    if not needed <= set(term.required):
        found.append("a parameter that the term does not require")
    if name != getattr(model, "name", None) or name != term.name:
        found.append("another name")
    # What a sentence leads with need not be what the command line sets.
    stated = [one for one in STATED if one != "main"]
    found += [f"another '{one}' in the term" for one in stated if getattr(model, one, None) != getattr(term, one)]
    if getattr(model, "main", None) not in fields or (term.main is not None and term.main not in term.required):
        found.append("a 'main' that is no parameter")
    if getattr(model, "compares", False) != ("reference" in term.optional):
        found.append("another reference")
    return found


@pytest.mark.parametrize("name", [*names("model"), *(name for name in term_names() if name not in names("model"))])
def test_no_part_of_a_model_is_forgotten(name: str) -> None:
    assert forgotten(parts_of(name)) == []


# That the test can fail: a made-up model, complete, and then without one part after another.


@dataclass(frozen=True, kw_only=True)
class Crowd(Model):
    """Every class has at least so many records."""

    name = "crowd"
    main = "many"
    words = "crowded by {many}"
    valued = False
    many: int

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """At least so many."""
        return [[size_rule(self.many)]]


class CrowdTerm(Term):
    """Every class has at least so many records."""

    name = "crowd"
    main = "many"
    words = "crowded by {many}"
    required: ClassVar[Any] = {"many": lambda value: isinstance(value, int)}
    valued = False

    def judge(self, model: Any, sample: Sample) -> Outcome:
        """At least so many."""
        return Outcome(sample.sizes, sample.sizes >= model["many"], sample.sizes > 0, "low")


def changed(**stated: Any) -> type[Term]:
    """The term of a crowd with other statements."""
    return type("ChangedTerm", (CrowdTerm,), stated)


PAGE = "\n## `crowd`\n\n- **Parameters:** `many`.\n- **Direction:** up.\n- **Does not protect** values.\n\n## `other`\n"
WHOLE = Parts("crowd", Crowd, CrowdTerm(), PAGE, {"test_crowd.py": 'make("model", {"name": "crowd"})'}, ["Crowd"])


class Unnamed(Crowd):
    """A class that states nothing of its own name."""

    name = "throng"


@pytest.mark.parametrize(
    "change, missing",
    [
        ({}, []),
        ({"model": None}, ["no class"]),
        ({"term": None}, ["no term"]),
        ({"page": "\n## `other`\n"}, ["no section in docs/models.md"]),
        ({"page": PAGE.replace("**Direction:**", "")}, ["no Direction in docs/models.md"]),
        ({"tests": {"test_crowd.py": "crowd"}}, ["no test in tests/models"]),
        ({"public": []}, ["no public name"]),
        ({"model": Unnamed, "public": ["Unnamed"]}, ["another name"]),
        ({"term": changed(words="crowded")()}, ["another 'words' in the term"]),
        ({"term": changed(identity=True)()}, ["another 'identity' in the term"]),
        ({"term": changed(valued=True)()}, ["another 'valued' in the term"]),
        ({"term": changed(required={}, main=None)()},
         ["other parameters in the term", "a parameter that the term does not require"]),
        ({"term": changed(main="size")()}, ["a 'main' that is no parameter"]),
        ({"term": changed(optional={"reference": bool})()}, ["other parameters in the term", "another reference"]),
    ],
)  # fmt: skip
def test_a_part_that_is_forgotten_is_found(change: dict[str, Any], missing: list[str]) -> None:
    assert forgotten(replace(WHOLE, **change)) == missing


def test_a_plug_in_brings_its_own_term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_TABLE", dict(base._TABLE))
    with pytest.raises(VerificationError, match="'crowd', which this version cannot verify"):
        check_model({"name": "crowd", "many": 3})
    register_term(CrowdTerm, vouched_by="crowds 1.0")
    register_term(CrowdTerm, vouched_by="crowds 1.0")  # which says nothing new
    assert check_model({"name": "crowd", "many": 3})
    assert term_of({"name": "crowd"}).vouched_by == "crowds 1.0"
    with pytest.raises(ParameterError, match="has a model 'crowd' already"):
        register_term(CrowdTerm, vouched_by="throngs 2.0")
    with pytest.raises(ParameterError, match="has a model 'k' already"):
        register_term(changed(name="k"), vouched_by="crowds 1.0")


def test_a_verdict_names_who_vouches_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_TABLE", dict(base._TABLE))
    register_term(CrowdTerm, vouched_by="crowds 1.0")
    people = shoal.example_census(60).select("age", "sex", "diagnosis")
    table = shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"])
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=5), models=[Crowd(many=4), shoal.DistinctL(l=2)], seed=1
    )
    plugged, *ours = release.manifest["verdicts"]
    assert plugged["vouched_by"] == "crowds 1.0"
    assert not any("vouched_by" in verdict for verdict in ours)
    assert release.manifest["statement"].startswith("crowded by 4")
    manifest = {**release.manifest, "data": {"rows": release.frame.height}}
    assert recheck(release.frame, manifest).passed
    for vouched in ({"vouched_by": "somebody 2.0"}, {}):
        verdict = {key: value for key, value in plugged.items() if key != "vouched_by"} | vouched
        found = recheck(release.frame, {**manifest, "verdicts": [verdict, *ours]})
        assert [check.name for check in found.checks if not check.passed] == ["verdicts"]

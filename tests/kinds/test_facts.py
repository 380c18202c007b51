"""Every kind of release states every fact, and what it names exists."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import pytest

from shoal import registry
from shoal.errors import ParameterError
from shoal.models.refusals import plain_codes
from shoal.recoding.kinds import (
    CODINGS,
    GENERALISED,
    MICROAGGREGATED,
    PSEUDONYMISED,
    Kind,
    Trait,
    called,
    class_figures,
    either_has,
    kind_of,
    left_open,
    made_of,
    named,
)
from shoal.verify.manifest_schema import KINDS as VERIFIED

KINDS = [named(name) for name in registry.names("kind")]


def test_the_catalogue_and_the_verifier_know_the_same_kinds() -> None:
    assert [kind.name for kind in KINDS] == registry.names("kind")
    assert set(registry.names("kind")) == set(VERIFIED)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_fact_is_stated(kind: Kind) -> None:
    assert set(kind.lacks) < set(Trait)
    assert all(reason and not reason.endswith(".") for reason in kind.lacks.values())
    assert kind.generalises == (kind.exact is None)
    assert (kind.code is None) == (kind.meaning is None) == (kind.attack is None)
    assert not kind.implies or kind.code is not None
    assert bool(kind.not_protected) == bool(kind.class_figures) == (not kind.generalises)
    assert all(text.endswith(".") for text in (*kind.not_protected, *kind.class_figures))


def test_no_fact_has_a_default() -> None:
    assert not [one.name for one in dataclasses.fields(Kind) if one.default is not dataclasses.MISSING]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_a_kind_names_can_be_called(kind: Kind) -> None:
    wanted = {"classes": ["rows", "recoding"]}
    if kind.attack is not None:
        wanted["attack"] = ["released", "keys"]
    for part, arguments in wanted.items():
        assert list(inspect.signature(kind.part(part)).parameters) == arguments


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_attacks_and_measures_apply_by_what_a_kind_has(kind: Kind) -> None:
    attacks = [registry.load("attack", name) for name in registry.names("attack")]
    assert [attack.name for attack in attacks if kind.has(attack.aim)]
    for attack in attacks:
        assert kind.has(attack.aim) == (attack.aim not in kind.lacks)
    sentences = " ".join(kind.class_figures)
    mentioned = [attack for attack in attacks if f"'{attack.name}'" in sentences]
    assert all(kind.has(attack.aim) for attack in mentioned)


def test_every_trait_is_looked_at_and_some_kind_has_it() -> None:
    aims = {registry.load("attack", name).aim for name in registry.names("attack")}
    assert all(any(kind.has(trait) for kind in KINDS) for trait in Trait)
    needs = {registry.load("measure", name).needs for name in registry.names("measure")}
    assert needs == {Trait.COVERING, Trait.ALIKE, Trait.NOISE}
    assert aims | needs == set(Trait)


def test_algorithms_make_kinds_whose_codes_are_known() -> None:
    made = {registry.load("algorithm", name).kind for name in registry.names("algorithm")}
    assert made == set(KINDS)
    assert {kind.code for kind in KINDS} - {None} <= set(plain_codes())


def test_a_kind_stays_itself_in_another_process() -> None:
    for kind in KINDS:
        assert pickle.loads(pickle.dumps(kind)) == kind
    assert len(set(KINDS)) == len(KINDS)


def test_a_release_with_codes_is_pseudonymised_however_it_was_made() -> None:
    assert called(GENERALISED, ["token"]) == PSEUDONYMISED
    assert called(GENERALISED, ["shifted"]) == GENERALISED
    manifest = {"kind": "pseudonymised", "made": "microaggregated"}
    assert (kind_of(manifest), made_of(manifest)) == (PSEUDONYMISED, MICROAGGREGATED)
    assert either_has(manifest, Trait.CENTROIDS)
    assert made_of({"kind": "generalised"}) == GENERALISED
    assert not either_has({"kind": "generalised"}, Trait.CENTROIDS)
    with pytest.raises(ParameterError, match="no kind called 'generalized'. Did you mean 'generalised'"):
        kind_of({"kind": "generalized"})


def test_codes_say_what_they_leave_open() -> None:
    assert left_open(GENERALISED, [], joinable=True) == []
    (alone,) = left_open(GENERALISED, ["token"], joinable=False)
    assert left_open(GENERALISED, ["shifted", "token"], joinable=True)[0] == alone
    assert len(left_open(GENERALISED, ["shifted", "token"], joinable=True)) == 3
    assert "rank-matching" in class_figures(GENERALISED, ["graded"])[0]
    assert class_figures(PSEUDONYMISED, ["graded"]) == list(PSEUDONYMISED.class_figures)
    assert class_figures(GENERALISED, ["token"]) == [CODINGS["token"].class_figures]


def test_a_plug_in_kind_is_one_object_and_one_line() -> None:
    mine = dataclasses.replace(MICROAGGREGATED, name="rounded", exact="rounded")
    globals()["MINE"] = mine
    registry.register("kind", "rounded", f"{__name__}:MINE", "Rounded values.")
    try:
        assert named("rounded") is mine
        assert made_of({"kind": "rounded"}).has(Trait.CENTROIDS)
    finally:
        registry._TABLE["kind"].pop("rounded")

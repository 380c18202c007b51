"""Codes of sensitive columns on top of any method, and given codes for later records."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.algorithms.base import Algorithm
from shoal.errors import (
    DomainError,
    InfeasibleError,
    InputError,
    ParameterError,
    RecipeError,
    RefusalError,
    SchemaError,
)
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, SecretKey
from shoal.results import Release
from shoal.vault import Key, load, seal
from shoal.vault.files import read_secrets
from shoal.verify.recheck import recheck

GENERALISING: dict[str, Callable[[], Algorithm]] = {
    "mondrian": lambda: shoal.Mondrian(k=4),
    "k-members": lambda: shoal.KMembers(k=4),
    "microaggregation": lambda: shoal.Microaggregation(k=4),
    "random": shoal.RandomAnonymisation,
    "none": lambda: shoal.NoAlgorithm(levels={"age": 1}),
}
CODE = {"income": {"code": {"how": "graded", "categories": 4}}, "disease": {"code": "mapping"}}
READERS = ["rank-matching", "frequency-matching"]
WITHIN = "rank-matching-within-5-percent-of-the-range:income, 6 known"
ACCEPTED = ["W-PP-REV", "W-UNMODELLED:income", "W-RA-LINK", "W-NO-K"]


def people(rows: int = 60, shift: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row * 7 % 40 for row in range(rows)],
            "sex": ["f" if row % 2 else "m" for row in range(rows)],
            "income": [1000 + (row * 37 + shift) % 400 for row in range(rows)],
            "disease": [("flu", "cold", "gout", "ulcer")[(row * 3 + row // 7) % 4] for row in range(rows)],
        }
    )


def coded(algorithm: Algorithm | None = None, frame: pl.DataFrame | None = None, **changes: Any) -> Release:
    settings = changes.pop("settings", CODE)
    table = shoal.read(people() if frame is None else frame, quasi=["age", "sex"], sensitive=["income", "disease"],
                       settings=settings)  # fmt: skip
    wanted: dict[str, Any] = {"models": [shoal.KAnonymity(k=4), shoal.DistinctL(l=2, on="disease")]}
    wanted |= {"acknowledge": ACCEPTED, "seed": 3} | changes
    return shoal.anonymize(table, algorithm=algorithm or shoal.Mondrian(), **wanted)


@pytest.mark.parametrize("name", GENERALISING)
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_any_method_that_keeps_values_beside_records_can_be_coded(name: str, format: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"models": []} if name == "random" else {}
    made = coded(GENERALISING[name](), **changes)
    assert made.manifest["kind"] == "pseudonymised"
    made.write(tmp_path / "out", format=format)
    report = shoal.verify_release(tmp_path / "out")
    assert report.passed, [check for check in report.checks if not check.passed]
    kept = made.aligned().filter(pl.col("disease").is_not_null())
    assert kept["disease"].str.contains(r"^disease_\d$").all()
    assert kept["income"].max() < 5
    for secret in made.secrets:
        assert secret.decode(made.aligned()[secret.column]).to_list() == people()[secret.column].to_list()


def test_models_are_judged_on_the_values_and_attested() -> None:
    made = coded(models=[shoal.KAnonymity(k=4), shoal.DistinctL(l=2, on="disease"), shoal.KE(k=2, e=20, on="income")])
    assert made.manifest["statement"].startswith("pseudonymised; 4-anonymous, distinct 2-diverse")
    by = {(verdict.model["name"], verdict.on): (verdict.holds, verdict.by) for verdict in made.verdict}
    assert by == {("k", None): (True, "rechecked"), ("distinct-l", "disease"): (True, "attested"),
                  ("k-e", "income"): (True, "attested")}  # fmt: skip
    assert made.manifest["made"] == "generalised"
    assert coded(settings={}).manifest["kind"] == "generalised"
    with pytest.raises(InfeasibleError):
        coded(models=[shoal.KAnonymity(k=4), shoal.DistinctL(l=5, on="disease")])


def test_the_code_is_asked_for_with_what_was_read_and_told() -> None:
    with pytest.raises(RefusalError, match="Codes are pseudonymisation.*%") as caught:
        coded(acknowledge=["W-UNMODELLED:income"])
    assert caught.value.codes == ("W-PP-REV",)
    with pytest.raises(RefusalError, match="identity"):
        coded(models=[shoal.DistinctL(l=2, on="disease")], acknowledge=["W-PP-REV", "W-UNMODELLED:income"])
    made = coded()
    assert any(sentence.startswith("Coded values:") for sentence in made.manifest["not_protected"])
    assert {one["name"].rpartition(": ")[2] for one in made.manifest["measured"]} == {"income", "disease"}


def test_attacks_on_classes_take_codes_to_be_read() -> None:
    wanted = ["homogeneity", "divergence", "proximity"]
    both = (coded(), coded(settings={}))
    made, plain = ([one.figures for one in shoal.attack(release, only=wanted, seed=1)] for release in both)
    assert made == plain
    assert {one.name for figures in made for one in figures} >= {"homogeneity:disease", "proximity:income"}
    assert [one.sentence for one in shoal.evaluate(coded(), ["classifiers"])][0].count("coded as published") == 1


def test_attacks_on_codes_know_nothing_of_suppressed_people() -> None:
    odd = pl.DataFrame({"age": [99, 98], "sex": ["x", "y"], "income": [99_000, 99_100], "disease": ["rare", "odd"]})
    own = shoal.NoAlgorithm(levels={"age": 1}, suppression_limit=0.1)
    both = (coded(own, pl.concat([people(), odd])), coded(own))
    with_them, without = ([one.figures for one in shoal.attack(made, only=READERS, seed=1)] for made in both)
    assert both[0].frame.height == both[1].frame.height
    for mine, theirs in zip(with_them, without, strict=True):
        assert [one.name for one in mine] == [one.name for one in theirs]
    (baseline,) = {one.baseline for figures in with_them for one in figures if one.name.startswith(WITHIN)}
    assert baseline is not None
    assert baseline < 0.2  # the range is that of released incomes, so that one guess for all is close to few


def test_a_column_beside_codes_must_be_published_as_it_is() -> None:
    with pytest.raises(ParameterError, match="'age' is not published as it is.*Open are: income"):
        shoal.attack(coded(settings={"disease": CODE["disease"]}), only=["frequency-matching beside=age"], seed=1)


@pytest.mark.parametrize("lost", ["measured", "acknowledged", "not_protected", "coded"])
def test_the_verifier_notices_what_is_left_out(lost: str) -> None:
    made = coded()
    manifest = made.manifest | {"data": {"rows": made.frame.height}}
    if lost == "coded":
        # Without its code a column that holds answers is refused before the codes are held against the kind.
        said = [{k: v for k, v in entry.items() if k not in ("coded", "answers")} for entry in manifest["columns"]]
        manifest["columns"] = said
        with pytest.raises(shoal.errors.VerificationError, match="not coded accordingly"):
            recheck(made.frame, manifest)
        return
    if lost == "measured":
        manifest["measured"] = [one for one in manifest["measured"] if not one["name"].endswith("disease")]
    elif lost == "acknowledged":
        manifest["acknowledged"] = ["W-UNMODELLED:income"]
    else:
        manifest["not_protected"] = [one for one in manifest["not_protected"] if not one.startswith("Coded")]
    assert not recheck(made.frame, manifest).passed


def test_new_codes_tell_nothing_of_suppressed_people() -> None:
    odd = pl.DataFrame({"age": [99], "sex": ["x"], "income": [99_000], "disease": ["rare"]})
    made = coded(shoal.NoAlgorithm(levels={"age": 1}, suppression_limit=0.1), pl.concat([people(), odd]))
    assert made.frame.height == 60
    assert set(made.frame["disease"]) == {f"disease_{number}" for number in range(1, 5)}
    (grading,) = [secret for secret in made.secrets if secret.kind == "grading"]
    assert grading.reveal()["bounds"][-1][1] == "1398"
    with pytest.raises(DomainError):
        grading.encode(pl.Series("income", [99_000]))


def test_given_codes_code_later_records_alike() -> None:
    wide = {**CODE, "income": {"code": {"how": "graded", "bounds": [[0, 1199], [1200, 5000]]}}}
    first = coded(settings=wide)
    later = people(60, shift=1)
    made = coded(frame=later, codes=first.secrets, seed=9)
    again = coded(shoal.TableTransform(), later, codes=first.secrets, models=[], settings={})
    for secret in first.secrets:
        expected = secret.encode(later[secret.column]).to_list()
        assert made.aligned()[secret.column].to_list() == expected
        assert again.aligned()[secret.column].to_list() == expected
    assert [one.reveal() for one in made.secrets] == [one.reveal() for one in first.secrets]
    # Whoever holds both releases can compare codes, which fresh ones do not allow.
    for release, said in ((first, False), (made, True), (again, True)):
        told = [text for text in release.manifest["not_protected"] if text.startswith("Other releases with the same")]
        assert bool(told) == said
        assert recheck(release.frame, release.manifest | {"data": {"rows": release.frame.height}}).passed


MAPPING = MappingTable("disease", {"flu": "x1", "cold": "x2", "gout": "x3", "ulcer": "x4"})
GRADING = GradingTable("income", bounds=[(Decimal(0), Decimal(2000))], names=[1], decimals=0)


@pytest.mark.parametrize(
    "codes, error, told",
    [
        ([MappingTable("disease", {"flu": "x1", "cold": "x2"})], DomainError, "misses 2 of its values (30 rows): add"),
        ([MappingTable("disease", {"flu": "cold", "cold": "flu", "gout": "c", "ulcer": "d"})], ParameterError,
         "are values of it"),
        # Values that these records do not have, and others that are coded alike do.
        ([MappingTable("disease", {"flu": "croup", "cold": "b", "gout": "c", "ulcer": "d", "croup": "flu2"})],
         ParameterError, "are values of it"),
        ([GradingTable("disease", bounds=[(Decimal(0), Decimal(9))], names=[1])], ParameterError, "no mapping"),
        ([MappingTable("income", {"1": "a"})], ParameterError, "no grading of a numeric column"),
        ([GradingTable("income", bounds=[(Decimal(0), Decimal(1100))], names=[1], decimals=0)], DomainError,
         "no category for"),
        ([MappingTable("sex", {"f": "a", "m": "b"})], ParameterError, "'sex', which is not coded"),
        ([MAPPING, MAPPING], ParameterError, "Two sets of codes"),
        ([SecretKey("disease", b"k" * 32)], ParameterError, "token_key"),
    ],
)  # fmt: skip
def test_given_codes_that_do_not_fit(codes: list[Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        coded(codes=codes)
    assert told in str(caught.value)
    assert not any(value in str(caught.value) for value in ("gout", "ulcer"))


@pytest.mark.parametrize("code", ["", "*", "<missing>", " x1", "x1\n"])
def test_given_codes_that_would_be_read_as_something_else(code: str) -> None:
    with pytest.raises(ParameterError, match="give other codes"):
        coded(codes=[MappingTable("disease", {"flu": code, "cold": "x2", "gout": "x3", "ulcer": "x4"})])


def test_files_of_codes_that_contradict_themselves(tmp_path: Path) -> None:
    file = tmp_path / "codes.json"
    file.write_text('[{"kind": "mapping", "column": "disease", "mapping": {"flu": "a", "cold": "b", "flu": "c"}}]')
    with pytest.raises(InputError, match="names something twice") as caught:
        read_secrets(file)
    assert "flu" not in str(caught.value)
    file.write_text('[{"kind": "mapping", "column": "disease", "mapping": {"flu": "a", "cold": "a"}}]')
    with pytest.raises(InputError, match="'disease' gives one code to several values"):
        read_secrets(file)


def test_a_given_grading_must_tell_the_digits_apart() -> None:
    with pytest.raises(DomainError, match="digits after the point"):
        coded(frame=people().with_columns(pl.col("income") + 0.25), codes=[GRADING])


@pytest.mark.parametrize(
    "settings, error, told",
    [
        ({"age": {"code": "mapping"}}, SchemaError, "for sensitive columns"),
        ({"disease": {"code": "maping"}}, ParameterError, "mapping"),
        ({"disease": {"code": {"how": "mapping", "categories": 3}}}, ParameterError, "no parameter 'categories'"),
        ({"disease": {"code": "graded"}}, ParameterError, "for numbers and dates"),
        ({"disease": {"code": {"prefix": "x"}}}, ParameterError, "'how'"),
        ({"disease": {"code": {"how": "mapping", "prefix": {"diseas": "x"}}}}, ParameterError, "mean 'disease'"),
        ({"disease": {"code": {"how": "mapping", "prefix": " x"}}}, ParameterError, "begins with no blank"),
        ({"income": {"code": {"how": "graded", "bounds": {"incom": [[0, 5000]]}}}}, ParameterError, "mean 'income'"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        coded(settings=settings)


def test_what_cannot_be_coded_is_told_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shoal.Mondrian, "run", lambda *_: pytest.fail("grouped first"))
    for settings in ({"disease": {"code": "graded"}}, {"income": {"code": {"how": "graded", "categories": 0}}},
                     {"disease": {"code": {"how": "mapping", "prefix": ""}}}):  # fmt: skip
        with pytest.raises(ParameterError):
            coded(settings=settings)


@pytest.mark.parametrize(
    "model",
    [shoal.AlphaKSimple(alpha=0.9, k=2, on="disease", value="ulcer"),
     shoal.AlphaKComplete(alpha={"ulcer": 0.9}, k=2, on="disease")],
)  # fmt: skip
def test_models_name_no_value_of_a_coded_column(model: shoal.models.base.Model) -> None:
    """The manifest would show it, and the limit would tell which code is its."""
    kept = {"income": CODE["income"]}
    assert coded(models=[model], settings=kept).manifest["models"] == [model.parameters()]
    for changes in ({}, {"algorithm": shoal.TableTransform(), "settings": {}}):
        with pytest.raises(ParameterError, match="names values of column 'disease'") as caught:
            coded(models=[model], **changes)
        assert "ulcer" not in str(caught.value)


def test_methods_that_cannot_be_coded_say_so() -> None:
    with pytest.raises(ParameterError, match="by group"):
        coded(shoal.Anatomy(l=2, on="disease"), models=[], acknowledge=[*ACCEPTED, "W-EXACT-QI"])
    with pytest.raises(ParameterError, match="rewrites column"):
        coded(shoal.TableTransform(), models=[])


RECIPE = """\
acknowledge = ["W-PP-REV", "W-UNMODELLED:income"]
[source]
path = "people.csv"
[roles]
quasi = ["age", "sex"]
sensitive = ["income", "disease"]
[columns.income]
code = { how = "graded", bounds = [[0, 1199], [1200, 5000]] }
[columns.disease]
code = "mapping"
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 2
on = "disease"
[output]
"""
OPENED = Key.passphrase("correct horse")


def test_recipes_name_codes_of_a_vault_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.chdir(tmp_path)
    people().write_csv("people.csv")

    def run(folder: str, *lines: str) -> Release:
        Path("recipe.toml").write_text(RECIPE + "\n".join([f'folder = "{folder}"', *lines]), "utf-8")
        return shoal.run("recipe.toml", key=OPENED)

    with pytest.raises(RecipeError, match="nothing keeps what undoes it"):
        run("none")
    first = run("first", 'vault = "keys.vault"')
    later = run("later", 'vault = "keys.vault"', 'codes = "first"')
    tried = shoal.run("recipe.toml", key=OPENED, dry_run=True)
    assert tried.manifest["not_protected"] == later.manifest["not_protected"]
    secrets = load("keys.vault", OPENED, "first")
    Path("codes.json").write_text(json.dumps([one.reveal() for one in secrets]), "utf-8")
    filed = run("filed", "discard_secret = true", 'codes = "codes.json"')
    for made in (later, tried, filed):
        assert made.aligned().select("income", "disease").equals(first.aligned().select("income", "disease"))
    assert shoal.verify_release("later").passed
    # The later release can be read by its own entry.
    assert [one.reveal() for one in load("keys.vault", OPENED, "later", release="later")] == [
        one.reveal() for one in secrets
    ]
    # A file of all that undoes a release may have keys of tokens too; alone they are no codes to code with.
    keys = [SecretKey("name", b"k" * 32).reveal()]
    Path("codes.json").write_text(json.dumps([*keys, *(one.reveal() for one in secrets)]), "utf-8")
    both = run("both", "discard_secret = true", 'codes = "codes.json"')
    assert both.aligned().select("disease").equals(first.aligned().select("disease"))
    Path("codes.json").write_text(json.dumps(keys), "utf-8")
    with pytest.raises(RecipeError, match="hold no mapping and no grading"):
        run("lost", "discard_secret = true", 'codes = "codes.json"')
    with pytest.raises(RecipeError, match="none is named"):
        run("lost", "discard_secret = true", 'codes = "first"')
    Path("codes.json").write_text(json.dumps([MappingTable("disease", {"flu": "x"}).reveal()]), "utf-8")
    with pytest.raises(DomainError, match="misses 3 of its values"):
        run("lost", "discard_secret = true", 'codes = "codes.json"')

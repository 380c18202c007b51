"""Tokens by a key that a vault keeps: the same in every release that names it, and found nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import InputError, ParameterError, RecipeError, RefusalError
from shoal.recoding.secrets import MappingTable, SecretKey
from shoal.results import Release
from shoal.vault import Key, contents, load, seal, store
from tests.test_pseudonyms import visits

RECIPE = """\
acknowledge = ["W-TRAJECTORY", "W-UNMODELLED:disease", "W-NEUTRAL", "W-PP-REV"]
[source]
path = "visits.csv"
[roles]
subject = "patient"
pseudonym = ["patient"]
quasi = ["age", "sex"]
sensitive = ["disease"]
neutral = ["seen"]
drop = ["ward"]
[columns.seen]
type = "date"
shift = { days = 30 }
[[models]]
name = "k"
k = 3
[output]
vault = "keys.vault"
"""
OPENED = Key.passphrase("correct horse")
Run = Callable[..., Release]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the recipe with other lines under [output]."""
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.chdir(tmp_path)
    visits().write_csv("visits.csv")

    def call(folder: str, *lines: str, text: str = RECIPE, **changes: Any) -> Release:
        Path("recipe.toml").write_text(text + "\n".join([f'folder = "{folder}"', *lines]), "utf-8")
        return shoal.run("recipe.toml", **{"key": OPENED, **changes})

    return call


NAMED = 'token_key = "cohort"'


def told(release: Release) -> bool:
    return any("joined on the token" in sentence for sentence in release.manifest["not_protected"])


def test_the_same_key_gives_the_same_tokens_and_moves(run: Run) -> None:
    one, two = run("one", NAMED), run("two", NAMED)
    assert one.aligned()["patient"].equals(two.aligned()["patient"])
    assert one.aligned()["seen"].equals(two.aligned()["seen"])
    assert one.aligned()["seen"].ne(visits()["seen"].cast(pl.String)).any()
    assert told(one)
    assert told(two)
    assert shoal.verify_release("two").passed
    assert one.evidence["vault"]["token_key"] == {"name": "cohort", "made": True}
    assert two.evidence["vault"]["token_key"] == {"name": "cohort", "made": False}
    # Nothing but the key undoes them, and it is stored once.
    assert list(contents("keys.vault", OPENED)) == ["cohort"]
    (kept,) = load("keys.vault", OPENED, "cohort")
    assert kept.encode(visits()["patient"]).equals(two.aligned()["patient"])


def test_without_a_name_or_with_another_tokens_differ(run: Run) -> None:
    found = [run("one"), run("two"), run("three", NAMED), run("four", 'token_key = "other"')]
    assert [told(release) for release in found] == [False, False, True, True]
    tokens = [set(release.frame["patient"]) for release in found]
    assert len(set().union(*tokens)) == sum(map(len, tokens)) == 160


def test_a_seed_does_not_determine_a_named_key(run: Run) -> None:
    seeded = "seed = 5\n" + RECIPE
    one = run("one", NAMED, text=seeded)
    Path("keys.vault").unlink()
    assert not set(one.frame["patient"]) & set(run("two", NAMED, text=seeded).frame["patient"])


def test_a_key_put_there_before_is_used_and_survives_replacing(run: Run) -> None:
    key = SecretKey("patient", bytes(range(32)))
    store("keys.vault", OPENED, "cohort", [key])
    run("out", NAMED)
    again = run("out", NAMED, replace=True)
    assert again.aligned()["patient"].equals(key.encode(visits()["patient"]))


def test_other_secrets_still_get_their_entry(run: Run) -> None:
    text = RECIPE.replace('[[models]]\nname = "k"\nk = 3\n', '[algorithm]\nname = "mapping"\n')
    run("out", NAMED, text=text)
    assert {name: [one["kind"] for one in held] for name, held in contents("keys.vault", OPENED).items()} == {
        "cohort": ["key"], "out": ["mapping"],
    }  # fmt: skip


def test_the_key_is_in_the_vault_alone(
    run: Run, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run("one", NAMED)
    (kept,) = load("keys.vault", OPENED, "cohort")
    assert isinstance(kept, SecretKey)
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse")
    recipe = Path("recipe.toml")
    recipe.write_text(recipe.read_text("utf-8").replace('"one"', '"two"'), "utf-8")
    assert execute(["run", "recipe.toml"]) == 0
    out, err = capfd.readouterr()
    assert "key 'cohort', as kept there" in out
    written = [path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.suffix != ".vault"]
    assert len(written) > 6
    assert not any(
        secret in text
        for text in (*written, out.encode(), err.encode(), caplog.text.encode())
        for secret in (kept.raw(), kept.raw().hex().encode(), b"correct horse")
    )
    monkeypatch.setenv("SHOAL_PASSPHRASE", "wrong horse")
    recipe.write_text(recipe.read_text("utf-8").replace('"two"', '"three"'), "utf-8")
    assert execute(["run", "recipe.toml"]) == 2
    assert not Path("three").exists()


def test_flags_and_a_dry_run(
    run: Run, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse")
    flags = ["anonymize", "visits.csv", "-o", "out", "--subject", "patient", "--pseudonym", "patient", "--quasi", "age"]
    flags += ["--drop", "seen", "--drop", "ward", "--drop", "sex", "--sensitive", "disease", "--model", "k=3"]
    flags += ["--acknowledge", "W-TRAJECTORY", "--acknowledge", "W-UNMODELLED:disease", "--token-key", "cohort"]
    assert execute(flags) == 2
    assert "token_key" in capfd.readouterr().err
    assert execute([*flags, "--vault", "keys.vault", "--save-recipe", "saved.toml"]) == 0
    assert "key 'cohort', made by this run" in capfd.readouterr().out
    before = Path("keys.vault").read_bytes()
    assert execute(["run", "saved.toml", "--dry-run"]) == 0
    assert "joined on the token" in " ".join(capfd.readouterr().out.split())
    assert Path("keys.vault").read_bytes() == before


@pytest.mark.parametrize(
    "old, new, match",
    [
        ('vault = "keys.vault"', "discard_secret = true", "needs a vault"),
        ('pseudonym = ["patient"]\n', "", "role 'pseudonym'"),
    ],
)
def test_a_key_that_cannot_be_kept_or_used(run: Run, old: str, new: str, match: str) -> None:
    with pytest.raises(RecipeError, match=match):
        run("out", NAMED, text=RECIPE.replace(old, new))


def test_names_that_cannot_be(run: Run) -> None:
    with pytest.raises(RecipeError, match="vault_entry"):
        run("cohort", NAMED)
    with pytest.raises(InputError, match="printable"):
        run("out", 'token_key = ""')
    store("keys.vault", OPENED, "cohort", [MappingTable("disease", {"flu": "a"})])
    with pytest.raises(InputError, match="not a single key"):
        run("out", NAMED)
    assert not Path("out").exists()


def test_a_key_in_python_needs_a_column() -> None:
    table = shoal.read(visits().select("age", "sex"), quasi=["age", "sex"])
    with pytest.raises(ParameterError, match="pseudonym"):
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=3), token_key=SecretKey("patient", bytes(range(32))))


def test_a_refused_run_makes_no_key(run: Run) -> None:
    with pytest.raises(RefusalError):
        run("out", NAMED, text=RECIPE.replace('"W-TRAJECTORY", ', ""))
    assert not Path("keys.vault").exists()


class Full(Exception):
    """Stands for a disk without room."""


def _fail(*given: Any, **named: Any) -> None:
    raise Full


FAILING = "shoal.io.transaction.put"


@pytest.mark.parametrize("lines", [(), (NAMED,)], ids=["fresh", "named"])
def test_a_failed_write_leaves_the_vault_as_it_was(run: Run, lines: tuple[str, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FAILING, _fail)
        with pytest.raises(Full):
            run("out", *lines)
        assert not Path("keys.vault").exists()
    run("out", *lines)  # needs no --replace


def test_a_failed_write_keeps_entries_that_were_there(run: Run) -> None:
    run("out")
    other = SecretKey("patient", bytes(range(32)))
    store("keys.vault", OPENED, "other", [other])
    before = [secret.reveal() for secret in load("keys.vault", OPENED, "out")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FAILING, _fail)
        for folder in ("out", "second"):
            with pytest.raises(Full):
                run(folder, NAMED.replace("cohort", "third") if folder == "second" else "", replace=True)
    assert list(contents("keys.vault", OPENED)) == ["out", "other"]
    assert [secret.reveal() for secret in load("keys.vault", OPENED, "out")] == before

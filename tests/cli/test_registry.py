"""`shoal run` with a registry: what is refused, what is remembered, and what is left as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import execute

RECIPE = """
{top}
[source]
name = "{name}"
path = "patients.csv"
[roles]
{subject}
quasi = ["age"]
sensitive = ["illness"]
[algorithm]
{algorithm}
[registry]
file = "patients.registry"
[output]
folder = "{folder}"
"""
K = 'name = "mondrian"\nk = 2'
M = 'name = "m-invariant"\nm = 2\ncounterfeits = true'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("shoal.vault.seal.MEMORY", 10)  # deriving keys takes its time on purpose
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse")
    patients(tmp_path, 3)
    assert execute(["registry", "new", str(tmp_path / "patients.registry"), "--source", "patients"]) == 0
    return tmp_path


def patients(place: Path, rows: int) -> None:
    lines = ["who,age,illness", "p,10,flu", "q,15,gout", "r,16,cold"]
    (place / "patients.csv").write_text("\n".join(lines[: rows + 1]) + "\n")


def run(place: Path, folder: str, *flags: str, **parts: str) -> int:
    given = {"top": 'acknowledge = ["W-UNMODELLED:illness"]', "name": "patients", "subject": 'subject = "who"'}
    (place / "recipe.toml").write_text(RECIPE.format(**(given | {"algorithm": K, "folder": folder} | parts)))
    return execute(["run", str(place / "recipe.toml"), *flags])


def listing(place: Path, capsys: Any) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert execute(["registry", "show", str(place / "patients.registry"), "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["releases"]
    return found


def test_a_repeat_that_exposes_somebody_is_refused_until_accepted(place: Path, capsys: Any) -> None:
    assert run(place, "one") == 0
    file = place / "patients.registry"
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    assert b"flu" not in before
    patients(place, 2)
    assert run(place, "two", "--dry-run") == 4
    assert run(place, "two") == 4
    said = " ".join(capsys.readouterr().err.split())
    assert "would leave 1 person among fewer than 2" in said
    assert "W-REPEAT" in said
    assert not (place / "two").exists()
    assert file.read_bytes() == before
    assert run(place, "two", top='acknowledge = ["W-UNMODELLED:illness", "W-REPEAT"]') == 0
    manifest = json.loads((place / "two" / "manifest.json").read_text())
    assert "W-REPEAT" in manifest["acknowledged"]
    assert any(sentence.startswith("People of earlier releases") for sentence in manifest["not_protected"])
    assert [(one["people"], one["accepted"]) for one in listing(place, capsys)] == [(3, False), (2, True)]


@pytest.mark.sample(5)
@pytest.mark.parametrize("who", ["P Q", "patient-p patient-q", "p@ward q@ward", "0p 0q", "s t"])
@pytest.mark.parametrize("algorithm", [K, M], ids=["mondrian", "m-invariant"])
def test_people_written_otherwise_are_no_release_of_other_people(
    place: Path, capsys: Any, algorithm: str, who: str
) -> None:
    assert run(place, "one", algorithm=algorithm) == 0
    before = (place / "patients.registry").read_bytes()
    one, other = who.split()
    (place / "patients.csv").write_text(f"who,age,illness\n{one},10,flu\n{other},15,gout\n")
    capsys.readouterr()
    assert run(place, "two", "--dry-run", algorithm=algorithm) == 2
    assert run(place, "two", algorithm=algorithm) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "None of the 2 people of column 'who' (0 %) is among the 3 of this source's earlier releases" in said
    assert "W-REPEAT" in said
    assert not (place / "two").exists()
    assert (place / "patients.registry").read_bytes() == before
    accepted = 'acknowledge = ["W-UNMODELLED:illness", "W-REPEAT"]'
    assert run(place, "two", algorithm=algorithm, top=accepted) == 0
    assert [entry["accepted"] for entry in listing(place, capsys)] == [False, True]


def test_m_invariance_passes_and_verifies(place: Path, capsys: Any) -> None:
    assert run(place, "one", algorithm=M, top="") == 0
    patients(place, 2)
    assert run(place, "two", algorithm=M, top="") == 0
    manifest = json.loads((place / "two" / "manifest.json").read_text())
    assert (manifest["counterfeits"], manifest["data"]["rows"]) == (1, 3)
    assert [entry["by"] for entry in manifest["verdicts"]] == ["rechecked", "attested"]
    assert execute(["verify", str(place / "two")]) == 0
    assert "against earlier releases" in capsys.readouterr().out
    (place / "two" / "manifest.json").write_text(json.dumps({**manifest, "models": [], "verdicts": []}))
    assert execute(["verify", str(place / "two")]) == 4


def test_a_dry_run_remembers_nothing(place: Path) -> None:
    before = (place / "patients.registry").read_bytes()
    assert run(place, "one", "--dry-run") == 0
    assert (place / "patients.registry").read_bytes() == before


def test_without_subject_or_key_it_only_warns(place: Path, capsys: Any) -> None:
    assert run(place, "one", subject='drop = ["who"]') == 0
    patients(place, 2)
    capsys.readouterr()
    assert run(place, "two", subject='drop = ["who"]') == 0
    assert "nobody can be found in other releases" in " ".join(capsys.readouterr().out.split())
    assert [one["tracked"] for one in listing(place, capsys)] == [False, False]
    assert run(place, "three", subject='drop = ["who"]', algorithm=M, top="") == 2


def test_bad_registries_are_exit_2(place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(place, "one") == 0
    assert run(place, "two", name="nurses") == 2
    assert "belongs to the source 'patients'" in " ".join(capsys.readouterr().err.split())
    assert run(place, "two", subject='key = "who"') == 2
    file = place / "patients.registry"
    content = file.read_bytes()
    for at in (3, 12, 30, len(content) - 1):
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert run(place, "two") == 2, at
    file.write_bytes(content)
    monkeypatch.setenv("SHOAL_PASSPHRASE", "wrong horse")
    assert run(place, "two") == 2
    assert file.read_bytes() == content
    assert not (place / "two").exists()


def test_what_a_recipe_with_a_registry_needs(place: Path, capsys: Any) -> None:
    (place / "recipe.toml").write_text(RECIPE.format(
        top="", name="x", subject='subject = "who"', algorithm=K, folder="."
    ).replace('name = "x"\n', ""))  # fmt: skip
    assert execute(["run", str(place / "recipe.toml")]) == 2
    text = RECIPE.format(top="", name="x", subject='subject = "who"', algorithm=M, folder="one")
    (place / "recipe.toml").write_text(text.replace('[registry]\nfile = "patients.registry"\n', ""))
    assert execute(["run", str(place / "recipe.toml")]) == 2
    assert "[registry]" in capsys.readouterr().err
    (place / "recipe.toml").write_text(text.replace("patients.registry", "one/patients.registry"))
    assert execute(["run", str(place / "recipe.toml")]) == 2
    assert execute(["vault", "list", str(place / "patients.csv")]) == 2


def test_a_failed_write_leaves_the_registry_as_it_was(
    place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left", "disk")

    for folder, before in (("one", []), ("two", ["one"])):
        with monkeypatch.context() as patch:
            patch.setattr("shoal.io.transaction.put", fail)
            assert run(place, folder) == 2
        assert [one["name"] for one in listing(place, capsys)] == before
        assert not (place / folder).exists()
        assert run(place, folder) == 0


def test_a_registry_is_never_made_unasked(place: Path, capsys: Any) -> None:
    assert run(place, "one") == 0
    patients(place, 2)
    assert run(place, "two") == 4
    (place / "patients.registry").rename(place / "mistyped.registry")
    capsys.readouterr()
    for command in (["run"], ["run", "--dry-run"], ["check"]):
        assert execute([*command, str(place / "recipe.toml")]) == 2
        assert "shoal registry new" in " ".join(capsys.readouterr().err.split())
    assert not (place / "two").exists()
    assert execute(["registry", "new", str(place / "patients.registry"), "--source", "patients"]) == 2
    assert "tells of a registry that was here" in capsys.readouterr().err
    (place / "mistyped.registry").rename(place / "patients.registry")
    assert run(place, "two") == 4
    assert execute(["registry", "new", str(place / "patients.registry"), "--source", "patients"]) == 2
    assert "already" in capsys.readouterr().err


@pytest.mark.parametrize("counted", [True, False])
def test_an_old_copy_is_noticed(place: Path, capsys: Any, counted: bool) -> None:
    """By the count beside it, and by the evidence beside the release where that is lost as well."""
    copy = (place / "patients.registry").read_bytes()
    assert run(place, "one") == 0
    newest = (place / "patients.registry").read_bytes()
    (place / "patients.registry").write_bytes(copy)
    if not counted:
        (place / "patients.registry.count").unlink()
    patients(place, 2)
    capsys.readouterr()
    assert run(place, "two") == 2
    assert "old copy" in capsys.readouterr().err
    (place / "patients.registry").write_bytes(newest)
    assert run(place, "two") == 4


def test_a_copy_that_went_another_way_is_noticed(place: Path, capsys: Any) -> None:
    copy, count = ((place / name).read_bytes() for name in ("patients.registry", "patients.registry.count"))
    assert run(place, "one") == 0
    (place / "patients.registry").write_bytes(copy)
    (place / "patients.registry.count").write_bytes(count)
    (place / "one.evidence").rename(place / "one.away")
    # Nobody can tell; with k = 2 the shuffle might give the same release again.
    assert run(place, "two", algorithm=K.replace("2", "3")) == 0
    (place / "one.away").rename(place / "one.evidence")
    capsys.readouterr()
    assert run(place, "three") == 2
    assert "one.evidence' knows of a release number 1" in capsys.readouterr().err


def test_another_registry_in_its_place_is_noticed(place: Path, capsys: Any) -> None:
    assert run(place, "one") == 0
    assert execute(["registry", "new", str(place / "other.registry"), "--source", "patients"]) == 0
    (place / "other.registry").rename(place / "patients.registry")
    assert run(place, "two") == 2
    assert "is not the registry that 'patients.registry.count' counts" in capsys.readouterr().err
    (place / "patients.registry.count").write_text("{}")
    assert run(place, "two") == 2
    assert "damaged" in capsys.readouterr().err

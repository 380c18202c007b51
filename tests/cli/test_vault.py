"""`shoal vault`: what it stores, shows, hands out and turns back, and where it refuses to."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.cli import vault as module
from shoal.vault import seal

SECRETS = [
    {
        "kind": "grading", "column": "age", "bounds": [["15", "45"], ["46", "90"]], "names": [1, 2], "rule": "paper",
        "shared": False, "decimals": 0, "type": "numeric",
    },
    {"kind": "mapping", "column": "disease", "mapping": {"Flu": "illness_2", "Ulcer": "illness_1"}},
]  # fmt: skip
HIDDEN = ["Flu", "Ulcer", "45", "90"]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse")
    monkeypatch.chdir(tmp_path)
    Path("secrets.json").write_text(json.dumps(SECRETS))


@pytest.fixture
def stored(shoal: Callable) -> Path:
    assert shoal("vault", "put", "keys.vault", "patients", "secrets.json").code == 0
    return Path("keys.vault")


def test_put_and_list_show_no_values(shoal, stored: Path) -> None:
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    again = shoal("vault", "put", "keys.vault", "patients", "secrets.json", "--replace")
    listed = shoal("vault", "list", "keys.vault")
    for result in (again, listed):
        assert (result.code, result.err) == (0, "")
        assert not [value for value in HIDDEN if value in result.out.replace(str(Path.cwd()), "")]
    assert all(word in listed.out for word in ("patients", "age", "disease", "grading", "mapping", "2 values"))
    assert shoal("vault", "list", "keys.vault", "--json").json["entries"]["patients"][1] == {
        "kind": "mapping", "column": "disease", "size": "2 values",
    }  # fmt: skip


def test_put_draws_a_fresh_key(shoal) -> None:
    for name in ("one", "two"):
        made = shoal("vault", "put", "keys.vault", name, "--new-key", "patient", "--json")
        assert made.json["secrets"] == [{"kind": "key", "column": "patient", "size": "256 bits"}]
        assert shoal("vault", "get", "keys.vault", name, "-o", f"{name}.json").code == 0
    one, two = (json.loads(Path(f"{name}.json").read_text())[0]["key"] for name in ("one", "two"))
    assert len(bytes.fromhex(one)) == 32
    assert one != two


def test_get_gives_back_what_put_took(shoal, stored: Path) -> None:
    result = shoal("vault", "get", stored, "patients", "-o", "back.json")
    assert result.code == 0
    assert not [value for value in HIDDEN if value in result.out.replace(str(Path.cwd()), "")]
    assert json.loads(Path("back.json").read_text()) == SECRETS
    assert stat.S_IMODE(Path("back.json").stat().st_mode) == 0o600
    only = shoal("vault", "get", stored, "patients", "-o", "one.json", "--column", "disease", "--json")
    assert only.json["secrets"] == [{"kind": "mapping", "column": "disease", "size": "2 values"}]
    assert json.loads(Path("one.json").read_text()) == SECRETS[1:]


def test_interpret_a_rule_from_standard_input(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("IF H-age < 1.9 THEN disease = illness_2\n"))
    result = shoal("vault", "interpret", stored, "patients")
    assert (result.code, result.out) == (0, "IF age < 42 THEN disease = Flu\n")
    assert result.err == "note: nothing is counted or logged here; a server ('shoal serve') counts what answers tell.\n"


def test_interpret_only_what_holds_on_a_release(shoal, tmp_path: Path) -> None:
    """``--check`` counts again on the release, and says that nothing is counted for a budget."""
    import numpy as np
    import polars as pl

    from shoal import anonymize, read
    from shoal.vault import Key, store

    draw = np.random.default_rng(1)
    age = draw.integers(15, 91, 400)
    ill = np.where(age < 42, "Flu", "Ulcer")
    frame = pl.DataFrame({"age": age, "sex": draw.choice(["F", "M"], 400), "disease": ill})
    table = read(frame, quasi=["sex"], sensitive=["age", "disease"], name="people")
    made = anonymize(table, algorithm="table-transform", seed=1, acknowledge=["W-PP-REV"])
    made.write("out")
    store("keys.vault", Key.passphrase("correct horse"), "people", made.secrets)
    cut = made.frame.filter(made.frame["disease"] == made.secrets[0].reveal()["mapping"]["Ulcer"])["age"].min()
    young = made.secrets[0].reveal()["mapping"]["Flu"]
    invented = f"IF sex = F THEN disease = {young} (conf 0.9)"
    Path("rules.txt").write_text(f"IF age < {cut} THEN disease = {young}\n{invented}\n")
    result = shoal("vault", "interpret", "keys.vault", "people", "rules.txt", "--check", "--release", "out")
    assert (result.code, result.out) == (4, "IF age < 42 THEN disease = Flu\n")
    assert "refused: Line 2 states confidence 0.9" in result.err
    assert "nothing is counted or logged here" in result.err
    refused = shoal("vault", "interpret", "keys.vault", "people", "rules.txt", "--check")
    assert refused.code == 2
    assert "--release" in refused.err


def test_interpret_files(shoal, stored: Path) -> None:
    Path("rules.txt").write_text("Alter < 1.9\n")
    assert shoal("vault", "interpret", stored, "patients", "rules.txt", "--alias", "Alter=age").out == "age < 42\n"
    Path("centres.csv").write_text("age,disease\n1.9,illness_1\n")
    assert shoal("vault", "interpret", stored, "patients", "centres.csv", "-o", "found.csv").out == ""
    assert Path("found.csv").read_text() == "age,disease\n42,Ulcer\n"
    assert stat.S_IMODE(Path("found.csv").stat().st_mode) == 0o600
    Path("plain").write_text("age\n1.9\n")
    assert shoal("vault", "interpret", stored, "patients", "plain", "--csv").out == "age\n42\n"
    unasked = shoal("vault", "interpret", stored, "patients", "plain")
    assert (unasked.code, unasked.out) == (0, "age\n42\n")
    assert "note: read as CSV" in unasked.err


def test_a_table_on_standard_input_passes_no_code(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("cluster,age,disease\n0,1.9,illness_2\n"))
    result = shoal("vault", "interpret", stored, "patients")
    assert (result.code, result.out) == (0, "cluster,age,disease\n0,42,Flu\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("cluster,age,disease\n0,1.9,illness_2,more\n"))
    ragged = shoal("vault", "interpret", stored, "patients")
    assert (ragged.code, ragged.out) == (4, "cluster,age,disease\n0,1.9,Flu,more\n")
    assert "'1.9' stands in a row below the name of a graded column" in ragged.err


@pytest.mark.parametrize(
    "text,made,left",
    [
        ("disease = illness_9\nage < 1.9\n", "disease = illness_9\nage < 42\n", ["line 1, character 11: 'illness_9'"]),
        ("mean of age: 1.9, my_illness_2\n", "mean of age: 1.9, my_illness_2\n", ["'my_illness_2'", "'1.9'"]),
    ],
)
def test_what_is_not_turned_back_is_listed_and_ends_in_4(shoal, stored: Path, text: str, made: str, left: list) -> None:
    Path("rules.txt").write_text(text)
    result = shoal("vault", "interpret", stored, "patients", "rules.txt")
    assert (result.code, result.out) == (4, made)
    assert result.err.count("not turned back: line ") == len(left)
    assert all(piece in result.err for piece in left)
    assert f"error: {len(left)} places" in result.err
    assert not [value for value in HIDDEN if value in result.err]
    assert shoal("vault", "interpret", stored, "patients", "rules.txt", "-o", "found.txt").code == 4
    assert Path("found.txt").read_text() == made


def test_the_passphrase_may_come_from_a_file(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_PASSPHRASE")
    Path("pass").write_text("correct horse\n")
    Path("key").write_bytes(bytes(range(32)))
    refused = shoal("vault", "list", stored, "--passphrase-file", "pass")
    assert refused.code == 2
    assert "'pass' can be read by others than its owner: run chmod 600" in refused.err
    for name in ("pass", "key"):
        Path(name).chmod(0o600)
    assert shoal("vault", "list", stored, "--passphrase-file", "pass").code == 0
    assert shoal("vault", "put", "other.vault", "k", "--new-key", "id", "--key-file", "key").code == 0
    assert shoal("vault", "list", "other.vault", "--key-file", "key").code == 0
    refused = shoal("vault", "list", "other.vault", "--passphrase-file", "pass")
    assert refused.code == 2
    assert "key file" in refused.err
    assert shoal("vault", "list", stored, "--passphrase-file", "pass", "--key-file", "key").code == 2


def test_nothing_is_asked_without_a_terminal(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_PASSPHRASE")
    result = shoal("vault", "list", stored)
    assert result.code == 2
    assert "--passphrase-file" in result.err


def test_a_terminal_is_asked_twice_for_a_new_vault(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_PASSPHRASE")
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return "correct horse" if len(asked) < 3 else "another one"

    monkeypatch.setattr("getpass.getpass", answer)
    assert module.read_key(None, None).kind == b"p"
    assert len(asked) == 1
    with pytest.raises(Exception, match="differ"):
        module.read_key(None, None, new=True)
    assert len(asked) == 3


def release() -> Path:
    folder = Path("out")
    folder.mkdir()
    (folder / "manifest.json").write_text('{"shoal": "0"}')
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["put", "out/keys.vault", "x", "secrets.json"],
        ["get", "keys.vault", "patients", "-o", "out/back.json"],
        ["interpret", "keys.vault", "patients", "secrets.json", "-o", "out/rules.txt"],
    ],
)
def test_nothing_goes_into_a_release(shoal, stored: Path, arguments: list[str]) -> None:
    folder = release()
    result = shoal("vault", *arguments)
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "public" in result.err
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    "arguments,what",
    [
        (["put", "keys.vault", "patients", "secrets.json"], "already has an entry"),
        (["put", "keys.vault", "x"], "either a file"),
        (["put", "keys.vault", "x", "secrets.json", "--new-key", "id"], "either a file"),
        (["put", "keys.vault", "x", "absent.json"], "cannot be read"),
        (["put", "keys.vault", "x", "keys.vault"], "UTF-8"),
        (["put", "keys.vault", "x", "text.txt"], "not JSON"),
        (["put", "keys.vault", "x", "object.json"], "list of secrets"),
        (["put", "keys.vault", "x", "broken.json"], "damaged or incomplete"),
        (["put", "keys.txt", "x", "secrets.json"], "end in .vault"),
        (["list", "absent.vault"], "cannot be read"),
        (["list", "secrets.json"], "not a vault"),
        (["get", "keys.vault", "patient", "-o", "b.json"], "Did you mean 'patients'"),
        (["get", "keys.vault", "patients", "-o", "b.json", "--column", "zip"], "no secret of column 'zip'"),
        (["get", "keys.vault", "patients", "-o", "secrets.json"], "exists"),
        (["get", "keys.vault", "patients"], "--output"),
        (["interpret", "keys.vault", "patients", "text.txt", "--alias", "age"], "TEXT=COLUMN"),
        (["interpret", "keys.vault", "patients", "text.txt", "--alias", "x=zip"], "'zip'"),
    ],
)
def test_bad_input(shoal, stored: Path, arguments: list[str], what: str) -> None:
    Path("text.txt").write_text("nothing here\n")
    Path("object.json").write_text("{}")
    Path("broken.json").write_text('[{"kind": "mapping"}]')
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    result = shoal("vault", *arguments)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert what in result.err
    assert not [value for value in HIDDEN if value in result.err]
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_wrong_passphrase_opens_nothing(shoal, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_PASSPHRASE", "wrong horse")
    for command, *rest in (["list"], ["get", "patients", "-o", "b.json"], ["interpret", "patients", "secrets.json"]):
        result = shoal("vault", command, stored, *rest)
        assert (result.code, result.out) == (2, "")
        assert "wrong" in result.err
    assert not Path("b.json").exists()


def test_errors_as_json(shoal, stored: Path) -> None:
    error = shoal("vault", "list", "absent.vault", "--json").json["error"]
    assert error["type"] == "InputError"
    assert error["exit_code"] == 2


def test_the_command_alone_is_its_map(shoal) -> None:
    result = shoal("vault")
    assert (result.code, result.err) == (0, "")
    assert all(word in result.out for word in ("put", "list", "get", "interpret"))

"""Envelope encryption, and a store whose rows cannot be changed or put back unnoticed."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.errors import InputError, VerificationError
from shoal.vault import Key
from shoal.vault.sealed_rows import LIST, InMemory, Keyring, Strongroom, generation_of, generations

MARKED = b"Stomach Cancer is illness_12"


@pytest.fixture
def keyring() -> Keyring:
    return Keyring.new()


@pytest.fixture
def room(keyring: Keyring, tmp_path: Path) -> tuple[Strongroom, InMemory, Path]:
    store, anchor = InMemory(), tmp_path / "anchor.json"
    made = Strongroom(store, keyring, anchor)
    made.put("r1/disease", b"first")
    made.put_all({"r1/disease": MARKED, "r2/disease": b"another", "r1/age": b"bounds"})
    return made, store, anchor


def test_what_is_sealed_opens_for_what_it_belongs_to_alone(keyring: Keyring) -> None:
    sealed = keyring.seal("totp", "user-1", MARKED)
    assert keyring.unseal("totp", "user-1", sealed) == MARKED
    assert MARKED not in sealed
    assert keyring.seal("totp", "user-1", MARKED) != sealed
    for purpose, name, version in (("totp", "user-2", 0), ("question", "user-1", 0), ("totp", "user-1", 1)):
        with pytest.raises(VerificationError, match="was changed, or belongs elsewhere"):
            keyring.unseal(purpose, name, sealed, version=version)


def test_every_byte_of_a_sealed_secret_counts(keyring: Keyring) -> None:
    sealed = keyring.seal("totp", "user-1", b"short")
    for place in range(len(sealed)):
        for broken in (sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :], sealed[:place]):
            with pytest.raises(VerificationError):
                keyring.unseal("totp", "user-1", broken)


def test_a_keyring_opens_by_its_key_alone(keyring: Keyring, key: Key, tmp_path: Path) -> None:
    sealed = keyring.seal("totp", "user-1", MARKED)
    closed = keyring.closed(key)
    assert Keyring.open(closed, key).unseal("totp", "user-1", sealed) == MARKED
    with pytest.raises(InputError, match="passphrase or key file is wrong, or the keyring is damaged"):
        Keyring.open(closed, Key.passphrase("another horse"))
    with pytest.raises(InputError, match="wrong"):
        Keyring.open(closed[:-1] + bytes([closed[-1] ^ 1]), key)
    file = tmp_path / "master.key"
    file.write_bytes(bytes(range(32)))
    file.chmod(0o600)
    assert Keyring.open(keyring.closed(Key.file(file)), Key.file(file)).unseal("totp", "user-1", sealed) == MARKED
    with pytest.raises(VerificationError, match="was changed, or belongs elsewhere"):
        Keyring.new().unseal("totp", "user-1", sealed)


def test_a_keyring_neither_prints_nor_pickles(keyring: Keyring) -> None:
    assert re.fullmatch(r"Keyring\(1 master keys, redacted\)", repr(keyring))
    with pytest.raises(TypeError, match="cannot be serialised"):
        pickle.dumps(keyring)


def test_rotation_rewraps_data_keys_and_leaves_contents(keyring: Keyring) -> None:
    sealed = keyring.seal("totp", "user-1", MARKED)
    newer = keyring.rotated()
    again = newer.rewrap("totp", "user-1", sealed)
    assert (generation_of(sealed), generation_of(again)) == (1, 2)
    assert again[-len(MARKED) - 28 :] == sealed[-len(MARKED) - 28 :]
    assert newer.unseal("totp", "user-1", sealed) == newer.retired().unseal("totp", "user-1", again) == MARKED
    with pytest.raises(VerificationError, match="a master key that is not in this keyring"):
        newer.retired().unseal("totp", "user-1", sealed)
    with pytest.raises(VerificationError, match="belongs elsewhere"):
        newer.rewrap("totp", "user-2", sealed)


def test_a_store_gives_what_was_put(room: tuple[Strongroom, InMemory, Path], keyring: Keyring) -> None:
    made, store, anchor = room
    assert made.names() == ["r1/age", "r1/disease", "r2/disease"]
    assert made.get("r1/disease") == MARKED
    assert Strongroom(store, keyring, anchor).get("r1/age") == b"bounds"
    assert made.get("r3") is None
    assert not any(MARKED in row or b"Cancer" in row for row in store.rows.values())
    assert anchor.stat().st_mode & 0o777 == 0o600
    made.put_all({"r1/age": None})
    assert made.names() == ["r1/disease", "r2/disease"]


def flipped(row: bytes, place: int) -> bytes:
    return row[:place] + bytes([row[place] ^ 1]) + row[place + 1 :]


def swap(rows: dict[str, bytes], one: str, two: str) -> None:
    rows[one], rows[two] = rows[two], rows[one]


TAMPERINGS: dict[str, tuple[Callable[[dict[str, bytes], dict[str, bytes]], object], str]] = {
    "an older copy": (lambda rows, old: (rows.clear(), rows.update(old)), "is an older copy"),
    "a replayed row": (lambda rows, old: rows.update({"r1/disease": old["r1/disease"]}), "is an older one, which"),
    "a swapped row": (lambda rows, old: swap(rows, "r1/disease", "r2/disease"), "is that of 'r2/disease'"),
    "a flipped byte": (lambda rows, old: rows.update({"r1/age": flipped(rows["r1/age"], 60)}), "age' .* was changed"),
    "a dropped row": (lambda rows, old: rows.pop("r1/age"), "'r1/age' is missing"),
    "an added row": (lambda rows, old: rows.update({"r9": rows["r1/age"]}), "'r9' was added"),
    "a lost list": (lambda rows, old: rows.pop(LIST), "has lost its list"),
    "a changed list": (lambda rows, old: rows.update({LIST: flipped(rows[LIST], 40)}), "list of secrets was changed"),
    "an older list": (lambda rows, old: rows.update({LIST: old[LIST]}), "is an older copy"),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_told_in_a_sentence(what: str, keyring: Keyring, tmp_path: Path) -> None:
    store, anchor = InMemory(), tmp_path / "anchor.json"
    made = Strongroom(store, keyring, anchor)
    made.put("r1/disease", b"first")
    older = store.read()
    made.put_all({"r1/disease": MARKED, "r2/disease": b"another", "r1/age": b"bounds"})
    change, sentence = TAMPERINGS[what]
    change(store.rows, older)
    name = "r9" if "added" in what else "r1/age" if "flipped" in what or "dropped" in what else "r1/disease"
    whole = [made.names] if "row" not in what and "byte" not in what else []
    for use in (lambda: made.get(name), made.check, *whole):
        with pytest.raises(VerificationError, match=sentence) as error:
            use()
        assert str(error.value).count(". ") == 0
        assert "Cancer" not in str(error.value)


def test_a_store_of_another_keyring_is_told(room: tuple[Strongroom, InMemory, Path]) -> None:
    _, store, anchor = room
    with pytest.raises(VerificationError, match="changed, or is of another keyring"):
        Strongroom(store, Keyring.new(), anchor).names()


def test_an_anchor_that_was_lost_or_put_back_is_told(room: tuple[Strongroom, InMemory, Path]) -> None:
    made, store, anchor = room
    old = anchor.read_bytes()
    made.put("x", b"1")
    made.put("x", b"2")
    anchor.write_bytes(old)
    assert made.get("x") == b"2"  # newer than its anchor, which the next change brings up to it
    made.put("x", b"3")
    assert json.loads(anchor.read_text())["epoch"] == 5
    anchor.unlink()
    with pytest.raises(VerificationError, match="is missing"):
        made.names()
    anchor.write_bytes(b"{")
    with pytest.raises(VerificationError, match="cannot be read"):
        made.names()
    assert made.accept() == 6
    assert made.get("x") == b"3"


def test_a_kill_between_store_and_anchor_is_no_fault(room: tuple[Strongroom, InMemory, Path]) -> None:
    made, _, anchor = room
    old = anchor.read_bytes()
    made.put("x", b"1")
    anchor.write_bytes(old)
    assert made.get("x") == b"1"
    made.put("x", b"2")
    assert made.get("x") == b"2"


def test_a_restored_backup_is_accepted_only_on_purpose(room: tuple[Strongroom, InMemory, Path]) -> None:
    made, store, _ = room
    backup = store.read()
    made.put("x", b"1")
    store.rows = backup
    with pytest.raises(VerificationError, match="older copy"):
        made.names()
    assert made.accept() == 4
    assert made.get("r1/disease") == MARKED


def test_what_came_after_an_accepted_backup_cannot_be_put_back(room: tuple[Strongroom, InMemory, Path]) -> None:
    """Else whoever has a copy from before the restore could undo everything that was told since."""
    made, store, _ = room
    backup = store.read()
    for value in (b"1", b"2", b"3"):
        made.put("x", value)
    abandoned = store.read()
    store.rows = backup
    made.accept()
    made.put("told", b"much")
    store.rows = abandoned
    with pytest.raises(VerificationError, match="older copy"):
        made.get("told")


def test_a_store_is_turned_over_to_a_new_master_key(room: tuple[Strongroom, InMemory, Path], keyring: Keyring) -> None:
    made, store, anchor = room
    newer = keyring.rotated()
    made.rewrap(newer)
    assert generations(store) == {2}
    assert Strongroom(store, newer.retired(), anchor).get("r1/disease") == MARKED
    with pytest.raises(VerificationError, match="of a master key"):
        Strongroom(store, keyring, anchor).get("r1/disease")

"""The vault file: whole or not at all, for its owner alone, and useless without its key."""

from __future__ import annotations

import pickle
import stat
import sys
from pathlib import Path

import pytest

from shoal.errors import InputError, MissingExtraError
from shoal.io import atomic
from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault import Key, Registry, check_vault, contents, load, open_registry, save_registry, seal, store

HIDDEN = [b"Flu", b"illness", b"age", b"disease", b"run", b"entries"]


def revealed(secrets: list[Secret]) -> list[object]:
    return [secret.reveal() for secret in secrets]


def test_what_goes_in_comes_out(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = tmp_path / "keys.vault"
    assert store(path, key, "run 1", secrets) == path
    store(path, key, "run 2", secrets[1:2])
    assert revealed(load(path, key, "run 1")) == revealed(secrets)
    assert revealed(load(path, key, "run 2")) == revealed(secrets[1:2])
    assert [item.name for item in tmp_path.iterdir()] == ["keys.vault"]


def test_only_its_owner_can_read_it_and_nobody_sees_inside(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store(path, key, "more", secrets)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [word for word in HIDDEN if word in path.read_bytes()]


def test_equal_content_gives_other_bytes(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    one, two = (store(tmp_path / f"{name}.vault", key, "run", secrets).read_bytes() for name in "ab")
    assert len(one) == len(two)
    assert one[11:] != two[11:]


def test_the_list_has_names_and_no_values(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    assert contents(path, key) == {
        "run": [
            {"kind": "grading", "column": "age", "size": "2 categories"},
            {"kind": "mapping", "column": "disease", "size": "3 values"},
            {"kind": "key", "column": "patient", "size": "256 bits"},
        ]
    }


@pytest.mark.parametrize("wrong", ["correct Horse", "correct horse ", "12345678"])
def test_a_wrong_passphrase_opens_nothing(tmp_path: Path, key: Key, secrets: list[Secret], wrong: str) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    before = path.read_bytes()
    for attempt in (
        lambda: load(path, Key.passphrase(wrong), "run"),
        lambda: contents(path, Key.passphrase(wrong)),
        lambda: store(path, Key.passphrase(wrong), "other", secrets),
    ):
        with pytest.raises(InputError, match="wrong, or the vault is damaged"):
            attempt()
    assert path.read_bytes() == before


def test_every_flipped_byte_is_found(tmp_path: Path, key: Key) -> None:
    path = store(tmp_path / "keys.vault", key, "r", [MappingTable("s", {"a": "s_1"})])
    sealed = path.read_bytes()
    assert len(sealed) < 200
    for place in range(len(sealed)):
        damaged = bytearray(sealed)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(InputError):
            load(path, key, "r")
    path.write_bytes(sealed)
    assert load(path, key, "r")


def test_a_cut_or_lengthened_file_is_found(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    sealed = path.read_bytes()
    for content in (b"", sealed[:20], sealed[:39], sealed[:-1], sealed + b"\0", b"x" + sealed):
        path.write_bytes(content)
        with pytest.raises(InputError):
            load(path, key, "run")


KEPT = '{"secrets": [], "bond": %s, "shared": false}'
UNUSABLE = [
    b"", b"{", b"\xff", b"[]", b"{}", b'{"entries": 3}', b'{"entries": {"r": 3}}',
    b'{"entries": {"r": {"later": null}}}', b'{"entries": {"r": {"now": 3}}}',
    b'{"entries": {"r": {"now": {"secrets": []}}}}', b"[" * 100_000,
    f'{{"entries": {{"r": {{"now": {KEPT % "{}"}}}}}}}'.encode(),
    f"""{{"entries": {{"r": {{"next": {KEPT % '{"folder": 1, "digest": "", "transaction": ""}'}}}}}}}""".encode(),
]  # fmt: skip


@pytest.mark.parametrize("content", UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_right_seal_over_something_else_is_one_sentence(tmp_path: Path, key: Key, content: bytes) -> None:
    vault, registry = tmp_path / "keys.vault", tmp_path / "a.registry"
    vault.write_bytes(seal.seal(content, key))
    registry.write_bytes(seal.seal(content, key, seal.REGISTRY))
    for attempt in (
        lambda: contents(vault, key),
        lambda: load(vault, key, "r"),
        lambda: store(vault, key, "r", [MappingTable("s", {"a": "s_1"})], replace=True),
        lambda: open_registry(registry, key),
    ):
        with pytest.raises(InputError, match="what is in it is damaged"):
            attempt()


def test_a_file_that_asks_for_absurd_memory_is_refused_at_once(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    damaged = bytearray(path.read_bytes())
    damaged[10] = 31  # two TiB
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="damaged"):
        load(path, key, "run")


def test_a_key_file_opens_it_and_a_passphrase_does_not(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    (tmp_path / "key").write_bytes(bytes(range(40)))
    (tmp_path / "other").write_bytes(bytes(range(1, 41)))
    for name in ("key", "other"):
        (tmp_path / name).chmod(0o600)
    file = Key.file(tmp_path / "key")
    path = store(tmp_path / "keys.vault", file, "run", secrets)
    assert revealed(load(path, file, "run")) == revealed(secrets)
    with pytest.raises(InputError, match="opened by a key file"):
        load(path, key, "run")
    with pytest.raises(InputError, match="wrong"):
        load(path, Key.file(tmp_path / "other"), "run")


def test_weak_keys_are_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    (tmp_path / "key").chmod(0o400)
    with pytest.raises(InputError, match="32 bytes"):
        Key.file(tmp_path / "key")
    with pytest.raises(InputError, match="8 characters"):
        Key.passphrase("1234567")
    with pytest.raises(InputError, match="cannot be read"):
        Key.file(tmp_path / "absent")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o444, 0o660])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "key").write_bytes(bytes(range(40)))
    (tmp_path / "key").chmod(mode)
    with pytest.raises(InputError, match="can be read by others"):
        Key.file(tmp_path / "key")


def test_a_short_passphrase_makes_nothing_new_unless_accepted(tmp_path: Path, secrets: list[Secret]) -> None:
    path = tmp_path / "keys.vault"
    with pytest.raises(InputError, match=r"fewer than 12 characters.*--accept-short"):
        store(path, Key.passphrase("elevenchars"), "run", secrets)
    with pytest.raises(InputError, match="fewer than 12"):
        save_registry(tmp_path / "p.registry", Key.passphrase("e\u0301levenchars"), Registry(source="p"))
    assert list(tmp_path.iterdir()) == []
    store(path, Key.passphrase("elevenchars", accept_short=True), "run", secrets)
    store(path, Key.passphrase("elevenchars"), "more", secrets)  # what is there already opens as ever
    assert list(contents(path, Key.passphrase("elevenchars"))) == ["run", "more"]


def test_a_key_is_never_shown(key: Key) -> None:
    assert repr(key) == "Key(passphrase, redacted)"
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(key)


def test_how_an_accent_is_typed_makes_no_difference(tmp_path: Path, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", Key.passphrase("caf\u00e9 noir et blanc"), "run", secrets)
    assert load(path, Key.passphrase("cafe\u0301 noir et blanc"), "run")


def test_entries_are_not_overwritten_unasked(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    with pytest.raises(InputError, match="already has an entry"):
        store(path, key, "run", secrets[:1])
    assert len(load(path, key, "run")) == 3
    store(path, key, "run", secrets[:1], replace=True)
    assert len(load(path, key, "run")) == 1


def test_an_unknown_entry_proposes_the_nearest(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "patients", secrets)
    with pytest.raises(InputError, match="Did you mean 'patients'"):
        load(path, key, "patient")
    with pytest.raises(InputError, match="It has: patients"):
        load(path, key, "zzz")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "absent.vault", key, "patients")


@pytest.mark.parametrize("name", ["", "x" * 101, "line\nbreak"])
def test_bad_names(tmp_path: Path, key: Key, secrets: list[Secret], name: str) -> None:
    with pytest.raises(InputError, match="name"):
        store(tmp_path / "keys.vault", key, name, secrets)
    with pytest.raises(InputError, match="no secrets"):
        store(tmp_path / "keys.vault", key, "run", [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("manifest", ['{"shoal": "1"}', "{}"])
def test_a_release_folder_takes_no_vault(tmp_path: Path, key: Key, secrets: list[Secret], manifest: str) -> None:
    (tmp_path / "out" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "manifest.json").write_text(manifest)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for place in ("out/a.vault", "out/deep/a.vault", "link/a.vault", "link/../out/a.vault"):
        with pytest.raises(InputError, match="public"):
            store(tmp_path / place, key, "run", secrets)
    assert not list(tmp_path.rglob("*.vault"))


def test_the_folder_that_a_release_will_have_takes_no_vault(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    folder = tmp_path / "out"
    with pytest.raises(InputError, match="public"):
        check_vault(folder / "a.vault", release=folder)
    with pytest.raises(InputError, match="public"):
        store(folder / "a.vault", key, "run", secrets, release=folder)
    store(tmp_path / "a.vault", key, "run", secrets, release=folder)


def test_other_bad_places(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    with pytest.raises(InputError, match=r"must end in \.vault"):
        store(tmp_path / "recipe.toml", key, "run", secrets)
    with pytest.raises(InputError, match="no folder"):
        store(tmp_path / "absent" / "a.vault", key, "run", secrets)
    (tmp_path / "notes.vault").write_text("my notes")
    with pytest.raises(InputError, match="not a vault"):
        store(tmp_path / "notes.vault", key, "run", secrets)
    assert (tmp_path / "notes.vault").read_text() == "my notes"


def test_a_failed_write_leaves_the_vault_as_it_was(
    tmp_path: Path, key: Key, secrets: list[Secret], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(InputError, match="No space left"):
        store(path, key, "more", secrets)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["keys.vault"]


def test_whoever_stores_while_another_does_waits(
    tmp_path: Path, key: Key, secrets: list[Secret], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    monkeypatch.setattr(atomic, "PATIENCE", 0.05)
    with atomic.locked(path), pytest.raises(InputError, match="being written by another process"):
        store(path, key, "mine", secrets)
    store(path, key, "mine", secrets)
    assert list(contents(path, key)) == ["run", "mine"]


@pytest.mark.parametrize("library", ["cryptography.hazmat.primitives.ciphers.aead", "argon2.low_level"])
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, key: Key, secrets: list[Secret], monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[vault\]'"):
        store(tmp_path / "keys.vault", key, "run", secrets)
    assert list(tmp_path.iterdir()) == []


def test_a_vault_of_another_version_is_refused(tmp_path: Path, key: Key, secrets: list[Secret]) -> None:
    path = store(tmp_path / "keys.vault", key, "run", secrets)
    sealed = path.read_bytes()
    path.write_bytes(seal.MAGIC + b"\x02" + sealed[9:])
    with pytest.raises(InputError, match="version 2"):
        load(path, key, "run")

"""What the next start makes of what a killed run left, where that was moved, damaged or put back since."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.io import atomic, transaction
from shoal.io.atomic import locked
from shoal.io.evidence import read_evidence
from shoal.io.transaction import BOUND, digest_of, recover, resume
from shoal.recoding.secrets import MappingTable
from shoal.release import run
from shoal.vault import contents, load, seal, store
from shoal.vault.registry_file import open_registry, settle
from tests.interrupts import KEY, Ended, Place, Write, steps


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """One MiB to derive a key instead of 64, and no disk that has to catch up."""
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def killed(write: Write, folder: Path, when: Callable[[], bool] = lambda: True) -> None:
    """Write up to the rename that would put the release in its place."""
    dead: list[bool] = []
    rename = os.rename

    def last(source: Path, target: Path) -> None:
        if target == folder and when():
            dead.append(True)
        act(0)
        rename(source, target)

    def act(_: int) -> None:
        if dead:
            raise Ended

    os.rename = last  # type: ignore[assignment]
    try:
        with steps(act), pytest.raises(Ended):
            write.act()
    finally:
        os.rename = rename


@pytest.mark.parametrize("exchanges", [True, False])
def test_what_a_kill_left_is_undone_where_everything_was_moved_to(
    place: Place, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    """Another name of the parent folder, as in a container: release, evidence, secrets, registry stay the old ones."""
    place.release("tokens-out").act()
    place.check()
    folder = place.root / "tokens-out"
    before = digest_of(folder)
    write = place.release("tokens-out", replace=True)
    if exchanges:
        killed(write, folder)
    else:
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
        killed(write, folder, when=lambda: not folder.exists())
    root = place.root.rename(place.root.with_name("moved"))
    place.root, place.vault, place.registry = root, root / "keys.vault", root / "visits.registry"
    place.log = root / "releases.log"
    folder = root / "tokens-out"
    again = place.release("tokens-out", replace=True)  # up to the writing
    assert digest_of(folder) == before
    assert read_evidence(folder)[BOUND] == before
    assert [note["digest"] for note in open_registry(place.registry, KEY)[0].listing()] == [before]
    with locked(folder, *(holder.place for holder in again.holders)):
        recover(folder, again.holders)
    (staging,) = place.remains()  # for the vault and the registry that it names, wherever they are now
    assert [path.name for path in (root / staging).iterdir()] == [transaction.JOURNAL]
    place.check()
    again.act()
    place.check_recovered()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"bond": {}, "holders": [], "committed": null}'])
def test_a_damaged_journal_is_told_and_nothing_is_removed(place: Place, content: bytes) -> None:
    place.release("mapping-out").act()
    staging = place.root / ".mapping-out.0123456789abcdef"
    (staging / "old").mkdir(parents=True)
    (staging / transaction.JOURNAL).write_bytes(content)
    with pytest.raises(InputError, match="journal"):
        resume(place.root / "mapping-out")
    assert (staging / "old").exists()


def test_an_old_copy_with_an_unfinished_release_does_not_turn_the_count_back(place: Place) -> None:
    place.release("tokens-a").act()
    write = place.release("tokens-b")
    killed(write, place.root / "tokens-b")
    copy = place.registry.read_bytes()
    for name in ("tokens-b", "tokens-c"):
        place.release(name).act()
    count = place.registry.with_name(f"{place.registry.name}.count").read_bytes()
    place.registry.write_bytes(copy)
    with pytest.raises(InputError, match="old copy"):
        settle(place.registry, KEY, place.root / "tokens-b")
    assert place.registry.with_name(f"{place.registry.name}.count").read_bytes() == count


def test_secrets_of_a_release_that_is_still_there_are_not_replaced(place: Place) -> None:
    """`--replace` is about the release in the output folder; another one may have the same entry."""
    place.release("mapping-a").act()
    recipe = place.root / "mapping-b.toml"
    recipe.write_text((place.root / "mapping-a.toml").read_text().replace("mapping-a", "elsewhere/mapping-a"))
    before = place.vault.read_bytes()
    with pytest.raises(InputError, match="another vault_entry"):
        run.run(recipe, replace=True, key=KEY)
    assert place.vault.read_bytes() == before
    assert not (place.root / "elsewhere").exists()
    place.check()
    place.root.with_name("link").symlink_to(place.root)
    run.run(place.root.with_name("link") / "mapping-a.toml", replace=True, key=KEY)
    place.check()


def test_secrets_of_which_nobody_knows_are_not_replaced(place: Place) -> None:
    """A run was killed once its release was in place, which then was moved away: its secrets are not in force yet."""
    place.release("mapping-out").act()
    folder = place.root / "mapping-out"
    write = place.release("mapping-out", replace=True)
    settling = write.holders[0].settle
    object.__setattr__(write.holders[0], "settle", lambda *_: None)
    try:
        write.act()
    finally:
        object.__setattr__(write.holders[0], "settle", settling)
    moved = folder.rename(place.root / "kept")
    secrets = load(place.vault, KEY, "mapping-out", release=moved)
    with pytest.raises(InputError, match="--release"):
        place.release("mapping-out", replace=True).act()
    assert load(place.vault, KEY, "mapping-out", release=moved)[0].reveal() == secrets[0].reveal()


def test_a_file_system_without_locks_does_with_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic.fcntl, "flock", flock)
    store(tmp_path / "k.vault", KEY, "a", [MappingTable("d", {"a": "d_1"})])
    assert list(contents(tmp_path / "k.vault", KEY)) == ["a"]

"""Which files of secrets are refused because others can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.io.atomic import refuse_readable


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A file in a folder such as systemd makes for the credentials of a service."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    folder.chmod(0o750)
    place = folder / "master"
    place.write_bytes(bytes(32))
    folder.chmod(0o550)
    return place


@pytest.mark.parametrize("mode, refused", [(0o400, False), (0o600, False), (0o440, True), (0o640, True), (0o604, True)])
def test_nobody_but_the_owner_may_read_it(key: Path, mode: int, refused: bool) -> None:
    key.chmod(mode)
    if refused:
        with pytest.raises(InputError, match="read by others than its owner"):
            refuse_readable(key)
    else:
        refuse_readable(key)


@pytest.mark.parametrize(
    "mode, folder, refused",
    [
        (0o440, 0o550, False), (0o440, 0o500, False), (0o400, 0o500, False),
        (0o444, 0o550, True), (0o460, 0o550, True), (0o440, 0o555, True), (0o440, 0o570, True), (0o440, 0o551, True),
    ],
)  # fmt: skip
def test_credentials_of_a_service_are_read_by_its_access_list(
    key: Path, monkeypatch: pytest.MonkeyPatch, mode: int, folder: int, refused: bool
) -> None:
    """Where systemd lets a service in by an access list, the mode shows its mask as rights of the group."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(key.parent))
    key.chmod(mode)
    key.parent.chmod(folder)
    if refused:
        with pytest.raises(InputError, match="read by others than its owner"):
            refuse_readable(key)
    else:
        refuse_readable(key)


def test_files_elsewhere_are_judged_as_ever(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = key.parent.parent / "other"
    other.write_bytes(bytes(32))
    other.chmod(0o440)
    for named in (str(key.parent), "", "relative"):
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", named)
        for path in (other, key.parent / ".." / "other"):
            with pytest.raises(InputError, match="read by others than its owner"):
                refuse_readable(path)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(key.parent))
    key.parent.chmod(0o750)
    (key.parent / "link").symlink_to(other)
    key.parent.chmod(0o550)
    with pytest.raises(InputError, match="read by others than its owner"):
        refuse_readable(key.parent / "link")

"""Single files for the publisher alone, such as the explorer's page: written whole, readable by their owner only."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import InputError
from shoal.io.atomic import locked, write_whole
from shoal.io.folders import is_release


def check_private(path: str | Path, *, suffix: str, replace: bool, release: str | Path | None = None) -> Path:
    """The absolute path of a private file, or the reason why none can go there; cheap, so ask before any work.

    Parameters
    ----------
    suffix
        What its name must end in, so that a slip never overwrites a recipe or a source.
    replace
        Accept that the file exists.
    release
        A folder that is going to be published, whether it exists or not.
    """
    place = Path(path).resolve()
    if place.suffix.lower() != suffix:
        raise InputError(f"'{path}' must end in {suffix}: choose another name.")
    if release is not None and place.is_relative_to(Path(release).resolve()):
        raise InputError(f"'{path}' lies in the folder of the release, which is public: choose another place.")
    if any(is_release(parent) for parent in place.parents):
        raise InputError(f"'{path}' lies inside a release, which is public: choose another place.")
    if any(parent.suffix == ".evidence" for parent in place.parents):
        raise InputError(f"'{path}' lies inside an evidence folder, which is kept as it was: choose another place.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder '{place.parent}' to put '{place.name}' into: make it first.")
    if place.is_dir() or (place.exists() and not replace):
        raise InputError(f"'{path}' exists: choose another name, or --replace it.")
    return place


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    with locked(path):
        write_whole(path, text.encode())

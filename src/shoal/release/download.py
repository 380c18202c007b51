"""A release that was downloaded: checked aside, with its signature, and put in its place whole."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import InputError, MissingExtraError, VerificationError


def refuse_taken(place: Path, named: str | Path) -> None:
    """Refuse a place where something is, under the name that it was given by."""
    if place.exists() or _beside(place).exists():
        raise InputError(f"'{named if place.exists() else _beside(place)}' exists: choose another name.")
    if not place.parent.is_dir():
        raise InputError(f"There is no folder '{place.parent}' to put '{place.name}' into: make it first.")


def verify(folder: Path, expected: str) -> None:
    """Refuse a release that is not the one whose manifest has this hash, or not what that says."""
    from shoal.io.transaction import digest_of
    from shoal.release.entry import verify_release

    if digest_of(folder) != expected:
        raise VerificationError("The manifest that came is not the one that the server lists: nothing was kept.")
    report = verify_release(folder)
    if not report.passed:
        wrong = next((check.detail for check in report.checks if not check.passed), "a verdict does not hold")
        raise VerificationError(f"The release that came is not what its manifest says, and was not kept: {wrong}")


def keep_signature(folder: Path, signature: str, public_key: str | Path | None, wanted: bool) -> None:
    """Put a signature beside a folder, if it is of the release in there and by the key that it has to be by."""
    from shoal.vault.signing import check_signature

    place = _beside(folder)
    place.write_bytes(signature.encode("utf-8", "replace"))  # half a character is no signature, as the check tells
    try:
        found = check_signature(folder, place)
    except MissingExtraError:
        if wanted:
            raise
        return
    except (VerificationError, InputError):
        raise VerificationError("The signature that came is not of this release, which was not kept.") from None
    try:
        check_signature(folder, place, public_key)
    except VerificationError:
        raise VerificationError(f"It is signed by another key, {found.fingerprint}, and was not kept.") from None


def put(staged: Path, place: Path) -> None:
    """Put a release, and the signature beside it, where nothing is: both, or none."""
    refuse_taken(place, place)  # also if somebody came meanwhile
    signed = _beside(staged).exists()
    try:
        try:
            if signed:
                os.rename(_beside(staged), _beside(place))
            os.rename(staged, place)
        except BaseException:
            if signed and staged.exists() and not _beside(staged).exists():
                os.rename(_beside(place), _beside(staged))
            raise
    except OSError as error:
        raise InputError(f"The release cannot be put to '{place}': {error.strerror}.") from None


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.sig")  # as ``shoal sign`` puts it

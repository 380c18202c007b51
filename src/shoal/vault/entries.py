"""What a vault holds under a name: the secrets of a release, and for a while those of the one that replaces it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from polars.exceptions import PolarsError

from shoal.errors import InputError, VerificationError
from shoal.io.transaction import Bond, digest_of

# What reading content of another form raises: JSON, arrays, frames.
_FAULTS = (
    ValueError, LookupError, TypeError, AttributeError, RecursionError, EOFError, BadZipFile, zlib.error, PolarsError,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Secrets as plain data, and the release that they belong to.

    Attributes
    ----------
    bond
        The release, or None for secrets that somebody stored by hand.
    shared
        Whether they are a key for several releases, which is bound to none once the first one is published.
    """

    secrets: list[Any]
    bond: Bond | None = None
    shared: bool = False


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Secrets in force, and those of a release that is being published; either may be absent."""

    now: Kept | None = None
    next: Kept | None = None

    def settled(self, folder: Path | None = None) -> Entry | None:
        """The entry after its publication: as before, as after, gone, or both where nobody knows what became of it.

        Parameters
        ----------
        folder
            What the place of its release may be called now.
        """
        if self.next is None or self.next.bond is None:
            return self
        outcome = self.next.bond.outcome(folder)
        if outcome is None:
            return self
        kept = self.now if not outcome else replace(self.next, bond=None) if self.next.shared else self.next
        return None if kept is None else Entry(now=kept)

    def of(self, release: str | Path | None, name: str) -> Kept:
        """The secrets of a release: the given one, else the one in the folder that they were published to.

        Raises
        ------
        VerificationError
            They are of another release, so that whatever they turn back would be wrong.
        """
        there = [kept for kept in (self.now, self.next) if kept is not None]
        wanted = _asked(release) if release is not None else next(filter(None, map(_in_place, there)), None)
        if wanted is None and len(there) > 1:
            raise InputError(f"{_undecided(name)}: say by --release which one is meant.")
        fitting = [kept for kept in there if wanted is None or kept.bond is None or kept.bond.digest == wanted]
        if not fitting:
            place = release if release is not None else there[0].bond and there[0].bond.folder
            raise VerificationError(
                f"The entry '{name}' has the secrets of another release than the one in '{place}': name the folder or "
                "the manifest of its own by --release."
            )
        return fitting[0]

    def refuse_needed(self, name: str, folder: Path) -> None:
        """Refuse to replace secrets whose release is not the one that is being replaced."""
        if self.next is not None:
            raise InputError(f"{_undecided(name)}: get its secrets by --release, and set another vault_entry.")
        bond = None if self.now is None else self.now.bond
        if bond is not None and digest_of(bond.folder) == bond.digest and not _is_same(Path(bond.folder), folder):
            raise InputError(
                f"The entry '{name}' has the secrets of the release in '{bond.folder}', which is still there: set "
                "another vault_entry."
            )


def _is_same(one: Path, two: Path) -> bool:
    """Whether two paths are one folder, whatever it is called."""
    return two.exists() and one.samefile(two)


def _undecided(name: str) -> str:
    return f"The entry '{name}' was being replaced when a run ended, and its release is not where it was"


def _in_place(kept: Kept) -> str | None:
    return None if kept.bond is None else digest_of(kept.bond.folder)


def _asked(release: str | Path) -> str:
    found = digest_of(release)
    if found is None:
        raise InputError(f"'{release}' is no release: name its folder or its manifest.")
    return found


def to_plain(entry: Entry) -> Any:
    """An entry as JSON."""
    if entry.now is not None and entry.now.bond is None and entry.next is None:
        return entry.now.secrets
    return {name: None if kept is None else asdict(kept) for name, kept in (("now", entry.now), ("next", entry.next))}


def from_plain(plain: Any) -> Entry:
    """The same back; a bare list is secrets without a release."""
    if isinstance(plain, list):
        return Entry(now=Kept(secrets=plain))
    return Entry(**{name: None if kept is None else _kept(kept) for name, kept in plain.items()})


def _kept(plain: Mapping[str, Any]) -> Kept:
    bond = plain["bond"]
    return Kept(**{**plain, "secrets": list(plain["secrets"]), "bond": None if bond is None else bond_of(bond)})


def bond_of(plain: Mapping[str, str]) -> Bond:
    """A bond from JSON."""
    if not all(isinstance(part, str) for part in plain.values()):
        raise TypeError("a bond is of texts")
    return Bond(**plain)


@contextmanager
def damaged(name: str) -> Iterator[None]:
    """Tell of content that its seal does not make right: whoever has the key can seal anything."""
    try:
        yield
    except _FAULTS:
        raise InputError(f"'{name}' can be opened, but what is in it is damaged: restore a copy.") from None

"""A release, its evidence and what undoes it come into force together, or none of them does, whatever happens.

Everything is staged first: release and evidence in a private folder beside the output, secrets and memory inside
their own files, as what comes *next*. A journal says to which release they belong. Then one rename puts the release in
its place; that is the step that counts. What follows it, or undoes what was staged, is one function, `recover`, which
looks at what is in place. It runs at the end of every publication, after an error or interrupt as after a success, and
at the start of the next one, which may have to finish what a killed process began. A log can only be added to, so its
line waits in the journal until the release is in its place.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from shoal.errors import InputError, ShoalError, VerificationError
from shoal.io.atomic import lock_file, locked, put, sync, write_whole
from shoal.io.evidence import FACTS, evidence_folder, json_bytes, read_evidence, refuse_linked_evidence
from shoal.io.hash_chain import PendingLine
from shoal.verify.folder import MANIFEST

JOURNAL = "journal.json"
BOUND = "manifest_sha256"  # what the evidence calls the digest of its release
_RELEASE, _EVIDENCE, _OLD, _OLD_EVIDENCE = "release", "evidence", "old", "old-evidence"
_ID = 8


@dataclass(frozen=True, kw_only=True)
class Bond:
    """What ties secrets, or a line of a registry, to one release.

    Attributes
    ----------
    folder, digest
        Where the release was to go, and the SHA-256 of its manifest, which holds those of all other files.
    transaction
        Name of the publication, in its staging folder.
    """

    folder: str
    digest: str
    transaction: str

    def outcome(self, folder: Path | None = None) -> bool | None:
        """Whether the release got to its place; None where it is neither there nor waiting, so that nobody knows.

        Parameters
        ----------
        folder
            What that place is called now, where everything may have been moved since.
        """
        places = [Path(self.folder)] if folder is None else [folder, Path(self.folder)]
        for place in 2 * places:  # twice: somebody may be deciding right now
            staging = _staging(place, self.transaction)
            found = _journal(staging)
            if found is not None and found.committed is not None:
                return found.committed
            if digest_of(place) == self.digest:
                return True
            if digest_of(staging / _RELEASE) == self.digest:
                return False
        return None


@dataclass(frozen=True, kw_only=True)
class _Journal:
    """What a publication says of itself: its release, who keeps something for it, its line of a log, its outcome."""

    bond: Bond
    holders: Sequence[str]
    line: PendingLine | None = None
    committed: bool | None = None


class Holder(Protocol):
    """A file that keeps something for a release: a vault or a registry."""

    @property
    def place(self) -> Path:
        """The file."""

    def stage(self, bond: Bond) -> None:
        """Keep what belongs to the release, not yet in force; the file is locked."""

    def settle(self, folder: Path) -> None:
        """Bring what was staged into force, or drop it, as the outcome of its bond says; the file is locked.

        Parameters
        ----------
        folder
            The place of the release.
        """


def publish(
    folder: Path,
    fill: Callable[[Path, Path], str],
    check: Callable[[], None],
    *,
    replace: bool,
    holders: Sequence[Holder] = (),
    log: str | None = None,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Stage a release and its evidence, tell the holders, and put everything in place.

    Parameters
    ----------
    fill
        Writes the release and the evidence into two empty folders, and returns the release's digest.
    check
        Raises unless the release may go to its folder; asked when nobody else can write there any more.
    log
        File that gets a line about the release (:mod:`shoal.io.hash_chain`).
    then
        Brings into force what was written elsewhere, as soon as the release is in its place; more than once does no
        harm.
    """
    with ExitStack() as undo:
        _make_parents(folder.parent, undo)
        with locked(folder, *(holder.place for holder in holders)):
            recover(folder, holders)
            check()
            try:
                _publish(folder, fill, replace, holders, log, then)
            finally:
                # Nothing is called before this 'try': an interrupt that compiled code raised is raised once more by
                # Python, at the first call behind it.
                try:
                    recover(folder, holders)
                except KeyboardInterrupt:  # it can begin again wherever it was, and nothing shall be left
                    recover(folder, holders)
                    raise
                except (OSError, ShoalError):
                    pass  # what it cannot finish now is told by the journal, and finished by the next one
        undo.pop_all()


def _publish(
    folder: Path,
    fill: Callable[[Path, Path], str],
    replace: bool,
    holders: Sequence[Holder],
    log: str | None,
    then: Callable[[], None],
) -> None:
    transaction = secrets.token_hex(_ID)
    staging = _staging(folder, transaction)
    staging.mkdir(0o700)
    staged, private = staging / _RELEASE, staging / _EVIDENCE
    staged.mkdir()  # as the umask says, and out of sight until it is in its place
    private.mkdir(0o700)
    bond = Bond(folder=str(folder), digest=fill(staged, private), transaction=transaction)
    for path in (*staged.iterdir(), staged, private):
        sync(path)
    line = None if log is None else PendingLine.stage(log, staged, folder)
    _write_journal(staging, _Journal(bond=bond, holders=sorted(str(one.place) for one in holders), line=line))
    sync(staging.parent)
    for holder in holders:
        holder.stage(bond)
    try:
        put(staged, folder, staging / _OLD if replace else None)
        then()
        if line is not None:
            line.add(folder)  # recovery would do it too, and tell nobody why it cannot
    except BaseException:  # what is in its place stays there, and so does what goes with it
        try:
            _also(folder, bond, then)
        except KeyboardInterrupt:
            _also(folder, bond, then)
        raise


def _also(folder: Path, bond: Bond, then: Callable[[], None]) -> None:
    if digest_of(folder) == bond.digest:
        then()


def resume(folder: Path) -> None:
    """Finish or undo what a killed process began in a folder, if anything; cheap, so call it before any work."""
    if leftovers(folder) or lock_file(folder).exists():
        with locked(folder):
            recover(folder)


def recover(folder: Path, holders: Sequence[Holder] = ()) -> None:
    """Finish or undo publications that ended early; folder and holders are locked, so none is under way."""
    left = leftovers(folder)
    for staging in left:
        _finish(folder, staging)
    for holder in holders:
        holder.settle(folder)
    for staging in left:
        _add_line(folder, staging)  # behind the holders, because a log that is out of reach must not stop them
        _clear(staging, {str(holder.place) for holder in holders})


def leftovers(folder: Path) -> list[Path]:
    """Staging folders of publications to a folder."""
    name = re.compile(rf"\.{re.escape(folder.name)}\.[0-9a-f]{{{2 * _ID}}}")
    try:
        return sorted(path for path in folder.parent.iterdir() if name.fullmatch(path.name))
    except OSError:
        return []


def evidence_of(folder: str | Path) -> dict[str, Any]:
    """The evidence of the release in a folder, after finishing what a killed process left there.

    Raises
    ------
    VerificationError
        It is that of another release.
    """
    with suppress(OSError, ShoalError):  # whoever may not write there may still read
        resume(Path(folder).resolve())
    found, digest = read_evidence(folder), digest_of(folder)
    if found.get(BOUND, digest) != digest:
        raise VerificationError(f"The evidence beside '{folder}' is that of another release: restore its own.")
    return found


def digest_of(release: str | Path) -> str | None:
    """The digest of the release in a folder, or of one whose manifest is given; None where there is none."""
    path = Path(release)
    with suppress(OSError, ValueError):  # a path with a NUL is none
        return hashlib.sha256((path / MANIFEST if path.is_dir() else path).read_bytes()).hexdigest()
    return None


def _finish(folder: Path, staging: Path) -> None:
    """Decide what became of a publication, say so in its journal, and make release and evidence agree with it."""
    journal = _journal(staging)
    if journal is None:  # nothing outside the staging folder was touched
        return
    committed = journal.bond.outcome(folder)
    if journal.committed is None and committed is not None:
        _write_journal(staging, replace(journal, committed=committed))
    private = evidence_folder(folder)
    if committed is False:
        if not folder.exists() and (staging / _OLD).exists():
            put(staging / _OLD, folder)
    elif _evidence_digest(staging / _EVIDENCE) == journal.bond.digest:
        refuse_linked_evidence(folder)
        put(staging / _EVIDENCE, private, staging / _OLD_EVIDENCE)


def _add_line(folder: Path, staging: Path) -> None:
    """Add the line that a publication owes its log, and note in the journal that it owes none any more."""
    journal = _journal(staging)
    if journal is not None and journal.line is not None and journal.committed is not False:
        journal.line.add(folder)
        _write_journal(staging, replace(journal, line=None))


def _clear(staging: Path, settled: set[str]) -> None:
    """Remove a staging folder; of one whose holders are not all settled, everything but the journal that tells them."""
    journal = _journal(staging)
    if journal is None or settled.issuperset(journal.holders):
        shutil.rmtree(staging, ignore_errors=True)
        return
    for name in (_RELEASE, _EVIDENCE, _OLD, _OLD_EVIDENCE):
        shutil.rmtree(staging / name, ignore_errors=True)


def _staging(folder: Path, transaction: str) -> Path:
    return folder.with_name(f".{folder.name}.{transaction}")


def _write_journal(staging: Path, journal: _Journal) -> None:
    write_whole(staging / JOURNAL, json_bytes(asdict(journal)))


def _journal(staging: Path) -> _Journal | None:
    """The journal of a publication, None before it has one."""
    try:
        plain = {"line": None, **json.loads((staging / JOURNAL).read_bytes())}  # older versions wrote no line
        line = None if plain["line"] is None else PendingLine(**plain["line"])
        holders = [str(one) for one in plain["holders"]]
        return _Journal(**{**plain, "bond": Bond(**plain["bond"]), "holders": holders, "line": line})
    except OSError:
        return None
    except (ValueError, LookupError, TypeError, RecursionError):
        # The old release may be in there, so it is not for us to remove.
        raise InputError(f"'{staging}' is left of a run, and its journal is damaged: move that folder away.") from None


def _evidence_digest(folder: Path) -> str | None:
    with suppress(OSError, ValueError, AttributeError):
        return str(json.loads((folder / FACTS).read_bytes()).get(BOUND))
    return None


def _make_parents(parent: Path, undo: ExitStack) -> None:
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        undo.callback(_quietly, path.rmdir)
        sync(path.parent)


def _quietly(action: Callable[[], None]) -> None:
    with suppress(OSError):
        action()

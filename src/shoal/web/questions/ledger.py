"""Who was told which codes: kept by mapping and grading, whichever releases they were used for.

Two releases that were coded alike, as by one seed, give the same codes: what is known of one is known of the other. So
the ledger goes by a fingerprint of the secret, which only this server can make. A mapping that was extended for later
records has another one, and most of its codes in common: so it does with a mapping or grading of which it has all
pieces, or most, and with another extension of the same one. What its column is called makes no difference: a grading is
often made by the data alone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets as random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Db

from shoal.recoding.secrets import Secret
from shoal.vault.leaks import NOTHING, Known
from shoal.vault.protocol.decision import Policy
from shoal.web.errors import Refused
from shoal.web.request import Here
from shoal.web.server_keys import SecretRows, ServerKeyring, get, kept, put
from shoal.web.store.tables import LogEntry, Question, Release, now

_KNOWN, _TABLE, _KEY = "known", "pieces", ("ledger", "key")
# So many codes in common are no coincidence, where one of two mappings does not have all of the other.
_MANY = 8
_Table = Mapping[str, str]
_pieces: dict[str, dict[str, str]] = {}  # by fingerprint, which is of the very same content


@dataclass(frozen=True)
class Ledger:
    """What researchers know of the secrets of a release.

    Attributes
    ----------
    names
        Under what each column is kept.
    """

    names: Mapping[str, str]

    @classmethod
    def of(cls, here: Here, secrets: Sequence[Secret]) -> Ledger:
        """The ledger of some secrets; the key of its fingerprints is made with the first."""
        coded = [one for one in secrets if one.kind in ("mapping", "grading")]
        with here.reading() as db:
            key, known = get(db, here.keyring, *_KEY), set(kept(db, here.keyring))
        names = {} if key is None else {one.column: _fingerprint(key, one.reveal()) for one in coded}
        if key is None or not all(f"{_TABLE}/{name}" in known for name in names.values()):
            with here.writing() as db:
                SecretRows(db).lock()  # two at once make one key, and so one ledger
                key = get(db, here.keyring, *_KEY)
                if key is None:
                    key = random.token_bytes(32)
                    put(db, here.keyring, *_KEY, key)
                names = {one.column: _fingerprint(key, one.reveal()) for one in coded}
                for one in coded:
                    table = json.dumps(_pieces_of(key, one)).encode()
                    put(db, here.keyring, _TABLE, names[one.column], table)
        return cls(names)

    def read(self, db: Db, keyring: ServerKeyring) -> dict[str, Known]:
        """What each researcher knows, by their identifiers."""
        found: dict[str, Known] = {}
        names = kept(db, keyring)
        tables, told = _tables(db, keyring, names), _told(names)
        for column, own in self.names.items():
            for name, users in told.items():  # which are few beside all that the server keeps
                common = _in_common(tables[own], tables.get(name, {}), tables.values())
                for user in users if common else ():
                    codes = json.loads(get(db, keyring, _KNOWN, f"{name}/{user}") or b"[]")
                    same = Known.of((column, code) for code in codes if _piece(code, common))
                    found[user] = found.get(user, NOTHING) | same
        return found

    def common(self, tables: Mapping[str, _Table], other: Ledger) -> dict[tuple[str, str], set[str]]:
        """Pieces that columns of this ledger share with those of another one, by both names."""
        found = {
            (mine, theirs): _in_common(tables[own], tables[name], tables.values())
            for mine, own in self.names.items() for theirs, name in other.names.items()
        }  # fmt: skip
        return {pair: pieces for pair, pieces in found.items() if pieces}

    @staticmethod
    def shared(known: Known, common: Mapping[str, Mapping[str, set[str]]]) -> Known:
        """Those of some codes that are among pieces which a column has in common with others, by that column."""
        return Known.of(
            (column, code) for column, others in common.items() for other, pieces in others.items()
            for code in known.in_column(other) if _piece(code, pieces)
        )  # fmt: skip

    def add(self, db: Db, keyring: ServerKeyring, user: str, new: Known) -> None:
        """Write down what somebody is told."""
        before = self.read(db, keyring).get(user, NOTHING)
        for column, codes in (before | new).plain().items():
            if column in new.codes:
                put(db, keyring, _KNOWN, f"{self.names[column]}/{user}", json.dumps(codes).encode())


def everyone(known: Mapping[str, Known]) -> Known:
    """What all know who may put it together."""
    found = NOTHING
    for one in known.values():
        found |= one
    return found


def all_tables(db: Db, keyring: ServerKeyring) -> dict[str, dict[str, str]]:
    """The pieces of every mapping and grading: a digest of what each code, or name of a category, stands for."""
    return _tables(db, keyring, kept(db, keyring))


def _told(names: Iterable[str]) -> dict[str, list[str]]:
    """Who was told something, by the mapping or grading that it was of."""
    found: dict[str, list[str]] = {}
    for one in names:
        purpose, _, rest = one.partition("/")
        if purpose == _KNOWN:
            name, _, user = rest.partition("/")
            found.setdefault(name, []).append(user)
    return found


def _tables(db: Db, keyring: ServerKeyring, names: Iterable[str]) -> dict[str, dict[str, str]]:
    found = [one.removeprefix(f"{_TABLE}/") for one in names if one.startswith(f"{_TABLE}/")]
    for name in found:
        if name not in _pieces:
            _pieces[name] = json.loads(get(db, keyring, _TABLE, name) or b"{}")
    return {name: _pieces[name] for name in found}


def _pieces_of(key: bytes, secret: Secret) -> dict[str, str]:
    plain = secret.reveal()
    about = [plain["kind"]]
    if secret.kind == "mapping":
        return {code: _fingerprint(key, [*about, value, code]) for value, code in plain["mapping"].items()}
    about += [plain[one] for one in ("rule", "decimals", "type")]
    pairs = zip(plain["names"], plain["bounds"], strict=True)
    return {str(name): _fingerprint(key, [*about, name, bounds]) for name, bounds in pairs}


def _in_common(mine: _Table, other: _Table, among: Iterable[_Table]) -> set[str]:
    """Pieces that two tables share, none where that may be a coincidence.

    It is none where one has all of the other, where they share many, where all names that both have stand for the same,
    and where both have all of a third: then they are extensions of it, by whatever codes.
    """
    same = mine.items() & other.items()
    if not same:  # as nearly all have, for which the others need not be looked at
        return set()
    pieces, least = {piece for piece, _ in same}, min(len(mine), len(other))
    many = 2 if pieces == mine.keys() & other.keys() else _MANY
    meant = len(same) == least or (2 * len(same) >= least and len(same) >= many)
    return pieces if meant or any(1 < len(each) <= len(same) and each.items() <= same for each in among) else set()


def _piece(code: float | str, common: set[str]) -> bool:
    """Whether a code stands for the same in both; the maximum of a category may have the number behind its name."""
    if isinstance(code, str):
        return code in common
    name = math.floor(code + 1e-9)
    return str(name) in common or (abs(code - name) <= 1e-9 and str(name - 1) in common)


def _fingerprint(key: bytes, content: Any) -> str:
    return hmac.digest(key, json.dumps(content, sort_keys=True).encode(), hashlib.sha256).hex()[:32]


# ----------------------------------------
# How many questions a researcher may ask about a release: in all, and within an hour.


_HOUR = timedelta(hours=1)
_EVENT = "limit of questions"
LIMIT = "limit"  # what a refusal by it is called


def numbers(db: Db, release: str) -> dict[str, int]:
    """How many questions everybody has asked about a release, by their identifiers."""
    counted = select(Question.user, func.count()).where(Question.release == release).group_by(Question.user)
    return {one[0]: one[1] for one in db.execute(counted)}


def next_number(db: Db, user: str, release: str, policy: Policy) -> int:
    """Which of somebody's questions about a release comes next, or why none does."""
    mine = select(Question.created).where(Question.release == release, Question.user == user)
    asked = db.scalar(select(func.count()).select_from(mine.subquery())) or 0
    if asked >= policy.questions:
        lets = f"its custodian lets you ask {policy.questions:,}: ask them for more"
        raise Refused(429, LIMIT, f"You have asked {asked:,} questions about this release, and {lets}.")
    late = list(db.scalars(mine.where(Question.created > now(hours=-1)).order_by(Question.created)))
    if len(late) >= policy.hourly:
        wait = datetime.fromisoformat(late[-policy.hourly]) + _HOUR - datetime.now(UTC)
        lets = f"its custodian lets you ask {policy.hourly:,}: wait, then ask again"
        message = f"You have asked {len(late):,} questions about this release within an hour, and {lets}."
        raise Refused(429, LIMIT, message, headers={"retry-after": str(max(1, round(wait.total_seconds())))})
    return asked + 1


def note(here: Here, release: Release, why: Refused) -> None:
    """Log that somebody came to a limit, once an hour however often they try again."""
    facts = {"release": release.id, "within": "an hour" if "retry-after" in why.headers else "all"}
    with here.writing() as db:
        if not _noted(db, here.me.name, facts):
            here.log(db, _EVENT, **facts)


def _noted(db: Db, who: str, facts: dict[str, str]) -> bool:
    """Whether a line of the last hour says so, of which the newest are looked at alone."""
    chosen = select(LogEntry.time, LogEntry.who, LogEntry.event, LogEntry.facts).order_by(LogEntry.number.desc())
    since = now(hours=-1)
    with db.execute(chosen.execution_options(yield_per=100)) as lines:
        for time, *line in lines:
            if time < since:
                return False
            if line == [who, _EVENT, facts]:
                return True
    return False

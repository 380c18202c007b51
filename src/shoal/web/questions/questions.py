"""Questions about releases: checked on the release, decided by the policy, answered, counted and logged.

What somebody was told is kept under the keyring as the secrets are (``ledger``), so that no older copy of it can be put
back to have a budget twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from secrets import token_hex
from threading import Lock
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import InputError, ShoalError, VerificationError
from shoal.recoding.secrets import Secret
from shoal.vault.leaks import NOTHING, Gain, Known, gain, leaks
from shoal.vault.leaks import Leak as leaks_Leak
from shoal.vault.protocol.decision import ANSWERED, REFUSED, WAITING, Answer, Budget, Examined, Policy, answer, examine
from shoal.vault.protocol.recount import Counter
from shoal.vault.protocol.submission import Submission
from shoal.web.errors import Outdated, Refused, conflict, invalid, refusal
from shoal.web.permissions import Principal, allow
from shoal.web.preview.cache import turn
from shoal.web.questions.ledger import LIMIT, Ledger, everyone, next_number, note, numbers
from shoal.web.questions.lineage import Relative, all_releases, kept_secrets, read_table, relatives, tally_of
from shoal.web.request import Here, load_named
from shoal.web.server_keys import SecretRows, ServerKeyring, get, put
from shoal.web.settings import Settings
from shoal.web.store.tables import Leak, Question, Release, User, now

_POLICY, _QUESTION = "policy", "question"
_KEPT = 2  # released tables in memory
_TRIES = 5
_LISTED = 300  # statements refused, and pieces not turned back, that are kept of a question; the others are counted
_tables: OrderedDict[str, Counter] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True, kw_only=True)
class Told:
    """A question as its asker and the custodian see it."""

    id: str
    release: str
    user: str
    state: str
    form: str
    created: str
    decided: str | None
    text: str
    target: str | None
    statements: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    left: list[dict[str, Any]]
    answer: str | None
    more: dict[str, int] = field(default_factory=dict)  # how many were refused or left beside those that are listed
    salt: str | None = None  # what the digests in the log begin with, which nobody can guess contents by without it


def ask(here: Here, release: Release, given: Submission) -> str:
    """Put a question; its identifier."""
    here.counted("jobs")  # one that cannot be read takes time as well, and is kept nowhere
    try:
        return _asked(here, release, given)
    except Refused as error:
        if error.code == LIMIT:
            note(here, release, error)
        raise


def _asked(here: Here, release: Release, given: Submission) -> str:
    secrets = secrets_of(here, release)
    counter, ledger = table_of(release, secrets, here.settings), Ledger.of(here, secrets)
    for _ in range(_TRIES):
        seen = _look(here, release, ledger)
        with here.reading() as db:
            next_number(db, here.me.id, release.id, seen.policy)
        found = _examined(here, given, counter, seen, here.me.id)
        made = answer(found, secrets) if found.state == ANSWERED else None
        with here.writing() as db:
            SecretRows(db).lock()  # what is compared below stays so until it is written
            if seen.again(here, db) != seen:
                continue  # somebody was answered meanwhile: decide again
            number = next_number(db, here.me.id, release.id, seen.policy)
            row = Question(release=release.id, user=here.me.id, form=given.form, text=b"", state=found.state)
            db.add(row)
            db.flush()
            row.text = _seal(here, f"{row.id}/text", asdict(given))
            digest = hashlib.sha256(given.text.encode("utf-8", "surrogatepass")).hexdigest()
            facts = {"question": row.id, "release": release.id, "number": number, "sha256": digest}
            here.log(db, "question", **facts, **_counts(found))
            _settle(here, db, row, found, made, ledger)
            return row.id
    raise conflict("Other questions about this release are being answered: try again.")


def decide(here: Here, question: Question, *, allowed: bool) -> None:
    """Answer or refuse a question that waits, as the custodian says; budgets hold all the same."""
    if not allowed:
        _turned_down(here, question)
        return
    with here.reading() as db:
        release = db.get_one(Release, question.release)
    secrets = secrets_of(here, release)
    counter, ledger = table_of(release, secrets, here.settings), Ledger.of(here, secrets)
    given = Submission(**json.loads(here.keyring.unseal(_QUESTION, f"{question.id}/text", question.text)))
    seen = _look(here, release, ledger)
    found = _examined(here, given, counter, seen, question.user, approved=True)
    made = answer(found, secrets) if found.state == ANSWERED else None
    with here.writing(question.user) as db:
        row = _waiting(db, question.id)
        _refuse_gone(db, row)
        if seen.again(here, db) != seen:  # what the custodian has allowed was said of what was known before
            raise conflict("Another question was answered meanwhile: look again.")
        row.state, row.decided_by = found.state, here.me.id
        _settle(here, db, row, found, made, ledger)


def _turned_down(here: Here, question: Question) -> None:
    """Refuse a question as it is: for that, neither its release nor what anybody was told has to be read."""
    counts: dict[str, Any] = {}
    with suppress(ShoalError):  # one that cannot be opened any more is refused like every other
        opened = json.loads(here.keyring.unseal(_QUESTION, f"{question.id}/checked", question.checked or b""))
        named, more = {"accepted": "statements", "refused": "refused", "unread": "left"}, opened.get("more", {})
        counts = {name: len(opened[part]) + more.get(part, 0) for name, part in named.items()}
        counts |= _proof(opened)
    with here.writing() as db:
        row = _waiting(db, question.id)
        row.state, row.decided_by, row.decided = REFUSED, here.me.id, now()
        here.log(db, "refusal", question=row.id, release=row.release, **counts)


def _waiting(db: Db, question: str) -> Question:
    """A question that still waits, and that nobody else decides in this moment."""
    SecretRows(db).lock()
    row = db.get_one(Question, question)
    if row.state != WAITING:
        raise conflict("The question was decided meanwhile: look again.")
    return row


def _refuse_gone(db: Db, question: Question) -> None:
    """Tell nothing to somebody who could not ask for it any more."""
    user = db.get_one(User, question.user)
    _, things = load_named(db, {"release": question.release}, holds=user.id)
    asker = Principal(id=user.id, name=user.name, role=user.role)
    if not user.active or not all(allow(asker, "question.ask", thing) for thing in things):
        raise conflict("Whoever asked has lost the account or the release: refuse the question, or grant it again.")


def told(here: Here, question: Question) -> Told:
    """A question, opened."""
    given = json.loads(here.keyring.unseal(_QUESTION, f"{question.id}/text", question.text))
    checked = json.loads(here.keyring.unseal(_QUESTION, f"{question.id}/checked", question.checked or b""))
    made = None if question.answer is None else here.keyring.unseal(_QUESTION, f"{question.id}/answer", question.answer)
    with here.reading() as db:
        user = db.get_one(User, question.user).name
    return Told(
        id=question.id, release=question.release, user=user, state=question.state, form=question.form,
        created=question.created, decided=question.decided, text=given["text"], target=given["target"],
        answer=None if made is None else made.decode(), **checked,
    )  # fmt: skip


def listed(db: Db, *, user: str | None = None, release: str | None = None) -> list[tuple[Question, str, str]]:
    """Questions with the names of their release and asker, the newest first."""
    chosen = select(Question, Release.name, User.name).join(Release, Release.id == Question.release).join(
        User, User.id == Question.user
    )
    if user is not None:
        chosen = chosen.where(Question.user == user)
    if release is not None:
        chosen = chosen.where(Question.release == release)
    return [(one, of, who) for one, of, who in db.execute(chosen.order_by(Question.created.desc(), Question.id))]


def secrets_of(here: Here, release: Release) -> list[Secret]:
    """What undoes a release; an error where it has nothing."""
    found = kept_secrets(here, release)
    if not any(one.kind in ("mapping", "grading") for one in found):
        raise refusal(InputError("This release has no codes that could be turned back: there is nothing to interpret."))
    return found


def table_of(release: Release, secrets: Iterable[Secret], settings: Settings) -> Counter:
    """The released table, of which the last few are kept at hand."""
    key = f"{settings.folder}/{release.id}/{release.manifest}"
    found = _at_hand(key)
    if found is not None:
        return found
    with turn(release.id):
        found = _at_hand(key)  # those who ask together read it once
        return _read(key, release, list(secrets), settings) if found is None else found


def _read(key: str, release: Release, secrets: list[Secret], settings: Settings) -> Counter:
    try:
        made = read_table(release, secrets, settings)
    except (InputError, VerificationError, OSError):  # which would tell where the server keeps it, and what else
        raise conflict("The files of this release cannot be read: tell whoever runs the server.") from None
    with _lock:
        _tables[key] = made
        while len(_tables) > _KEPT:
            _tables.popitem(last=False)
    return made


def _at_hand(key: str) -> Counter | None:
    with _lock:
        if key in _tables:
            _tables.move_to_end(key)
        return _tables.get(key)


def policy_of(db: Db, keyring: ServerKeyring, release: str, settings: Settings) -> Policy:
    """What the custodian lets be answered of a release."""
    plain = get(db, keyring, _POLICY, release)
    return Policy(minimum=settings.minimum_count) if plain is None else Policy.of_plain(json.loads(plain))


def base_of(policy: Policy) -> str:
    """What other limits are made from: sent with them, it tells whether somebody else set some meanwhile."""
    return hashlib.sha256(json.dumps(policy.plain(), sort_keys=True).encode()).hexdigest()[:16]


def set_policy(here: Here, release: Release, policy: Policy, base: str) -> None:
    """Answer by other limits from now on, which somebody has set who saw those of ``base``."""
    keyring = here.keyring
    with here.writing() as db:
        SecretRows(db).lock()  # what is compared below stays so until it is written
        if base_of(policy_of(db, keyring, release.id, here.settings)) != base:
            raise Outdated("Somebody set other limits meanwhile, which are shown here: look, then set yours again.")
        put(db, keyring, _POLICY, release.id, json.dumps(policy.plain()).encode(), release=release.id)
        here.log(db, "policy", release=release.id, **policy.plain())


@dataclass(frozen=True)
class _Seen:
    """What a decision goes by: who knows what of a release and of its relatives, and their limits."""

    about: list[tuple[str, Ledger]]
    relatives: list[Relative]
    releases: int
    known: list[dict[str, Known]]
    policies: list[Policy]

    @property
    def policy(self) -> Policy:
        """Of the release itself."""
        return self.policies[0]

    def again(self, here: Here, db: Db) -> _Seen:
        """The same, as it is now."""
        known = [ledger.read(db, here.keyring) for _, ledger in self.about]
        policies = [policy_of(db, here.keyring, release, here.settings) for release, _ in self.about]
        return replace(self, releases=len(all_releases(db)), known=known, policies=policies)


def _look(here: Here, release: Release, ledger: Ledger) -> _Seen:
    with here.reading() as db:
        releases = all_releases(db)
    found = relatives(here, release, ledger, releases)
    about = [(release.id, ledger), *((one.release.id, one.ledger) for one in found)]
    with here.reading() as db:
        seen = _Seen(about, found, 0, [], []).again(here, db)
    return replace(seen, releases=len(releases))


def _examined(
    here: Here, given: Submission, counter: Counter, seen: _Seen, user: str, *, approved: bool = False
) -> Examined:
    """What becomes of a question; once the custodian has approved it, nothing waits, and budgets hold all the same."""
    policies = [replace(one, automatic=True, waiting=1.0) for one in seen.policies] if approved else seen.policies
    mine, all_know = zip(*((known.get(user, NOTHING), everyone(known)) for known in seen.known), strict=True)
    beside = [
        Budget(tally=tally_of(here, one.release).renamed(one.columns), policy=policies[at],
               mine=mine[at].renamed(one.columns), everyone=all_know[at].renamed(one.columns),
               shared=one.shared, where=one.where)
        for at, one in enumerate(seen.relatives, start=1)
    ]  # fmt: skip
    try:
        return examine(given, counter, policies[0], mine=mine[0], everyone=all_know[0], beside=beside)
    except ShoalError as error:
        raise refusal(error) from None


def _settle(here: Here, db: Db, row: Question, found: Examined, made: Answer | None, ledger: Ledger) -> None:
    """Write down what became of a question."""
    refused, left = found.refused, (made or found).left
    checked = {
        "statements": [{"line": one.line, "statement": str(one)} for one in found.accepted],
        "refused": [{"line": one.line, "statement": one.statement, "why": one.why} for one in refused[:_LISTED]],
        "left": [{"line": one.line, "text": one.text, "why": one.why} for one in left[:_LISTED]],
    }
    more = {"refused": max(0, len(refused) - _LISTED), "left": max(0, len(left) - _LISTED)}
    salt = token_hex(16)
    kept = {**checked, "more": more, "salt": salt}
    row.checked, facts = _seal(here, f"{row.id}/checked", kept), {"question": row.id, "release": row.release}
    if found.state == WAITING:  # it is checked again when it is decided, which alone has a proof
        here.log(db, "waiting", **facts)
        return
    facts |= _proof(kept)
    row.decided = now()
    if made is None:
        here.log(db, "refusal", **facts, **_counts(found))
        return
    row.answer = here.keyring.seal(_QUESTION, f"{row.id}/answer", made.text.encode())
    ledger.add(db, here.keyring, row.user, found.gained)
    for column, codes in found.gained.plain().items():
        what = here.keyring.seal("leak", f"{row.id}/{column}", json.dumps(codes).encode())
        db.add(Leak(question=row.id, release=row.release, user=row.user, column=column, what=what))
    told = {column: len(codes) for column, codes in found.gained.codes.items()}
    here.log(db, "answer", **facts, answer=_salted(salt, made.text), codes=told, **_counts(found))


def _proof(checked: Mapping[str, Any]) -> dict[str, str]:
    """A digest of what was checked; none of a question of before there were any."""
    parts = {name: checked[name] for name in ("statements", "refused", "left")}
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {"proof": _salted(checked["salt"], text)} if "salt" in checked else {}


def _salted(salt: str, text: str) -> str:
    return hashlib.sha256(f"{salt}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _counts(found: Examined) -> dict[str, int]:
    return {"accepted": len(found.accepted), "refused": len(found.refused), "unread": len(found.left)}


def _seal(here: Here, name: str, content: Any) -> bytes:
    return here.keyring.seal(_QUESTION, name, json.dumps(content, default=dict).encode())


# ----------------------------------------
# What a text calls columns, as people type it: ``feature_0 = age``, one a line.


def read_aliases(text: str) -> dict[str, str]:
    """Aliases by what the text says."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not all("=" in line for line in lines):
        raise invalid("Write what the results call a column as 'feature_0 = age', one a line.", "aliases")
    pairs = [line.rpartition("=") for line in lines]
    return {alias.strip(): column.strip() for alias, _, column in pairs}


# ----------------------------------------
# What the answers so far have told, for the custodian and the auditor: by researcher, and for all together.


@dataclass(frozen=True, kw_only=True)
class Account:
    """What somebody was told of a release, and how often they asked; ``who`` is None for all together."""

    who: str | None
    asked: int
    leaks: list[leaks_Leak]


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Everything that is known of a release, and what an attacker gains from it."""

    policy: Policy
    each: list[Account]
    together: Account
    gains: list[Gain]


def accounts(here: Here, release: Release) -> Accounts:
    """What the answers about a release have told."""
    secrets = secrets_of(here, release)
    counter, ledger = table_of(release, secrets, here.settings), Ledger.of(here, secrets)
    with here.reading() as db:
        known = ledger.read(db, here.keyring)
        asked = numbers(db, release.id)
        names = {user: db.get_one(User, user).name for user in {*known, *asked}}
        policy = policy_of(db, here.keyring, release.id, here.settings)
    each = [
        Account(who=name, asked=asked.get(user, 0), leaks=leaks(known.get(user, NOTHING), counter))
        for user, name in names.items()
    ]
    draw = np.random.default_rng(1)  # the same page for the same answers
    coded = [one for one in secrets if one.column in counter.released.coded]
    return Accounts(
        policy=policy, each=sorted(each, key=lambda one: one.who or ""),
        together=Account(who=None, asked=sum(asked.values()), leaks=leaks(everyone(known), counter)),
        gains=[gain(one, counter.released, everyone(known), draw) for one in coded],
    )  # fmt: skip

"""Questions about releases: checked on the release, decided by the policy, answered, counted and logged.

What somebody was told is kept under the keyring as the secrets are (``ledger``), so that no older copy of it can be put
back to have a budget twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import InputError, ShoalError
from shoal.pseudonyms.secrets import Secret, restore
from shoal.vault.leaks import NOTHING, Known
from shoal.vault.protocol.answering import Answer, answer
from shoal.vault.protocol.asking import ANSWERED, REFUSED, WAITING, Examined, Policy, examine
from shoal.vault.protocol.checking import Counter
from shoal.vault.protocol.folder import counter_of
from shoal.vault.protocol.reading import Submission
from shoal.web.context import Here
from shoal.web.errors import conflict, refusal
from shoal.web.jobs.keeping import private_of
from shoal.web.keys import ServerKeyring, get, put
from shoal.web.projects.releases import folder_of_release
from shoal.web.settings import Settings
from shoal.web.store.base import now
from shoal.web.store.people import User
from shoal.web.store.trusted import Leak, Question
from shoal.web.store.work import Release
from shoal.web.trust.ledger import Ledger, everyone

_POLICY, _QUESTION = "policy", "question"
_KEPT = 2  # released tables in memory
_TRIES = 5
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


def ask(here: Here, release: Release, given: Submission) -> str:
    """Put a question; its identifier."""
    secrets = secrets_of(here, release)
    counter, ledger = table_of(release, secrets, here.settings), Ledger.of(here, secrets)
    for _ in range(_TRIES):
        with here.reading() as db:
            before = ledger.read(db, here.keyring)
            policy = policy_of(db, here.keyring, release.id, here.settings)
        found = _examined(given, counter, policy, before, here.me.id)
        made = answer(found, secrets) if found.state == ANSWERED else None
        with here.writing() as db:
            if ledger.read(db, here.keyring) != before:
                continue  # somebody was answered meanwhile: decide again
            row = Question(release=release.id, user=here.me.id, form=given.form, text=b"", state=found.state)
            db.add(row)
            db.flush()
            row.text = _seal(here, f"{row.id}/text", asdict(given))
            here.log(db, "question", question=row.id, release=release.id, sha256=_digest(given), **_counts(found))
            _settle(here, db, row, found, made, ledger)
            return row.id
    raise conflict("Other questions about this release are being answered: try again.")


def decide(here: Here, question: Question, *, allowed: bool) -> None:
    """Answer or refuse a question that waits, as the custodian says; budgets hold all the same."""
    with here.reading() as db:
        release = db.get_one(Release, question.release)
        policy = policy_of(db, here.keyring, release.id, here.settings)
    secrets = secrets_of(here, release)
    ledger = Ledger.of(here, secrets)
    with here.reading() as db:
        before = ledger.read(db, here.keyring)
    given = Submission(**json.loads(here.keyring.unseal(_QUESTION, f"{question.id}/text", question.text)))
    found = _examined(given, table_of(release, secrets, here.settings), replace(policy, automatic=True, waiting=1.0),
                      before, question.user)  # fmt: skip
    if not allowed:
        found = replace(found, state=REFUSED, gained=NOTHING)
    made = answer(found, secrets) if found.state == ANSWERED else None
    with here.writing() as db:
        row = db.get_one(Question, question.id)
        if row.state != WAITING or ledger.read(db, here.keyring) != before:
            raise conflict("The question was decided meanwhile, or another one was: look again.")
        row.state, row.decided_by = found.state, here.me.id
        _settle(here, db, row, found, made, ledger)


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
    with here.reading() as db:
        plain = private_of(db, here.keyring, release.id, "secrets")
    found = [] if plain is None else [restore(one) for one in json.loads(plain)]
    if not any(one.kind in ("mapping", "grading") for one in found):
        raise refusal(InputError("This release has no codes that could be turned back: there is nothing to interpret."))
    return found


def table_of(release: Release, secrets: Iterable[Secret], settings: Settings) -> Counter:
    """The released table, of which the last few are kept at hand."""
    key = f"{settings.folder}/{release.id}/{release.manifest}"
    with _lock:
        if key in _tables:
            _tables.move_to_end(key)
            return _tables[key]
    made = counter_of(folder_of_release(release, settings), list(secrets))
    with _lock:
        _tables[key] = made
        while len(_tables) > _KEPT:
            _tables.popitem(last=False)
    return made


def policy_of(db: Db, keyring: ServerKeyring, release: str, settings: Settings) -> Policy:
    """What the custodian lets be answered of a release."""
    plain = get(db, keyring, _POLICY, release)
    return Policy(minimum=settings.minimum_count) if plain is None else Policy.of_plain(json.loads(plain))


def set_policy(here: Here, release: Release, policy: Policy) -> None:
    """Answer by other limits from now on."""
    with here.writing() as db:
        put(db, here.keyring, _POLICY, release.id, json.dumps(policy.plain()).encode(), release=release.id)
        here.log(db, "policy", release=release.id, **policy.plain())


def _examined(given: Submission, counter: Counter, policy: Policy, known: dict[str, Known], user: str) -> Examined:
    try:
        return examine(given, counter, policy, mine=known.get(user, NOTHING), everyone=everyone(known))
    except ShoalError as error:
        raise refusal(error) from None


def _settle(here: Here, db: Db, row: Question, found: Examined, made: Answer | None, ledger: Ledger) -> None:
    """Write down what became of a question."""
    checked = {
        "statements": [{"line": one.line, "statement": str(one)} for one in found.accepted],
        "refused": [{"line": one.line, "statement": one.statement, "why": one.why} for one in found.refused],
        "left": [{"line": one.line, "text": one.text, "why": one.why} for one in (made or found).left],
    }
    row.checked = _seal(here, f"{row.id}/checked", checked)
    if found.state == WAITING:
        here.log(db, "waiting", question=row.id, release=row.release)
        return
    row.decided = now()
    if made is None:
        here.log(db, "refusal", question=row.id, release=row.release, **_counts(found))
        return
    row.answer = here.keyring.seal(_QUESTION, f"{row.id}/answer", made.text.encode())
    ledger.add(db, here.keyring, row.user, found.gained)
    for column, codes in found.gained.plain().items():
        what = here.keyring.seal("leak", f"{row.id}/{column}", json.dumps(codes).encode())
        db.add(Leak(question=row.id, release=row.release, user=row.user, column=column, what=what))
    told = {column: len(codes) for column, codes in found.gained.codes.items()}
    here.log(db, "answer", question=row.id, release=row.release, codes=told, **_counts(found))


def _counts(found: Examined) -> dict[str, int]:
    return {"accepted": len(found.accepted), "refused": len(found.refused), "unread": len(found.left)}


def _seal(here: Here, name: str, content: Any) -> bytes:
    return here.keyring.seal(_QUESTION, name, json.dumps(content, default=dict).encode())


def _digest(given: Submission) -> str:
    return hashlib.sha256(given.text.encode("utf-8", "surrogatepass")).hexdigest()

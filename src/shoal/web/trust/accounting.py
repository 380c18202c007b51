"""What the answers so far have told, for the custodian and the auditor: by researcher, and for all together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.vault.leaks import NOTHING, Gain, Leak, gain, leaks
from shoal.vault.protocol.decision import Policy
from shoal.web.context import Here
from shoal.web.store.people import User
from shoal.web.store.work import Release
from shoal.web.trust.ledger import Ledger, everyone
from shoal.web.trust.limits import numbers
from shoal.web.trust.questions import policy_of, secrets_of, table_of


@dataclass(frozen=True, kw_only=True)
class Account:
    """What somebody was told of a release, and how often they asked; ``who`` is None for all together."""

    who: str | None
    asked: int
    leaks: list[Leak]


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

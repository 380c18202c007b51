"""Who was told which codes: kept by mapping and grading, whichever releases they were used for.

Two releases that were coded alike, as by one seed, give the same codes: what is known of one is known of the other. So
the ledger goes by a fingerprint of the secret, which only this server can make.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets as random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session as Db

from shoal.pseudonyms.secrets import Secret
from shoal.vault.leaks import NOTHING, Known
from shoal.web.context import Here
from shoal.web.keys import ServerKeyring, get, put, strongroom

_KNOWN, _KEY = "known", ("ledger", "key")


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
        with here.reading() as db:
            key = get(db, here.keyring, *_KEY)
        if key is None:
            with here.writing() as db:
                key = get(db, here.keyring, *_KEY)
                if key is None:
                    key = random.token_bytes(32)
                    put(db, here.keyring, *_KEY, key)
        return cls({one.column: _fingerprint(key, one) for one in secrets if one.kind in ("mapping", "grading")})

    def read(self, db: Db, keyring: ServerKeyring) -> dict[str, Known]:
        """What each researcher knows, by their identifiers."""
        found: dict[str, Known] = {}
        kept = strongroom(db, keyring).names()
        for column, name in self.names.items():
            start = f"{_KNOWN}/{name}/"
            for user in (one.removeprefix(start) for one in kept if one.startswith(start)):
                codes = json.loads(get(db, keyring, _KNOWN, f"{name}/{user}") or b"[]")
                found[user] = found.get(user, NOTHING) | Known.of((column, code) for code in codes)
        return found

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


def _fingerprint(key: bytes, secret: Secret) -> str:
    content = json.dumps(secret.reveal(), sort_keys=True).encode()
    return hmac.digest(key, content, hashlib.sha256).hex()[:32]

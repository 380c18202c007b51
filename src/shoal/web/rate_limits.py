"""How often somebody may ask for what is expensive: a share that is used up at once or bit by bit, and comes back.

Kept in the memory of the one process that answers: whoever waits for a restart has waited, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Lock

from shoal.web.errors import Refused
from shoal.web.settings import Settings

_HOUR = 3600.0
TOKENS = "wrong tokens"
_NEW = 100  # tokens of one account: as many as it may have at a time
_WRONG = 200  # of them from one address: as many as attempts to sign in
_WORDS = {TOKENS: "Wrong tokens were sent"}
_MOST = 10_000  # who is remembered; those whose share is whole again are forgotten first


class Limits:
    """A share of requests an hour for each kind and each account, or each address where nobody has signed in."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._an_hour = {
            "uploads": settings.uploads_per_hour, "jobs": settings.jobs_per_hour,
            "downloads": settings.downloads_per_hour, "edits": settings.edits_per_hour,
            "new tokens": _NEW, TOKENS: _WRONG,
        }  # fmt: skip
        self._left: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, kind: str, who: str) -> None:
        """Count a request, or refuse it and say when there will be room for another."""
        most = self._an_hour[kind]
        with self._lock:
            now = self._clock()
            left = self._of((kind, who), now)
            if left >= 1:
                self._left[kind, who] = (left - 1, now)
                self._forget(now)
                return
        wait = math.ceil((1 - left) * _HOUR / most)
        words = f"{wait:,} {'second' if wait == 1 else 'seconds'}" if wait < 120 else f"{-(-wait // 60):,} minutes"
        what = _WORDS.get(kind, "That was asked for")
        raise Refused(
            429, "too-often", f"{what} too often, {most:,} times within an hour: try again in {words}.",
            headers={"retry-after": str(wait)},
        )  # fmt: skip

    def give_back(self, kind: str, who: str) -> None:
        """Count a request no more, which turned out not to be one of those that are counted."""
        with self._lock:
            now = self._clock()
            self._left[kind, who] = (min(self._an_hour[kind], self._of((kind, who), now) + 1), now)

    def _of(self, key: tuple[str, str], now: float) -> float:
        """What is left of a share."""
        most = self._an_hour[key[0]]
        left, since = self._left.get(key, (float(most), now))
        return min(most, left + (now - since) * most / _HOUR)

    def _forget(self, now: float) -> None:
        if len(self._left) > _MOST:
            used = {key: one for key, one in self._left.items() if self._of(key, now) < self._an_hour[key[0]]}
            self._left = dict(list(used.items())[-_MOST:])

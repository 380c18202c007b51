"""Work that Ctrl-C ends, and the clearing up behind it that Ctrl-C does not.

An interrupt can come twice: compiled code that notices it raises `KeyboardInterrupt` itself, and Python's own handler
raises another one a moment later, which is then in the middle of whatever the first one left to do.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any


class Undisturbed:
    """While it is entered, an interrupt waits for its end, except in what is done under :meth:`disturbed`."""

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._open = self._waiting = False

    def __enter__(self) -> Undisturbed:
        before = signal.getsignal(signal.SIGINT)
        # Elsewhere than in the main thread nothing is ever interrupted, nor where interrupts are ignored or deadly.
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._came)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        if self._waiting and not isinstance(error, KeyboardInterrupt):
            self._before(signal.SIGINT, None)

    @contextmanager
    def disturbed(self) -> Iterator[None]:
        """Let an interrupt end what is done here, once."""
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def _came(self, number: int, frame: FrameType | None) -> None:
        if not self._open or self._before is None:
            self._waiting = True
            return
        self._open = False
        self._before(number, frame)

"""A publication that is interrupted twice, as by compiled code and then by Python, leaves nothing behind."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from shoal.io.publication import publish
from shoal.io.undisturbed import Undisturbed

CLEARING = ("publication.py", "undisturbed.py", "contextlib.py", "shutil.py", "locks.py")


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Python's own handler, whatever a session of Spark has put in its place."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Second:
    """Once started, sends an interrupt at the n-th line of what clears up."""

    def __init__(self, wanted: int) -> None:
        self.left = wanted

    def start(self) -> None:
        sys.settrace(self.entered)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:  # those that are already there are traced from their next line on
            frame.f_trace = self.line
            frame = frame.f_back

    def entered(self, frame: FrameType, event: str, _: Any) -> Any:
        return self.line if Path(frame.f_code.co_filename).name in CLEARING else None

    def line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and Path(frame.f_code.co_filename).name in CLEARING:
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return self.line


def test_a_second_interrupt_wherever_the_clearing_up_is(tmp_path: Path) -> None:
    interrupted = 0
    for wanted in range(1, 1000):
        second = Second(wanted)

        def fill(staged: Path, private: Path, second: Second = second) -> str:
            (staged / "release.csv").write_text("a\n1\n")
            second.start()
            raise KeyboardInterrupt

        before = sys.gettrace()
        try:
            publish(tmp_path / "out", fill, lambda: None, replace=False)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        assert not list(tmp_path.iterdir()), f"left after an interrupt at line {wanted}"
        if second.left > 0:
            break
    assert interrupted > 20
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_waits_and_then_comes() -> None:
    done = []

    def work() -> None:
        with Undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("the work")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_an_interrupt_ends_what_may_be_disturbed() -> None:
    done = []

    def work() -> None:
        with Undisturbed() as undisturbed:
            try:
                with undisturbed.disturbed():
                    signal.raise_signal(signal.SIGINT)
                    done.append("the work")
            finally:
                signal.raise_signal(signal.SIGINT)
                done.append("clearing up")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["clearing up"]


def test_interrupts_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Undisturbed() as undisturbed, undisturbed.disturbed():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)

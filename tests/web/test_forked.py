"""Processes of tests are signalled by numbers that are theirs: none is freed while somebody may still signal it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.web import forked


def started() -> forked.Forked:
    return forked.Popen(  # type: ignore[no-any-return]
        [sys.executable, "-m", "shoal.web.jobs.sandbox", "job", str(4 << 30)], env={}, stdin=forked.PIPE,
        stdout=forked.PIPE, stderr=forked.DEVNULL, start_new_session=True,
    )  # fmt: skip


def state(pid: int) -> str:
    """What the system says of a process, nothing where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("killed", [True, False])
def test_the_number_of_a_process_that_ended_is_kept(killed: bool) -> None:
    process = started()
    pid = process.pid
    assert (process.poll(), os.getpgid(pid), os.getsid(pid)) == (None, pid, pid)
    if killed:
        os.killpg(pid, signal.SIGKILL)
    else:
        process.stdin.close()  # it has nothing to do
    assert process.wait(30) == (-signal.SIGKILL if killed else 1)
    time.sleep(0.2)  # in which whoever would wait for it has
    assert state(pid) == "Z"
    os.killpg(pid, signal.SIGKILL)  # as a worker does in any case: it can only be this one
    process.stdout.close()
    del process
    gc.collect()
    until = time.monotonic() + 30
    while state(pid):
        assert time.monotonic() < until, "nobody waits for it"
        time.sleep(0.02)

"""What is told of a job whose process was ended from outside."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from shoal.errors import ShoalError
from shoal.web.jobs.worker import Running


def test_a_job_that_was_ended_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Running.__new__(Running)
    ended.answer, ended.asked, ended.process = None, {"memory": 4 << 30}, SimpleNamespace(returncode=-6)
    monkeypatch.setattr(Running, "kill", lambda self: None)
    with pytest.raises(ShoalError, match=r"by signal 6 .* 4,096 MiB .*--set job-memory"):
        ended.outcome()


def test_a_job_whose_answer_nobody_can_read_is_ended() -> None:
    ended, killed = Running.__new__(Running), []

    def told() -> None:
        raise OverflowError

    ended.answer, ended.sandbox = None, SimpleNamespace(told=told, kill=lambda: killed.append(True))  # type: ignore[assignment]
    ended._read()
    assert (ended.answer, killed) == (None, [True])

"""Releases, answers and messages are as they were recorded, and every record of a release proves something.

A regular run releases one table by every algorithm, in memory; other engines are in
``tests/engines/test_recorded_engines.py``, and the census in ``tests/test_published.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.registry import names
from shoal.vault import seal
from tests.conftest import THOROUGH
from tests.recorded import answers
from tests.recorded.methods import AS_READ, LEAST, methods, release, served
from tests.recorded.releases import RECORD_ANEW, made_again, recorded

RECORDED = recorded()
METHODS = {case.removeprefix("method "): given.split() for case, given in RECORDED.items() if case[:7] == "method "}
CENSUS = {case.removeprefix("census "): given.split() for case, given in RECORDED.items() if case[:7] == "census "}
DRAWN = [case for case in RECORDED if case.split()[0] in ("generated", "newer")]


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deriving keys is made cheap for no longer than a test."""
    monkeypatch.setattr(seal, "MEMORY", seal.MEMORY)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The folder that commands are run in, which a release is left in by ``run``."""
    folder = tmp_path_factory.mktemp("asked")
    answers.lay_out(folder)
    with answers.inside(folder):
        yield


@pytest.mark.parametrize("name", methods())
def test_the_same_seed_gives_the_same_release(tmp_path: Path, name: str) -> None:
    data, _, share, *_ = METHODS[name]
    found = release(name, "memory", tmp_path).split()
    assert (found[0], found[2]) == (data, share), RECORD_ANEW


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", DRAWN)
def test_the_same_seed_gives_the_same_release_of_drawn_tables(tmp_path: Path, case: str) -> None:
    now = made_again(case, tmp_path)
    assert now is not None
    assert now.split()[0] == RECORDED[case].split()[0], RECORD_ANEW


def test_every_algorithm_is_recorded() -> None:
    assert [*METHODS] == methods() == [*names("algorithm"), AS_READ]
    assert set(CENSUS) == {case.split()[-1] for case in DRAWN} == set(names("algorithm"))


def test_every_engine_gave_what_memory_gave() -> None:
    """One record a method, followed by all engines that serve it."""
    assert {name: tuple(given[3:]) for name, given in METHODS.items()} == {name: served(name) for name in METHODS}


@pytest.mark.parametrize("records", [METHODS, CENSUS], ids=["methods", "census"])
def test_no_record_is_that_of_another_method(records: dict[str, list[str]]) -> None:
    by_digest: dict[str, list[str]] = {}
    for name, given in records.items():
        by_digest.setdefault(given[0], []).append(name)
    assert [several for several in by_digest.values() if len(several) > 1] == []


def test_every_record_keeps_most_rows() -> None:
    assert {name: int(given[2]) for name, given in METHODS.items() if int(given[2]) < LEAST} == {}


@pytest.mark.parametrize("name", answers.COMMANDS if THOROUGH else answers.QUICK)
def test_commands_answer_as_recorded(name: str, asked: None) -> None:
    assert answers.answer(name) == answers.path_of(name).read_text("utf-8"), RECORD_ANEW


def test_the_dossier_is_as_recorded(asked: None) -> None:
    assert answers.dossier() == RECORDED["dossier"], RECORD_ANEW


def test_messages_are_as_recorded() -> None:
    """``tests/messages`` holds the table against what every command says."""
    assert answers.digest_of_messages(answers.documented_messages()) == RECORDED["messages"], RECORD_ANEW

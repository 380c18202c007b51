"""Vaults that are quick to open, and the secrets that go into them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret, SecretKey
from shoal.vault import Key, seal

BOUNDS = [(Decimal(15), Decimal(45)), (Decimal(46), Decimal(90))]


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """One MiB to derive a key instead of 64, so that a test can do it hundreds of times."""
    monkeypatch.setattr(seal, "MEMORY", 10)


@pytest.fixture
def key() -> Key:
    return Key.passphrase("correct horse")


@pytest.fixture
def secrets() -> list[Secret]:
    return [
        GradingTable("age", bounds=BOUNDS, names=[1, 2], rule="paper", decimals=0),
        MappingTable("disease", {"Flu": "illness_3", "Stomach Cancer": "illness_12", "Bronchitis": "illness_1"}),
        SecretKey("patient", bytes(range(32))),
    ]

"""Secrets: one to one, refused where they do not fit, and never printed, copied or pickled."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import results
from shoal.errors import DomainError, InputError, ParameterError
from shoal.recoding.grading import GradingTable
from shoal.recoding.secrets import MappingTable, Secret, SecretKey, restore

MAPPING = MappingTable("disease", {"flu": "illness_2", "gastritis": "illness_1"})
BOUNDS = [(Decimal(11), Decimal(23)), (Decimal(31), Decimal(47))]
GRADING = GradingTable("income", bounds=BOUNDS, names=[1, 2], decimals=0)
KEY = SecretKey("patient", bytes(range(100, 132)))
SECRETS: list[tuple[Secret, list[str]]] = [
    (MAPPING, ["flu", "gastritis", "illness_1"]),
    (GRADING, ["11", "23", "31", "47"]),
    (KEY, [bytes(range(100, 132)).hex(), "dklm"]),
]


@pytest.mark.parametrize("secret,hidden", SECRETS, ids=lambda part: getattr(part, "kind", ""))
class TestEverySecret:
    def test_is_redacted(self, secret: Secret, hidden: list[str]) -> None:
        shown = f"{secret!r} {secret} {secret.size()}"
        assert secret.column in repr(secret)
        assert "redacted" in shown
        assert not [word for word in hidden if word in shown]

    def test_leaves_by_no_back_door(self, secret: Secret, hidden: list[str]) -> None:
        with pytest.raises(TypeError, match="vault"):
            pickle.dumps(secret)
        with pytest.raises(TypeError, match="vault"):
            copy.copy(secret)
        with pytest.raises(TypeError):
            json.dumps(secret)
        with pytest.raises(TypeError):
            vars(secret)

    def test_comes_back_from_json(self, secret: Secret, hidden: list[str]) -> None:
        plain = json.loads(json.dumps(secret.reveal()))
        back = restore(plain)
        assert type(back) is type(secret)
        assert back.reveal() == secret.reveal() == plain

    def test_is_refused_when_incomplete(self, secret: Secret, hidden: list[str]) -> None:
        for key in secret.reveal():
            plain = secret.reveal()
            del plain[key]
            with pytest.raises(InputError):
                restore(plain)
            if key not in ("decimals", "shared"):
                with pytest.raises(InputError):
                    restore({**secret.reveal(), key: 7})


def test_results_still_name_the_mapping_table() -> None:
    assert results.MappingTable is MappingTable


@given(st.lists(st.text(max_size=6), unique=True, max_size=20), st.randoms(use_true_random=False))
def test_a_mapping_is_a_bijection(values: list[str], random: object) -> None:
    table = MappingTable("x", {value: f"c_{place}" for place, value in enumerate(values)})
    cells = pl.Series("x", [*values, *values[:3], None], dtype=pl.String)
    codes = table.encode(cells)
    assert codes.n_unique() == len(values) + 1
    assert codes[-1] is None
    assert table.decode(codes).to_list() == cells.to_list()
    assert len(table) == len(values)


def test_a_mapping_knows_numbers_by_their_text() -> None:
    assert MappingTable("x", {"1": "a", "2.5": "b"}).encode(pl.Series([2.5, 1.0])).to_list() == ["b", "a"]


@pytest.mark.parametrize("method", ["encode", "decode"])
def test_what_a_mapping_does_not_know_is_refused_without_naming_it(method: str) -> None:
    with pytest.raises(DomainError, match="'disease' has 2") as refused:
        getattr(MAPPING, method)(pl.Series(["cholera", "flu" if method == "encode" else "illness_1", "cholera"]))
    assert "cholera" not in str(refused.value)
    assert "flu" not in str(refused.value)


def test_one_code_for_two_values_is_no_mapping() -> None:
    with pytest.raises(ParameterError, match="one code to several"):
        MappingTable("x", {"a": "c_1", "b": "c_1"})


def test_tokens_cannot_be_decoded() -> None:
    tokens = KEY.encode(pl.Series("patient", ["ann", "bob", "ann"]))
    assert tokens[0] == tokens[2] != tokens[1]
    with pytest.raises(ParameterError, match="cannot be decoded"):
        KEY.decode(tokens)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ParameterError, match="32 bytes"):
        SecretKey("patient", b"short")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="kind"):
        restore({"kind": "riddle", "column": "x"})

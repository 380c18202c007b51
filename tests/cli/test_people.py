"""People in columns that are published as they are read: ``check`` and ``run`` refuse them alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import recipe_text

SYLLABLES = ["ber", "dor", "gri", "hal", "ken", "lun", "mar", "nor"]
SURNAMES = [f"{first}{second}".title() for first in SYLLABLES for second in SYLLABLES]
NAMES = [f"{surname}, {('Anna', 'Bernd', 'Carla')[place % 3]}" for place, surname in enumerate(SURNAMES)]
ROLES = 'identifiers = ["name"]\nquasi = ["age"]\nneutral = ["note"]'
SOURCE = 'path = "people.csv"\nseparator = ";"'


def write(folder: Path, cells: list[str], *accepted: str) -> Path:
    rows = [
        f"{name};{20 + place % 16};{('flu', 'cold', 'gout')[place % 3]};{cell}"
        for place, (name, cell) in enumerate(zip(NAMES, cells, strict=True))
    ]
    (folder / "people.csv").write_text("name;age;disease;note\n" + "\n".join(rows) + "\n")
    codes = ", ".join(f'"{code}"' for code in ["W-NEUTRAL", *accepted])
    (folder / "recipe.toml").write_text(recipe_text(ROLES, k=4, top=f"acknowledge = [{codes}]", source=SOURCE))
    return folder / "recipe.toml"


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    "cells, code, named",
    [
        (NAMES[1:33] * 2, 4, "64 cells of 'note' hold somebody's 'name'"),
        ([f"Hr. {one.upper()}" for one in SURNAMES[:32] * 2], 2, "64 cells of 'note' hold a word of somebody's 'name'"),
        ([f"seen today with pain {place}" for place in range(64)], 2, "W-TEXT:note"),
    ],
)  # fmt: skip
def test_people_are_refused(
    tmp_path: Path, shoal: Callable[..., Any], command: str, cells: list[str], code: int, named: str
) -> None:
    result = shoal(command, write(tmp_path, cells))
    assert result.code == code
    assert named in result.err
    assert not any(surname.lower() in (result.out + result.err).lower() for surname in SURNAMES)
    assert not (tmp_path / "out").exists()


def test_accepted_text_is_released_and_verifies(tmp_path: Path, shoal: Callable[..., Any]) -> None:
    recipe = write(tmp_path, [f"seen today with pain {place}" for place in range(64)], "W-TEXT:note")
    assert shoal("check", recipe).code == 0
    assert shoal("run", recipe).code == 0
    assert shoal("verify", tmp_path / "out").code == 0

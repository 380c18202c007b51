"""The mutants themselves: each is valid code that differs in one place, and can be named."""

from __future__ import annotations

import ast

import pytest

from tests.mutation.__main__ import Hunt, all_mutants, equivalents, sampled
from tests.mutation.mutants import mutants, mutate
from tests.mutation.worker import Ran

MODULE = '''
from __future__ import annotations

SIZE = 3


def judge(rows: list[int], limit: int = 2) -> str | None:
    """Not a place to mutate."""
    found = []
    for row in rows[1:]:
        if row >= limit and not row == 7:
            found.append(row)
    if any(row in ("a", "b") for row in rows):
        return "left"
    return f"{min(found) + 1:,}" if found else None
'''
CHANGES = {
    "SIZE = 3 => SIZE = 4",
    "for row in rows[1:]: => for row in rows[0:]:",
    "row >= limit and (not row == 7) => row >= limit or not row == 7",
    "row >= limit and (not row == 7) => True",
    "row >= limit => row > limit",
    "not row == 7 => row == 7",
    "found.append(row) => pass",
    "row in ('a', 'b') => row not in ('a', 'b')",
    "row in ('a', 'b') => row in ('a?', 'b')",
    "any((row in ('a', 'b') for row in rows)) => all((row in ('a', 'b') for row in rows))",
    "return 'left' => return 'right'",
    "return 'left' => return None",
    "min(found) + 1 => min(found) - 1",
    "min(found) + 1 => max(found) + 1",
}


def test_every_kind_of_change_is_made() -> None:
    found = {mutant.change: mutant for mutant in mutants(MODULE, "module.py")}
    assert set(found) >= CHANGES
    assert found["SIZE = 3 => SIZE = 4"].function == "<module>"
    assert {mutant.function for change, mutant in found.items() if "SIZE" not in change} == {"<module>", "judge"}
    assert not any("Not a place" in change for change in found)


def test_a_mutant_is_valid_code_that_differs() -> None:
    plain = ast.unparse(ast.parse(MODULE))
    texts = [ast.unparse(mutate(MODULE, mutant)) for mutant in mutants(MODULE, "module.py")]
    assert len(texts) > len(CHANGES)
    assert plain not in texts
    for text in texts:
        compile(text, "module.py", "exec")


def test_what_calls_super_is_imported_and_not_swapped() -> None:
    """Its code has a cell for the class, which that of a mutant without the call would lack."""
    source = "class A(B):\n    def one(self):\n        super().one(1)\n\n    def two(self):\n        self.one(2)\n"
    assert {mutant.function: mutant.inside for mutant in mutants(source, "a.py")} == {"A.one": False, "A.two": True}


def test_lines_are_those_of_the_statement() -> None:
    (mutant,) = [one for one in mutants(MODULE, "module.py") if one.change == "min(found) + 1 => min(found) - 1"]
    assert MODULE.splitlines()[mutant.lines[0] - 1].strip().startswith("return f")


def test_names_are_unique_and_a_sample_has_every_file() -> None:
    found = all_mutants(["report.py", "released_values.py"])
    assert len({mutant.name for mutant in found}) == len(found)
    some = sampled(found, 5, seed=1)
    assert {mutant.file for mutant in some} == {"report.py", "released_values.py"}
    assert some == sampled(found, 5, seed=1)


def test_every_equivalent_mutant_has_a_reason() -> None:
    for name, reason in equivalents().items():
        assert " => " in name
        assert len(reason) > 10, name


@pytest.mark.parametrize("source", ["def f():\n    return None\n", "x: int\n", "class A:\n    y: str\n"])
def test_code_without_a_place_has_no_mutant(source: str) -> None:
    assert mutants(source, "module.py") == []


def test_a_test_above_the_budget_keeps_no_other_out() -> None:
    """The one that reaches most, and is looked at first, takes longer than all that may be spent."""
    (mutant, *_) = mutants("def one() -> int:\n    return 1\n", "module.py")
    reach = {
        "long": Ran(9.0, {"module.py": {1, 2, *range(3, 9000)}}),
        "short": Ran(1.0, {"module.py": {2}}),
        "brief": Ran(0.5, {"module.py": {2}}),
        "other": Ran(0.1, {"module.py": {1}}),
    }
    for budget, names in ((0.4, []), (0.6, ["brief"]), (2.0, ["brief", "short"]), (99.0, ["long", "brief", "short"])):
        assert [name for name, _ in Hunt([], reach, budget)._wanted(mutant)] == names

"""Builders: labels, nesting, exact numbers, and every refusal."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_builders import dates, equal_width, intervals, nested, ordered, prefix, quantiles
from shoal.errors import HierarchyError

AGES = ["60", "17", "35", "0", "119"]


def refused(build: Callable[[], Hierarchy], *parts: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        build()
    for part in parts:
        assert part in str(caught.value)


def paths(tree: Hierarchy) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in tree.rows()}


class TestIntervals:
    def test_levels_nest_and_end_in_a_star(self) -> None:
        tree = intervals("age", AGES, [[0, 20, 40, 120], [0, 40, 120]])
        assert tree.rows() == [
            ["0", "[0,19]", "[0,39]", "*"],
            ["17", "[0,19]", "[0,39]", "*"],
            ["35", "[20,39]", "[0,39]", "*"],
            ["60", "[40,119]", "[40,119]", "*"],
            ["119", "[40,119]", "[40,119]", "*"],
        ]

    def test_a_star_stands_above_one_interval(self) -> None:
        assert intervals("age", ["1", "2"], [[0, 5]]).labels[1:] == (("[0,4]",), ("*",))

    @pytest.mark.parametrize(
        "values, edges, labels",
        [
            (["1", "3"], [[0, 2.5, 5]], ("[0,2.5)", "[2.5,5)")),
            (["1.5", "3"], [[0, 2, 5]], ("[0,2)", "[2,5)")),
            (["1", "3"], [[0.0, 2.0, 5.0]], ("[0,1]", "[2,4]")),
            (["1", "3"], [["0", Decimal("2.50"), 5]], ("[0,2.5)", "[2.5,5)")),
            (["0.1", "0.2"], [[0.1, 0.2, 0.3]], ("[0.1,0.2)", "[0.2,0.3)")),
            (["-3", "-1"], [[-4, -2, 0]], ("[-4,-3]", "[-2,-1]")),
            (["5", "6"], [[5, 6, 7]], ("5", "6")),
            (
                [str(10**40), str(10**40 + 1)],
                [[0, 10**40 + 1, 10**41]],
                (f"[0,{10**40}]", f"[{10**40 + 1},{10**41 - 1}]"),
            ),
        ],
    )
    def test_labels(self, values: list[str], edges: list[list[object]], labels: tuple[str, ...]) -> None:
        assert intervals("age", values, edges).labels[1] == labels

    def test_an_upper_level_may_reach_further(self) -> None:
        assert intervals("age", ["5"], [[0, 10], [-5, 20]]).rows() == [["5", "[0,9]", "[-5,19]", "*"]]

    def test_values_outside(self) -> None:
        values = [str(number) for number in range(118, 130)]
        refused(
            lambda: intervals("age", values, [[0, 20, 120]]),
            "'age'", "(10 different ones)", "level 1", "not including, 120",
        )  # fmt: skip
        refused(lambda: intervals("age", ["-1"], [[0, 20]]), "(1 different ones)")
        refused(lambda: intervals("age", ["30"], [[0, 20, 40], [0, 20]]), "level 2")

    def test_levels_that_do_not_nest(self) -> None:
        refused(
            lambda: intervals("age", AGES, [[0, 20, 40, 120], [0, 30, 120]]), "edge 30", "level 2", "20 to 40"
        )

    @pytest.mark.parametrize("edges", [[[0]], [[0, 0]], [[5, 3]], [[]]])
    def test_edges_that_do_not_rise(self, edges: list[list[int]]) -> None:
        refused(lambda: intervals("age", AGES, edges), "'age'", "rising")

    @pytest.mark.parametrize("edges", [[0, 20, 40], ["0,20"], [None]])
    def test_one_list_a_level(self, edges: list[object]) -> None:
        refused(lambda: intervals("age", AGES, edges), "'age'", "one list a level")  # type: ignore[arg-type]

    @pytest.mark.parametrize("edge", [True, float("inf"), float("nan"), "x", None, Decimal("NaN")])
    def test_edges_are_numbers(self, edge: object) -> None:
        refused(lambda: intervals("age", AGES, [[0, edge]]), "'age'", "finite numbers")

    @pytest.mark.parametrize("edges", [[], "0", None, 5])
    def test_edges_are_a_list(self, edges: object) -> None:
        refused(lambda: intervals("age", AGES, edges), "'age'", "list")  # type: ignore[arg-type]


class TestNumbers:
    @pytest.mark.parametrize("text", ["x", "", " 1", "1_0", "1/2", "nan", "inf", "٣", "1e9999", "0x1"])
    def test_values_that_are_no_numbers(self, text: str) -> None:
        refused(lambda: equal_width("age", ["1", text], [5]), "'age'", "(1 different ones)", "no numbers")

    def test_the_same_number_twice(self) -> None:
        refused(lambda: equal_width("age", ["1", "1.0"], [5]), "(2 different ones)", "same number")

    def test_no_values(self) -> None:
        refused(lambda: equal_width("age", [], [5]), "'age'", "no values")
        refused(lambda: prefix("age", [MISSING], [1]), "'age'", "no values")

    def test_missing_stands_apart(self) -> None:
        assert equal_width("age", [MISSING, "3"], [5]).rows() == [
            ["3", "[0,4]", "*"],
            [MISSING, MISSING, "*"],
        ]
        assert prefix("zip", ["12", MISSING], [1]).rows()[-1] == [MISSING, MISSING, "*"]
        assert dates("d", [MISSING, "1975-03-31"], ["year"]).rows()[-1] == [MISSING, MISSING, "*"]
        assert quantiles("age", [MISSING, "1", "2"], [9, 1, 1], [2]).labels[1] == ("<2", ">=2", MISSING)


class TestEqualWidth:
    def test_levels(self) -> None:
        tree = equal_width("age", ["17", "35", "4"], [5, 10, 20])
        assert paths(tree) == {
            "4": ["[0,4]", "[0,9]", "[0,19]", "*"],
            "17": ["[15,19]", "[10,19]", "[0,19]", "*"],
            "35": ["[35,39]", "[30,39]", "[20,39]", "*"],
        }

    def test_below_the_origin(self) -> None:
        tree = equal_width("t", ["-1", "-5", "-6", "0"], [5])
        assert paths(tree) == {
            "-6": ["[-10,-6]", "*"],
            "-5": ["[-5,-1]", "*"],
            "-1": ["[-5,-1]", "*"],
            "0": ["[0,4]", "*"],
        }

    def test_another_origin(self) -> None:
        assert equal_width("age", ["17"], [10], origin=3).labels[1] == ("[13,22]",)

    def test_fractions_are_exact(self) -> None:
        tree = equal_width("x", ["0.3", "0.29999", "1e300", "-5e-324"], [0.1])
        assert paths(tree)["0.3"] == ["[0.3,0.4)", "*"]
        assert paths(tree)["0.29999"] == ["[0.2,0.3)", "*"]
        assert paths(tree)["-5e-324"] == ["[-0.1,0)", "*"]

    @pytest.mark.parametrize("widths", [[5, 7], [10, 5], [5, 5], [2, 3.0]])
    def test_widths_that_do_not_nest(self, widths: list[float]) -> None:
        refused(lambda: equal_width("age", AGES, widths), "'age'", "multiple")

    @pytest.mark.parametrize("widths", [[0], [-5]])
    def test_widths_above_zero(self, widths: list[int]) -> None:
        refused(lambda: equal_width("age", AGES, widths), "'age'", "above 0")

    def test_origin_is_a_number(self) -> None:
        refused(lambda: equal_width("age", AGES, [5], origin="x"), "origin", "'age'")

    @given(
        st.lists(st.decimals(-1000, 1000, places=3), min_size=1, max_size=20, unique=True),
        st.decimals("0.001", 50, places=3),
        st.decimals(-50, 50, places=2),
    )
    def test_every_value_lies_in_its_interval(
        self, values: list[Decimal], width: Decimal, origin: Decimal
    ) -> None:
        tree = equal_width("x", [format(value, "f") for value in values], [width, 2 * width], origin)
        for text, *labels, _ in tree.rows():
            for label in labels:
                bounds = label.strip("[])").split(",")
                low, high = Decimal(bounds[0]), Decimal(bounds[-1])
                assert low <= Decimal(text) <= high
                assert Decimal(text) < high or not label.endswith(")")


class TestQuantiles:
    def test_groups_of_distinct_values(self) -> None:
        values = [str(number) for number in range(1, 17)]
        tree = quantiles("age", values)
        assert [len(names) for names in tree.labels] == [16, 8, 4, 2, 1]
        assert tree.labels[1][:3] == ("<3", "[3,4]", "[5,6]")
        assert tree.labels[3] == ("<9", ">=9")

    def test_groups_by_counts(self) -> None:
        tree = quantiles("age", ["1", "2", "3", "4"], [10, 1, 1, 10], [2])
        assert tree.labels[1] == ("<3", ">=3")
        tree = quantiles("age", ["1", "2", "3", "4"], [1, 1, 1, 97], [2])
        assert tree.labels[1] == ("<4", ">=4")

    def test_counts_of_a_repeated_value_add_up(self) -> None:
        assert quantiles("age", ["3", "1", "1"], [2, 1, 1], [2]).labels[1] == ("<3", ">=3")

    def test_numbers_are_ordered_as_numbers(self) -> None:
        assert quantiles("age", ["10", "9", "-1", "2.5"], groups=[2]).labels[1] == ("<9", ">=9")

    def test_fewer_values_than_groups(self) -> None:
        assert quantiles("age", ["1", "2"], groups=[8, 4]).labels[1] == ("<2", ">=2")

    def test_ends_are_round_and_nobodys(self) -> None:
        incomes = ["18231", "21877", "23950", "31406", "44710", "61233", "98765", "104350.5"]
        assert quantiles("income", incomes, groups=[4, 2]).labels[1:3] == (
            ("<23000", "[23000,40000)", "[40000,90000)", ">=90000"), ("<40000", ">=40000")
        )
        assert quantiles("x", ["-7", "-3", "0", "4"], groups=[4]).labels[1] == ("<-3", "[-3,-1]", "[0,3]", ">=4")
        assert quantiles("x", ["1", "2"], [1, 0], [2]).labels[1] in (("<2", ">=2"), ("*",))

    @pytest.mark.parametrize("groups", [[2, 4], [4, 4], [1], [4, 1], [4.5], [True], [], "8", 8])
    def test_groups_are_falling(self, groups: object) -> None:
        refused(lambda: quantiles("age", AGES, groups=groups), "'age'", "quantiles")  # type: ignore[arg-type]

    @pytest.mark.parametrize("counts", [[1], [1, 1, 1, 1, -1]])
    def test_counts_fit_the_values(self, counts: list[int]) -> None:
        refused(lambda: quantiles("age", AGES, counts), "'age'", "one a value")

    def test_counts_are_not_all_zero(self) -> None:
        refused(lambda: quantiles("age", AGES, [0] * 5), "'age'", "all 0")

    @given(st.lists(st.tuples(st.integers(-500, 500), st.integers(0, 50)), min_size=1, max_size=40))
    def test_levels_nest_and_never_have_too_many_groups(self, pairs: list[tuple[int, int]]) -> None:
        counts = [count for _, count in pairs]
        tree = quantiles("x", [str(value) for value, _ in pairs], counts if sum(counts) else None, [7, 3, 2])
        assert all(len(names) <= most for names, most in zip(tree.labels[1:], [7, 3, 2, 1], strict=True))
        assert [int(text) for text in tree.labels[0]] == sorted({value for value, _ in pairs})
        for text, *labels, _ in tree.rows():
            for label in labels:
                if label.startswith("<"):
                    assert int(text) < int(label[1:])
                elif label.startswith(">="):
                    assert int(text) >= int(label[2:])
                elif label != "*":
                    bounds = label.strip("[]").split(",")
                    assert int(bounds[0]) <= int(text) <= int(bounds[-1])


class TestPrefix:
    def test_masking(self) -> None:
        # SV-04 and SV-05 of the golden vectors: one star for the last digit.
        assert prefix("zip", ["560054", "540059"], [5]).labels[1] == ("56005*", "54005*")
        tree = prefix("zip", ["560054", "560059", "560064"], [5, 4, 3])
        assert [path[0] for path in paths(tree).values()] == ["56005*", "56005*", "56006*"]
        assert tree.rows()[0] == ["560054", "56005*", "5600**", "560***", "*"]

    def test_values_of_different_length(self) -> None:
        tree = prefix("zip", ["AB1", "AB12", "A"], [2, 1])
        assert paths(tree) == {
            "AB1": ["AB*", "A**", "*"],
            "AB12": ["AB**", "A***", "*"],
            "A": ["A", "A", "*"],
        }

    def test_another_mask(self) -> None:
        assert prefix("zip", ["12*", "123"], [2], mask="?").rows()[0] == ["12*", "12?", "*"]

    def test_nothing_kept_of_values_of_one_length(self) -> None:
        assert prefix("sex", ["F", "M"], [0]).labels == (("F", "M"), ("*",), ("*",))

    def test_a_value_that_contains_the_mask(self) -> None:
        refused(lambda: prefix("zip", ["12*", "123"], [2]), "'zip'", "choose a mask")

    def test_a_harmless_mask_in_a_value(self) -> None:
        assert prefix("zip", ["56**", "57**"], [1]).labels[1] == ("5***",)

    def test_nothing_left_of_some_values(self) -> None:
        refused(lambda: prefix("zip", ["1", "12"], [0]), "'zip'", "keep at least 1")

    def test_an_empty_value(self) -> None:
        refused(lambda: prefix("zip", ["", "12"], [1]), "'zip'", "empty label")

    @pytest.mark.parametrize("keep", [[2, 3], [2, 2], [-1], [1.5], [True], [], 3, "3"])
    def test_keep_is_falling(self, keep: object) -> None:
        refused(lambda: prefix("zip", ["123"], keep), "'zip'", "prefix")  # type: ignore[arg-type]

    @pytest.mark.parametrize("mask", ["", "**", None])
    def test_the_mask_is_one_character(self, mask: object) -> None:
        refused(lambda: prefix("zip", ["123"], [2], mask), "'zip'", "one character")  # type: ignore[arg-type]


class TestDates:
    def test_labels(self) -> None:
        assert dates("born", ["1975-03-09"]).rows() == [
            ["1975-03-09", "1975-03", "1975-Q1", "1975", "1970s", "*"]
        ]

    @pytest.mark.parametrize(
        "month, quarter", [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3), (9, 3), (10, 4), (12, 4)]
    )
    def test_quarters(self, month: int, quarter: int) -> None:
        assert dates("d", [f"2020-{month:02d}-01"], ["quarter"]).labels[1] == (f"2020-Q{quarter}",)

    def test_far_apart(self) -> None:
        tree = dates("d", ["9999-12-31", "0001-01-01"], ["year", "decade"])
        assert tree.rows() == [["0001-01-01", "0001", "0000s", "*"], ["9999-12-31", "9999", "9990s", "*"]]

    def test_days_are_in_order(self) -> None:
        tree = dates("d", ["2020-02-01", "2019-12-31", "2020-01-01"], ["year"])
        assert tree.labels == (("2019-12-31", "2020-01-01", "2020-02-01"), ("2019", "2020"), ("*",))

    @pytest.mark.parametrize(
        "text", ["1975", "19750309", "1975-W10-1", "1975-02-30", "0000-01-01", "1975-03-09T00:00"]
    )
    def test_values_that_are_no_dates(self, text: str) -> None:
        refused(lambda: dates("born", ["1975-03-09", text]), "'born'", "(1 different ones)", "no dates")

    def test_unknown_levels(self) -> None:
        refused(lambda: dates("born", ["1975-03-09"], ["moth"]), "'born'", "did you mean 'month'?")
        refused(lambda: dates("born", ["1975-03-09"], ["z"]), "choose from month")

    @pytest.mark.parametrize("levels", [["year", "month"], ["year", "year"]])
    def test_levels_go_from_fine_to_coarse(self, levels: list[str]) -> None:
        refused(lambda: dates("born", ["1975-03-09"], levels), "'born'", "fine to coarse")

    def test_no_levels(self) -> None:
        refused(lambda: dates("born", ["1975-03-09"], []), "'born'", "not empty")


class TestOrdered:
    ORDER = ("none", "mild", "bad", "worst")

    def test_levels(self) -> None:
        tree = ordered(
            "pain",
            self.ORDER,
            [
                {"high": ["worst", "bad"], "low": ["none"], "some": ["mild"]},
                {"low+": ["none", "mild"], "high": ["bad", "worst"]},
            ],
        )
        assert tree.rows() == [
            ["none", "low", "low+", "*"],
            ["mild", "some", "low+", "*"],
            ["bad", "high", "high", "*"],
            ["worst", "high", "high", "*"],
        ]

    def test_whole_numbers_may_stand_without_quotes(self) -> None:
        assert ordered("grade", ["1", "2"], [{"low": [1], "high": [2]}]).labels[1] == ("low", "high")

    def test_groups_are_runs(self) -> None:
        groups = [{"a": ["none", "bad"], "b": ["mild", "worst"]}]
        refused(lambda: ordered("pain", self.ORDER, groups), "'a'", "'pain'", "no run")

    def test_values_outside_the_order(self) -> None:
        refused(lambda: ordered("pain", self.ORDER, [{"a": ["none", "mlid"]}]), "'a'", "'pain'", "'mlid'")

    @pytest.mark.parametrize(
        "groups", [{"a": ["none", "none"]}, {"a": ["none", "mild"], "b": ["mild", "bad"]}]
    )
    def test_values_placed_twice(self, groups: dict[str, list[str]]) -> None:
        refused(lambda: ordered("pain", self.ORDER, [groups]), "'pain'", "already placed")

    def test_values_in_no_group(self) -> None:
        refused(
            lambda: ordered("pain", self.ORDER, [{"a": ["none", "mild"]}]),
            "'pain'",
            "(2 different ones)",
            "level 1",
        )

    def test_levels_that_do_not_nest(self) -> None:
        groups = [
            {"a": ["none", "mild"], "b": ["bad", "worst"]},
            {"x": ["none"], "y": ["mild", "bad", "worst"]},
        ]
        refused(lambda: ordered("pain", self.ORDER, groups), "'a'", "two parents", "'x'", "'y'")

    @pytest.mark.parametrize("level", [["none"], {}, "a"])
    def test_a_level_is_a_mapping(self, level: object) -> None:
        refused(lambda: ordered("pain", self.ORDER, [level]), "'pain'", "Level 1")  # type: ignore[list-item]

    @pytest.mark.parametrize("members", [[], "none", None])
    def test_a_group_is_a_list(self, members: object) -> None:
        refused(lambda: ordered("pain", self.ORDER, [{"a": members}]), "'a'", "'pain'", "list")  # type: ignore[dict-item]

    @pytest.mark.parametrize("member", [1.5, True, None])
    def test_a_value_is_text(self, member: object) -> None:
        refused(lambda: ordered("pain", self.ORDER, [{"a": [member]}]), "'pain'", "quotes")  # type: ignore[list-item]


class TestNested:
    def test_tree(self) -> None:
        tree = nested(
            "country",
            {"*": {"Europe": {"North": ["Norway"], "South": ["Italy", "Spain"]}, "Asia": ["Japan"]}},
        )
        assert tree.rows() == [
            ["Norway", "North", "Europe", "*"],
            ["Italy", "South", "Europe", "*"],
            ["Spain", "South", "Europe", "*"],
            ["Japan", "Japan", "Asia", "*"],
        ]

    def test_a_root_is_added(self) -> None:
        assert nested("country", {"Europe": ["Italy"], "Asia": ["Japan"]}).labels[-1] == ("*",)

    @pytest.mark.parametrize("mapping", [{}, [], ["Italy"], "Italy", None])
    def test_no_tree(self, mapping: object) -> None:
        refused(lambda: nested("country", mapping), "The tree", "'country'")  # type: ignore[arg-type]

    @pytest.mark.parametrize("below", [[], {}, "Italy", None, 3])
    def test_a_label_without_values(self, below: object) -> None:
        refused(lambda: nested("country", {"*": {"Europe": below}}), "'Europe'", "'country'", "no values")

    def test_a_value_that_is_no_text(self) -> None:
        refused(lambda: nested("country", {"*": [["Italy"]]}), "'country'", "quotes")

    def test_a_value_twice(self) -> None:
        refused(
            lambda: nested("country", {"*": {"A": ["Italy"], "B": ["Italy"]}}),
            "'Italy'",
            "two different paths",
        )

"""What Tables 4 and 5 of Morton et al. print, and why some of what is said of them cannot stand."""

from __future__ import annotations

from collections.abc import Mapping

GLOBAL, LOCAL = "global", "local"
NOTHING = "No string but that of 'any' alone passes for 24 attributes"
OUTLYING = (
    "Outliers keep strings of 24 attributes without 'any' from passing: without one record in a hundred some would pass"
)
# Strings that Tables 4 and 5 print, which fix how many levels a set's columns had; of two numbers the larger.
STRINGS = {"m03": 1, "m08": 28, "m12": 28, "m24": 44_800, "r03": 20, "r08": 700, "r12": 8400, "r24": 56_000}
# Of every set of 24 attributes: share of records in classes below k, classes a record, and the smallest class.
Outliers = tuple[list[float], list[float], list[int]]
# Research values that they print, with k = 3.
STATED: Mapping[str, Mapping[str, float]] = {
    GLOBAL: {"m03": 0.15, "m08": 1.10, "m12": 1.00, "r03": 0.95, "r08": 1.00, "r12": 1.00},
    LOCAL: {"m03": 0.15, "m08": 1.10, "m12": 1.15, "m24": 1.20, "r03": 0.95, "r08": 1.05, "r12": 1.05},
}
SIZES = (
    "Levels are left out of the longest hierarchies until a set has at most as many strings as Tables 4 and 5 print "
    "(m03 1, m08 28, m12 28, m24 44,800, r03 20, r08 700, r12 8,400, r24 24 and 56,000), and as many as the parameter "
    "'strings' says, or two levels a column. So "
    "few strings mean that most columns of the m sets had a single level left: 28 are seven levels and four, or seven "
    "and twice two, whatever the number of columns; a column that has a level beside 'any' has two here."
)
REFUTED = {
    "Local reaches at least nine tenths": (
        "All columns move together: with eight attributes a string in the middle already fails, and little but 'any' "
        "is left. The document's own tables contradict each other here."
    ),
    OUTLYING: (
        "With every attribute one level below 'any' nearly every record stands alone, not a few: it is the number of "
        "attributes, and leaving outliers out first changes nothing."
    ),
}
UNDECIDABLE = {
    NOTHING: (
        "The document gives every attribute a last level 'any', worth nothing, and prints 0 (Table 4) and 0.25 (Table "
        "5) as the least value of one set of 24: with 'any' a string passes, without it none does."
    ),
}

"""What Tables 4 and 5 of Morton et al. print, and why some of what is said of them cannot stand."""

from __future__ import annotations

from collections.abc import Mapping

GLOBAL, LOCAL = "global", "local"
NOTHING = "No string but that of 'any' alone passes for 24 attributes"
OUTLYING = (
    "Outliers keep strings of 24 attributes without 'any' from passing: without one record in a hundred some would pass"
)
# Strings that Tables 4 and 5 print, which say how many levels a set's columns had; of two numbers the larger.
STRINGS = {"m03": 1, "m08": 28, "m12": 28, "m24": 44_800, "r03": 20, "r08": 700, "r12": 8400, "r24": 56_000}
# Of every set of 24 attributes: share of records in classes below k, classes a record, and the smallest class.
Outliers = tuple[list[float], list[float], list[int]]
# Research values that they print, with k = 3.
STATED: Mapping[str, Mapping[str, float]] = {
    GLOBAL: {"m03": 0.15, "m08": 1.10, "m12": 1.00, "r03": 0.95, "r08": 1.00, "r12": 1.00},
    LOCAL: {"m03": 0.15, "m08": 1.10, "m12": 1.15, "m24": 1.20, "r03": 0.95, "r08": 1.05, "r12": 1.05},
}
SIZES = (
    "Every set has as many strings as Tables 4 and 5 print (m08 28, m12 28, m24 44,800, r03 20, r08 700, r12 8,400, "
    "r24 56,000, and 24 elsewhere), or the next number below that the levels of its attributes allow, and at most as "
    "many as the parameter 'strings' says. 28 are seven levels and four, whatever the number of attributes: of all "
    "others 'any' alone is left, and nothing is told. The largest values that the tables print say the same: less the "
    "least, they are 0.8 to 0.93 for each attribute with several levels. m03 has one string in the document, worth "
    "0.15; here it has two."
)
REFUTED = {
    "Local reaches at least nine tenths": (
        "All columns move together, while the best string keeps one or two of them and gives the others up: with two "
        "attributes half of its value is left, with more of them a tenth. The document's own tables contradict each "
        "other here."
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

"""The worked examples of the literature that the golden tests compute with.

Each table names its source. Rows are plain tuples; a generalised table that can be made by grouping original
records is not repeated here: the tests group the records and compare with the printed cells.
"""

from __future__ import annotations

import polars as pl

# Yang & Qiao 2010, Fig. 1: what the publisher holds.
YQ_FIG_1 = pl.DataFrame(
    [
        ("50-60", "doctor", "USA", "hypertension"),
        ("40-50", "clerk", "USA", "hypertension"),
        ("30-40", "clerk", "USA", "hypertension"),
        ("30-40", "clerk", "Germany", "hypertension"),
        ("50-60", "trader", "USA", "diabetes"),
        ("30-40", "clerk", "UK", "diabetes"),
        ("50-60", "engineer", "USA", "diabetes"),
        ("20-30", "trader", "UK", "heart disease"),
        ("60-70", "banker", "USA", "cancer"),
        ("30-40", "banker", "India", "cancer"),
    ],
    schema=["age", "job", "country", "disease"], orient="row",
)  # fmt: skip

# Yang & Qiao 2010, Fig. 2: the same people, 2-anonymous.
YQ_FIG_2 = pl.DataFrame(
    [
        ("40-70", "*", "USA", "hypertension"),
        ("40-70", "*", "USA", "hypertension"),
        ("40-70", "*", "USA", "diabetes"),
        ("40-70", "*", "USA", "diabetes"),
        ("40-70", "*", "USA", "cancer"),
        ("20-40", "trader or banker", "*", "cancer"),
        ("20-40", "trader or banker", "*", "heart disease"),
        ("20-40", "clerk", "*", "hypertension"),
        ("20-40", "clerk", "*", "hypertension"),
        ("20-40", "clerk", "*", "diabetes"),
    ],
    schema=["age", "job", "country", "disease"], orient="row",
)  # fmt: skip

# Yang & Qiao 2010, Fig. 3: the second and third class of Fig. 2 as one.
YQ_FIG_3 = YQ_FIG_2.with_columns(
    job=pl.lit("*"), country=pl.when(pl.col("age") == "20-40").then(pl.lit("*")).otherwise("country")
)

# Yang & Qiao 2010, Fig. 4: diseases permuted within two groups of five; the figure marks them by dashes.
YQ_FIG_4 = pl.DataFrame(
    [
        ("50-60", "doctor", "USA", "heart disease", 1),
        ("50-60", "trader", "USA", "hypertension", 1),
        ("20-30", "trader", "UK", "hypertension", 1),
        ("30-40", "clerk", "Germany", "cancer", 1),
        ("60-70", "banker", "USA", "diabetes", 1),
        ("50-60", "engineer", "USA", "hypertension", 2),
        ("30-40", "banker", "India", "diabetes", 2),
        ("30-40", "clerk", "UK", "diabetes", 2),
        ("40-50", "clerk", "USA", "hypertension", 2),
        ("30-40", "clerk", "USA", "cancer", 2),
    ],
    schema=["age", "job", "country", "disease", "group"], orient="row",
)  # fmt: skip

# Yang & Qiao 2010, Fig. 5: the records of Fig. 1 after their Algorithm 1, in the same order.
YQ_FIG_5 = YQ_FIG_1.with_columns(
    age=pl.Series(
        ["50-60", "40-50", "20-30", "30-40", "50-60", "40-50", "50-60", "20-30", "60-70", "30-40"]
    ),
    job=pl.Series(
        ["doctor", "clerk", "clerk", "clerk", "trader", "clerk", "engineer", "clerk", "trader", "banker"]
    ),
    country=pl.Series(["USA", "USA", "USA", "USA", "USA", "UK", "Germany", "UK", "USA", "India"]),
)  # fmt: skip

# Sumana & Hareesh, Table 1.
SH_TABLE_1 = pl.DataFrame(
    [
        ("black", 1965, "M", "560054"), ("black", 1965, "M", "560054"), ("black", 1964, "M", "560054"),
        ("white", 1964, "F", "540064"), ("white", 1965, "F", "540064"), ("white", 1964, "F", "540064"),
        ("black", 1965, "F", "540064"),
    ],
    schema=["colour", "birth", "gender", "zip"], orient="row",
)  # fmt: skip

# Sumana & Hareesh, Table 3 (their Table 2, generalised); salaries in thousands.
SH_TABLE_3 = pl.DataFrame(
    [
        ("5600**", "2*", 3, "gastric ulcer"),
        ("5600**", "2*", 4, "gastritis"),
        ("5600**", "2*", 5, "stomach cancer"),
        ("56000*", ">=40", 6, "gastritis"),
        ("56000*", ">=40", 11, "flu"),
        ("56000*", ">=40", 8, "bronchitis"),
        ("5600**", "3*", 7, "bronchitis"),
        ("5600**", "3*", 9, "pneumonia"),
        ("5600**", "3*", 10, "stomach cancer"),
    ],
    schema=["zip", "age", "salary", "disease"], orient="row",
)  # fmt: skip

# Sumana & Hareesh, Table 4.
SH_TABLE_4 = pl.DataFrame(
    [
        *(("1975.*.*", "154*", illness) for illness in ("HIV", "flu", "fever", "cancer")),
        *(("1975.1.*", "1542", illness) for illness in ("cancer", "flu", "HIV")),
    ],
    schema=["birth", "postcode", "illness"], orient="row",
)  # fmt: skip

# Poovammal & Ponnavaikko, Table 1: zips without their common first three digits.
PP_TABLE_1 = pl.DataFrame(
    [
        (33, "M", "018"), (29, "F", "008"), (21, "M", "006"), (31, "M", "009"), (22, "M", "006"),
        (60, "M", "019"), (25, "F", "006"),
    ],
    schema=["age", "sex", "zip"], orient="row",
)  # fmt: skip

# Poovammal & Ponnavaikko, Table 3.
PP_TABLE_3 = pl.DataFrame(
    [
        ("21-25", "006", 10000, "bronchitis"), ("21-25", "006", 10020, "bronchitis"),
        ("21-25", "006", 10030, "bronchitis"), ("29-60", "008-019", 22000, "flu"),
        ("29-60", "008-019", 15000, "stomach cancer"), ("29-60", "008-019", 20000, "gastritis"),
        ("29-60", "008-019", 23000, "flu"),
    ],
    schema=["age", "zip", "income", "disease"], orient="row",
)  # fmt: skip

# Poovammal & Ponnavaikko, Table 4 as printed: the fifth income contradicts their Table 1.
PP_TABLE_4 = pl.DataFrame(
    [
        ("21-29", "006-008", 10000, "bronchitis"), ("21-29", "006-008", 10020, "bronchitis"),
        ("21-29", "006-008", 10030, "bronchitis"), ("21-29", "006-008", 15000, "stomach cancer"),
        ("31-60", "009-019", 15000, "flu"), ("31-60", "009-019", 20000, "gastritis"),
        ("31-60", "009-019", 23000, "flu"),
    ],
    schema=["age", "zip", "income", "disease"], orient="row",
)  # fmt: skip

# Loukides 2008, Table 1.1; salaries in thousands here and below.
LO_TABLE_1_1 = pl.DataFrame(
    {"postcode": [10, 10, 11, 12, 28, 30, 30, 30], "salary": [10, 10, 10, 10, 37, 40, 39, 38]}
)

# Loukides 2008, Table 2.1; the postcode of Tables 2.4 and 3.1 is the same one.
_POSTCODES = [10, 15, 12, 13, 20, 30, 30, 25]
_SALARIES = [10, 10, 10, 10, 20, 40, 40, 30]
LO_TABLE_2_1 = pl.DataFrame({"postcode": [f"NW{number}" for number in _POSTCODES], "salary": _SALARIES})

# Loukides 2008, Table 2.4.
LO_TABLE_2_4 = pl.DataFrame(
    {
        "age": [15, 30, 30, 15, 40, 80, 80, 40], "postcode": _POSTCODES, "salary": _SALARIES,
        "mortgage": ["Y", "N", "Y", "N", "Y", "N", "N", "Y"],
    }
)  # fmt: skip

# Loukides 2008, Table 3.1, with the postcode as a number and as a leaf of the hierarchy.
LO_TABLE_3_1 = pl.DataFrame(
    {"age": [30, 32, 37, 40, 45, 46, 57, 60], "postcode": _POSTCODES, "salary": _SALARIES}
)
LO_TABLE_3_1_LEAVES = LO_TABLE_3_1.with_columns(postcode=LO_TABLE_2_1["postcode"])

# Loukides 2008, Table 3.5 = Table 3.8.
LO_TABLE_3_8 = pl.DataFrame(
    {
        "age": [10, 15, 15, 20, 20, 25, 25, 30], "height": [170, 175] * 4, "postcode": [30, 32] * 4,
        "salary": [20, 20, 65, 65] * 2,
    }
)  # fmt: skip

# Loukides 2008, Fig. 2.2 = Fig. 3.2, reconstructed from the text: 21 postcodes, three districts, height 2.
_DISTRICTS = {"NW[10-15]": range(10, 16), "NW[16-19]": range(16, 20), "NW[20-30]": range(20, 31)}
POSTCODES = [[f"NW{number}", district, "*"] for district, numbers in _DISTRICTS.items() for number in numbers]

# Classes of the generalised tables, as rows of the originals.
TABLE_1_4 = [[0, 1, 2, 3], [4, 5, 6, 7]]
TABLE_1_5 = [[0, 2, 4, 5], [1, 3, 6, 7]]
TABLE_2_2 = [[0, 1, 4, 5], [2, 3, 6, 7]]
TABLE_2_3 = [[0, 1, 2, 3], [4, 5, 6, 7]]
TABLE_2_6 = [[0, 3], [1, 2], [4, 5, 6, 7]]
TABLE_2_7 = [[0, 2], [1, 3], [4, 7], [5, 6]]
# Table 2.7 prints wider ages than its classes have, as if they had been generalised before the postcodes.
TABLE_2_7_CELLS = {
    "age": [(15, 30), (15, 30), (40, 80), (40, 80)],
    "postcode": [(10, 12), (13, 15), (20, 25), (30, 30)],
}
TABLE_3_2 = [[0, 1, 2, 3], [4, 5, 6, 7]]
TABLE_3_3 = [[0, 1, 4, 5], [2, 3, 6, 7]]
TABLE_3_9 = [[0, 1], [2, 3], [4, 5], [6, 7]]
TABLE_3_10 = [[0, 2], [1, 3], [4, 6], [5, 7]]

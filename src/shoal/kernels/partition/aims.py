"""The column that cuts should serve the prediction of (native/partition/aims.hpp).

Scores of cuts are the uncertainty that is left on both sides: for labels the number of records times the entropy of
their side (InfoGain Mondrian), for numbers the squared deviation from the mean of their side (LSD Mondrian; both
LeFevre, DeWitt & Ramakrishnan 2006).
"""

from __future__ import annotations

from collections import namedtuple

# labels: int32, one an input row, kinds of them; numbers: int64, one a label and about 0, empty where labels count;
# unit: what the square of one is of the column's variance. Cells have several labels: at (int64, cells + 1) says where
# those of each begin, counts (int64) how many of its rows have each; both are None for rows.
Aim = namedtuple("Aim", "labels kinds numbers unit at counts")

# Scores are rounded to these parts of a bit (or of the column's variance), so that equal ones tie.
STEPS = float(1 << 20)

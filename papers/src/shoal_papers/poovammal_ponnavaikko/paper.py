"""Poovammal & Ponnavaikko: graded grouping and mapping tables, on UCI Adult.

The experiments are in modules of their own: worked examples and Table 8; naive Bayes and trees (Tables 6 and 7); the
rules of Fig. 2; clusters; associations and regressions; correlation, time, and what an attacker reads, which is ours.
"""

from __future__ import annotations

from shoal_papers.base import Paper
from shoal_papers.poovammal_ponnavaikko.clusters import CLUSTER
from shoal_papers.poovammal_ponnavaikko.codes import CODES
from shoal_papers.poovammal_ponnavaikko.examples import EXAMPLES, TABLE_8
from shoal_papers.poovammal_ponnavaikko.learners import LEARNERS
from shoal_papers.poovammal_ponnavaikko.mining import MINING
from shoal_papers.poovammal_ponnavaikko.rules import FIG_2

PAPER = Paper(
    name="poovammal-ponnavaikko",
    authors="Poovammal & Ponnavaikko",
    about="graded grouping of numbers and mapping tables for categories, with quasi-identifiers left as they are",
    items=[EXAMPLES, *LEARNERS, FIG_2, CLUSTER, *MINING, TABLE_8, *CODES],
)

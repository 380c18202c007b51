"""Yang & Qiao: random anonymisation, against entropy l-diversity and permutation, on UCI Adult.

The experiments are in modules of their own: the worked examples, count queries (Fig. 6), associations (Figs. 7 and 8),
and what exact Bayes makes of a release, which is ours.
"""

from __future__ import annotations

from shoal_papers.base import Paper
from shoal_papers.yang_qiao.attack import ATTACK
from shoal_papers.yang_qiao.examples import EXAMPLES
from shoal_papers.yang_qiao.queries import QUERIES
from shoal_papers.yang_qiao.rules import RULES

PAPER = Paper(
    name="yang-qiao",
    authors="Yang & Qiao",
    about="random anonymisation: one quasi-identifier of every record, or several, drawn anew",
    items=[EXAMPLES, *QUERIES, *RULES, *ATTACK],
)

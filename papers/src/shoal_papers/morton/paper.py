"""Morton et al.: research value, a utility that experts set, and searches for the k-anonymous table that keeps most.

Their death certificates are not public: a stand-in is searched in their place. The experiments on UCI Adult are theirs,
with hierarchies and research values of ours, because their figures are lost.
"""

from __future__ import annotations

from shoal_papers.base import Paper
from shoal_papers.morton.adult import ADULT
from shoal_papers.morton.bottom_up import AGAINST
from shoal_papers.morton.examples import EXAMPLES
from shoal_papers.morton.search import SEARCHES

PAPER = Paper(
    name="morton",
    authors="Morton, Mahoui, Gibson & Yechuri",
    about="research value: k-anonymity that keeps what researchers need",
    items=[EXAMPLES, *SEARCHES, *ADULT, *AGAINST],
)

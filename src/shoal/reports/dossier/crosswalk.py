"""Where the documents that regulators and standards bodies publish ask for what a section says.

The words are ours; a number stands only where we are sure of it.
"""

from __future__ import annotations

from shoal.reports.dossier.facts import Facts
from shoal.reports.dossier.model import Section, Table, Text

_DOCUMENTS = (
    "EMA: External guidance on the implementation of Policy 0070 (EMA/90915/2016), chapter 3, on anonymisation.",
    "Health Canada: Public Release of Clinical Information, guidance document, with its anonymisation report.",
    "ISO/IEC 27559:2022: Privacy enhancing data de-identification framework.",
    "NIST SP 800-188 (2023): De-identifying government datasets, techniques and governance.",
    "WP 216: Opinion 05/2014 of the Article 29 Working Party on anonymisation techniques.",
)
# Section: what EMA and Health Canada's anonymisation report, ISO/IEC 27559, NIST SP 800-188 and WP 216 say about it.
_ROWS = (
    ("Identification and purpose", "identity of the report; scope", "6.3", "3", "2"),
    ("Data situation and recipients", "context of disclosure", "6.2.2, 6.3.2", "3", "2"),
    ("People and rows", "study population", "7.2.2, 7.2.5", "4", "–"),
    ("Variables and techniques", "direct and quasi identifiers; techniques", "7.2.3, 7.2.4, 8.3.3", "4", "3"),
    ("Threats", "adversaries and attacks considered", "6.2, 6.2.3, 7.3", "3, 4", "2"),
    ("Threshold", "threshold and its justification", "7.3.2", "3", "–"),
    ("Risk before, after and residual", "measured risk of re-identification", "7.3.2, 7.3.3, 8.2.2", "4", "3"),
    ("Singling out, linkability, inference", "the three criteria", "8.2", "4", "3"),
    ("Attacks", "evidence for residual risk", "8.2.3", "4", "3"),
    ("Models met, and what is not protected", "methodology; limits", "7.3.4", "4", "3, 5"),
    ("Utility and critical variables", "data utility", "8.3", "4", "5"),
    ("Deviations and accepted warnings", "deviations, justified", "8.3", "3", "5"),
    ("Earlier releases and re-evaluation", "advances in technology; other releases", "8.3.4, 9.3.2", "3", "5"),
    ("Sign-off", "conclusion", "9.2.2", "3", "–"),
)


def crosswalk(facts: Facts) -> Section:
    """Which section answers which document."""
    headings = ("section", "EMA, Health Canada (topic)", "ISO/IEC 27559", "NIST 800-188", "WP 216")
    told = "Numbers are of clauses (ISO) and sections (NIST, WP 216). An aid to readers, no claim of conformity."
    return Section(
        key="crosswalk",
        title="Crosswalk",
        blocks=[
            Table(headings=headings, rows=_ROWS),
            Text(text=told, tone="note"),
            Table(rows=[tuple(one.split(": ", 1)) for one in _DOCUMENTS]),
        ],
    )

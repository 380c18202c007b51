"""Prepare a release: hold models against the rows, search, recode, judge, code columns and attack what was made."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.partitioned import PartedRows, grouped_in_parts
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.rows import in_memory
from shoal.data.table import crowded
from shoal.engines.base import Capability, OpenRows
from shoal.engines.memory import MemoryRows
from shoal.errors import InputError
from shoal.models.base import Model, smallest_class
from shoal.models.feasibility import all_models, asked_items, refuse_beforehand, vacuous, whole_reference
from shoal.models.judge import Judge
from shoal.models.refusals import refuse_measured, refuse_misfits, refuse_unknown_codes
from shoal.models.suppression import enforce, other_references, split_verdicts
from shoal.recoding.coded_columns import pseudonymise, refuse_idle_key, refuse_uncodable
from shoal.recoding.exact import with_counterfeits
from shoal.recoding.items import with_items
from shoal.recoding.kinds import Trait
from shoal.recoding.outcome import chosen, overlap_report
from shoal.recoding.publish import Output, group_name
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import Recoding
from shoal.recoding.secrets import Secret, SecretKey
from shoal.recoding.snap import declared_steps, grids
from shoal.registry import VERSION
from shoal.release.attack_sample import SAMPLE, Attacked, attack_stream
from shoal.release.capabilities import refuse_unheld
from shoal.release.gating import bring_terms, naming, person_refusals, refuse_first
from shoal.release.manifest import describe, inferred_types, uncoded_columns, whole_hierarchies, whole_policies
from shoal.release.publish import Showing, person_frames
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.before_after import risk_facts
from shoal.utility.base import every_score, release_facts
from shoal.utility.research_table import refuse_broken, research_facts, researched
from shoal.utility.workload import preference_facts, with_preferences
from shoal.verify.report import Setting

Progress = Callable[[str], None]
# Bytes that a run may take where nobody says.
MEMORY = 4 << 30


def silent(step: str) -> None:
    """Tell nobody what is done."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Open rows, and what is asked of them.

    Attributes
    ----------
    memory
        Bytes that a run may take.
    token_key
        What tokens and offsets of dates follow from; by default fresh keys.
    codes
        Mappings and gradings that are given, by column.
    """

    rows: OpenRows
    method: Algorithm
    models: Sequence[Model]
    output: Output
    keys: Keys
    seed: int | None
    progress: Progress = silent
    memory: int = MEMORY
    token_key: SecretKey | None = None
    codes: Mapping[str, Secret] = field(default_factory=dict)

    def judged(self) -> Judged:
        """Search, recode, judge and attack: all that comes before rows are published."""
        started, method, output = time.perf_counter(), self.method, self.output
        refuse_unknown_codes(output.acknowledged)
        rows, judge = self.prepared()
        refuse_unheld(rows, self.memory)
        empty = vacuous(judge, method.share_allowed(rows.domain.n))
        refuse_beforehand(rows, judge, empty, output, method)
        self.progress("looking for people with several rows")
        refuse_first(person_refusals(rows.domain, person_frames(rows), output.acknowledged, models=bool(judge.models)))

        # A workload guides the algorithm alone: measures and gate see the rows as they are.
        guided = guide(rows)
        recoding = self.searched(guided, judge)
        rows, recoding = _with_made_up(rows, recoding)
        judge = Judge(judge.models, whole_reference(rows, judge.models)) if rows.counterfeits else judge
        if judge.needs_breaches:
            self._refuse_too_many(rows, "The model 'personalised'")

        self.progress("judging the classes")
        recoded = with_items(apply_recoding(rows, recoding), asked_items(judge))
        refuse_misfits(recoded, judge.models, output.suppressed, method.kind)
        held = enforce(recoded, judge, method.share_allowed(rows.domain.n), method.limit_words, output.suppressed)
        released, secrets = pseudonymise(held, self.keys, self.token_key, self.codes)
        research = research_facts(released.price_stats())
        refuse_broken(research, method.name)

        self.progress("attacking it")
        attacked = attack_stream(released, rows, self.keys, rows.most(self.memory) if _loads(rows) else SAMPLE)
        refuse_measured(attacked.measured.telling, output.acknowledged)
        evidence = {
            "secret": self.keys.secret,
            "seed": self.seed,
            "algorithm": method.parameters(),
            "models": [model.parameters() for model in judge.models],
            **_facts(released, rows, attacked),
            **preference_facts(rows.domain, guided.domain),
            "research": research,
            **risk_facts(released, cells=self._holds_cells(rows)),
            "split_verdicts": split_verdicts(released, judge),
            "other_references": other_references(released, judge),
            "vacuous": [{"model": model.parameters(), "on": list(on or ())} for model, on in empty],
        }
        released.forget()
        rows.forget()
        # What one algorithm was told of levels is not the source's.
        kept = rows.knowing(replace(rows.domain, research=self.rows.domain.research))
        return Judged(
            rows=kept, released=released, models=judge.models, output=output, evidence=evidence, keys=self.keys,
            progress=self.progress, figures=attacked.measured.figures, secrets=(*recoding.secrets, *secrets),
            started=started,
        )  # fmt: skip

    def prepared(self) -> tuple[OpenRows, Judge]:
        """The rows with all that is known before a search, and the models with what they compare classes with."""
        rows, method = self.rows, self.method
        rows = rows.knowing(researched(rows.domain, rows.joined, method.research, method.kind))
        models = all_models(rows.domain, self.models, method)
        bring_terms(model.name for model in models)
        refuse_idle_key(rows.domain.schema, self.token_key)
        refuse_uncodable(rows.domain, method.kind)
        rows = rows.knowing(crowded(rows.domain, smallest_class(models), rows.people_with))
        return rows, Judge(models, whole_reference(rows, models))

    def searched(self, rows: OpenRows, judge: Judge) -> Recoding:
        """Run the method on the frequency table, on all records, or part by part."""
        problem = Problem(rows=rows, judge=judge, keys=self.keys, codes=self.codes, progress=self.progress)
        method, parts = self.method, self.method.in_parts and _loads(rows)
        most = rows.most(self.memory)
        # Cells take what rows take, where they are grouped as these are.
        few = min(most, rows.most_cells(self.memory))
        if method.by_cells(rows.domain) and (not parts or rows.holds_cells(few)):
            self._refuse_too_many_cells(rows)
            return method.run(problem)
        if parts:
            return grouped_in_parts(method, problem, cast(PartedRows, rows), most)
        self._refuse_too_many(rows, f"The algorithm '{method.name}'")
        return method.run(replace(problem, rows=rows.fetched(None, judge.attributes)))

    def _refuse_too_many(self, rows: OpenRows, what: str) -> None:
        """Refuse what looks at all records at once where memory does not hold them."""
        n = rows.domain.n
        if _loads(rows) and n > rows.most(self.memory):
            raise InputError(
                f"{what} looks at all records at once as it is set here, and {n:,} of them need "
                f"{rows.needed(n) / 1e9:.1f}GB: give 'memory' under [engine] as much, or use an algorithm such as "
                "'optimal' or 'mondrian' and models of class sizes and values."
            )

    def _holds_cells(self, rows: OpenRows) -> bool:
        """Whether memory holds the frequency table."""
        return rows.holds_cells(rows.most_cells(self.memory))

    def _refuse_too_many_cells(self, rows: OpenRows) -> None:
        """Refuse a frequency table that memory does not hold."""
        if not self._holds_cells(rows):
            count = rows.n_cells()
            other = "a method that goes part by part, such as 'mondrian'" if _loads(rows) else "the engine 'duckdb'"
            raise InputError(
                f"The algorithm '{self.method.name}' searches the frequency table, and its {count:,} combinations "
                f"need, with the values in them, {rows.cells_needed(count) / 1e9:.1f}GB: give 'memory' under [engine] "
                f"as much, code these columns more coarsely, or use {other}."
            )


def _loads(rows: OpenRows) -> bool:
    return Capability.LOAD in rows.capabilities


def guide(rows: OpenRows) -> OpenRows:
    """Give the rows as an algorithm sees them: a workload weighs their columns, and says where to cut them."""
    if rows.domain.workload is None:
        return rows
    return rows.knowing(with_preferences(in_memory(rows).table).domain)


def _with_made_up(rows: OpenRows, recoding: Recoding) -> tuple[OpenRows, Recoding]:
    """Rows with those that a method made up, and the recoding of all of them."""
    if recoding.counterfeits is None:
        return rows, recoding
    table, recoding = with_counterfeits(in_memory(rows).table, recoding)
    return MemoryRows(table), recoding


def _facts(released: Released, rows: OpenRows, attacked: Attacked) -> dict[str, Any]:
    """Collect figures of a release; they are private, since they tell about suppressed people too."""
    return {
        **release_facts(released),
        "search": dict(released.recoding.notes),
        "chosen": chosen(released),
        "items": dict(released.items),
        "counts": {
            "read": rows.n_read,
            "dropped": rows.n_dropped,
            "suppressed": released.n_suppressed,
            "released": rows.domain.n - released.n_suppressed,
            "counterfeits": rows.counterfeits,
            "classes": released.n_classes,
            "clusters": released.groups,
        },
        "measures": every_score(attacked.measurable.price_stats()),
        "overlaps": overlap_report(released) if released.made.generalises else [],
        "attacks": list(attacked.measured.figures),
        "attack_notes": [*attacked.measured.notes, *attacked.notes],
    }


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """A release whose classes hold, before its rows are published."""

    rows: OpenRows
    released: Released
    models: Sequence[Model]
    output: Output
    evidence: Mapping[str, Any]
    keys: Keys
    progress: Progress
    started: float
    figures: Sequence[AttackFigure] = ()
    secrets: Sequence[Secret] = ()

    @property
    def group(self) -> str | None:
        """Name of the column of group numbers, None where there are no groups."""
        return group_name(self.rows.domain.types) if self.released.made.has(Trait.GROUPS) else None

    def manifest(self) -> dict[str, Any]:
        """The public description, without what the gate and writing find."""
        return describe(
            self.rows.domain, self.models, version=VERSION, output=self.output, released=self.released,
            published=Showing(self.rows, self.released, self.group), figures=self.figures,
        )  # fmt: skip

    def setting(self, manifest: Mapping[str, Any]) -> Setting:
        """Collect the facts that the gate needs beside the rows."""
        domain: Domain = self.rows.domain
        public, population = self.released.public_domain, domain.population
        dropped = self.released.n_suppressed
        return Setting(
            manifest=dict(manifest),
            suppressed=self.rows.suppressed(self.released.classmap) if dropped else np.zeros(0, dtype=np.int64),
            n_read=self.rows.n_read,
            n_dropped=self.rows.n_dropped,
            counterfeits=self.rows.counterfeits,
            neutral_limit=self.output.neutral_limit,
            acknowledged=sorted(self.output.acknowledged),
            uncoded=uncoded_columns(self.released, self.models),
            hierarchies=whole_hierarchies(public),
            policies=whole_policies(public),
            grids=grids(public),
            steps=declared_steps(domain),
            inferred=inferred_types(domain),
            left_out=self.rows.left_out(naming(domain.schema)),
            across_classes=domain.schema.across_classes,
            population=None if population is None else population.frame,
            population_counts=None if population is None else population.counts,
        )

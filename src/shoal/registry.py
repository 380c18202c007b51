"""Names to classes, loaded only when asked for.

Built-ins stand in the table below; installed distributions add names by entry points of the groups in :data:`GROUPS`,
and programs by :func:`register`: one door for all. A target is ``"module:attribute"``, so that listing names imports
nothing. A name that two distributions claim is nobody's: it is refused until one of them is gone.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from shoal.errors import InputError, ParameterError
from shoal.params import nearest

# ----------------------------------------
# The version of this package, importable without anything else.


VERSION = "0.1.0"


OURS, PROGRAM = f"shoal {VERSION}", "this program"
# Where installed distributions say what they add.
GROUPS = {
    "algorithm": "shoal.algorithms", "model": "shoal.models", "measure": "shoal.measures", "attack": "shoal.attacks",
    "engine": "shoal.engines", "paper": "shoal.papers",
}  # fmt: skip
# What a plug-in's class is derived from; an engine need only do what one does.
_BASES = {
    "algorithm": "shoal.algorithms.base:Algorithm", "model": "shoal.models.base:Model",
    "measure": "shoal.utility.base:Measure", "attack": "shoal.risk.attacks.base:Attack",
}  # fmt: skip
_ALL_RUN = ("measure", "attack")  # kinds of which all are run where none is named
Made = TypeVar("Made")

_TABLE: dict[str, dict[str, tuple[str, ...]]] = {
    "algorithm": {
        "mondrian": ("shoal.algorithms.mondrian:Mondrian", "Multidimensional partitioning by median or best cut."),
        "k-members": ("shoal.algorithms.cluster.k_members:KMembers", "Clusters of k records, each grown by the record that costs least."),
        "k-members-p": ("shoal.algorithms.cluster.k_members:KMembersP", "Clusters of k records, grown by protection first and loss second."),
        "bottom-up": ("shoal.algorithms.cluster.local_recoding:BottomUp", "Local recoding by merging the groups that cost least together."),
        "top-down": ("shoal.algorithms.cluster.local_recoding:TopDown", "Local recoding by parting records around two that are far apart."),
        "alpha-k": ("shoal.algorithms.cluster.alpha_k:AlphaK", "Clusters that keep the share of sensitive values within alpha."),
        "toc": ("shoal.algorithms.cluster.toc:TOC", "Clusters that trade the spread of quasi-identifiers against that of sensitive values."),
        "upc": ("shoal.algorithms.cluster.upc:UPC", "Clusters within hard limits on loss and on range diversity; the rest is suppressed."),
        "samarati": ("shoal.algorithms.lattice.samarati:Samarati", "The lowest full-domain generalisation within a suppression limit."),
        "incognito": ("shoal.algorithms.lattice.incognito:Incognito", "Every full-domain generalisation that satisfies the models, and the best of them."),
        "optimal": ("shoal.algorithms.lattice.optimal:Optimal", "The best full-domain generalisation for a measure, proven."),
        "rv-global": ("shoal.algorithms.research.methods:ResearchGlobal", "The full-domain generalisation of the largest research value."),
        "rv-local": ("shoal.algorithms.research.methods:ResearchLocal", "A balanced generalisation by research value, after a handful of tests."),
        "rv-hybrid": ("shoal.algorithms.research.methods:ResearchHybrid", "The largest research value, beginning with rv-local's tests."),
        "rv-cluster": ("shoal.algorithms.research.clusters:ResearchClusters", "Clusters whose cells, each on a level of its own, keep the largest research value."),
        "rv-distributed": ("shoal.algorithms.research.distributed:ResearchDistributed", "The largest research value, by blocks of columns where strings are too many to list."),
        "top-down-subtree": ("shoal.algorithms.subtree:TopDownSubtree", "Full-subtree recoding by greedy specialisation from the root."),
        "r-tree": ("shoal.algorithms.r_tree:RPlusTree", "Partitioning by an R+-tree: records are inserted, and full leaves split."),
        "k-optimize": ("shoal.algorithms.blocks.k_optimize:KOptimize", "The best cuts of every column's ordered values into blocks, proven, or with a gap."),
        "set-partition": ("shoal.algorithms.blocks.set_partition:SetPartition", "Blocks of values, runs or any sets, merged while that brings rows into good classes."),
        "genetic": ("shoal.algorithms.blocks.genetic:Genetic", "Blocks of values by evolution: strings of cuts that mate and mutate."),
        "local-suppression": ("shoal.algorithms.local_suppression:LocalSuppression", "As few single cells as possible become *, by the importance of their columns."),
        "random": ("shoal.algorithms.links.random:RandomAnonymisation", "Redraws one quasi-identifier of every record, or several, from its own distribution: noise, not anonymity."),
        "graded": ("shoal.algorithms.links.pseudonyms:Graded", "Numbers become category name plus place within it; reversible (W-PP-REV)."),
        "mapping": ("shoal.algorithms.links.pseudonyms:ValueMapping", "Categories become randomly numbered codes; reversible (W-PP-REV)."),
        "table-transform": ("shoal.algorithms.links.pseudonyms:TableTransform", "Every sensitive column graded or mapped; reversible (W-PP-REV)."),
        "anatomy": ("shoal.algorithms.links.anatomy:Anatomy", "Exact quasi-identifiers, and sensitive values known only by group (W-EXACT-QI)."),
        "microaggregation": ("shoal.algorithms.links.microaggregation:Microaggregation", "Groups of k alike records, each published as its mean, median or mode."),
        "personalised": ("shoal.algorithms.links.personalised:PersonalisedAnonymity", "Full-subtree recoding that blurs sensitive values as far as each person asks."),
        "swapping": ("shoal.algorithms.links.swapping:Swapping", "Values of each quasi-identifier change places between records of near rank (W-PERTURBED)."),
        "condensation": ("shoal.algorithms.links.microaggregation:Condensation", "Records made up anew from the moments of groups of alike ones (W-PERTURBED)."),
        "pram": ("shoal.algorithms.links.pram:Pram", "Categories are redrawn by a matrix, which keeps how often each is expected (W-PERTURBED)."),
        "noise": ("shoal.algorithms.links.noise:Noise", "Normal noise on numbers, by itself or with their correlations (W-PERTURBED)."),
        "record-swapping": ("shoal.algorithms.links.swapping:RecordSwapping", "Records at risk change their geography with alike ones from elsewhere (W-PERTURBED)."),
        "shuffling": ("shoal.algorithms.links.noise:Shuffling", "Numbers change places, by ranks that a regression on other columns makes up (W-PERTURBED)."),
        "m-invariant": ("shoal.algorithms.m_invariance:MInvariant", "Groups that keep everybody's candidate values from release to release."),
        "auto": ("shoal.algorithms.auto:Auto", "The method that does best on a part of the table, by a measure of your choice."),
        "none": ("shoal.algorithms.none:NoAlgorithm", "Your own generalisation levels, gated like any other release."),
    },
    "model": {
        "k": ("shoal.models.size:KAnonymity", "Every class has at least k records (or people)."),
        "k-m": ("shoal.models.size:KMAnonymity", "Up to m known items of a person are shared by at least k records of a class, or by none."),
        "k-wildcard": ("shoal.models.size:KWildcard", "Every record could be at least k of the release, where * counts as any value."),
        "k-map": ("shoal.models.size:KMap", "At least k people of the population match the cells of every class."),
        "delta-presence": ("shoal.models.size:DeltaPresence", "Of the people of the population who match a class, a share within limits is in it."),
        "distinct-l": ("shoal.models.diversity:DistinctL", "Every class has at least l distinct sensitive values."),
        "entropy-l": ("shoal.models.diversity:EntropyL", "The entropy of every class is at least ln l."),
        "recursive-cl": ("shoal.models.diversity:RecursiveCL", "The commonest value is rarer than c times the tail from the l-th."),
        "t-closeness": ("shoal.models.closeness:TCloseness", "Every class's distribution is within t of the table's."),
        "beta-likeness": ("shoal.models.closeness:BetaLikeness", "No value's share of a class exceeds its share of the table by more than beta times that."),
        "delta-disclosure": ("shoal.models.closeness:DeltaDisclosure", "The share of every value of the table differs in every class by a factor below 2 to the delta."),
        "alpha-k-simple": ("shoal.models.diversity:AlphaKSimple", "One value's share is at most alpha in every class of at least k."),
        "alpha-k-general": ("shoal.models.diversity:AlphaKGeneral", "Every value's share is at most alpha in every class of at least k."),
        "alpha-k-complete": ("shoal.models.diversity:AlphaKComplete", "Each value has its own alpha, in every class of at least k."),
        "p-sensitive": ("shoal.models.diversity:PSensitive", "At least p distinct values in every class of at least k."),
        "k-e": ("shoal.models.numeric:KE", "At least k distinct numbers that span at least e in every class."),
        "variance": ("shoal.models.numeric:Variance", "The variance of a numeric attribute is at least v in every class."),
        "eps-m": ("shoal.models.numeric:EpsM", "At most 1/m of a class lies within eps of any of its records."),
        "max-range": ("shoal.models.numeric:MaxRange", "The mean S-diversity of every class is at most the limit."),
        "range-diversity": ("shoal.models.ranges:RangeDiversity", "Pairs of a class within each other's sensitive range are few or far apart."),
        "range-confidence": ("shoal.models.ranges:RangeConfidence", "No sensitive range holds more than the share p of a class."),
        "personalised": ("shoal.models.personalised:Personalised", "Nobody is found under the node they guard with a probability above p."),
        "m-invariance": ("shoal.models.personalised:MInvariance", "At least m equally frequent values in every class, the same as in earlier releases."),
        "worst-group-utility": ("shoal.models.ranges:WorstGroupUtility", "The mean Q-diversity of every class's cells is at most u."),
    },
    "measure": {
        "dm": ("shoal.utility.classes:Discernability", "Discernability: squared class sizes, n for every suppressed record."),
        "c-avg": ("shoal.utility.classes:AverageClassSize", "Average class size over k."),
        "cm": ("shoal.utility.classes:Classification", "Share of records outside their class's majority label."),
        "genc": ("shoal.utility.classes:GeneralisationCost", "Sum of levels over hierarchy heights."),
        "precision": ("shoal.utility.classes:Precision", "One minus the normalised generalisation cost."),
        "height": ("shoal.utility.classes:Height", "Sum of the levels of a full-domain recoding."),
        "rv": ("shoal.utility.research_value:ResearchValue", "Research value: weights times the detail and the rules that levels keep."),
        "ncp": ("shoal.utility.loss:NormalisedCertaintyPenalty", "Normalised certainty penalty, weighted."),
        "lm": ("shoal.utility.loss:LossMetric", "Mean loss of a cell: 0 exact, 1 everything."),
        "ilm": ("shoal.utility.loss:InformationLoss", "Leaves less one over domain size, a cell, weighted sum."),
        "am": ("shoal.utility.loss:Ambiguity", "Mean number of value combinations a record could stand for."),
        "um": ("shoal.utility.loss:UtilityMeasure", "Mean over classes of mean Q-diversity."),
        "wgu": ("shoal.utility.loss:WorstGroupLoss", "Largest mean Q-diversity of a class."),
        "arx-loss": ("shoal.utility.loss:ArxLoss", "ARX's loss: geometric mean of how much of its hierarchy each attribute covers."),
        "entropy": ("shoal.utility.loss:NonUniformEntropy", "Bits lost by every cell, given the column's own frequencies."),
        "mpm": ("shoal.utility.protection:MaxRangeProtection", "Mean over classes of mean S-diversity."),
        "wgp": ("shoal.utility.protection:WorstGroupProtection", "Largest range diversity of a class."),
        "range-diversity": ("shoal.utility.protection:MeanRangeDiversity", "Mean over classes of range diversity."),
        "pa": ("shoal.utility.randomised:ProbabilisticAnonymity", "Probabilistic anonymity: the entropy of random anonymisation's noise, no measure of risk."),
        "gamma": ("shoal.utility.randomised:Gamma", "Gamma-amplification of the worst randomised record."),
        "inference-probability": ("shoal.utility.randomised:InferenceProbability", "Largest probability of one original, over randomised records."),
        "bias": ("shoal.utility.randomised:RelativeBias", "Relative bias of counts in a randomised release."),
    },
    "attack": {
        "linkage": ("shoal.risk.attacks.match:Linkage", "Find people of an identified table by the cells that cover their values."),
        "nearest": ("shoal.risk.attacks.match:Nearest", "Find people of an identified table by the nearest of published centroids."),
        "homogeneity": ("shoal.risk.attacks.classes:Homogeneity", "Read values off classes that hold one only."),
        "background": ("shoal.risk.attacks.classes:Background", "Guess after excluding one or two values that a person does not have."),
        "skewness": ("shoal.risk.attacks.classes:Skewness", "Guess where a class makes a value much likelier than the table does."),
        "similarity": ("shoal.risk.attacks.classes:Similarity", "Read off the group of values that a whole class falls into."),
        "proximity": ("shoal.risk.attacks.proximity:Proximity", "Guess a number to within eps."),
        "divergence": ("shoal.risk.attacks.proximity:Divergence", "Guess the values of people who are unlike most of their class."),
        "minimality": ("shoal.risk.attacks.minimality:Minimality", "Exclude assignments under which less generalisation would have done."),
        "downcoding": ("shoal.risk.attacks.downcoding:Downcoding", "Narrow cells because they are no wider than they must be."),
        "singling-out": ("shoal.risk.attacks.singling_out:SinglingOut", "Describe people so that exactly one fits."),
        "intersection": ("shoal.risk.attacks.composition:Intersection", "Keep the values that several releases of a person have in common."),
        "subject-intersection": ("shoal.risk.attacks.subject_intersection:SubjectIntersection", "Keep the values that all classes of a person's rows have in common."),
        "posterior": ("shoal.risk.attacks.broken_links:PosteriorAttack", "Recover the quasi-identifiers behind randomised records by exact Bayes."),
        "ra-linkage": ("shoal.risk.attacks.broken_links:RandomisedLinkage", "Guess a known person's sensitive value from a randomised release."),
        "rank-matching": ("shoal.risk.attacks.broken_links:RankMatching", "Read order-preserving codes by sorting them against true values."),
        "frequency-matching": ("shoal.risk.attacks.broken_links:FrequencyMatching", "Read one-to-one codes by how often they occur."),
        "record-linkage": ("shoal.risk.attacks.perturbed:RecordLinkage", "Find people among perturbed records by the nearest one."),
        "relinking": ("shoal.risk.attacks.broken_links:Relinking", "Learn from a bucketised release whose value is whose."),
    },
    "evaluation": {
        "count-queries": ("shoal.utility.count_queries:CountQueries", "How far counts are off: many queries on the release and on the original."),
        "rules": ("shoal.utility.association_rules:AssociationRules", "Association rules that survive, and rules that the release made up."),
        "classifiers": ("shoal.utility.classifiers:Classifiers", "Classifiers trained on the release and judged on original rows held out."),
        "partitioning": ("shoal.utility.partition_tree:Partitioning", "Recursive partitioning of release and original, with its buckets in words."),
        "regression": ("shoal.utility.regression:Regression", "R² of a linear regression trained on the release, on original rows held out."),
        "clustering": ("shoal.utility.clustering:Clustering", "Whether clusters of the release bring the same people together."),
        "boundaries": ("shoal.utility.features:Boundaries", "Share of released cells that keep boundaries which analysts need."),
        "distributions": ("shoal.utility.distributions:Distributions", "Distances of columns' distributions and of their associations."),
    },
    "kind": {
        "generalised": ("shoal.recoding.kinds:GENERALISED", "Cells that cover the values behind them."),
        "bucketised": ("shoal.recoding.kinds:BUCKETISED", "Exact quasi-identifiers, and sensitive values known by group only."),
        "randomised": ("shoal.recoding.kinds:RANDOMISED", "Quasi-identifiers redrawn at random."),
        "pseudonymised": ("shoal.recoding.kinds:PSEUDONYMISED", "Codes in the place of values."),
        "perturbed": ("shoal.recoding.kinds:PERTURBED", "Quasi-identifiers swapped between records, or made up anew."),
        "microaggregated": ("shoal.recoding.kinds:MICROAGGREGATED", "Means, medians or modes of classes."),
    },
    "profile": {
        "public-use": ("shoal.recipe.profiles:PUBLIC_USE", "Files that anybody may have: classes of 11, two sensitive values each."),
        "scientific-use": ("shoal.recipe.profiles:SCIENTIFIC_USE", "Files under contract: classes of 5, two sensitive values each."),
        "ema-0070": ("shoal.recipe.profiles:EMA_0070", "EMA Policy 0070: a largest risk of 0.09, so classes of 12."),
        "health-canada": ("shoal.recipe.profiles:HEALTH_CANADA", "Health Canada's public release: a largest risk of 0.09, so classes of 12."),
        "hipaa-safe-harbor": ("shoal.recipe.profiles:HIPAA_SAFE_HARBOR", "45 CFR 164.514(b)(2): identifiers removed, no model asked for."),
        "hipaa-expert": ("shoal.recipe.profiles:HIPAA_EXPERT", "45 CFR 164.514(b)(1): classes of 11, and an expert who signs."),
        "internal-analytics": ("shoal.recipe.profiles:INTERNAL", "Colleagues: classes of 3."),
    },
    "engine": {
        "memory": ("shoal.engines.memory:MemoryEngine", "Everything in this process, with compiled kernels."),
        "duckdb": ("shoal.engines.duckdb:DuckDBEngine", "Files larger than memory, coded on disk and counted by DuckDB."),
        "postgres": ("shoal.engines.postgres:PostgresEngine", "Tables of a database, coded and counted there by PostgreSQL."),
        "spark": ("shoal.engines.spark:SparkEngine", "Rows on a Spark cluster, counted there and published by its machines."),
    },
    "io": {
        "aligned": ("shoal.release.write:aligned", "The publisher's side of a release, in input order."),
        "native": ("shoal.io.frames:native", "A frame in the library that the input came in."),
        "write-release": ("shoal.release.write:write_release", "Write a release folder and its evidence."),
    },
}


class PluginWarning(UserWarning):
    """An installed plug-in cannot be used."""


class Entry(NamedTuple):
    """A name: where it is, what it is in one line (None: it says so itself), whose it is, and why it cannot be used."""

    target: str
    summary: str | None
    origin: str = OURS
    fault: str = ""


def register(kind: str, name: str, target: str, summary: str) -> None:
    """Add a name in this process, for example ``register("measure", "mine", "my.module:Mine", "One line.")``."""
    if name in _table(kind):
        raise ParameterError(f"The {kind} '{name}' is already registered: choose another name.")
    _TABLE.setdefault(kind, {})[name] = (target, summary, PROGRAM)


def names(kind: str) -> list[str]:
    """All names of one kind that can be used: built-ins first, then plug-ins. Loads none of them."""
    return [name for name, entry in _table(kind).items() if not entry.fault]


def classes(kind: str) -> dict[str, str]:
    """Return the module of each class of ours of one kind, by the name of the class."""
    targets = (entry[0].partition(":") for entry in _TABLE[kind].values() if PROGRAM not in entry)
    return {attribute: module for module, _, attribute in targets}


def summary(kind: str, name: str) -> str:
    """The one-line description of a name; a plug-in says it itself, so that it is loaded."""
    entry = _entry(kind, name)
    if entry.summary is not None:
        return entry.summary
    found = load(kind, name)
    said = getattr(found, "summary", None)
    return said if isinstance(said, str) else (found.__doc__ or "").strip().partition("\n")[0]


def origin(kind: str, name: str) -> str:
    """The distribution that a name comes from and its version, such as ``"shoal 0.1.0"``."""
    return _entry(kind, name).origin


def working(kind: str) -> list[str]:
    """All names of one kind whose code loads: a plug-in that does not is warned about, and breaks nothing else."""
    found = []
    for name, entry in _table(kind).items():
        try:
            if entry.fault or entry.origin != OURS:
                load(kind, name)
        except InputError as error:
            warnings.warn(str(error), PluginWarning, stacklevel=2)
        else:
            found.append(name)
    return found


def spared(kind: str, name: str, work: Callable[[], Made]) -> Made | None:
    """What comes of a name where all of its kind are wanted: a plug-in that fails is warned about, and gives None."""
    whose = origin(kind, name)
    if whose == OURS:
        return work()
    try:
        return work()
    except (Exception, SystemExit) as error:
        # The message may hold anybody's values, so that only its type is shown.
        why = f"failed ({type(error).__name__}) and is left out: repair or uninstall that distribution."
        warnings.warn(f"The {kind} '{name}' of {whose} {why}", PluginWarning, stacklevel=2)
        return None


def load(kind: str, name: str) -> Any:
    """Import and return what ``name`` stands for; an unknown name proposes the nearest one."""
    entry = _entry(kind, name)
    if entry.fault:
        raise InputError(entry.fault)
    module, _, attribute = entry.target.partition(":")
    if entry.origin == OURS:
        return getattr(import_module(module), attribute)
    try:
        found = getattr(import_module(module), attribute)
        odd = _odd(kind, name, found)
    except (Exception, SystemExit) as error:
        # The message may hold anything, so that only its type is shown.
        odd = f"cannot be loaded ({type(error).__name__} in {module})"
    if odd:
        raise InputError(f"The {kind} '{name}' of {entry.origin} {odd}: repair or uninstall that distribution.")
    return found


def _odd(kind: str, name: str, found: Any) -> str:
    """What makes a plug-in's object none of its kind, "" where it is one."""
    called = getattr(found, "name", name)
    if called != name:
        return f"calls itself '{called}'"
    if kind == "paper":  # an object, as a kind is
        return "" if hasattr(found, "authors") else "is no paper"
    if kind == "kind":
        return ""
    if kind == "model" and getattr(getattr(found, "term", None), "name", None) != name:
        return "brings no term of that name, by which it could be verified"
    if kind not in _BASES:
        return "" if isinstance(found, type) else "is no class"
    if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
        return "is no dataclass"
    module, _, base = _BASES[kind].partition(":")
    if not issubclass(found, getattr(import_module(module), base)):
        return f"is not derived from {module}.{base}"
    needed = [field.name for field in dataclasses.fields(found) if _is_needed(field)] if kind in _ALL_RUN else []
    return f"has no default for its parameter '{needed[0]}'" if needed else ""


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


# What models are called elsewhere.
_FAMILIES = {
    "k-anonymity": "'k', and 'k-map' against a population",
    "l-diversity": "'distinct-l', 'entropy-l' and 'recursive-cl'",
    "alpha-k": "'alpha-k-simple', 'alpha-k-general' and 'alpha-k-complete'",
}


def _entry(kind: str, name: str) -> Entry:
    table = _table(kind)
    if name not in table:
        near = nearest(str(name), table)
        hint = f"Did you mean '{near}'?" if near else f"Known are: {', '.join(table)}."
        if name in _FAMILIES and kind == "model":
            hint = f"There are {_FAMILIES[name]}."
        raise ParameterError(f"There is no {kind} called '{name}'. {hint}")
    return table[name]


def _table(kind: str) -> dict[str, Entry]:
    """Every name of a kind, whoever brings it."""
    found = {name: Entry(*entry) for name, entry in _TABLE.get(kind, {}).items()}
    for name, entry in _installed().get(kind, ()):
        if name in found:
            both = f"{found[name].origin} and {entry.origin}"
            fault = f"The {kind} '{name}' is claimed by both {both}: uninstall one of the two."
            found[name] = found[name]._replace(fault=fault)
        else:
            found[name] = entry
    return found


@cache
def _installed() -> dict[str, list[tuple[str, Entry]]]:
    """What installed distributions say they add, by kind: names in the order of the distributions that bring them."""
    from importlib.metadata import entry_points

    try:
        every = entry_points()
        points = [point for group in GROUPS.values() for point in every.select(group=group)]
    except Exception:  # a list that cannot be read, of whichever distribution, spoils them all
        points = list(_readable())
    found: dict[str, list[tuple[str, Entry]]] = {kind: [] for kind in GROUPS}
    kinds = {group: kind for kind, group in GROUPS.items()}
    for point in points:
        target = point.value.partition("[")[0].strip()
        found[kinds[point.group]].append((point.name, Entry(target, None, _called(point.dist))))
    return {kind: sorted(entries, key=lambda one: one[1].origin) for kind, entries in found.items()}


def _readable() -> Iterator[Any]:
    """The entry points of each distribution that they can be read of, the first of equal names on the path."""
    from importlib.metadata import distributions

    seen = set()
    for one in distributions():
        called = str(one.metadata["Name"]).lower().translate(str.maketrans("_.", "--"))
        if called in seen:
            continue
        seen.add(called)
        try:
            yield from [point for point in one.entry_points if point.group in GROUPS.values()]
        except Exception as error:
            why = f"cannot be read ({type(error).__name__}): repair or uninstall that distribution."
            warnings.warn(f"What {_called(one)} brings {why}", PluginWarning, stacklevel=2)


def _called(distribution: Any) -> str:
    known = distribution and [distribution.metadata[key] for key in ("Name", "Version")]
    return " ".join(known) if known and all(known) else "an unnamed distribution"


def make(kind: str, spec: Mapping[str, Any]) -> Any:
    """Build what a recipe's table describes: its ``name``, and parameters by their names.

    Examples
    --------
    >>> make("model", {"name": "k", "k": 5})
    KAnonymity(k=5)
    """
    given = dict(spec)
    name = given.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"A {kind} needs a 'name', one of: {', '.join(names(kind))}.")
    made = load(kind, name)
    known = {field.name: field for field in dataclasses.fields(made)}
    for key in given:
        if key not in known:
            near = nearest(key, known)
            hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(known) or 'none'}."
            raise ParameterError(f"The {kind} '{name}' has no parameter '{key}'. {hint}")
    for key, field in known.items():
        if _is_needed(field) and key not in given:
            raise ParameterError(f"The {kind} '{name}' needs its parameter '{key}'.")
    return made(**given)

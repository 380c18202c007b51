"""The words of the synthetic census, how they generalise, and a recipe that anonymises it.

Hierarchies are given as a recipe gives them: the data of a builder, not a built hierarchy, because this
package imports nothing of the rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Group -> values, in the order of the leaves. Within education that is also the order of attainment.
SEX = ["female", "male", "other"]
MARITAL_STATUS = {
    "in a couple": ["married", "cohabiting"],
    "once in a couple": ["separated", "divorced", "widowed"],
    "never in a couple": ["single"],
}
EDUCATION = {
    "school": ["none", "primary", "lower secondary", "upper secondary"],
    "training": ["vocational", "technical college"],
    "university": ["bachelor", "master", "doctorate"],
}
OCCUPATION = {
    "professional": ["manager", "engineer", "physician", "teacher", "scientist"],
    "clerical and service": ["clerk", "nurse", "sales", "hospitality", "security"],
    "manual": ["craft", "machine operator", "driver", "farmer", "labourer", "cleaner"],
    "not working": ["student", "unemployed", "homemaker", "retired"],
}
REGION = {
    "the north": ["Norvale", "Highfell", "Isleward"],
    "the middle": ["Midlow", "Lakemoor"],
    "the south": ["Sudhaven", "Estmere", "Westering"],
}
DIAGNOSIS = {
    "heart and metabolism": ["hypertension", "heart disease", "diabetes", "stroke"],
    "infection": ["influenza", "pneumonia", "gastroenteritis", "hepatitis", "HIV"],
    "mind": ["depression", "anxiety", "dependence", "dementia"],
    "cancer": ["breast cancer", "prostate cancer", "lung cancer", "bowel cancer"],
    "injury and joints": ["fracture", "back pain", "arthritis"],
    "other conditions": ["asthma", "migraine", "pregnancy", "kidney disease"],
}


def leaves(groups: dict[str, list[str]]) -> list[str]:
    """The values of all groups, in order."""
    return [value for values in groups.values() for value in values]


def hierarchies() -> dict[str, dict[str, Any]]:
    """Builder entries, as the ``[hierarchies]`` of a recipe writes them, for every column that has one.

    Examples
    --------
    >>> hierarchies()["postcode"]
    {'prefix': [4, 3, 2, 1]}
    """
    return {
        "age": {"widths": [5, 10, 20], "origin": 0},
        "postcode": {"prefix": [4, 3, 2, 1]},
        "education": {"nested": {"*": EDUCATION}, "public": True},
        "marital_status": {"nested": {"*": MARITAL_STATUS}, "public": True},
        "occupation": {"nested": {"*": OCCUPATION}, "public": True},
        "region": {"nested": {"*": REGION}, "public": True},
        "diagnosis": {"nested": {"*": DIAGNOSIS}, "public": True},
    }


QUASI = ["age", "sex", "postcode", "education", "marital_status"]

_RECIPE = """\
# The demonstration: a synthetic census of invented people, 5-anonymous and diverse.

# "visits" is published as it is, and beside the quasi-identifiers it makes some rows unique. Whoever could
# know how often somebody went to a doctor could use that; this line says that the publisher accepts it.
acknowledge = ["W-NEUTRAL"]
{seed}
[source]
name = "census"
path = {path}
missing = "value"

[roles]
identifiers = ["name"]
subject = "person"
quasi = {quasi}
sensitive = ["diagnosis", "income"]
neutral = ["visits"]
drop = ["birth_date", "region", "occupation", "industry", "admitted"]

[columns.postcode]
type = "categorical"

[columns.education]
type = "ordinal"
order = {education}

[hierarchies]
{hierarchies}

[[models]]
name = "k"
k = 5

[[models]]
name = "entropy-l"
l = 2
on = "diagnosis"

[[models]]
name = "k-e"
k = 3
e = 5000
on = "income"

[algorithm]
name = "mondrian"
cut = "best"

[output]
folder = {folder}
format = "csv"
"""


def recipe_text(path: str | Path, folder: str | Path, *, seed: int | None = None) -> str:
    """A complete recipe for a census written to ``path``, with its release going to ``folder``.

    Parameters
    ----------
    path
        The census as CSV, empty cells missing.
    folder
        Where the release is to be written.
    seed
        Only for tests: a recipe without one draws a fresh secret.
    """
    specs = hierarchies()
    return _RECIPE.format(
        seed="" if seed is None else f"seed = {seed}\n",
        path=_toml(str(path)),
        folder=_toml(str(folder)),
        quasi=_toml(QUASI),
        education=_toml(leaves(EDUCATION)),
        hierarchies="\n".join(f"{name} = {_toml(specs[name])}" for name in QUASI if name in specs),
    )


def _toml(value: Any) -> str:
    """Write a value as inline TOML, whose basic strings escape as JSON's do."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else json.dumps(name)

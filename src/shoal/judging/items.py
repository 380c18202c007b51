"""Columns of items and the model on them: what is asked, and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.data.domain import Domain
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.models.judge import Judge
from shoal.models.rules import SHARED
from shoal.recoding.items import Asked


def asked_items(judge: Judge) -> list[Asked]:
    """What the models ask of columns of items."""
    rules = [rules[0] for _, rules in judge.sets if rules[0].op == SHARED]
    return [Asked(name=rule.names[0], k=int(rule.limit), m=int(rule.p0)) for rule in rules]


def refuse_items(domain: Domain, models: Sequence[Model], *, invents: bool) -> None:
    """Refuse columns of items without their model, or with it twice, or with models of single values."""
    columns = [name for name in domain.schema.sensitive if domain.schema.spec(name).items is not None]
    for name in columns:
        mine = [model for model in models if model.valued and (name,) in model.targets(domain)]
        count = sum(model.name == "k-m" for model in mine)
        if count != 1:
            raise ParameterError(
                f"Column '{name}' holds items, and the model 'k-m' is set on it {'twice' if count else 'nowhere'}: set "
                "it once, or leave 'items' out."
            )
    for model in models if columns else ():
        shown = [name for one in (model.targets(domain) if model.valued else ()) for name in one if name in columns]
        if shown and model.name != "k-m":
            raise ParameterError(
                f"The model '{model.name}' is about single values, and '{shown[0]}' holds items: set it 'on' other "
                "columns."
            )
    if columns and invents:
        raise ParameterError(f"The algorithm makes records up, and no items for '{columns[0]}': use another one.")

"""The verifier's terms of models that plug-ins bring, and who vouches for verdicts by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from shoal.catalogue import OURS, PROGRAM, load, names, origin
from shoal.errors import VerificationError
from shoal.verify.terms.base import register_term


def bring_terms(models: Iterable[str]) -> None:
    """Let the verifier judge models by the terms that installed plug-ins have for them."""
    for name in _plugged(models):
        register_term(load("model", name).term, vouched_by=origin("model", name))


def bring_vouched(manifest: Mapping[str, Any]) -> None:
    """The same for a release that may have been made elsewhere; a verdict by a term that is not here is refused."""
    for verdict in manifest["verdicts"]:
        by, model = verdict.get("vouched_by"), verdict.get("model")
        name = model.get("name") if isinstance(model, Mapping) else None
        # For a model of ours nobody else has to be installed, whatever the manifest says: the verifier refuses that.
        if by is not None and (name not in names("model") or origin("model", name) not in (OURS, by)):
            distribution, _, version = by.rpartition(" ")
            raise VerificationError(
                f"The verdict on '{name}' is said to be derived by {by}, which is not installed here, so it cannot be "
                f"derived again: run pip install {distribution}=={version}."
            )
    bring_terms(model["name"] for model in manifest["models"] if isinstance(model.get("name"), str))


def said_by_plugins(models: Iterable[str]) -> Iterator[str]:
    """What a release says about models of plug-ins in words that are not ours, and who vouches for them."""
    for name in _plugged(models):
        made = load("model", name)
        yield from (text for text in (made.words, made.group_words, made.leaves_open) if text is not None)
        yield origin("model", name)


def _plugged(models: Iterable[str]) -> list[str]:
    """Those that an installed distribution brings; what a program registers for itself has nobody to vouch for it."""
    known = names("model")
    return [name for name in models if name in known and origin("model", name) not in (OURS, PROGRAM)]

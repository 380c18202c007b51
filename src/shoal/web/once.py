"""What an object finds out once, without keeping other objects waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_T = TypeVar("_T")


class once(Generic[_T]):
    """A property that is made when it is first asked for.

    ``functools.cached_property`` of Python 3.11 has one lock for all objects of a class: a page that waits for its
    source would let every other page wait. Here, those who ask one object at the same time may make it twice.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> once[_T]: ...
    @overload
    def __get__(self, one: object, owner: type) -> _T: ...
    def __get__(self, one: object | None, owner: type) -> once[_T] | _T:
        if one is None:
            return self
        known: dict[str, Any] = vars(one)
        if self._name not in known:
            known[self._name] = self._make(one)
        return known[self._name]  # type: ignore[no-any-return]

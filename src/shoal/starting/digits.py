"""Numbers with check digits: what numbers of people, cards and accounts are recognised by."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_KVNR = (1, 2) * 5


def luhn(text: str) -> bool:
    """Cards, IMEI numbers, Canadian and Swedish numbers of people: twice every second digit from the right."""
    digits = [int(digit) for digit in reversed(text)]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def iban(text: str) -> bool:
    """Accounts: ISO 13616, remainder 1 by 97."""
    turned = text[4:] + text[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1


def nhs(text: str) -> bool:
    """Numbers of the National Health Service: weights 10 to 2, remainder by 11."""
    check = 11 - sum((10 - place) * int(digit) for place, digit in enumerate(text[:9])) % 11
    return check % 11 == int(text[9]) and check != 10


def kvnr(text: str) -> bool:
    """German health insurance: a letter as two digits, then as in Luhn's sum with the weights turned round."""
    digits = [int(digit) for digit in f"{ord(text[0]) - ord('A') + 1:02d}{text[1:9]}"]
    total = sum(sum(divmod(weight * digit, 10)) for weight, digit in zip(_KVNR, digits, strict=True))
    return total % 10 == int(text[9])


def tax(text: str) -> bool:
    """German tax numbers: ISO 7064, MOD 11,10."""
    product = 10
    for digit in text[:10]:
        product = 2 * ((int(digit) + product) % 10 or 10) % 11
    return (11 - product) % 10 == int(text[10]) and text[0] != "0"


def bsn(text: str) -> bool:
    """Dutch numbers of people: weights 9 to 2 and -1, divisible by 11."""
    weights = (9, 8, 7, 6, 5, 4, 3, 2, -1)
    return sum(weight * int(digit) for weight, digit in zip(weights, text, strict=True)) % 11 == 0


def ahv(text: str) -> bool:
    """Swiss insurance: an EAN-13 that begins with 756."""
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(text)) % 10 == 0


def pesel(text: str) -> bool:
    """Polish numbers of people."""
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    return sum(weight * int(digit) for weight, digit in zip(weights, text, strict=True)) % 10 == 0


def nir(text: str) -> bool:
    """French social security: 97 minus the remainder by 97."""
    return 97 - int(text[:13]) % 97 == int(text[13:])


@dataclass(frozen=True)
class Number:
    """A kind of number: what to call it, its shape without blanks and marks, its check."""

    words: str
    shape: re.Pattern[str]
    check: Callable[[str], bool]


NUMBERS = (
    Number("an IBAN", re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"), iban),
    Number("a German health insurance number", re.compile(r"[A-Z]\d{9}"), kvnr),
    Number("a Swiss insurance number", re.compile(r"756\d{10}"), ahv),
    Number("a French social security number", re.compile(r"[12]\d{14}"), nir),
    Number("an NHS number", re.compile(r"\d{10}"), nhs),
    Number("a German tax number", re.compile(r"[1-9]\d{10}"), tax),
    Number("a Polish PESEL", re.compile(r"\d{11}"), pesel),
    Number("a Dutch BSN", re.compile(r"\d{9}"), bsn),
    Number("a number with Luhn's check digit", re.compile(r"\d{8,19}"), luhn),
)
_MARKS = re.compile(r"[ ./\-]")
_FEWEST, _NEARLY_ALL = 10, 0.95


def recognised(texts: list[str]) -> Number | None:
    """What numbers texts are, if nearly all of them are right ones: chance would leave most of them wrong."""
    if len(texts) < _FEWEST:
        return None
    plain = [_MARKS.sub("", text.upper()) for text in texts]
    for number in NUMBERS:
        shaped = [text for text in plain if number.shape.fullmatch(text)]
        if len(shaped) < _NEARLY_ALL * len(plain):
            continue
        if sum(map(number.check, shaped)) >= _NEARLY_ALL * len(shaped):
            return number
    return None

"""Two small files about invented people that the documentation works with: a hospital's export, and one of patients."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence

# Syllables with letters that other encodings write otherwise, so that no name is anybody's.
_BEGINNINGS = ("Brü", "Köh", "Schä", "Wöß", "Lan", "Grö", "Fal", "Hüb", "Ost", "Rie")
_ENDINGS = ("mar", "nau", "gert", "bold", "lings", "wick", "senz", "hart", "ßler", "dorn")
SURNAMES = [f"{first}{last}" for first in _BEGINNINGS for last in _ENDINGS]
FIRST_NAMES = [
    "Annika", "Jürn", "Björk", "Kätha", "Sören", "Heikje", "Uwin", "Renka", "Günth", "Ilsa", "Ömar", "Lenja",
]  # fmt: skip
NOTES = [
    "Patient klagt seit gestern über starke Schmerzen im rechten Knie",
    "Aufnahme über die Notaufnahme nach einem Sturz in der Wohnung",
    "Entlassung in gutem Allgemeinzustand nach Hause empfohlen",
    "Weiterbehandlung durch den Hausarzt innerhalb einer Woche",
]
# Code, age at which it is most frequent, how much more frequent it is among women, usual CRP, usual costs.
DISEASES = [
    ("I10", 68, 1.0, 4, 3_200), ("E11.9", 62, 0.9, 6, 4_100), ("J45.0", 35, 1.2, 5, 2_600),
    ("F32.1", 45, 1.8, 2, 7_900), ("K35.8", 28, 0.8, 70, 5_400), ("C50.9", 60, 9.0, 9, 14_800),
    ("M54.5", 52, 1.1, 3, 2_900), ("N18.3", 74, 0.9, 8, 9_700),
]  # fmt: skip
HOSPITAL_COLUMNS = (
    "Pat-Nr", "Nachname", "Vorname", "Geburtsdatum", "Geschlecht", "PLZ", "Aufnahme", "Diagnose", "CRP", "Kosten",
    "Versichertennr", "Bemerkung",
)  # fmt: skip
PATIENTS_COLUMNS = ("name", "age", "sex", "zip", "disease")


def hospital(people: int = 600, seed: int = 1) -> bytes:
    """A hospital's export as clinics have them: semicolons, latin-1, dd.mm.yyyy, decimal commas, points between
    thousands, several rows a patient, free text."""
    draw = random.Random(seed)
    lines = [";".join(HOSPITAL_COLUMNS)]
    for at in range(people):
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=draw.randrange(27_000))
        sex, place = draw.choice("mw"), f"0{draw.choice((1, 1, 1, 4, 4, 9))}{draw.randrange(100, 160)}"
        who = [f"{70_000 + at}", draw.choice(SURNAMES), draw.choice(FIRST_NAMES), f"{born:%d.%m.%Y}", sex, place]
        number = insurance(draw)
        for _ in range(draw.choice((1, 1, 2, 3))):
            came = datetime.date(2023, 1, 1) + datetime.timedelta(days=draw.randrange(730))
            code, _, _, crp, cost = _disease(draw, came.year - born.year, sex)
            measured = f"{crp * draw.uniform(0.3, 2.5):.1f}".replace(".", ",") if draw.random() < 0.7 else "k.A."
            paid = f"{cost * draw.uniform(0.4, 2):,.2f}".translate({44: 46, 46: 44})
            note = f"{draw.choice(NOTES)}, Fall {draw.randrange(10**6)}"
            lines.append(";".join([*who, f"{came:%d.%m.%Y}", code, measured, paid, number, note]))
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def patients(people: int = 200, seed: int = 1) -> bytes:
    """A tidy file of patients, a row each."""
    draw = random.Random(seed)
    words = {"I10": "hypertension", "E11.9": "diabetes", "J45.0": "asthma", "F32.1": "depression"}
    known = [one for one in DISEASES if one[0] in words]
    lines = [",".join(PATIENTS_COLUMNS)]
    for _ in range(people):
        age, sex = draw.randrange(18, 90), draw.choice("fm")
        disease = words[_disease(draw, age, sex, known)[0]]
        name = f"{draw.choice(FIRST_NAMES)} {draw.choice(SURNAMES)}"
        place = draw.choice((1010, 1020, 1050, 1080, 2100, 2340)) + draw.randrange(10)
        lines.append(f"{name},{age},{sex},{place},{disease}")
    return ("\n".join(lines) + "\n").encode()


def insurance(draw: random.Random) -> str:
    """A German health insurance number with its check digit."""
    letter, digits = draw.choice("ABCDEFGHKLMNPRSTUVWXYZ"), f"{draw.randrange(10**8):08d}"
    figures = [int(one) for one in f"{ord(letter) - 64:02d}{digits}"]
    weighed = [figure * weight for figure, weight in zip(figures, (1, 2) * 5, strict=True)]
    return f"{letter}{digits}{sum(sum(map(int, str(one))) for one in weighed) % 10}"


_Disease = tuple[str, int, float, int, int]


def _disease(draw: random.Random, age: int, sex: str, known: Sequence[_Disease] = DISEASES) -> _Disease:
    """One that people of this age and sex have more often than others."""
    weights = [(more if sex in "wf" else 1) / (1 + ((age - usual) / 15) ** 2) for _, usual, more, _, _ in known]
    return draw.choices(known, weights)[0]

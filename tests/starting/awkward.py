"""Awkward files about invented people: a hospital's export, a workbook, and a file of SPSS with labels."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import polars as pl

from shoal.io import census
from shoal.io.census import FIRST_NAMES


def hospital(path: Path, people: int = 150, seed: int = 1) -> Path:
    """Semicolons, latin-1, dd.mm.yyyy, decimal commas, points between thousands, several rows a patient, free text."""
    path.write_bytes(census.hospital(people, seed))
    return path


def workbook(path: Path, rows: int = 200, seed: int = 2) -> Path:
    """A staff list in Excel: dates and times as Excel has them, an empty column, mail addresses, missing cells."""
    import xlsxwriter

    draw = random.Random(seed)
    with xlsxwriter.Workbook(str(path)) as book:
        sheet, days = book.add_worksheet("Staff"), book.add_format({"num_format": "dd/mm/yyyy"})
        book.add_worksheet("Empty")
        for place, name in enumerate(["Staff ID", "E-Mail", "Date of birth", "Gender", "Job", "Salary", "Started"]):
            sheet.write(0, place, name)
        jobs = ["Nurse", "Doctor", "Cleaner", "Clerk", "Cook"]
        for row in range(1, rows + 1):
            sheet.write(row, 0, f"S{row:05d}")
            sheet.write(row, 1, f"{draw.choice(FIRST_NAMES).lower()}.{row}@example.org")
            sheet.write_datetime(row, 2, datetime.datetime(draw.randrange(1955, 2003), draw.randrange(1, 13), 5), days)
            sheet.write(row, 3, draw.choice(["female", "male", "diverse", "n/a"]))
            sheet.write(row, 4, draw.choice(jobs))
            if draw.random() > 0.05:
                sheet.write(row, 5, draw.randrange(1800, 7400, 10))
            began = datetime.datetime(2010 + draw.randrange(14), 1 + draw.randrange(12), 1, 9, 30)
            sheet.write_datetime(row, 6, began, days)
    return path


def survey(path: Path, rows: int = 240, seed: int = 3) -> Path:
    """A survey in SPSS: labelled values, an ordered scale, declared missing values, a weight."""
    import pyreadstat

    draw = random.Random(seed)
    frame = pl.DataFrame(
        {
            "CASEID": [float(1000 + at) for at in range(rows)],
            "SEX": [float(draw.choice((1, 2))) for _ in range(rows)],
            "AGE": [float(draw.choice([*range(18, 90), 999, 999, 999])) for _ in range(rows)],
            "REGION": [float(draw.choice((1, 2, 3, 4))) for _ in range(rows)],
            "HEALTH": [float(draw.choice((1, 2, 3, 4, 5))) for _ in range(rows)],
            "PARTY": [float(draw.choice((1, 2, 3, 98))) for _ in range(rows)],
            "WGT": [round(draw.uniform(0.5, 2.0), 3) for _ in range(rows)],
        }
    )
    pyreadstat.write_sav(
        frame, str(path),
        column_labels={"SEX": "Sex of respondent", "HEALTH": "Self-rated health", "PARTY": "Party voted for"},
        variable_value_labels={
            "SEX": {1: "male", 2: "female"},
            "REGION": {1: "north", 2: "east", 3: "south", 4: "west"},
            "HEALTH": {1: "very good", 2: "good", 3: "fair", 4: "bad", 5: "very bad"},
            "PARTY": {1: "red", 2: "green", 3: "blue", 98: "refused"},
        },
        variable_measure={"HEALTH": "ordinal", "SEX": "nominal", "REGION": "nominal"},
        missing_ranges={"AGE": [999]},
    )  # fmt: skip
    return path

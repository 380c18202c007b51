"""What the cells of a column look like: addresses, telephones, numbers with check digits, names, free text, codes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

# ----------------------------------------
# Numbers with check digits: what numbers of people, cards and accounts are recognised by.


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
_GROUP_MARKS = re.compile(r"[ ./\-]")
_FEWEST, _NEARLY_ALL = 10, 0.95


def recognised(texts: list[str]) -> Number | None:
    """What numbers texts are, if nearly all of them are right ones: chance would leave most of them wrong."""
    if len(texts) < _FEWEST:
        return None
    plain = [_GROUP_MARKS.sub("", text.upper()) for text in texts]
    for number in NUMBERS:
        shaped = [text for text in plain if number.shape.fullmatch(text)]
        if len(shaped) < _NEARLY_ALL * len(plain):
            continue
        if sum(map(number.check, shaped)) >= _NEARLY_ALL * len(shaped):
            return number
    return None


_SAMPLE = 2000
_MOST = 0.8
# What nearly all cells of a column match. Polars has no look-around, which none of these needs.
_SHAPES: dict[str, str] = {
    "an e-mail address": r"^[^@\s]+@[^@\s]+\.\p{L}{2,}$",
    "an address on the internet": (
        r"^(?:https?://\S+|www\.\S+|(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})$"
    ),
    "a number made by a machine": r"^\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$",
    "a telephone number": (
        r"^(?:\+|00)\d[\d ()/.\-]{6,18}$|^\(?0\d{1,5}\)?[ /\-][\d \-]{4,14}$|^\(\d{3}\) ?\d{3}-\d{4}$"
    ),
    "a street address": (
        r"(?i)^\p{L}[\p{L} .'\-]*(?:str(?:\.|aße|asse)|weg|platz|allee|gasse|ring|damm|ufer) ?\d+ ?[a-z]?\b|"
        r"^\d+[a-z]? \p{L}[\p{L} .']* (?:street|st\.?|road|rd\.?|avenue|ave\.?|lane|drive|way|court|ct\.?)\b"
    ),
}
_ICD = r"^[A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[*+!]?$"
_TWO_NAMES = r"^\p{Lu}[\p{L}'’\-]+(?:,? \p{Lu}[\p{L}'’.\-]*){1,3}$"
_WORDS = r"\p{L}{2,}"
_TEXT_WORDS, _TEXT_LENGTH = 4, 25
_MARKS_LOOKS, _SEVERAL, _LONGEST_ITEM = ("|", ";"), 0.3, 40


@dataclass(frozen=True, kw_only=True)
class Look:
    """What cells look like.

    Attributes
    ----------
    direct
        What names a person, such as "an e-mail address"; None where nothing of the kind was found.
    text
        Whether it is free text.
    icd
        Whether cells are codes of diseases.
    names
        Whether cells are two or more capitalised words, as people's names are.
    items
        What stands between several items that many cells hold; None where cells are single values.
    """

    direct: str | None = None
    text: bool = False
    icd: bool = False
    names: bool = False
    items: str | None = None


def look(values: pl.Series) -> Look:
    """What different cells of a column of text look like, by a sample of them."""
    texts = values.drop_nulls()
    texts = texts.gather_every(max(1, texts.len() // _SAMPLE))
    if texts.is_empty():
        return Look()
    for words, shape in _SHAPES.items():
        if _share(texts, shape) >= _MOST:
            return Look(direct=words)
    number = recognised(texts.to_list())
    if number is not None:
        return Look(direct=number.words)
    mark = next((mark for mark in _MARKS_LOOKS if _are_items(texts, mark)), None)
    if mark is not None:
        # A list of what names people names them, and one of names is theirs.
        single = look(_items(texts, mark).unique(maintain_order=True))
        return Look(direct=single.direct, names=single.names, items=mark)
    wordy = texts.str.count_matches(_WORDS)
    long = (wordy >= _TEXT_WORDS) & (texts.str.len_chars() >= _TEXT_LENGTH)
    return Look(
        text=float(long.mean() or 0) >= 0.2 and texts.len() >= 5,  # type: ignore[arg-type]
        icd=_share(texts, _ICD) >= 0.95,
        names=_share(texts, _TWO_NAMES) >= 0.9,
    )


def _are_items(texts: pl.Series, mark: str) -> bool:
    """Whether many cells hold several short items, which come again in other cells."""
    several = texts.filter(texts.str.contains(mark, literal=True))
    if several.len() < max(5, _SEVERAL * texts.len()):
        return False
    items = _items(texts, mark)
    longest = items.filter(items.str.len_chars() > _LONGEST_ITEM).len()
    return 2 * items.n_unique() <= items.len() and not longest


def _items(texts: pl.Series, mark: str) -> pl.Series:
    items = texts.str.split(mark).explode().str.strip_chars()
    return items.filter(items != "")


def numbers_look(values: pl.Series) -> str | None:
    """What different whole numbers are, if they carry check digits."""
    texts = values.drop_nulls().cast(pl.String)
    number = recognised(texts.gather_every(max(1, texts.len() // _SAMPLE)).to_list())
    return None if number is None else number.words


def _share(texts: pl.Series, shape: str) -> float:
    return float(texts.str.contains(shape).mean() or 0)  # type: ignore[arg-type]


# ----------------------------------------
# What the names of columns say, in English, German and a little beyond.


_FOLDED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

# Each kind, and the words or beginnings of words that a name of it has. The first kind that fits is taken.
_KINDS: dict[str, str] = {
    "weight of a survey": (
        r"wgt|fnlwgt|finalweight|surveyweight|sampleweight|samplingweight|pweight|hochrechnungs\w*|designweight|"
        r"designgewicht|weightvar|perwt|hhwt"
    ),
    "name": (
        r"name|names|firstname|first name|lastname|last name|surname|forename|given name|givenname|fullname|"
        r"nachname|vorname|familienname|geburtsname|maiden name|patientenname|nom|prenom|nombre|apellidos?"
    ),
    "e-mail address": r"e?mail|email address|mailadresse|e mail",
    "telephone number": (
        r"phone|telephone|tel|mobile|cell|cellphone|fax|telefon|telefonnummer|handy|handynummer|mobil|"
        r"phone number|telefonnr|rufnummer"
    ),
    "address": (
        r"address|street|adresse|anschrift|strasse|str|hausnummer|hausnr|house number|street address|wohnadresse"
    ),
    "number of a person": (
        r"ssn|social security|socialsecurity|nhs|nhs number|kvnr|krankenversicherungsnummer|versichertennummer|"
        r"versichertennr|versicherungsnummer|insurance number|insurance no|steuer id|steuernummer|tax id|passport|"
        r"reisepass|personalausweis|ausweis\w*|license number|licence number|fuehrerschein|iban|account number|"
        r"kontonummer|credit card|kreditkarte|ahv|bsn|pesel|national id|svnr|mrn|medical record number"
    ),
    "address on the internet": (
        r"ip|ip address|url|website|homepage|username|user name|login|mac|device id|imei"
    ),
    "licence plate": r"license plate|licence plate|number plate|kennzeichen|kfz kennzeichen|vin",
    "free text": (
        r"notes?|comments?|remarks?|free text|freitext|bemerkung\w*|kommentar\w*|anmerkung\w*|notiz\w*|befund|"
        r"befundtext|anamnese|epikrise|arztbrief|narrative|description|beschreibung|text|verlauf"
    ),
    "date of birth": (
        r"birth|birthday|birthdate|date of birth|dob|born|gebdat\w*|geburtsdatum|geburtstag|geb datum|gebdatum|"
        r"birth date|birth year|geburtsjahr|gebjahr|year of birth|yob|geb"
    ),
    "age": r"age|alter|agegroup|age group|altersgruppe|lebensalter|age years|ageyears",
    "sex": r"sex|gender|geschlecht|sexe|sexo",
    "postcode": (
        r"zip|zipcode|zip code|postcode|post code|postal code|postalcode|plz|postleitzahl|cap|codigo postal"
    ),
    "place": (
        r"city|town|place|ort|wohnort|stadt|gemeinde|municipality|county|district|kreis|landkreis|region|state|"
        r"bundesland|province|canton|kanton|country|land|nation|native country|birthplace|geburtsort|lat|lon|"
        r"latitude|longitude|block|tract|fips|nuts\w*"
    ),
    "origin": (
        r"race|ethnicity|ethnic\w*|nationality|nationalitaet|staatsangehoerigkeit|citizenship|language|sprache|"
        r"muttersprache|migration\w*|birth country|geburtsland"
    ),
    "family": (
        r"marital|marital status|familienstand|family status|relationship|household size|haushaltsgroesse|"
        r"children|kinder|kinderzahl|spouse|partner"
    ),
    "education": (
        r"education|educ|schooling|school|bildung|schulabschluss|abschluss|degree|education num|qualification"
    ),
    "work": (
        r"occupation|job|profession|beruf|berufsgruppe|employment|employer|arbeitgeber|workclass|work class|"
        r"industry|branche|taetigkeit|position"
    ),
    "body": r"height|groesse|koerpergroesse|weight|gewicht|koerpergewicht|bmi|blood group|blutgruppe",
    "date of an event": (
        r"admission|admitted|aufnahme|aufnahmedatum|discharge|discharged|entlassung|entlassdatum|entlassungsdatum|"
        r"visit|visit date|date|datum|op datum|death|death date|todesdatum|sterbedatum|diagnosed|timestamp|start|"
        r"ende|end|beginn"
    ),
    "health": (
        r"health|gesundheit|diagnosis|diagnose|diagnos\w*|disease|illness|condition|krankheit\w*|icd\w*|hiv|cancer|tumou?r\w*|"
        r"medication|medikament\w*|medikation|drug|drugs|dosis|dose|atc|therapy|therapie|treatment|behandlung|"
        r"procedure|prozedur|ops|result|ergebnis|befundwert|lab|labor\w*|laborwert\w*|value|messwert|score|"
        r"outcome|status|disability|grad der behinderung|pregnant|pregnancy|schwanger\w*|depression|suicid\w*|"
        r"suizid\w*|allerg\w*|symptom\w*|crp|hba1c|haemoglobin|hemoglobin|cholesterol|cholesterin|glucose|glukose|"
        r"blood pressure|blutdruck|sys|dia|mortality|readmitted|complication|komplikation|los|length of stay|"
        r"verweildauer|liegedauer"
    ),
    "belief": (
        r"religion|konfession|faith|belief|party|partei|vote|union|gewerkschaft|sexual orientation|orientation"
    ),
    "money": (
        r"income|salary|wage|wages|pay|earnings|einkommen|gehalt|lohn|rente|pension|benefit|wealth|vermoegen|debt|"
        r"schulden|cost|costs|kosten|charge|charges|fee|fees|bill|payment|price|preis|amount|betrag|"
        r"salary class|hourly wage|erloes"
    ),
    "offence": r"crime|offence|offense|conviction|straftat|verurteilung|arrest",
}
DIRECT = (
    "name", "e-mail address", "telephone number", "address", "number of a person", "address on the internet",
    "licence plate",
)  # fmt: skip
KNOWN = (
    "date of birth", "age", "sex", "postcode", "place", "origin", "family", "education", "work", "body",
    "date of an event",
)  # fmt: skip
SECRET = ("health", "belief", "money", "offence")
_PERSON = re.compile(
    r"\b(?:patient|patienten|pat|person|personen|subject|proband|probanden|member|mitglied|customer|kunde|kunden|"
    r"respondent|participant|teilnehmer|versicherter?|versicherten|client|klient|pupil|student|employee|mitarbeiter|"
    r"user|resident|bewohner|individual|people)s?\b"
)
_NUMBERED = re.compile(
    r"\b(?:id|ids|nr|no|num|number|nummer|key|code|uuid|guid|pid|seqn|caseid|patid|patientid|personid|fallnr|fallnummer|"
    r"casenumber|index|rowid|record|laufnummer|lfd|patnr|patientennummer|patientennr|pnr|ident|identifier|kennung)\b"
)
_FITTING = {kind: re.compile(rf"\b(?:{words})\b") for kind, words in _KINDS.items()}


def plain_name(name: str) -> str:
    """A column's name as words of small letters."""
    parted = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", name).lower().translate(_FOLDED)
    folded = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode()
    return " ".join(re.sub(r"[^a-z0-9]+", " ", folded).split())


def kind_of_name(name: str) -> str | None:
    """What a column is by its name; None where the name says nothing that is known here."""
    plain = plain_name(name)
    for kind, fitting in _FITTING.items():
        found = fitting.fullmatch(plain) if kind == "name" else fitting.search(plain)
        if found:
            return kind
    if re.search(r"\b(?:first|last|sur|family|given|full|patient|person|vor|nach|familien)\s?names?\b", plain):
        return "name"
    return None


def is_numbered(name: str) -> bool:
    """Whether a name is that of a number given to rows or people."""
    return bool(_NUMBERED.search(plain_name(name)))


def is_person(name: str) -> bool:
    """Whether a name speaks of the person that a row is about."""
    plain = plain_name(name)
    return bool(_PERSON.search(plain)) or plain in ("patid", "patnr", "pid", "pnr", "seqn", "patientid", "personid")

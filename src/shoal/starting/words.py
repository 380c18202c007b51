"""What the names of columns say, in English, German and a little beyond."""

from __future__ import annotations

import re
import unicodedata

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

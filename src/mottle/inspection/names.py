"""What the name of a column says, in several languages.

A name is split into words: at anything that is no letter or digit, and before capitals inside a
word (``patientNbr``). Accents are dropped. Compounds, which German writes as one word, are
recognized by their ends and beginnings.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "hipaa_by_name",
    "is_bare_number",
    "is_count",
    "is_nominal",
    "is_number_of_something",
    "is_place",
    "is_survey_weight",
    "names_another_thing",
    "names_people",
    "sounds_sensitive",
    "words_of",
]

Words = tuple[str, ...]


def words_of(name: str) -> Words:
    """Split the name of a column into lower-case words without accents.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    tuple of str
        Its words.

    Examples
    --------
    >>> words_of("patientNbr"), words_of("Geburts-Straße_1")
    (('patient', 'nbr'), ('geburts', 'strasse', '1'))
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold()
    plain = unicodedata.normalize("NFKD", spaced)
    letters = "".join(character for character in plain if not unicodedata.combining(character))
    return tuple(re.findall(r"[a-z]+|\d+", letters))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ---------------------------------------------------------------------------------- identifiers

_PEOPLE = _words(
    "patient patients patienten patientin person persons personen personne persona client clients"
    " klient klienten kunde kunden customer customers cliente member members mitglied subject"
    " subjects proband probanden participant participants teilnehmer employee employees mitarbeiter"
    " student students schueler schuler pupil user users usuario utilisateur paciente pacientes"
    " resident respondent insured versicherter versicherten assure beneficiary empleado employe"
    " personal socio adherent individual individuals pid cust kd"
)
_OTHER_THINGS = _words(
    "hospital clinic klinik doctor physician arzt arzte provider staff teacher school schule firm"
    " company firma shop store branch filiale product produkt item artikel order bestellung invoice"
    " rechnung department abteilung ward station region country district site interviewer room"
    " practice praxis team project"
)
_NUMBERS = _words(
    "id ids ident identifier identifiant identificador uid uuid guid nr nbr no num number nummer"
    " numero key pk ref reference kennung kennziffer matrikel matricule clave rowid record token"
    " hash pseudonym"
)
_NUMBER_ENDS = ("nummer", "number", "kennung", "kennziffer", "matrikel", "nr")
_COUNTS = _words("num number no nb n nbr anzahl count counts nombre numero cantidad qty total")
_COUNTING = _words("anzahl count counts total qty cantidad times")

# HIPAA's identifiers (45 CFR 164.514(b)(2)) by words of a name; in the order in which they are
# looked for.
_HIPAA: tuple[tuple[str, frozenset[str]], ...] = (
    ("e-mail addresses", _words("mail email emails emailaddress correo courriel")),
    ("fax numbers", _words("fax telefax")),
    (
        "telephone numbers",
        _words(
            "phone phones telephone telefon telefono telefoonnummer tel mobile mobil handy cell"
        ),
    ),
    (
        "social security numbers",
        _words("ssn bsn nino nhs nir insee dni nie curp svnr ahv pesel cpf steuernummer steuerid")
        | _words("sozialversicherungsnummer rentenversicherungsnummer socialsecurity"),
    ),
    ("medical record numbers", _words("mrn fallnummer encounter chart krankenaktennummer")),
    (
        "health plan beneficiary numbers",
        _words(
            "beneficiary policy versicherungsnummer versichertennummer medicare medicaid police"
        ),
    ),
    (
        "account numbers",
        _words("account konto kontonummer iban compte cuenta creditcard kreditkarte card"),
    ),
    (
        "certificate and license numbers",
        _words("licence license passport ausweis ausweisnummer fuehrerschein fuhrerschein permis")
        | _words("pasaporte passeport"),
    ),
    ("vehicle identifiers", _words("plate vin kennzeichen numberplate matricula")),
    ("device identifiers", _words("device imei serial serialnumber mac udid geraetenummer")),
    ("web addresses (URLs)", _words("url urls website homepage weblink")),
    ("IP addresses", _words("ip ipaddress ipadresse")),
    ("biometric identifiers", _words("fingerprint biometric iris voiceprint fingerabdruck")),
    ("photographs", _words("photo photos foto picture portrait bild passbild")),
    (
        "names",
        _words("name names surname lastname firstname fullname forename vorname nachname rufname")
        | _words("familienname nom noms prenom nombre nombres apellido apellidos cognome naam")
        | _words("achternaam voornaam maiden username login nickname"),
    ),
    (
        "geographic subdivisions smaller than a state",
        _words("address adresse direccion indirizzo street strasse rue calle hausnummer anschrift"),
    ),
)
_DIRECT = frozenset(title for title, _ in _HIPAA)


def hipaa_by_name(words: Words) -> str:
    """Name the identifier of HIPAA's list that a column's name suggests.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    str
        Empty if there is none.

    Examples
    --------
    >>> hipaa_by_name(("e", "mail")), hipaa_by_name(("vorname",)), hipaa_by_name(("age",))
    ('e-mail addresses', 'names', '')
    """
    for title, known in _HIPAA:
        if known & set(words):
            return title
    return "names" if words[-1:] and words[-1].endswith(("vorname", "nachname", "surname")) else ""


def is_number_of_something(words: Words) -> bool:
    """Tell whether a name says that values are numbers or keys that stand for somebody.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it ends in id, nr, number and the like.

    Examples
    --------
    >>> [is_number_of_something(words_of(name)) for name in ("patient_nbr", "KundenNr", "age")]
    [True, True, False]
    """
    return bool(words) and (
        words[-1] in _NUMBERS
        or bool(set(words) & (_NUMBERS - _COUNTS))
        or (len(words[-1]) > 4 and words[-1].endswith(_NUMBER_ENDS))
        or (words[-1].endswith("id") and words[-1][:-2] in _PEOPLE | _OTHER_THINGS)
    )


def is_bare_number(words: Words) -> bool:
    """Tell whether a name says nothing but that values are numbers or keys.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it is id, nr, key and the like.
    """
    return bool(words) and set(words) <= _NUMBERS


def names_people(words: Words) -> bool:
    """Tell whether a name speaks of the people whom a table is about.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does: patient, customer, member.
    """
    return any(word in _PEOPLE or word.removesuffix("id") in _PEOPLE for word in words) or any(
        word.startswith(("patient", "kunden", "personen", "mitglied", "versicherten"))
        for word in words
    )


def names_another_thing(words: Words) -> bool:
    """Tell whether a name speaks of something other than the people of a table.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does: hospital, shop, product.
    """
    return bool(set(words) & _OTHER_THINGS)


# ----------------------------------------------------------------------------- other meanings


def is_count(words: Words) -> bool:
    """Tell whether a name says that values are counts.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does: num_visits, number_of_children, Anzahl Kinder.

    Examples
    --------
    >>> [is_count(words_of(name)) for name in ("num_medications", "patient_number", "visits")]
    [True, False, False]
    """
    begins = len(words) > 1 and words[0] in _COUNTS and words[-1] not in _NUMBERS
    return begins or bool(set(words) & _COUNTING)


_WEIGHTS = _words("fnlwgt wgt wgtp pwgtp pwgt perwt hhwt pweight hweight svywt wtfinl finalwt")
_OF_SURVEY = _words("survey sample sampling design final person household expansion frequency")
_WEIGHT_WORDS = _words("weight weights wt wgt gewicht poids peso factor faktor facteur")


def is_survey_weight(words: Words) -> bool:
    """Tell whether a name says that values are weights of a survey.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does. A weight alone may be that of a body.

    Examples
    --------
    >>> [is_survey_weight(words_of(name)) for name in ("fnlwgt", "sampling_weight", "weight")]
    [True, True, False]
    """
    found = set(words)
    return bool(
        found & _WEIGHTS
        or (found & _OF_SURVEY and found & _WEIGHT_WORDS)
        or any(word.startswith(("hochrechnung", "ponderation", "ponderacion")) for word in words)
    )


_NOMINAL = _words(
    "id code kode codigo type typ tipo class klasse classe cat category kategorie categorie group"
    " gruppe groupe status flag kind art region sector sektor dept department branch specialty"
    " channel plan model species"
)


def is_nominal(words: Words) -> bool:
    """Tell whether a name says that numbers are codes whose order means nothing.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does: type, code, status.

    Examples
    --------
    >>> [is_nominal(words_of(name)) for name in ("admission_type_id", "MOSTYPE", "age")]
    [True, True, False]
    """
    return bool(set(words) & _NOMINAL) or any(
        len(word) > 5 and word.endswith(("type", "typ", "code", "status", "klasse"))
        for word in words
    )


_PLACES = _words(
    "zip zipcode plz postleitzahl postcode postal postalcode city town county municipality village"
    " ort wohnort gemeinde stadt ville commune ciudad municipio comune parish tract suburb"
    " neighborhood neighbourhood lat lon lng latitude longitude gps coordinates"
)


def is_place(words: Words) -> bool:
    """Tell whether a name speaks of a place smaller than a state.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    bool
        Whether it does: postcode, city, county.
    """
    return bool(set(words) & _PLACES)


_SENSITIVE = re.compile(
    r"diagnos|disease|disorder|illness|krankheit|maladie|enfermedad|symptom|treatment|behandlung"
    r"|therap|medicat|medikament|medicament|prescri|cancer|tumou?r|income|salary|wage|earning"
    r"|einkommen|gehalt|revenu|salaire|ingreso|salario|schulden|religio|politic|politik|crimin"
    r"|sentence|straftat|ethnic|sexual|result|ergebnis|outcome|readmi|disab|difficult|behinder"
    r"|handicap|glucose|cholest|hba1c|genotyp|gave birth|pregnan|schwanger|abortion|depress|psych"
)
_SENSITIVE_WORDS = _words(
    "diag dx icd hiv aids drug drugs glu serum a1c lab test tests score grade debt vote party"
    " partei crime dna gene lohn renta dette deuda mortality verdict"
)
_MEDICINES = re.compile(
    r"(insulin|formin|gliptin|glitazone|glinide|statin|pril|sartan|olol|cillin|mycin|azole|oxetine"
    r"|azepam|bose|butamide|gliclazide|glipizide|glyburide|glimepiride|propamide|hexamide|lazamide"
    r"|glitol|examide|citoglipton)$"
)


def sounds_sensitive(words: Words) -> str:
    """Say why a name suggests something that an adversary would like to learn.

    Parameters
    ----------
    words : tuple of str
        The words of the name.

    Returns
    -------
    str
        What it seems to hold; empty if the name suggests nothing of the kind.

    Examples
    --------
    >>> bool(sounds_sensitive(("diag", "1"))), bool(sounds_sensitive(("age",)))
    (True, False)
    """
    if any(_MEDICINES.search(word) for word in words):
        return "its name is that of a medicine"
    if _SENSITIVE.search(" ".join(words)) or _SENSITIVE_WORDS & set(words):
        return "its name suggests a result, health, money or belief, which others want to learn"
    return ""

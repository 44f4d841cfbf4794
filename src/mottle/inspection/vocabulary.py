"""Words by which names of columns are recognized, in the languages of Europe, Asia and Arabia.

A vocabulary holds plain words (lower case, without accents), and beginnings, ends and parts of
words for languages that write compounds as one word. Words in scripts without spaces between words
are found anywhere in a name.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = [
    "AGES",
    "COUNTED_FIRST",
    "COUNTING",
    "HIPAA",
    "MEDICINES",
    "NOMINAL",
    "NUMBERS",
    "NUMBER_ENDS",
    "OF_NAMES",
    "OF_SURVEYS",
    "OTHER_THINGS",
    "PEOPLE",
    "PLACES",
    "POSITIONS",
    "POSTCODES",
    "SENSITIVE",
    "SURVEY_WEIGHTS",
    "WEIGHTS",
    "Vocabulary",
    "Words",
    "words_of",
]

Words = tuple[str, ...]

_PLAIN_LETTERS = str.maketrans("ıłøđ", "ilod")  # letters whose strokes are no accents
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)  # Thai, Lao, Burmese, Khmer, Kana, Han, Hangul


def words_of(name: str) -> Words:
    """Split the name of a column into lower-case words without accents.

    Parameters
    ----------
    name : str
        The name, in any script.

    Returns
    -------
    tuple of str
        Its words.

    Examples
    --------
    >>> words_of("patientNbr"), words_of("Geburts-Straße_1")
    (('patient', 'nbr'), ('geburts', 'strasse', '1'))
    >>> words_of("Imię"), words_of("ДатаРождения")
    (('imie',), ('дата', 'рождения'))
    """
    spaced = "".join(
        f" {character}" if character.isupper() and before.islower() else character
        for before, character in zip(f" {name}", name, strict=False)
    )
    apart = unicodedata.normalize("NFKD", spaced.casefold())
    plain = (character for character in apart if not unicodedata.combining(character))
    letters = unicodedata.normalize("NFC", "".join(plain)).translate(_PLAIN_LETTERS)
    parts = (part if unicodedata.category(part)[0] in "LMN" else " " for part in letters)
    return tuple(re.findall(r"\d+|[^\d\s]+", "".join(parts)))


def _plain(word: str) -> str:
    """A word as it is in `words_of` a name; one that would be several words finds nothing."""
    (plain,) = words_of(word)
    return plain


@dataclass(frozen=True)
class Vocabulary:
    """Words that mean one thing."""

    words: frozenset[str]
    parts: frozenset[str] = frozenset()  # words of scripts without spaces, anywhere in a name
    starts: tuple[str, ...] = ()  # of words
    ends: tuple[str, ...] = ()  # of words
    inside: re.Pattern[str] | None = None  # anywhere in the words, joined by spaces

    @classmethod
    def of(
        cls, *lines: str, starts: str = "", ends: str = "", inside: str | None = None
    ) -> Vocabulary:
        """Collect words, given in lines as people write them.

        Parameters
        ----------
        *lines : str
            Words, separated by spaces.
        starts, ends : str
            Beginnings and ends of words, separated by spaces.
        inside : str, optional
            A regular expression for the words of a name, joined by spaces.

        Returns
        -------
        Vocabulary
            The words without accents, in lower case.

        Examples
        --------
        >>> names = Vocabulary.of("prénom 姓名", ends="name")
        >>> [names.fits(words_of(name)) for name in ("Prenom", "患者姓名", "Patientenname", "age")]
        [True, True, True, False]
        """
        given = [_plain(word) for line in lines for word in line.split()]
        unspaced = frozenset(word for word in given if _UNSPACED.search(word))
        return cls(
            frozenset(given) - unspaced,
            unspaced,
            tuple(map(_plain, starts.split())),
            tuple(map(_plain, ends.split())),
            None if inside is None else re.compile(inside),
        )

    def fits(self, words: Words) -> bool:
        """Tell whether a name holds one of the words.

        Parameters
        ----------
        words : tuple of str
            The words of the name.

        Returns
        -------
        bool
            Whether it does.
        """
        return (
            not self.words.isdisjoint(words)
            or any(word.startswith(self.starts) or word.endswith(self.ends) for word in words)
            or self.has_part(words)
            or (self.inside is not None and self.inside.search(" ".join(words)) is not None)
        )

    def has_part(self, words: Words) -> bool:
        """Tell whether a name holds one of the words of scripts without spaces.

        Parameters
        ----------
        words : tuple of str
            The words of the name.

        Returns
        -------
        bool
            Whether it does.
        """
        return any(part in word for word in words for part in self.parts)


# ---------------------------------------------------------------------------------------- people

PEOPLE = Vocabulary.of(
    "patient patients patienten patientin person persons personen personne persona client clients",
    "klient klienten kunde kunden customer customers cliente member members mitglied subject",
    "subjects proband probanden participant participants teilnehmer employee employees mitarbeiter",
    "student students schueler schuler pupil user users usuario utilisateur paciente pacientes",
    "resident respondent insured versicherter versicherten assure beneficiary empleado employe",
    "personal socio adherent individual individuals pid cust kd",
    "paziente pazienti dipendente utente pacjent pacjenta klienta pracownik pracownika osoba osoby",
    "hasta personel calisan musteri ogrenci uye kisi patientid werknemer klant medewerker",
    "пациент пациента клиент клиента сотрудник сотрудника работник персона студент абонент",
    "пацієнт клієнт ασθενής πελάτης مريض موظف عميل 患者 病人 客户 客戶 顧客 员工 員工 社員 職員",
    "会员",
    "会員 学生 従業員 利用者 환자 고객 직원 사원 회원 학생",
    starts="patient kunden personen mitglied versicherten teilnehmer mitarbeiter",
)
OTHER_THINGS = Vocabulary.of(
    "hospital clinic klinik doctor physician arzt arzte provider staff teacher school schule firm",
    "company firma shop store branch filiale product produkt item artikel order bestellung invoice",
    "rechnung department abteilung ward station region country district site interviewer room",
    "practice praxis team project hopital service clinique medecin ecole entreprise szpital lekarz",
    "oddzial szkola hastane doktor okul sirket bolum больница врач школа отделение отдел компания",
    "医院 病院 学校 公司 会社 部门 部門 科室 部署 病棟 店舗 병원 학교 회사 부서",
)
NUMBERS = Vocabulary.of(
    "id ids ident identifier identifiant identificador uid uuid guid nr nbr no num number nummer",
    "numero key pk ref reference kennung kennziffer matrikel matricule clave rowid record token",
    "hash pseudonym numer numara identyfikator kimlik номер ид αριθμός رقم 编号 編號",
    "番号 번호 序号",
)
NUMBER_ENDS = ("nummer", "number", "kennung", "kennziffer", "matrikel", "nr")
COUNTED_FIRST = Vocabulary.of(
    "num number no nb n nbr anzahl count counts nombre numero cantidad qty total liczba sayi"
)
COUNTING = Vocabulary.of(
    "anzahl count counts total qty cantidad times liczba ilosc sayisi adet количество число 次数",
    "回数 件数 人数 人數 횟수 aantal antal",
)

# HIPAA's identifiers (45 CFR 164.514(b)(2)) by words of a name; in the order in which they are
# looked for.
HIPAA: dict[str, Vocabulary] = {
    "e-mail addresses": Vocabulary.of(
        "mail email emails emailaddress correo courriel eposta mejl почта емейл имейл пошта 邮箱",
        "郵箱 邮件 電郵 メール 이메일 البريد ηλεκτρονικό",
        starts="email",
        ends="mailadresse mailadres",
    ),
    "fax numbers": Vocabulary.of("fax telefax факс 传真 ファックス"),
    "telephone numbers": Vocabulary.of(
        "phone phones telephone telefon telefono telefoonnummer tel mobile mobil handy cell gsm",
        "cellphone portable telefone celular komorka telefonu cep puhelin puhelinnumero",
        "телефон телефона тел мобильный τηλέφωνο κινητό هاتف جوال טלפון फोन 电话 電話 手机 手機",
        "携帯",
        "전화 휴대폰 연락처 联系方式 連絡先",
        starts="telefon telefoon",
        ends="phone telefon telefonnummer telefono",
    ),
    "social security numbers": Vocabulary.of(
        "ssn bsn nino nhs nir insee dni nie curp svnr ahv pesel cpf nif rut cuil tckn tckimlik",
        "steuernummer steuerid sozialversicherungsnummer rentenversicherungsnummer socialsecurity",
        "personnummer henkilotunnus снилс инн аадхаар aadhaar 身份证 身分證 マイナンバー",
        "주민등록번호",
        "codicefiscale nss rodnecislo personalausweis",
        inside=r"\bcodice fiscale\b|\btc (?:kimlik|no)\b|\brodne cislo\b|\bsocial security\b"
        r"|\bsecurite sociale\b|\bseguridad social\b|\bnational id\b|\btax id\b",
    ),
    "medical record numbers": Vocabulary.of(
        "mrn fallnummer encounter chart krankenaktennummer protokol 病历号 病歷號 診察券 カルテ",
        "住院号 门诊号",
    ),
    "health plan beneficiary numbers": Vocabulary.of(
        "beneficiary policy versicherungsnummer versichertennummer medicare medicaid police полис",
        "医保卡 保険証 被保険者番号",
        starts="versicherungsn versichertenn",
    ),
    "account numbers": Vocabulary.of(
        "account konto kontonummer iban compte cuenta creditcard kreditkarte card conto rekening",
        "konta hesap счет карта 账号 账户 帳號 银行卡 口座 계좌 카드번호",
    ),
    "certificate and license numbers": Vocabulary.of(
        "licence license passport ausweis ausweisnummer fuehrerschein fuhrerschein permis paspoort",
        "pasaporte passeport passaporto paszport dowod pasaport ehliyet паспорт паспорта 护照 護照",
        "旅券 免許 여권",
    ),
    "vehicle identifiers": Vocabulary.of(
        "plate vin kennzeichen numberplate matricula plaka targa госномер 车牌 車牌",
        "ナンバープレート",
    ),
    "device identifiers": Vocabulary.of(
        "device imei serial serialnumber mac udid geraetenummer imsi"
    ),
    "web addresses (URLs)": Vocabulary.of(
        "url urls website homepage weblink facebook instagram linkedin twitter telegram whatsapp"
        " skype wechat 微信 网址"
    ),
    "IP addresses": Vocabulary.of("ip ipaddress ipadresse"),
    "biometric identifiers": Vocabulary.of(
        "fingerprint biometric iris voiceprint fingerabdruck отпечаток 指纹 指紋"
    ),
    "photographs": Vocabulary.of(
        "photo photos foto picture portrait bild passbild фото 照片 写真 사진"
    ),
    "names": Vocabulary.of(
        "name names surname lastname firstname fullname forename vorname nachname rufname",
        "familienname nom noms prenom nombre nombres apellido apellidos cognome naam nome",
        "sobrenome",
        "achternaam voornaam maiden username login nickname nazwisko imie imiona prijmeni jmeno",
        "priezvisko meno ad adi isim soyad soyadi adsoyad adisoyadi etunimi sukunimi nimi fornavn",
        "etternavn efternamn fornamn navn namn efternavn vezeteknev keresztnev nev nume prenume",
        "prezime ime nama hoten фамилия фамилии имя имени отчество фио прізвище імя",
        "презиме име όνομα επώνυμο ονοματεπώνυμο اسم الاسم اللقب العائلة نام שם משפחה",
        "नाम 姓名 氏名 名前 お名前 名字 姓氏 フリガナ ふりがな 苗字 シメイ カナ氏名 이름 성명",
        "성함 ชื่อ นามสกุล",
        ends="vorname nachname surname enname familienname",
        inside=r"(?:^| )[名姓](?: |$)|^ф и о$|^nombre completo$",
    ),
    "geographic subdivisions smaller than a state": Vocabulary.of(
        "address adresse direccion indirizzo street strasse rue calle hausnummer anschrift adres",
        "adresa endereco osoite cim ulica ulice sokak cadde mahalle adresi straat улица адрес дом",
        "адреса διεύθυνση οδός عنوان العنوان כתובת पता 地址 住址 住所 番地 주소 ที่อยู่",
        ends="strasse straat adresse",
    ),
}

OF_NAMES = Vocabulary.of(  # beside "name" in names of people
    "first last full given family middle second complete completo complet maiden legal preferred",
    "of",
    "the de del du des der le la di da van und and y et ve i и του",
)

# ------------------------------------------------------------------------------- other meanings

SURVEY_WEIGHTS = Vocabulary.of(
    "fnlwgt wgt wgtp pwgtp pwgt perwt hhwt pweight hweight svywt wtfinl finalwt",
    starts="hochrechnung ponderation ponderacion",
)
OF_SURVEYS = Vocabulary.of(
    "survey sample sampling design final person household expansion frequency"
)
WEIGHTS = Vocabulary.of("weight weights wt wgt gewicht poids peso factor faktor facteur")
NOMINAL = Vocabulary.of(
    "id code kode codigo type typ tipo class klasse classe cat category kategorie categorie group",
    "gruppe groupe status flag kind art region sector sektor dept department branch specialty",
    "channel plan model species kod тип код статус группа 类型 類型 代码 コード 区分 種別 유형",
    "코드",
    inside=r"\w{2,}(?:type|typ|code|status|klasse)\b",
)
PLACES = Vocabulary.of(
    "zip zipcode plz postleitzahl postcode postal postalcode city town county municipality village",
    "ort wohnort gemeinde stadt ville commune ciudad municipio comune parish tract suburb",
    "neighborhood neighbourhood citta cidade woonplaats plaats miasto miejscowosc gmina powiat",
    "pocztowy sehir ilce il posta mesto obec kommun kunta varos город индекс район населенный",
    "область місто πόλη مدينة עיר शहर 城市 市 县 縣 邮编 邮政编码 郵便番号 市区町村 都道府県",
    "시군구 도시 우편번호",
)
POSTCODES = Vocabulary.of(
    "zip zipcode plz postleitzahl postcode postalcode pocztowy psc индекс 邮编 邮政编码 郵便番号",
    "우편번호",
    inside=r"\bcode postal\b|\bcodigo postal\b|\bpost(?:al)? code\b|\bposta kodu\b",
)
POSITIONS = Vocabulary.of(
    "lat lon lng latitude longitude gps coordinates coordinate coords geo geolocation position",
    "breitengrad langengrad laengengrad koordinaten location latlon latlng geopoint широта долгота",
    "enlem boylam 纬度 经度 緯度 経度 坐标 座標 위도 경도",
)
SENSITIVE = Vocabulary.of(
    "diag dx icd hiv aids drug drugs glu serum lab test tests score grade debt vote party",
    "partei crime dna gene lohn renta dette deuda mortality verdict salaire stipendio reddito",
    "zarobki pensja wynagrodzenie dochod rozpoznanie choroba lek wynik religia wyznanie",
    "tani teshis maas ucret gelir ilac sonuc din hastalik диагноз болезнь заболевание доход",
    "зарплата оклад результат лечение лекарство религия діагноз διάγνωση μισθός εισόδημα تشخيص",
    "راتب",
    "诊断 診斷 診断 病名 疾病 疾患 傷病 收入 収入 年収 所得 工资 薪 給与 月給 処方 药 検査 检查",
    "结果 結果 宗教",
    "진단 병명 소득 급여 연봉 월급 결과 종교 처방",
    inside=r"diagnos|disease|disorder|illness|krankheit|maladie|enfermedad|symptom|treatment"
    r"|behandlung|therap|medicat|medikament|medicament|prescri|cancer|tumou?r|income|salary|wage"
    r"|earning|einkommen|gehalt|revenu|salaire|ingreso|salario|schulden|religio|politic|politik"
    r"|crimin|sentence|straftat|ethnic|sexual|result|ergebnis|outcome|readmi|disab|difficult"
    r"|behinder|handicap|glucose|cholest|hba1c|genotyp|gave birth|pregnan|schwanger|abortion"
    r"|depress|psych|befund|laborwert|lohn\b|verdienst",
)
MEDICINES = Vocabulary.of(
    ends="insulin formin gliptin glitazone glinide statin sartan olol cillin mycin azole"
    " oxetine azepam bose butamide gliclazide glipizide glyburide glimepiride propamide hexamide"
    " lazamide glitol examide citoglipton",
    inside=r"(?!april\b)\b\w+pril\b",
)
AGES = Vocabulary.of(
    "age alter edad leeftijd wiek yas возраст вік ηλικία العمر 年龄 年齡 年齢 나이 연령"
)

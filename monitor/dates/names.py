"""The words of dates: months in the languages that official sites are written in, digits of any script, and eras."""

import re
import unicodedata
from functools import lru_cache

_NAMES = """
1 january jan januar janvier janv enero ene janeiro
1 gennaio genn gen januari jänner jaenner stycznia styczeń leden
1 ledna ianuarie января январь янв січня ιανουαριου ιανουαριος ιαν ocak tammikuuta januára január siječnja
1 januarja yanvar sausio janúar sty oca січ
2 february feb februar février fevrier févr fev fevereiro febrero febbraio febr februari feber lutego luty únor
2 února februarie февраля февраль фев лютого
2 φεβρουαριου φεβρουαριος φεβ şubat helmikuuta februára február veljače
2 februarja febrúar vasario lut şub peb февр лют
3 march mar märz maerz mrz mars marzo março maart mrt marts marca marzec březen března martie марта март мар
3 березня бер μαρτιου μαρτιος μαρ mart maaliskuuta március ožujka kovo maret
4 april apr avril avr abril abr aprile april kwietnia kwiecień duben dubna aprilie апреля апрель апр квітня
4 kwi nis квіт απριλιου απριλιος απρ nisan huhtikuuta apríla április travnja aprila balandžio apríl
5 may mai maj mayo maio maggio magg mag mei maja květen května мая май травня μαϊου μαϊος μαιου μαι mayıs
5 трав toukokuuta mája május svibnja gegužės maí
6 june jun juni juin junio jun junho giugno giu
6 czerwca czerwiec červen června iunie июня июнь июн червня ιουνιου
6 cze haz черв ιουνιος ιουν haziran kesäkuuta júna június lipnja junija birželio júní
7 july jul juli juillet juil julio julho luglio lug lipca lipiec červenec července iulie июля июль июл липня
7 lip tem лип ιουλιου ιουλιος ιουλ temmuz heinäkuuta júla július srpnja julija liepos júlí
8 august aug août aout agosto ago augustus sierpnia sierpień srpen srpna августа август авг серпня αυγουστου
8 sie ağu agu серп αυγουστος αυγ ağustos elokuuta augusta augusztus kolovoza avgusta rugpjūčio ágúst agustus
9 september sep sept septembre septiembre setembro set settembre sett września wrzesień září septembrie сентября
9 wrz eyl сент вер сентябрь сен вересня
9 σεπτεμβριου σεπτεμβριος σεπ eylül syyskuuta septembra szeptember rujna rugsėjo
10 october oct oktober okt octobre octubre outubro
10 out ottobre ott października październik říjen října octombrie
10 paź eki жовт октября октябрь окт жовтня οκτωβριου
10 οκτωβριος οκτ ekim lokakuuta októbra október listopada oktobra spalio
11 november nov novembre noviembre novembro listopadu
11 noiembrie ноября ноябрь ноя листопада νοεμβριου νοεμβριος νοε
11 kas нояб лист kasım marraskuuta novembra studenoga lapkričio nóvember
12 december dec dezember dez décembre déc diciembre dic dezembro dicembre desember des desembre grudnia grudzień
12 gru ara груд prosinec prosince decembrie декабря
12 декабрь дек грудня δεκεμβριου δεκεμβριος δεκ aralık joulukuuta decembra
12 prosinca gruodžio
1 jaanuar gener janvāris janvārī januarie
2 veebruar febrer februāris februārī
3 märts març marts martā mac
4 aprill aprīlis aprīlī
5 maig maijā
6 juuni juny jūnijs jūnijā
7 juuli juliol jūlijs jūlijā julai
8 augusti agost augusts augustā ogos
9 setembre septembris septembrī
10 oktoober oktobris oktobrī
11 novembris novembrī
12 detsember decembris decembrī disember desembre
1 كانون_الثاني يناير جانفي януари јануар ינואר בינואר
2 فبراير شباط فيفري февруари фебруар פברואר בפברואר
3 مارس آذار מרץ במרץ
4 إبريل أبريل ابريل نيسان أفريل април אפריל באפריל
5 مايو ماي أيار мај maijs מאי במאי
6 يونيو حزيران جوان юни јун יוני ביוני
7 يوليو يوليوز تموز جويلية юли јул יולי ביולי
8 أغسطس اغسطس أوت غشت август אוגוסט באוגוסט
9 سبتمبر أيلول شتنبر септември септембар ספטמבר בספטמבר
10 تشرين_الأول أكتوبر اكتوبر октомври октобар אוקטובר באוקטובר
11 تشرين_الثاني نوفمبر نونبر ноември новембар נובמבר בנובמבר
12 كانون_الأول ديسمبر دجنبر декември децембар דצמבר בדצמבר
"""
# Two languages use these for different months: which it is the language of the page tells.
_OF_TWO_MONTHS = ("srpnja", "listopada", "listopad")
_BY_LANGUAGE = {("listopada", "pl"): 11, ("listopad", "pl"): 11, ("listopad", "cs"): 11, ("listopada", "hr"): 10}
# Written small these are words of a common language too: "may 2026 bring", "set 2026 targets", "des 2026 mesures".
_ALSO_WORDS = frozenset({"may", "mar", "set", "out", "ago", "des"})
# Abbreviations that are words of other languages (German `Sie`, Turkish `ara`) take a year beside them.
_ONLY_WITH_YEAR = frozenset(
    {"sie", "lip", "lut", "ara", "kas", "tem", "nis", "sty", "eki", "agu", "бер", "вер", "лист"}
)
_ALSO_WORDS_ALONE = frozenset({"march", "august", "augusta", "marca", "nisan"})
_MIN_SURE_CHARS = 5
_THAI_NAMES = """
มกราคม ม.ค. กุมภาพันธ์ ก.พ. มีนาคม มี.ค. เมษายน เม.ย. พฤษภาคม พ.ค. มิถุนายน มิ.ย.
กรกฎาคม ก.ค. สิงหาคม ส.ค. กันยายน ก.ย. ตุลาคม ต.ค. พฤศจิกายน พ.ย. ธันวาคม ธ.ค.
"""
# With vowel signs and dots, these are no words to a regular expression: forms spell them out.
THAI_MONTHS = {name: index // 2 + 1 for index, name in enumerate(_THAI_NAMES.split())}
_ROMAN_NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
ROMAN_MONTHS = {numeral: number for number, numeral in enumerate(_ROMAN_NUMERALS, start=1)}
_DIGITS = {
    ord(digit): str(value)
    for zero in "０٠۰๐०০"  # full-width, Arabic, Persian, Thai, Devanagari, Bengali
    for value, digit in enumerate(chr(ord(zero) + step) for step in range(10))
}
_OTHER_DIGIT = re.compile(f"[{''.join(map(chr, _DIGITS))}]")

ERA_START = (
    {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
    | dict.fromkeys(("民國", "民国", "中華民國", "中华民国"), 1911)
    | {"佛曆": -543, "佛历": -543, "단기": -2333, "檀紀": -2333}
)
"""The year before the first of each era."""

ERA_INITIALS = {"R": 2018, "H": 1988}
"""Japanese eras as forms abbreviate them: R8.2.3."""

REPUBLIC_START = ERA_START["民國"]
_BUDDHIST_YEARS = 543
_MIN_BUDDHIST_YEAR = 2400
_CENTURY = 100


def fold_digits(text: str) -> str:
    """Return the text with the digits of other scripts as 0 to 9; every character keeps its place."""
    return text.translate(_DIGITS) if _OTHER_DIGIT.search(text) else text


@lru_cache(maxsize=4096)
def fold_word(word: str) -> str:
    """Return the form in which names are compared: lower case, without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _build_months() -> dict[str, int]:
    months: dict[str, int] = {}
    for line in _NAMES.strip().splitlines():
        number, *names = line.split()
        for name in (fold_word(name.replace("_", " ")) for name in names):
            if name not in _OF_TWO_MONTHS:
                months.setdefault(name, int(number))
    return months


_MONTHS = _build_months()


_FIRST_WORDS = {name.partition(" ")[0] for name in _MONTHS} | set(_OF_TWO_MONTHS)


def begins_month(word: str) -> bool:
    """Whether a word is the name of a month, or the first of its two words."""
    return fold_word(word) in _FIRST_WORDS


def parse_month(name: str, *, has_year: bool = True, language: str = "") -> int | None:
    """Return the month of this name in any of the languages, 1 to 12; None for another word.

    Without a year beside it, a short name that is a word of another language too is none.
    """
    word = fold_word(name)
    return None if not has_year and word in _ONLY_WITH_YEAR else _MONTHS.get(word) or _BY_LANGUAGE.get((word, language))


def is_sure_name(name: str, *, has_year: bool) -> bool:
    """Whether a name can only be meant as a month, as `mar 5` or `may 3 percent` in a sentence is not.

    A capital letter makes it one. In small letters it takes a year beside it, or a full name, that is no other word.
    """
    if name[0].isupper():
        return True
    word = fold_word(name)
    if has_year or not name[0].islower():
        return word not in _ALSO_WORDS
    return len(word) >= _MIN_SURE_CHARS and word not in _ALSO_WORDS_ALONE


_WEEKDAY_NAMES = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
montag dienstag mittwoch donnerstag freitag samstag sonntag mo di mi do fr sa so lundi mardi
mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim lunes martes miercoles jueves
viernes sabado domingo mie jue vie sab dom segunda terca quarta quinta sexta seg ter qua qui sex
lunedi martedi mercoledi giovedi venerdi gio maandag dinsdag woensdag donderdag vrijdag zaterdag
zondag ma wo vr za zo mandag tisdag onsdag torsdag fredag lordag sondag poniedziałek wtorek sroda
czwartek piatek sobota niedziela pn wt sr cz pt nd понедельник вторник среда четверг пятница суббота
воскресенье пн вт ср чт пт сб вс pazartesi salı carsamba persembe cuma cumartesi pazar senin selasa
rabu kamis jumat sabtu minggu
"""
_CHINESE_WEEKDAYS = {f"{week}{day}" for week in ("周", "週", "星期") for day in "一二三四五六日天"}
_WEEKDAYS = {*map(fold_word, _WEEKDAY_NAMES.split()), *_CHINESE_WEEKDAYS, *"月火水木金土日월화수목금토일"}


def is_weekday(word: str) -> bool:
    """Whether a word names a day of the week, in full or as an abbreviation."""
    return fold_word(word) in _WEEKDAYS


def year_of_era(era: str, year: int) -> int:
    """Return the common year of a year of an era: 令和 8 is 2026."""
    return (ERA_START | ERA_INITIALS)[era] + year


def year_of_thai(year: int) -> int:
    """Return the common year of a year as Thai texts write it: 2569 and 69 are 2026, 2026 is itself."""
    full = year + 2500 if year < _CENTURY else year
    return full - _BUDDHIST_YEARS if full >= _MIN_BUDDHIST_YEAR else full


def complete_year(year: int, latest_year: int) -> int:
    """Return a year of two digits in full: the last such year that is not after `latest_year`."""
    if year >= _CENTURY:
        return year
    century = latest_year - latest_year % _CENTURY
    return century + year if century + year <= latest_year else century + year - _CENTURY

"""The names of the months, in the languages that official sites are written in."""

import unicodedata

_NAMES = """
1 january jan januar janvier janv enero ene janeiro gennaio genn gen januari jänner jaenner stycznia styczeń leden
1 ledna ianuarie января январь янв січня ιανουαριου ιανουαριος ιαν ocak tammikuuta januára január siječnja
1 januarja yanvar sausio janúar
2 february feb februar février fevrier févr fev fevereiro febrero febbraio febr februari feber lutego luty únor
2 února februarie февраля февраль фев лютого φεβρουαριου φεβρουαριος φεβ şubat helmikuuta februára február veljače
2 februarja febrúar vasario
3 march mar märz maerz mrz mars marzo março maart mrt marts marca marzec březen března martie марта март мар
3 березня μαρτιου μαρτιος μαρ mart maaliskuuta március ožujka kovo
4 april apr avril avr abril abr aprile april kwietnia kwiecień duben dubna aprilie апреля апрель апр квітня
4 απριλιου απριλιος απρ nisan huhtikuuta apríla április travnja aprila balandžio apríl
5 may mai maj mayo maio maggio magg mag mei maja květen května мая май травня μαϊου μαϊος μαιου μαι mayıs
5 toukokuuta mája május svibnja gegužės maí
6 june jun juni juin junio jun junho giugno giu czerwca czerwiec červen června iunie июня июнь июн червня ιουνιου
6 ιουνιος ιουν haziran kesäkuuta júna június lipnja junija birželio júní
7 july jul juli juillet juil julio julho luglio lug lipca lipiec červenec července iulie июля июль июл липня
7 ιουλιου ιουλιος ιουλ temmuz heinäkuuta júla július srpnja julija liepos júlí
8 august aug août aout agosto ago augustus sierpnia sierpień srpen srpna августа август авг серпня αυγουστου
8 αυγουστος αυγ ağustos elokuuta augusta augusztus kolovoza avgusta rugpjūčio ágúst
9 september sep sept septembre septiembre setembro set settembre sett września wrzesień září septembrie сентября
9 сентябрь сен вересня σεπτεμβριου σεπτεμβριος σεπ eylül syyskuuta septembra szeptember rujna rugsėjo
10 october oct oktober okt octobre octubre outubro out ottobre ott października październik říjen října octombrie
10 октября октябрь окт жовтня οκτωβριου οκτωβριος οκτ ekim lokakuuta októbra október listopada oktobra spalio
11 november nov novembre noviembre novembro listopadu noiembrie ноября ноябрь ноя листопада νοεμβριου νοεμβριος νοε
11 kasım marraskuuta novembra studenoga lapkričio nóvember
12 december dec dezember dez décembre déc diciembre dic dezembro dicembre desember des desembre grudnia grudzień
12 prosinec prosince decembrie декабря декабрь дек грудня δεκεμβριου δεκεμβριος δεκ aralık joulukuuta decembra
12 prosinca gruodžio
1 يناير جانفي януари јануар ינואר בינואר
2 فبراير شباط فيفري февруари фебруар פברואר בפברואר
3 مارس آذار מרץ במרץ
4 أبريل ابريل نيسان أفريل април אפריל באפריל
5 مايو ماي أيار мај maijs מאי במאי
6 يونيو حزيران جوان юни јун יוני ביוני
7 يوليو يوليوز تموز جويلية юли јул יולי ביולי
8 أغسطس اغسطس أوت غشت август אוגוסט באוגוסט
9 سبتمبر أيلول شتنبر септември септембар ספטמבר בספטמבר
10 أكتوبر اكتوبر октомври октобар אוקטובר באוקטובר
11 نوفمبر نونبر ноември новембар נובמבר בנובמבר
12 ديسمبر دجنبر декември децембар דצמבר בדצמבר
"""


def fold_word(word: str) -> str:
    """The form in which month names are compared: lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _months() -> dict[str, int]:
    table: dict[str, int] = {}
    for line in _NAMES.strip().splitlines():
        number, *names = line.split()
        for name in names:
            table.setdefault(fold_word(name), int(number))
    # Two languages use these for different months.
    for ambiguous in ("srpnja", "listopada", "listopad"):
        table.pop(ambiguous, None)
    return table


MONTH_BY_NAME = _months()

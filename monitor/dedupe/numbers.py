"""Document numbers: 国发〔2026〕3号, 2026年第18号, 水利部令第63号, GB 38031-2025, PS26/14, EBA/GL/2026/03."""

import html
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from monitor.dates import ERA_START
from monitor.dates.numerals import parse_numeral

_TRADITIONAL_SIMPLIFIED_PAIRS = (
    "發发佈布務务國国際际經经濟济財财產产業业貿贸條条規规則则辦办決决議议實实體体資资訊讯證证監监會会銀银壓压測测試试學学藝艺書书"
    "記记錄录選选舉举權权責责計计劃划說说讀读論论語语調调請请談谈評评詞词詢询該该詳详誠诚誤误課课謀谋諮咨變变讓让護护貨货質质費费"
    "賠赔賣卖贊赞貴贵買买貸贷賀贺賬账軍军輕轻輛辆輪轮輸输轄辖轉转較较載载達达運运過过進进遠远適适遷迁鄉乡鄭郑鄰邻醫医釋释鐵铁鋼钢"
    "錢钱銷销鎮镇長长門门開开間间關关閉闭隊队階阶陽阳陰阴隨随險险離离難难電电雲云靈灵靜静頁页項项順顺須须預预領领頭头題题額额顏颜"
    "願愿類类顯显風风飛飞飯饭館馆養养馬马駐驻驗验魚鱼鳥鸟麥麦黃黄點点黨党齊齐齡龄龍龙與与為为個个們们來来價价優优傳传債债傷伤億亿"
    "儲储兩两內内冊册凍冻減减準准劑剂動动勞劳勢势勵励區区協协單单卻却參参員员問问啟启營营團团園园圍围圖图報报場场墊垫壞坏處处備备"
    "復复夠够將将專专對对導导屆届層层屬属島岛師师帳帐幣币幫帮幹干庫库廠厂廣广廢废廳厅張张強强彈弹當当彙汇徑径從从徵征總总態态慮虑"
    "慶庆憑凭應应懲惩懸悬戶户擇择擊击據据擔担擴扩擬拟攜携攝摄敗败數数斷断時时晉晋暫暂曆历歷历東东極极構构標标樣样機机檔档檢检橋桥"
    "歐欧歸归殘残氣气況况漢汉滿满漲涨潔洁潛潜環环災灾無无煙烟熱热爭争爾尔牆墙獎奖獨独獲获現现畫画異异療疗盡尽盤盘眾众礎础禮礼種种"
    "稅税稱称積积穩稳窮穷競竞筆笔節节範范築筑簡简簽签籌筹籤签糧粮紀纪約约級级純纯紙纸組组細细終终給给統统絕绝綜综綠绿維维網网緊紧"
    "線线綫线編编緩缓練练縣县縮缩績绩繼继續续聯联職职聽听肅肃腦脑臨临舊旧艦舰蘇苏萬万葉叶蓋盖號号術术衛卫衞卫補补製制複复見见視视"
    "覽览觀观觸触訂订討讨訓训許许設设訪访診诊註注話话誌志認认誰谁謝谢講讲識识譯译譽誉負负貧贫賽赛購购贏赢趙赵車车輔辅農农邊边還还"
    "這这連连遲迟遊游郵邮釐厘針针鈔钞銅铜鋁铝鋰锂錯错鍵键鏈链鎖锁鑑鉴閱阅閣阁陳陈陸陆隱隐雙双雜杂雞鸡霧雾韓韩響响頓顿飲饮餘余驅驱"
    "騙骗髮发鬥斗鮮鲜鹽盐麗丽裏里佔占僅仅偽伪儀仪傑杰側侧傾倾僑侨倫伦創创劇剧剛刚勝胜匯汇華华嚴严喪丧嚮向壽寿奪夺奮奋婦妇孫孙寧宁"
    "尋寻屍尸歲岁巖岩帶带廟庙彌弥懷怀戰战掃扫換换損损搶抢擠挤擁拥擾扰攔拦敵敌於于曉晓會会棄弃業业榮荣樂乐樓楼樹树殺杀毀毁沒没溝沟"
    "溫温準准滅灭滬沪漁渔濃浓濕湿灣湾爐炉牽牵狀状猶犹產产瀏浏癥症盜盗睜睁確确碼码禍祸穀谷窩窝篩筛糾纠紅红納纳紛纷級级紹绍結结"
    "綁绑緒绪緣缘縱纵織织繳缴罰罚羅罗義义習习聖圣聞闻聲声聰聪脫脱腫肿膽胆興兴蕭萧薦荐藍蓝藥药蘭兰虛虚蝕蚀蟲虫裝装襲袭後后臺台係系裡里親亲觸触"
    "詐诈訴诉詞词誘诱諾诺謹谨貝贝貞贞貢贡販贩貫贯貪贪貯贮賓宾賴赖贈赠趕赶跡迹踐践躍跃軌轨軟软輩辈輯辑辭辞遙遥遞递遺遗鄧邓釣钓鈦钛"
    "鉛铅銘铭鋪铺錦锦鍋锅鍾钟鐘钟鑄铸鑽钻閒闲闆板闊阔陣阵隸隶雖虽頂顶頻频顆颗顧顾飄飘飼饲飽饱餅饼驚惊骯肮鬆松魯鲁鷹鹰龐庞"
    "託托滙汇虧亏槓杠桿杆緝缉審审執执違违訟讼覆复譜谱寬宽絡络憶忆圓圆兒儿僱雇諒谅鑒鉴紓纾憂忧撥拨藉借鎳镍釩钒濫滥併并倂并勸劝犧牺獻献瑪玛瓊琼"
    "癒愈皺皱盧卢碩硕礙碍禦御禱祷穫获竄窜粵粤糰团紡纺絲丝綱纲緬缅縫缝繪绘罷罢翹翘聾聋膚肤艙舱艱艰蒼苍蔣蒋虜虏蝦虾螢萤衝冲袞衮褲裤覺觉詩诗諸诸"
    "謎谜謙谦豐丰豬猪貓猫賄贿賂赂賜赐賢贤贓赃趨趋踴踊蹤踪躉趸輻辐輿舆辯辩迴回逕径遼辽鄔邬鄺邝醜丑釀酿鈉钠鈷钴鉀钾銜衔鋅锌鋒锋錳锰鍊链鍛锻鎢钨"
    "鐳镭閃闪閏闰閘闸闖闯闡阐陝陕陞升隕陨韋韦頒颁頗颇頸颈飆飙餵喂饋馈駕驾駛驶騰腾驕骄驟骤鬧闹鴨鸭鵝鹅鹼碱齒齿倉仓滲渗滾滚潤润澤泽濱滨瀕濒灑洒"
    "煉炼燈灯燒烧燦灿燭烛獄狱獅狮獵猎璽玺畝亩疊叠瘋疯癱瘫睏困矚瞩礦矿祕秘稈秆稟禀窪洼竊窃簾帘籃篮緯纬纖纤纏缠聳耸脅胁膠胶臟脏薩萨藹蔼蘋苹蠟蜡"
    "蠶蚕襯衬訝讶訛讹詭诡誇夸諷讽謊谎謠谣譴谴賈贾賊贼賒赊輟辍轎轿遜逊銳锐鋸锯錶表鍍镀鏟铲鏡镜鐮镰鑰钥鑲镶鑼锣雛雏霑沾鞏巩韌韧顛颠飢饥饑饥駁驳"
    "駱骆騎骑騷骚驢驴髒脏鬱郁鯨鲸鱷鳄鷗鸥麵面黴霉齣出龜龟劉刘楊杨吳吴馮冯呂吕譚谭鄒邹閻阎龔龚湯汤廈厦嶺岭嶼屿瀘泸滄沧淪沦瀋沈婁娄儉俭揚扬憲宪"
    "懇恳慘惨掛挂採采擺摆攤摊攪搅斃毙暢畅暉晖棟栋槍枪樞枢櫃柜櫻樱欄栏歡欢氫氢氬氩沖冲洩泄涼凉淵渊渾浑漸渐潑泼潰溃澀涩濰潍瀾澜灘滩烏乌煩烦爍烁"
    "牘牍瑣琐瑩莹畢毕疇畴瘡疮癢痒盞盏矯矫磚砖祿禄禪禅秈籼窯窑竅窍筍笋箋笺箏筝糞粪綢绸繞绕罵骂羈羁聶聂膩腻臍脐臘腊舖铺芻刍莊庄莖茎萊莱蕩荡薑姜"
    "蘆芦蝸蜗蠅蝇誼谊諄谆諧谐諱讳謁谒謄誊贅赘軀躯軋轧軸轴輒辄輾辗轟轰邁迈醬酱釘钉釦扣鈍钝鈎钩鈴铃鉑铂鉅巨銖铢鋇钡鋤锄錐锥鍺锗鎵镓鏽锈鑿凿閔闵"
    "閥阀闢辟隴陇雋隽韻韵頌颂頹颓颱台颶飓飪饪飾饰餃饺餓饿餚肴饒饶馳驰駝驼騁骋驛驿驥骥鮑鲍鯉鲤鰻鳗鳳凤鳴鸣鴻鸿鵬鹏鶴鹤鷺鹭麼么瀆渎齋斋償偿豎竖"
    "竝并喚唤噸吨嘆叹塊块塗涂墾垦壇坛壯壮夾夹奧奥妝妆娛娱嬰婴孿孪寢寝屢屡峽峡崗岗嶽岳巋岿幟帜弒弑彥彦恆恒悅悦愛爱慣惯憐怜懶懒戀恋戲戏拋抛捲卷"
    "掙挣揀拣搖摇撐撑撫抚撲扑擱搁攬揽敘叙斂敛暈晕"
)

_MAX_KEPT_NUMERALS = 4096
_NUMERALS = "〇零一二三四五六七八九十百千两"
_SERIES_UNITS = "季度|部分|标段|阶段|分册|年期|年度|[批期月号届次回轮章卷册版辑编集级类组包项条审读稿日时讲]"
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
_BETWEEN_NUMBERS = re.compile("\0(?<=\\d\0)(?=\\d)")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_YEAR = re.compile(r"[〇零一二三四五六七八九]{4}(?=\s*年)")
# What stands before a numeral is looked at behind its first character: a search for characters skips the rest quickly.
_COUNTED_NUMERAL = re.compile(
    rf"[{_NUMERALS}](?:(?<=第.)[{_NUMERALS}]*|(?<=之.)[{_NUMERALS}]*(?!\w)|(?<=\(.)[{_NUMERALS}]*(?=\))"
    rf"|(?<=附[件录].)[{_NUMERALS}]*|(?<!\w.)[{_NUMERALS}]*(?=[、.])|[{_NUMERALS}]*(?={_SERIES_UNITS}))"
)
_ERA_YEAR = re.compile(rf"({'|'.join(ERA_START)})\s*(\d{{1,3}}|元)\s*年")

_CHARACTER_MAP = (
    str.maketrans(_TRADITIONAL_SIMPLIFIED_PAIRS[::2], _TRADITIONAL_SIMPLIFIED_PAIRS[1::2])
    | str.maketrans("〔〕【】“”‘’「」『』〈〉—–―−‐‑─×✕丨│", "[][]\"\"''《》《》《》-------xx||")
    | str.maketrans({"⋯": "..."})
)

_MAY_CHANGE = re.compile(f"[A-Z\x80-\u4dff\ua000-\U0010ffff{''.join(map(chr, _CHARACTER_MAP))}]")
# Scripts in which no character composes with the one before it: Latin, general signs, kana, Han, Hangul syllables.
_STANDS_ALONE = re.compile(
    r"[\0-\u02ff\u2000-\u20cf\u2100-\u2fff\u3000-\u3029\u3030-\u3098\u309b-\u3130"
    r"\u318f-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff9d\uffe0-\uffef]*"
)


def _join_words(words: Iterable[str]) -> str:
    """Return a pattern of any of these at the beginning of a word; its branches begin with characters to search for."""
    return "|".join(rf"{word[0]}(?<!\w{word[0]}){word[1:]}" for word in words)


_MONTHS = re.compile(
    rf"({_join_words(('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'))})"
    r"(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\b\.?(?=\W|$)"
)

_ORDINAL_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh"),
        start=1,
    )
}

_ORDINAL_WORD = re.compile(rf"(?:{_join_words(_ORDINAL_WORDS)})\b")
_ORDINAL = re.compile(r"(\d(?<!\w\d)\d*)(?:st|nd|rd|th)\b")
_SPELLING = re.compile(
    r"i(?<=[a-z]{3}i)(s)(?=e[sd]?\b|ing\b|ations?\b)|o(?<=[a-z]{3}o)ur(?=s?\b)|t(?<=[a-z]{3}t)re(?=s?\b)|mm(?<=programm)e"
)
_PARTS = ("part", "annex", "appendix", "volume", r"vol\.?", "phase", "chapter", "section", "title", "schedule", "tier")
_ROMAN_PART = re.compile(rf"((?:{_join_words((*_PARTS, 'pillar', 'basel', 'stage', 'teil'))})\s+)([ivx]+)\b")
_ROMAN = {"i": 1, "v": 5, "x": 10}
_QUARTER = re.compile(r"\b1?q([1-4])\b|\b([1-4]) quarter\b")


def normalize_text(written: str) -> str:
    """Return the text in one way of writing, with its punctuation.

    Width, letter case, traditional characters, brackets, quotes and dashes are folded; counted numerals become digits
    (第三批, 二〇二六年, Part II, third), years of an era calendar years, names of months three letters.
    """
    text = " ".join(_fold_characters(html.unescape(written)).split())
    if not text.isprintable():
        text = " ".join("".join(filter(str.isprintable, text)).split())
    text = _THOUSANDS.sub("", text)
    text = _YEAR.sub(lambda found: _convert_chinese_numeral(found[0]), text)
    text = _ERA_YEAR.sub(_calendar_year, text)
    text = _COUNTED_NUMERAL.sub(lambda found: _convert_chinese_numeral(found[0]), text)
    text = re.sub(r"第(\d+)(?=季度)", r"\1", text)
    if not text.isascii() and not re.search(r"[a-z]{3}", text):
        return text
    text = _SPELLING.sub(_unify_spelling, text)
    text = _ROMAN_PART.sub(lambda found: found[1] + _convert_roman_numeral(found[2]), text)
    text = _ORDINAL_WORD.sub(lambda found: _ORDINAL_WORDS[found[0]], _ORDINAL.sub(r"\1", text))
    text = _QUARTER.sub(lambda found: f"q{found[1] or found[2]}", text) if "q" in text else text
    return _MONTHS.sub(r"\1", text)


def keep_alphanumerics(text: str) -> str:
    """Return letters and digits alone; two numbers are separated by a dot where anything was between them."""
    return _BETWEEN_NUMBERS.sub(".", "\0".join(_WORD.findall(text))).replace("\0", "")


def _fold_characters(text: str) -> str:
    """Fold width, letter case, traditional characters and signs.

    A text has few different characters, and fewer that change: each of these is replaced in all places at once. That
    gives what folding the whole text gives, unless a character may join its neighbours or become one that changes too.
    """
    if text.isascii():
        return text.lower()
    found = set(_MAY_CHANGE.findall(text))
    changes = {char: folded for char in found if (folded := _fold_character(char)) != char}
    if None in changes.values() or not changes.keys().isdisjoint("".join(map(str, changes.values()))):
        return unicodedata.normalize("NFKC", text).casefold().translate(_CHARACTER_MAP)
    for char, folded in changes.items():
        text = text.replace(char, folded or "")
    return text


@cache
def _fold_character(char: str) -> str | None:
    """Return a character folded; None where its neighbours may decide what becomes of it."""
    folded = unicodedata.normalize("NFKC", char)
    if not all(_STANDS_ALONE.fullmatch(part) for part in (char, folded)):
        return None
    return folded.casefold().translate(_CHARACTER_MAP)


@lru_cache(_MAX_KEPT_NUMERALS)
def _convert_chinese_numeral(written: str) -> str:
    if re.fullmatch(r"[〇零一二三四五六七八九]{2,}", written):
        return "".join(str("〇一二三四五六七八九".index("〇" if char == "零" else char)) for char in written)
    value = parse_numeral(written)
    return str(value) if value is not None else written


def _calendar_year(found: re.Match[str]) -> str:
    return f"{ERA_START[found[1]] + (1 if found[2] == '元' else int(found[2]))}年"


def _unify_spelling(found: re.Match[str]) -> str:
    return "iz" if found[1] else found[0].replace("our", "or").replace("tre", "ter").replace("mme", "m")


def _convert_roman_numeral(letters: str) -> str:
    values = [_ROMAN[letter] for letter in letters]
    return str(sum(-value if value < max(values[place:]) else value for place, value in enumerate(values)))


_BRACKETED = r"(?P<series>[^\W\d_]{0,14})\s?[\[(](?P<year>(?:19|20)\d\d)年?[\])]\s?第?\s?(?P<serial>\d{1,5})\s?号"
_YEARLY = r"(?P<series2>[^\W\d_]{0,30})\s?(?P<year2>(?:19|20)\d\d)年第?\s?(?P<serial2>\d{1,5})号(?P<form>公告|通告|令)?"
_ORDER = (
    r"(?P<series3>[^\W\d_]{0,30}(?:公告|通告|令))\s?"
    r"(?:第\s?(?P<serial3>\d{1,5})\s?号|[\[(]第?\s?(?P<serial4>\d{1,5})\s?号[\])])"
)
_STANDARD = r"(?P<standard>\b[a-z]{1,5}(?:/[a-z]{1,2})? ?\d{2,6}(?:\.\d+)?(?:-\d{1,2})?-(?:19|20)\d\d)(?!\d)"
_CODE = (
    r"(?:(?:项目|招标|采购)?编号:? ?)?"
    r"(?P<code>\b(?=(?:[a-z/-]*\d){4})[a-z]{2,8}\d{0,8}(?:[/-][a-z\d]{1,12}){1,6}(?![\w/-]))"
)
_SLASHED = r"(?P<slashed>\b[a-z]{1,6} ?(?!\d{4}/\d\d\b)\d{1,4}/\d{1,5}\b)"
_NUMBERED = (
    r"(?P<numbered>\b(?:order|release|notice|circular|regulation|directive)"
    r" (?:no\.? ?(?:[a-z]{1,5} ){0,3}|\(?[a-z]{0,3}\)? ?)-?\d[\w./-]*)"
)
_NUMBER = re.compile("|".join((_BRACKETED, _YEARLY, _ORDER, _STANDARD, _SLASHED, _NUMBERED, _CODE)))

# Characters that any office's series is made of: 政办发, 公告, 令. Offices that differ share such a series.
_GENERIC_SERIES_CHARS = frozenset("省市县区州镇乡自治人民政府办公室发函字规范通告令文件第委厅局司号的")
_REFERENCE_VERBS = re.compile(r"关于|废止|修改|转发|贯彻|落实|执行|按照|根据")
_REFERENCE = re.compile(r"\(([a-z][a-z\d ./:_-]*)\)$")
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?:[/-]\d\d)?(?!\d)")
_ACRONYM = re.compile(r"[a-z]{2,6}[ :]+")
_JOINT_OFFICES = re.compile(r"(?:[^\W\d_]{2,14}(?:部|委|委员会|总?局|总?署|院|行|会) )+")
_TRAILING_NAME = re.compile(r"\([^()]{8,}\)")
_SERIES_FORM = re.compile(r"(?:公告|通告|令)$")
_MIN_SERIAL_DIGITS = 4


@dataclass(frozen=True)
class DocumentNumber:
    """The parts of a number, empty if not given; `is_code`: several documents bear it, as a tender and its result."""

    series: str
    year: str
    serial: str
    is_code: bool = False

    @property
    def is_unique(self) -> bool:
        """Whether the number alone names a document: its series is of one office, or it is long and has letters."""
        if self.year or self.series:
            return bool(set(self.series) - _GENERIC_SERIES_CHARS)
        is_long = any(map(str.isalpha, self.serial)) and sum(map(str.isdigit, self.serial)) >= _MIN_SERIAL_DIGITS
        return is_long and not self.is_code


def parse_document_number(written: str | None) -> DocumentNumber | None:
    """Parse the number of a field or label; None where it has no digit."""
    plain = normalize_text(written or "")
    if not any(map(str.isdigit, plain)):
        return None
    plain = re.sub(r"(?<=[^\W\d]) (?=[^\W\d])", "", plain)  # 国家税务总局 财政部公告2026年第9号
    found = next((found for found in _NUMBER.finditer(plain) if _get_serial(found)), None)
    return _parse_match(found) if found else DocumentNumber("", "", _keep_undotted(plain))


def split_document_number(title: str) -> tuple[DocumentNumber | None, str]:
    """Split a folded title into the number at its beginning or end, or alone in brackets, and the rest."""
    if not _DIGIT.search(title):
        return None, title
    for found in _NUMBER.finditer(title):
        before, after = title[: found.start()], title[found.end() :]
        number = _parse_match(found)
        is_by_acronym = _ACRONYM.fullmatch(before) is not None and found["numbered"] is None
        is_first = not keep_alphanumerics(before) or is_by_acronym or _JOINT_OFFICES.fullmatch(before) is not None
        is_last = not keep_alphanumerics(after)
        is_in_brackets = before.endswith(("(", "[")) and after.startswith((")", "]"))
        is_apart = before == "" or before.endswith((" ", ")", "》")) or is_in_brackets
        is_followed_by_name = (
            "关于" in after or not after.startswith("(") or _TRAILING_NAME.fullmatch(after) is not None
        )
        is_own = is_first or is_in_brackets or (is_last and number.year)
        if not is_own or (_REFERENCE_VERBS.search(number.series) and not is_in_brackets):
            continue
        if is_apart and (is_in_brackets or is_last or (after[:1] in " (:-" and is_followed_by_name)):
            return number, (before.rstrip("([") + " " + after.lstrip(")]")).strip(" :-")
        if number.year and (is_last or after.startswith("(")):
            # The words before the year belong to the title: 行政处罚决定书〔2026〕37号.
            return DocumentNumber("", number.year, number.serial), f"{before}{_get_series(found)} {after}".strip()
    reference = _REFERENCE.search(title)
    if reference and sum(map(str.isdigit, _YEARS.sub("", reference[1]))) >= _MIN_SERIAL_DIGITS:
        number = DocumentNumber("", "", _keep_undotted(reference[1]), is_code=True)
        return number, title[: reference.start()].strip()
    return None, title


def compare_numbers(one: DocumentNumber | None, other: DocumentNumber | None) -> bool | None:
    """Whether two numbers are the same; None where one is missing or they are of different kinds."""
    if one is None or other is None or bool(one.year) != bool(other.year):
        return None
    if (one.year, one.serial) != (other.year, other.serial):
        shorter, longer = sorted((one.serial, other.serial), key=len)
        return not one.year and len(shorter) >= _MIN_SERIAL_DIGITS and longer.endswith(shorter)
    form, other_form = (_SERIES_FORM.search(number.series) for number in (one, other))
    shorter, longer = sorted((_SERIES_FORM.sub("", number.series) for number in (one, other)), key=len)
    if form and other_form:
        return form[0] == other_form[0] and is_abbreviation_of(shorter, longer)
    return longer.endswith(shorter)


def is_abbreviation_of(shorter: str, longer: str) -> bool:
    """Whether the other name has the letters of the shorter in their order: 工信部, 工业和信息化部."""
    letters = iter(longer)
    return all(letter in letters for letter in shorter)


def _parse_match(found: re.Match[str]) -> DocumentNumber:
    year, serial = found["year"] or found["year2"], _get_serial(found)
    if serial:
        return DocumentNumber(_get_series(found), year or "", str(int(serial)))
    return DocumentNumber("", "", _keep_undotted(found["code"] or found[0]), is_code=found["code"] is not None)


def _keep_undotted(text: str) -> str:
    return keep_alphanumerics(text).replace(".", "")


def _get_series(found: re.Match[str]) -> str:
    return found["series"] or found["series3"] or (found["series2"] or "") + (found["form"] or "")


def _get_serial(found: re.Match[str]) -> str | None:
    return found["serial"] or found["serial2"] or found["serial3"] or found["serial4"]

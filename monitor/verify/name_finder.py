"""Finds the organisations, places, persons and products that a text names, Chinese or English.

Rules prefer missing a name to inventing one: a general noun (有关部门, the company, regulators) is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files

from monitor.verify.gazetteer import KnownSpan, NameKind, find_known_spans, get_known_names

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code - 0xFEE0).isalnum()}
_FOLDED_CHARS = str.maketrans(
    {**{chr(wide): chr(char) for wide, char in _WIDE.items()}, "’": "'", "\xa0": " ", "•": "·"}
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it stands in a text; `in_chinese`: whether that text is Chinese."""

    text: str
    kind: NameKind
    start: int
    end: int
    in_chinese: bool = field(default=False, compare=False)


@lru_cache(maxsize=2048)
def find_names(text: str) -> tuple[Name, ...]:
    """Return the names of a text in the order of the text, without overlaps."""
    folded = fold_characters(text)
    known = [span for span in find_known_spans(folded) if not _LAW_OF_THE_UNION.match(folded, span.start - 1)]
    in_chinese = has_chinese(folded)
    found: list[tuple[int, int, NameKind]] = []
    if in_chinese:
        found += _find_chinese_organisations(folded, known)
        found += _find_chinese_persons(folded)
        found += _find_chinese_places(folded, known)
    found += _find_products(folded)
    found += _find_english_names(folded, known)
    found += [(span.start, span.end, span.names[0].kind) for span in known]
    return tuple(
        Name(text[start:end], kind, start, end, in_chinese=in_chinese) for start, end, kind in _drop_overlaps(found)
    )


def fold_characters(text: str) -> str:
    """Fold full-width letters and digits and typographic apostrophes; every character keeps its place."""
    return text.translate(_FOLDED_CHARS)


def has_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def _drop_overlaps(found: list[tuple[int, int, NameKind]]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield what is found in the order of the text, of overlapping spans the longest."""
    taken: list[tuple[int, int, NameKind]] = []
    position = -1
    for start, end, kind in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= position:
            taken.append((start, end, kind))
            position = end
        elif end - start > taken[-1][1] - taken[-1][0]:
            taken[-1] = (start, end, kind)
            position = end
    yield from taken


# Chinese

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_HAN = r"[\u4e00-\u9fff]"
_MAX_NAME_CHARS = 26

_FREE_HEAD = (
    r"(?:集团|控股)?(?:股份)?(?:有限)?(?:责任)?公司(?![法章债治])|集团(?!军|化)|银行(?!间|业|卡|账|体|存|贷|家|股|系|理|板)"
    r"|协会|学会(?!了)|商会|联合会(?!议)|基金会(?!计)|促进会|研究会|大学(?!生|科|习)|证券(?![业化交市法投公监期资])|交易所|事务所|出版社"
)
_ANCHORED_HEAD = (
    r"委员会|人民法院|法院|检察院|科学院|研究院|学院|医院|中心(?![城镇区小任主工思环])|研究所|办公室|办公厅|实验室|领导小组|联盟"
    r"|人民政府|党委|分行|支行|分局|通讯社|电视台|理事会|议会|议院|海关"
    r"|(?<![当结布格全时开破僵变棋残战出定做书药败危困乱该本我各])局(?![面部限势长促])"
    r"|(?<![大客餐展舞影音营])厅(?![级长局])|(?<![部签公])署(?!名)|(?<=[革康资建信通育技政教教编村])委(?![托员派任会])"
)
_HEADS = re.compile(rf"(?P<free>{_FREE_HEAD})|(?P<anchored>{_ANCHORED_HEAD})")
_FOREIGN_MINISTRY = re.compile(rf"({_HAN}{{2,6}}?)({_HAN}{{1,7}}?部)(?![门分署队属位件份])")

_BOUNDARY = re.compile(
    r"[^\u4e00-\u9fffA-Za-z0-9（）()·&-]|[由与及向被是把的了并让称某则均已拟可须应会必]|和(?!旅游|城乡|社会|改革|信息|规划|草原|物资|自然|计划|"
    r"经济|体育|科技|技术|新闻|电视|平|谐|食品|药物|市场|保障)"
    r"|(?<!面|针|相|绝)对(?!外)|在(?!线)|(?<!成|行|作|认|因)为(?!华)|[作成行认因]为|将(?!军)|(?<!财)经(?![济信贸营开])|按|据(?!局|中心|集团|港)"
    r"|从(?!化)|给|于|以(?!色列|岭)|等(?!离)|或|而|(?<!报)到|至|后(?!勤)|前(?!海|进|沿)|时(?!代|报)|其|该|各|这|那|请|同(?!济|仁|方|花顺|大)|跟|使(?!馆)|令"
    r"|通知|印发|发布|联合(?![会国体])|会同|要求|表示|批准|同意|根据|依据|依照|关于|通过|召开|制定|任命|报送|提交|成立|设立|授权|委托|以及|近日|日前|今[年天日]|昨[天日]|去年|[月日年号]"
    r"|期间|其中|包括|支持|推动|推进|鼓励|督促|责令|处罚|起诉|收购|持有|出售|采访|会见|宣布|公布|出席|前往|访问|参观|考察|走进|来自|位于|隶属|属于|改为|更名|名为|致函"
    r"|答复|转发|收到|经过|参加|举行|加强|完善|建立|强化|需要|或者|并且|同时|此外|另外|目前|当前|截至|除了|由于|为了|负责|牵头|协同|配合|联系|咨询|相关|有关|所属|下属|旗下"
    r"|进入|加入|来到|介绍|指出|认为|透露|披露|显示|获得|取得|启动|实施|开展|主管|主办|承办|协办|指导(?!委)|参与|约谈|查处|通报|警告|罚款|针对|依法|作出|签署|"
    r"签订|合作(?!社|组织|银行|发展)|对接|代表(?!大)|拜访|走访|调研|赴|驻(?!马店)"
)
_GENERIC_STEM = re.compile(
    r"(?:相关|有关|各[地省市级类]?|[本我该此贵子母分总某全多两三几数]|[一二三四五六七八九十]+家?|\d+家?|全部|部分|主要|大型|中小型?|地方性?|国有|民营|民办|"
    r"私营|外资|内资|合资|中资|上市|非|拟|保险|证券|基金|期货|信托|理财|商业|"
    r"政策性|开发性|金融|科技|互联网|监管|主管|行业|专业|第三方|审计|评估|评级|担保|租赁|小额|贷款|融资|村镇|城市|农村|农商|城商|中央|股份制?|外国|境外|境内外?|"
    r"国际|跨国|国外|国内|控股|集团|有限|责任|"
    r"投资|投资管理|资产|管理|物业|咨询|服务|贸易|物流|运输|航空|快递|建筑|施工|设计|房地产|开发|电力|能源|电网|发电|售电|石油|燃气|供水|供热|供电|通信|电信|网络|"
    r"信息|技术|软件|平台|汽车|制药|医药|"
    r"会计师|律师|资产评估|认证|检测|检验|公证|中级|高级|基层|人民|最高|专门|专业|常务|专家|评审|审核|审议|评标|居民|村民|业主|管理|管委|仲裁|薪酬|提名|战略|风险|"
    r"独立|董事|监督|工会|学术|伦理|标准化|技术|指导|"
    r"协调|领导|工作|应急|政府|公共|公立|民用|综合|职业|高等|普通|重点|研究型|理工|师范|医科|老年|开放|名牌|知名|领先|龙头|骨干|头部|优质|新|老|原|同类|类|所属|"
    r"下属|同|大|小|中|央企|国企|民企|企业|行业|社会|慈善|"
    r"做市|经纪|承销|发行|发起|目标|标的|参股|持股|关联|项目|合伙|家族|交易|商品|认定|推荐|重组|收购|被收购|注册|设立|支付|清算|结算|征信|数据|云|生产|制造|经营|"
    r"销售|进出口|出口|进口|代理|中介|劳务|派遣|人力资源|家|"
    r"型|性|化|等|的|业|级|类|向|所)+"
)
_ANCHOR_WORDS = r"国家|中国|中央|中共|中华|全国|国务院|联合国|世界|国际|欧洲|欧盟|亚洲|非洲|联邦|最高"
_PLACE_SUFFIXES = r"[省市县区州盟旗]"
_NOT_PLACE = re.compile(
    r".*(?:城市|超市|上市|股市|楼市|夜市|都市|门市|车市|债市|汇市|[全本我各该此外县地]市|[全本我各外邻]省|[全本我各郊市城辖]区|[全本我各]县|地区|园区|社区|景区|"
    r"灾区|山区|牧区|片区|特区|校区|厂区|库区|林区|矿区|时区|选区|小区|"
    r"新区|战区|自治区|示范区|试验区|保护区|开发区|功能区|经济区|自贸区|保税区|港区|疫区|禁区|分区|街区|老区|流域区|神州|五大洲|国旗|升旗|联盟|加盟|同盟|欧盟|东盟|"
    r"市区|市县|省市|省区|区县|各州|试点区|直辖市|地级市|县级市|副省级市)"
)
_ANCHOR = re.compile(
    rf"(?:{_ANCHOR_WORDS})|(?P<place>{_HAN}{{2,5}}?(?:自治[区州县]|特别行政区|{_PLACE_SUFFIXES})(?![场民值政内外里]))"
)
_PLACE_AFTER = re.compile(rf"{_HAN}{{1,4}}?[市县区州](?![场民值长委内外域域级政间别])")
_PLACE_FREE = re.compile(
    rf"(?:(?<=[在于向从到由与和及、，。；：“（\s])|^)({_HAN}{{2,3}}[市县区](?![场民值长委内外域级政间别]))(?=[、，。；：（”\s的将在发召出印和与及自市县区]|$)"
)
_SPEECH = (
    r"表示|指出|强调|介绍|说|认为|称|透露|出席|主持|会见|宣布|同志|先生|女士|任(?!务)|担任|当选|辞去|被免|兼任|在会上|在接受|在致辞|作报告|致辞|带队|赴|率队|"
    r"签署|回应|坦言|建议|调研|为(?=[省市县区国部厅局委副主总董常])|出任"
)
_TITLES = (
    r"主任|部长|局长|厅长|署长|司长|处长|书记|主席|总经理|董事长|发言人|负责人|教授|院士|研究员|记者|总裁|行长|会长|院长|校长|秘书长|省长|市长|县长|区长|州长|总理|"
    r"总统|大使|首相|理事长|委员|专员|外长|财长|防长|首席执行官|首席经济学家|总监|分析师|检察长|审判长|法官|总干事|律师|局党组成员|代表人|任命|免去|提名|推选|选举"
)
_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方俞任袁柳酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟"
    "平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯管卢莫房丁邓郁单洪包诸左石崔吉龚程邢裴陆荣翁荀羊"
    "惠甄曲封储靳邴松段富焦巴弓牧隗山谷车侯宓全班仰秋仲伊宫宁仇栾暴甘厉戎祖武符刘景詹束龙叶幸司韶郜黎薄印宿白怀蒲从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍双闻莘党翟谭贡劳姬申扶堵冉宰郦雍璩桑桂濮牛寿通边"
    "扈燕冀浦尚农温别庄晏柴瞿阎充慕连茹习宦艾鱼容向古易慎戈廖庾终暨居衡步都耿满弘匡国文寇广禄阙东欧沃利蔚越夔隆师巩聂晁勾敖融冷辛阚那简饶空曾毋沙乜养鞠须丰巢关蒯相查后荆红游竺权逯盖益桓公闫肖涂"
    "岳帅"
)
_DOUBLE_SURNAMES = "欧阳|司马|上官|诸葛|司徒|夏侯|皇甫|尉迟|公孙|慕容|令狐|端木|东方|独孤|南宫"
_SURNAME = rf"(?:{_DOUBLE_SURNAMES}|[{_SURNAMES}])"
_PERSON_END = rf"(?={_SPEECH}|[，。；、：（）(),;\s]|$|[和与及]|等|就|在|向|被|兼|主持)"
_NAME_AFTER_TITLE = re.compile(rf"(?:{_TITLES})({_SURNAME}{_HAN}{{1,2}}?){_PERSON_END}")
_NAME_BEFORE_SPEECH = re.compile(
    rf"(?:(?<=[，。；、：（(“\s])|^)({_SURNAME}{_HAN}{{1,2}}?)(?=同志|先生|女士|表示|指出|强调|介绍说|认为|透露|坦言|当选|担任|出任|"
    rf"被任命|任{_HAN}{{2,12}}[长任记席事])"
)
_TRANSLITERATION = (
    "阿埃艾爱安奥巴白班邦贝本比毕别宾波伯博勃布达大戴丹道德登邓迪丁杜顿多厄恩尔法凡范菲费芬弗佛福夫富盖甘冈高戈格葛根贡古哈海汉豪赫黑亨胡华怀霍基吉加贾杰金津卡凯坎康考科克肯库拉莱赖兰朗劳勒雷里"
    "理利丽莉连廉列林琳龙卢鲁路伦罗洛马玛迈麦曼毛梅门蒙米密缅明莫默姆穆纳娜奈南内尼宁纽努诺欧帕派潘庞佩彭蓬皮平珀普齐奇契恰乔切琼屈让热日荣茹瑞若萨塞赛桑瑟森沙莎山尚绍舍申圣施史什斯丝思松苏索塔"
    "泰坦汤唐陶特腾提廷图托陀瓦旺万威韦维魏温文翁沃乌武西希锡夏肖谢辛欣雄休许逊雅亚扬杨耶叶伊易因英尤约云泽扎詹珍朱兹佐娅朵丘治洁"
)
_FOREIGN_PERSON = re.compile(
    rf"(?<![{_TRANSLITERATION}])[{_TRANSLITERATION}]{{1,6}}(?:·[{_TRANSLITERATION}A-Z]{{1,7}})*·("
    rf"?:{_HAN}{{1,6}}?{_PERSON_END}|[{_TRANSLITERATION}]{{1,7}})"
)


def _find_chinese_organisations(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield organisations by their last word, from the first word that can begin one; and known ones with a place."""
    starts = {span.start: span for span in known}
    organisations = [span for span in known if span.names[0].kind is NameKind.ORGANISATION]
    for head in _HEADS.finditer(text):
        start = _find_start(text, head, starts, organisations)
        if start is not None:
            yield start, head.end(), NameKind.ORGANISATION
    ends = {span.end: span for span in known}
    for span in organisations:
        place = ends.get(span.start)
        if place is not None and place.names[0].kind is NameKind.PLACE and has_chinese(text[span.start : span.end]):
            is_home = place.names[0].code and place.names[0].code == span.names[0].home
            if not is_home:
                yield place.start, span.end, NameKind.ORGANISATION
    for span in known:
        if span.names[0].kind is NameKind.PLACE and span.names[0].code not in ("", "CN"):
            ministry = re.compile(rf"{_HAN}{{1,7}}?(?<![内全干外])部(?![门分署队属位件份])").match(text, span.end)
            if ministry is not None and not _BOUNDARY.search(ministry[0]):
                yield span.start, ministry.end(), NameKind.ORGANISATION


def _find_start(
    text: str, head: re.Match[str], starts: dict[int, KnownSpan], organisations: list[KnownSpan]
) -> int | None:
    """Return where the organisation begins that ends with a head, None where the words before it are general."""
    first = max(0, head.start() - _MAX_NAME_CHARS)
    window = text[first : head.start()]
    cut = 0
    for boundary in _BOUNDARY.finditer(window):
        if not any(
            span.start < first + boundary.end() <= span.end and span.end <= head.start() for span in organisations
        ):
            cut = boundary.end()
    if _has_unbalanced_bracket(window[cut:]):
        cut += (
            max(window[cut:].rfind("（"), window[cut:].rfind("("), window[cut:].rfind("）"), window[cut:].rfind(")"))
            + 1
        )
    begin = first + cut
    anchored = _find_anchor(text, begin, head.start(), starts)
    if anchored is not None and text[anchored - 1 : anchored] not in ("（", "("):
        stem = text[anchored : head.end()]
        return anchored if len(stem) > len(head[0]) + 1 or anchored in starts else None
    stem = text[begin : head.start()]
    if head["free"] is None or len(stem) < 2 or not has_chinese(stem) or _GENERIC_STEM.fullmatch(stem):
        return None
    generic = _GENERIC_STEM.match(stem)
    return begin if generic is None or len(stem) - generic.end() >= 2 else None


def _find_anchor(text: str, begin: int, end: int, starts: dict[int, KnownSpan]) -> int | None:
    """Return the first place, known body or word such as 国家 that begins a name between two positions."""
    for position in range(begin, end):
        span = starts.get(position)
        if span is not None and span.end <= end:
            return position
        match = _ANCHOR.match(text, position, end)
        if match is None or text.startswith(("国家级", "国际性", "全国性", "全国各", "中央级"), position):
            continue
        if match["place"] is None:
            return position
        if position == begin and not _NOT_PLACE.match(match[0]):
            return position
    return None


def _has_unbalanced_bracket(text: str) -> bool:
    return text.count("（") + text.count("(") != text.count("）") + text.count(")")


def _find_chinese_places(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
    for match in _PLACE_FREE.finditer(text):
        if not _NOT_PLACE.match(match[1]):
            yield match.start(1), match.end(1), NameKind.PLACE
    for span in known:
        is_city = span.names[0].kind is NameKind.PLACE and has_chinese(text[span.start : span.end])
        if (
            is_city
            and text[span.end : span.end + 1] in ("市", "省", "州")
            and text[span.end + 1 : span.end + 2] not in "场民值长"
        ):
            yield span.start, span.end + 1, NameKind.PLACE


def _find_chinese_persons(text: str) -> Iterator[tuple[int, int, NameKind]]:
    for pattern in (_NAME_AFTER_TITLE, _NAME_BEFORE_SPEECH):
        for match in pattern.finditer(text):
            if not _NOT_PERSON.search(match[1]):
                yield match.start(1), match.end(1), NameKind.PERSON
    for match in _FOREIGN_PERSON.finditer(text):
        yield match.start(), match.end(), NameKind.PERSON


_NOT_PERSON = re.compile(
    r"^(?:有关|相关|关于|全体|全部|单位|时间|计划|明确|成立|平均|国家|国内|国际|国务|国资|农业|农村|农民|文件|文化|公司|公开|公布|公告|东部|东方|利率|利润|"
    r"利用|强调|项目|高度|高级|安全|通过|通知|温室|房地|水利|能源|能够|简单|封面|居民|"
    r"后续|广大|广泛|双方|容量|和|同|向|从|时|金融|金额|须|万元|边|易|别|方面|任何|任务|任命|任期|查|和|路|于|权|都|关|相|连|都|那|后|印发|全国|全市|全省|"
    r"经济|应|石油|阴|安排|管理|车辆|包括|华为|计|空|游|暴|明年|常务|宁德|宁波|江苏|江西|"
    r"山东|山西|广东|广西|云南|贵州|吉林|海南|甘肃|安徽|成都|武汉|厦门|温州|常州|徐州|沙特|伊朗|印度|德国|英国|韩国)|[的了是在和与及或将把被对等也就]|[会议部局委厅公司]$"
)


# English

_WORDS_FILE = "name_words.txt"


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words that decide about capitalised sequences: last words of bodies and of documents, titles, given names."""

    heads: frozenset[str]
    works: frozenset[str]
    general: frozenset[str]
    starters: frozenset[str]
    titles: frozenset[str]
    given: frozenset[str]
    small: frozenset[str]


@cache
def load_words() -> NameWords:
    text = files("monitor.verify").joinpath(_WORDS_FILE).read_text(encoding="utf-8")
    sections = re.findall(r"^\[(\w+)\]\n([^\[]*)", text, flags=re.MULTILINE)
    return NameWords(**{name: frozenset(words.split()) for name, words in sections})


_SMALL_WORDS = "of|and|for|the|on|in|to|de|du|des|la|von|van|der|&"
_CAPITALISED = r"(?:[A-ZÀ-Þ][\wÀ-ÿ'&-]*(?:\.(?=[A-Z]))?)+"
_ENGLISH_RUN = re.compile(
    rf"(?<![\w&@/.-]){_CAPITALISED}(?:(?:\.?[ \t](?:(?:{_SMALL_WORDS})[ \t]){{0,3}}){_CAPITALISED})*(?!\w)"
)
_TITLE_BEFORE = re.compile(
    r"(?i:executive|chair(?:man|woman|person)?|director|governor|minister|president|secretary|"
    r"commissioner|spokes(?:man|woman|person)"
    r"|economist|analyst|head|officer|professor|judge|appointed|appoints|appoint|named|names|"
    r"nominated|by|founder|lawyer),?\s$"
)
_SPEECH_AFTER = re.compile(
    r"\s(?:said|says|told|added|argued|warned|wrote|stressed|noted|joins|joined|stepped|resigned|"
    r"has been appointed|was appointed"
    r"|is appointed|will succeed|succeeds|will join|as (?:its |the )?(?:new )?(?:chair|chief|"
    r"director|governor|head|president|commissioner))\b"
    r"|,\s(?:the |its |our |their )?(?:\w+ )?(?:chief|chair|executive|director|head|governor|"
    r"minister|secretary|commissioner|president"
    r"|economist|analyst|partner|founder|spokes|professor|deputy|joint|co-)"
)
_PRODUCT = re.compile(
    r"(?<![\w-])(?:Model [A-Z0-9]\w?\b|(?:iPhone|Galaxy|Windows|Mate|Pura) ?\d+\w*|"
    r"[A-Z][A-Za-z]{2,}-\d[\w.]*|[A-Z]{2,}-[4-9]\w*"
    r"|[A-Z][a-z]+[A-Z][A-Za-z]*|i[A-Z][a-z]+\w*|[A-Z]\d{3}[a-z]+)(?![\w-])"
)
_NOT_PRODUCT = re.compile(
    r"(?i)^(?:k|m|g|t)?wh?$|^(?:covid|sars|iso|cp|ps|dp|gc|fg|fy|com|swd|h5n|h1n|mc|mac|phd|pm)|"
    r"^(?:Mc|Mac|De|La|Le|Di|Van|Fitz|O')[A-Z]|^(?:No|Vol|Art|Rev|Annex|Table|Figure|Part|Article|"
    r"Section|Form|Phase|Tier|Level|Class|Scope|Group|Grade|Euro|Basel|Stage|Step|Option|Chapter|"
    r"Appendix)-"
)
_LAW_OF_THE_UNION = re.compile(r"\((?:EU|EC)[,)]\s?(?:No\.?\s?)?\d|[( ](?:EU|EC)\) ")
_ACRONYM = re.compile(r"[A-Z][A-Z&]{1,6}[A-Z]")


def _find_products(text: str) -> Iterator[tuple[int, int, NameKind]]:
    for match in _PRODUCT.finditer(text):
        if not _NOT_PRODUCT.search(match[0]) and not get_known_names(match[0]):
            yield match.start(), match.end(), NameKind.PRODUCT


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def folded(self) -> str:
        return self.text.casefold().removesuffix("'s").rstrip("'.")


def _find_english_names(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield capitalised sequences that are names by their words or by what stands around them."""
    if _is_title_case(text):
        return
    for run in _ENGLISH_RUN.finditer(text):
        if _LAW_OF_THE_UNION.match(text, run.start() - 1):
            continue
        words = [
            _Word(match[0], run.start() + match.start(), run.start() + match.end())
            for match in re.finditer(r"[^\s]+", run[0])
        ]
        covered = [span for span in known if span.start < run.end() and span.end > run.start()]
        for segment in _split_run(words, covered):
            name = _classify(text, _trim(text, segment))
            if name is not None:
                yield name


def _is_title_case(text: str) -> bool:
    words = [word for word in re.findall(r"[A-Za-z]{4,}", text) if word not in load_words().small]
    return len(words) >= 3 and all(word[0].isupper() for word in words)


def _split_run(words: list[_Word], covered: list[KnownSpan]) -> Iterator[list[_Word]]:
    """Yield the sequences of a run that may be one name each: cut at known names and at `and` between two names."""
    segment: list[_Word] = []
    for place, word in enumerate(words):
        is_known = any(span.start <= word.start < span.end for span in covered)
        joins = word.folded in ("and", "&", "the", "in", "on", "to", "for")
        is_compound = word.folded in ("and", "&", "for") and _joins_one_name(segment, words[place + 1 :])
        if is_known or (joins and not is_compound):
            yield segment
            segment = []
        else:
            segment.append(word)
    yield segment


def _joins_one_name(before: list[_Word], after: list[_Word]) -> bool:
    """Whether `and` or `for` stands inside a name: Office for Health and Care, Health and Safety Authority."""
    if before and before[0].folded in load_words().heads:
        return True
    heads = [word for word in after[:4] if word.folded in load_words().heads]
    return bool(heads) and not any(word.folded in load_words().heads for word in before)


def _trim(text: str, words: list[_Word]) -> list[_Word]:
    """Drop small and general words from both ends, and a first word of a sentence that is an ordinary word."""
    small = frozenset(_SMALL_WORDS.split("|"))
    words = list(words)
    while words and (
        words[0].folded in small or words[0].folded in load_words().starters or _is_ordinary_start(text, words)
    ):
        words.pop(0)
    while words and (words[-1].folded in small or words[-1].folded in load_words().starters):
        words.pop()
    return words


def _is_ordinary_start(text: str, words: list[_Word]) -> bool:
    """Whether the word begins a sentence and may be capitalised for that alone."""
    word = words[0]
    before = text[: word.start].rstrip(" \t\"'“‘(*-–—·")
    if before and before[-1] not in ".!?:;\n。！？：；":
        return False
    if word.folded.endswith(("ing", "ed", "ly")):
        return True
    if len(words) == 1 and not _ACRONYM.fullmatch(word.text):
        return re.search(rf"[a-z,] {re.escape(word.text)}\b", text) is None
    return False


def _classify(text: str, words: list[_Word]) -> tuple[int, int, NameKind] | None:
    """Return the name that the words are, None where they are a title of a document or general words."""
    titles = [place for place, word in enumerate(words[:-1]) if word.folded in load_words().titles]
    titled = bool(titles) and len(words) - titles[-1] <= 4
    if titled:
        words = words[titles[-1] + 1 :]
    is_body_of = len(words) > 2 and words[0].folded in load_words().heads and words[1].folded in ("of", "for")
    if not words or (words[-1].folded in load_words().works and not is_body_of):
        return None
    folded = [word.folded for word in words]
    start, end = words[0].start, words[-1].end - (2 if words[-1].text.endswith("'s") else 0)
    if all(
        word in load_words().general or word in load_words().starters or not word.isalpha()
        for word in folded
        if word not in _SMALL_WORDS
    ):
        return None
    has_head = any(word in load_words().heads for word in folded)
    is_personal = len(words) in (2, 3) and not any(
        word in load_words().general or word in load_words().works or word in load_words().heads for word in folded
    )
    if is_personal and all(word.text[1:2].islower() or len(word.text) <= 2 for word in words):
        cued = titled or _TITLE_BEFORE.search(text[max(0, start - 24) : start]) or _SPEECH_AFTER.match(text, end)
        if folded[0] in load_words().given or (cued and not has_head):
            return start, end, NameKind.PERSON
    if titled and len(words) == 1:
        return start, end, NameKind.PERSON
    if has_head or (len(words) == 1 and _ACRONYM.fullmatch(words[0].text)):
        return start, end, NameKind.ORGANISATION
    if any(word in load_words().works for word in folded) or has_chinese(text):
        return None
    return start, end, NameKind.ORGANISATION

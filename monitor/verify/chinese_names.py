"""Finds Chinese organisations, persons and places in running text, and compares two forms of a body's name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.verify.gazetteer import KnownSpan, NameKind, get_place_names, has_chinese

_HAN = r"[\u4e00-\u9fff]"
_MAX_NAME_CHARS = 26
_MAX_UNIT_CHARS = 6  # of a unit's own name after that of the body that it is a part of

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

_BOUNDARY = re.compile(
    r"[^\u4e00-\u9fffA-Za-z0-9（）()·&-]|[由与及向被是把的了并让称某则均已拟可须应会必]|和(?!旅游|城乡|社会|改革|信息|规划|草原|物资|自然|计划|"
    r"经济|体育|科技|技术|新闻|电视|平|谐|食品|药物|市场|保障)"
    r"|(?<!面|针|相|绝)对(?!外)|在(?!线)|(?<!成|行|作|认|因)为(?!华)|[作成行认因]为|将(?!军)|(?<!财)经(?![济信贸营开])|按|据(?!局|中心|集团|港)"
    r"|从(?!化)|给|于|以(?!色列|岭)|等(?!离)|或|而|(?<!报)到|至|后(?!勤)|前(?!海|进|沿)|时(?!代|报)|其|该|各|这|那|申?请求?|诉请|命令|同(?!济|仁|方|花顺|大)|跟|使(?!馆)|令"
    r"|通知|印发|发布|联合(?![会国体])|会同|要求|表示|批准|同意|根据|依据|依照|关于|通过|召开|制定|任命|报送|提交|成立|设立|授权|委托|以及|近日|日前|今[年天日]|昨[天日]|去年|[月日年号]份?|机构(?!管理)|企业(?!家)|担任|出任|卸任|出自|源自|取自|引自|来源|据悉|兼任|调任|历任|现任|不再|免去|辞去|改判|判决|判令|裁定|认定|驳回|撤销|维持"
    r"|期间|其中|包括|支持|推动|推进|鼓励|督促|责令|处罚|起诉|收购|持有|出售|采访|会见|宣布|公布|出席|前往|访问|参观|考察|走进|来自|位于|隶属|属于|改为|更名|名为|致函"
    r"|答复|转发|收到|经过|参加|举行|加强|完善|建立|强化|需要|或者|并且|同时|此外|另外|目前|当前|截至|除了|由于|为了|负责|牵头|协同|配合|联系|咨询|相关|有关|所属|下属|旗下"
    r"|进入|加入|来到|介绍|指出|认为|透露|披露|显示|获得|取得|启动|实施|开展|主管|主办|承办|协办|指导(?!委)|参与|约谈|查处|通报|警告|罚款|针对|依法|作出|签署|"
    r"签订|合作(?!社|组织|银行|发展)|对接|代表(?!大)|拜访|走访|调研|赴|驻(?!马店)"
)
_GENERIC_STEM = re.compile(
    r"(?:相关|有关|各[地省市级类]?|[本我该此贵子母分总某全多两三几数]|[一二三四五六七八九十]+家?|\d+家?|全部|部分|主要|大型|中小型?|地方性?|国有|民营|民办|"
    r"私营|外资|内资|合资|中资|上市|非|拟|保险|证券|基金|期货|信托|理财|商业|"
    r"政策性|开发性|金融|科技|互联网|监管|主管|行业|专业|第三方|审计|评估|评级|担保|租赁|小额|贷款|融资|村镇|城市|农村|农商|城商|中央|股份制?|外国|境外|境内外?|"
    r"国际|跨国|国外|国内|国家|活跃|较[大小]|系统重要性|[这那些家个两]+|控股|集团|有限|责任|"
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
_GENERAL_BEFORE_HEAD = re.compile(
    r"(?:国有|上市|民营|外资|内资|合资|非|[子母]|关联|参股|龙头|相关|[这那些两几多数]家?)$"
)
_ANCHOR_WORDS = r"国家|中国|中央|中共|中华|全国|国务院|联合国|世界|国际|欧洲|欧盟|亚洲|非洲|联邦|最高"
_PLACE_SUFFIXES = r"[省市县区州盟旗]"
_NOT_PLACE = re.compile(
    r".*(?:城市|超市|上市|股市|楼市|夜市|都市|门市|车市|债市|汇市|[全本我各该此外县地]市|[全本我各外邻]省|[全本我各郊市城辖]区|[全本我各]县|地区|园区|社区|景区|"
    r"灾区|山区|牧区|片区|特区|校区|厂区|库区|林区|矿区|时区|选区|小区|"
    r"新区|战区|自治区|示范区|试验区|保护区|开发区|功能区|经济区|自贸区|保税区|港区|疫区|禁区|分区|街区|老区|流域区|神州|五大洲|国旗|升旗|联盟|加盟|同盟|欧盟|东盟|"
    r"市区|市县|省市|省区|区县|各州|试点区|直辖市|地级市|县级市|副省级市)"
)
_LOCAL_BODY = re.compile(rf"(?:省|市(?!场|政)|区(?!域)|县){_HAN}{{2,10}}")
_PLACE_CHAR = r"(?![去来带有在到从为让把被是不没还也都任某省市县]|地级|全国|各)[\u4e00-\u9fff]"
_ANCHOR = re.compile(
    rf"(?:{_ANCHOR_WORDS})|(?P<place>{_PLACE_CHAR}{{2,4}}?(?:自治[区州县]|特别行政区|{_PLACE_SUFFIXES})(?![场民值政内外里]))"
)
_PLACE_FREE = re.compile(
    rf"(?:(?<=[在于向从到由与和及、，。；：“（\s])|^)({_PLACE_CHAR}{{2,3}}[市县区](?![场民值长委内外域级政间别]))(?=[、，。；：（”\s的将在发召出印和与及自市县区]|$)"
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
SURNAME = rf"(?:{_DOUBLE_SURNAMES}|[{_SURNAMES}])"
_PERSON_END = rf"(?={_SPEECH}|的.{{0,14}}职务|[，。；、：（）(),;\s]|$|[和与及]|等|就|在|向|被|兼|主持)"
_NAME_AFTER_TITLE = re.compile(rf"(?:{_TITLES})({SURNAME}{_HAN}{{1,2}}?){_PERSON_END}")
_NAME_BEFORE_SPEECH = re.compile(
    rf"(?:(?<=[，。；、：（(“\s])|^)({SURNAME}{_HAN}{{1,2}}?)(?=同志|先生|女士|表示|指出|强调|介绍说|认为|透露|坦言|当选|担任|出任|"
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


def find_organisations(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
    """Yield organisations by their last word, from the first word that can begin one; and known ones with a place."""
    starts = {span.start: span for span in known}
    organisations = [span for span in known if span.names[0].kind is NameKind.ORGANISATION]
    within = {place for span in organisations for place in range(span.start + 1, span.end + 1)}
    for head in _HEADS.finditer(text):
        start = _find_start(text, head, starts, within)
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


def _find_start(text: str, head: re.Match[str], starts: dict[int, KnownSpan], within: set[int]) -> int | None:
    """Return where the organisation begins that ends with a head, None where the words before it are general."""
    first = max(0, head.start() - _MAX_NAME_CHARS)
    window = text[first : head.start()]
    cut = 0
    for boundary in _BOUNDARY.finditer(window):
        if first + boundary.end() not in within:
            cut = boundary.end()
    if _has_unbalanced_bracket(window[cut:]):
        cut += (
            max(window[cut:].rfind("（"), window[cut:].rfind("("), window[cut:].rfind("）"), window[cut:].rfind(")"))
            + 1
        )
    begin = first + cut
    anchored = _find_anchor(text, begin, head.start(), starts)
    body = starts.get(anchored) if anchored is not None and head["free"] else None
    is_body = body is not None and body.names[0].kind is NameKind.ORGANISATION
    if body is not None and is_body and head.start() - body.end > _MAX_UNIT_CHARS:
        begin, anchored = body.end, None
    if anchored is not None and text[anchored - 1 : anchored] not in ("（", "("):
        stem = text[anchored : head.start()]
        is_general = anchored not in starts and (len(stem) < 2 or _GENERIC_STEM.fullmatch(stem))
        return None if is_general or _GENERAL_BEFORE_HEAD.search(stem) else anchored
    stem = text[begin : head.start()]
    if _LOCAL_BODY.fullmatch(stem) and head[0] in ("局", "厅", "委"):
        return begin
    is_general = _GENERIC_STEM.fullmatch(stem) or _GENERAL_BEFORE_HEAD.search(stem)
    if head["free"] is None or len(stem) < 2 or not has_chinese(stem) or is_general:
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


def find_places(text: str, known: list[KnownSpan]) -> Iterator[tuple[int, int, NameKind]]:
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


def find_persons(text: str) -> Iterator[tuple[int, int, NameKind]]:
    for pattern in (_NAME_AFTER_TITLE, _NAME_BEFORE_SPEECH):
        for match in pattern.finditer(text):
            if not _NOT_PERSON.search(match[1]):
                yield match.start(1), match.end(1), NameKind.PERSON
    for match in _FOREIGN_PERSON.finditer(text):
        yield match.start(), match.end(), NameKind.PERSON


_NOT_PERSON = re.compile(
    r"^(?:公众|有关|相关|关于|全体|全部|单位|时间|计划|明确|成立|平均|国家|国内|国际|国务|国资|农业|农村|农民|文件|文化|公司|公开|公布|公告|东部|东方|利率|利润|"
    r"利用|强调|项目|高度|高级|安全|通过|通知|温室|房地|水利|能源|能够|简单|封面|居民|"
    r"后续|广大|广泛|双方|容量|和|同|向|从|时|金融|金额|须|万元|边|易|别|方面|任何|任务|任命|任期|查|和|路|于|权|都|关|相|连|都|那|后|印发|全国|全市|全省|"
    r"经济|应|石油|阴|安排|管理|车辆|包括|华为|计|空|游|暴|明年|常务|宁德|宁波|江苏|江西|"
    r"山东|山西|广东|广西|云南|贵州|吉林|海南|甘肃|安徽|成都|武汉|厦门|温州|常州|徐州|沙特|伊朗|印度|德国|英国|韩国)|[的了是在和与及或将把被对等也就若应须可会能要不未已再还均各]|[会议部局委厅公司]$"
)


BODY_HEAD = re.compile(
    r"(?:集团|控股)?(?:股份)?(?:有限)?(?:责任)?公司$|集团$|股份$|控股$|委员会$|委$|总局$|局$|部$|厅$|总署$|署$|办公室$|办公厅$|办$"
    r"|人民法院$|法院$|检察院$|研究院$|银行$|行$|交易所$|所$|协会$|学会$|联合会$|会$|大学$|学院$|院$|中心$"
)
_HEAD_CLASSES = {
    **dict.fromkeys(("委员会", "委"), "委"),
    **dict.fromkeys(("人民法院", "法院"), "法院"),
    **dict.fromkeys(("办公室", "办"), "办"),
    **dict.fromkeys(("银行", "行"), "银行"),
    **dict.fromkeys(("交易所", "所"), "所"),
    **dict.fromkeys(("协会", "学会", "联合会", "会"), "会"),
}
_COUNTRY_PREFIX = re.compile(r"^(?:中华人民共和国|国家|中国|中华|全国)")
COMPANY_FIELDS = re.compile(
    r"(?:科技|实业|投资|贸易|网络|信息|技术|新?能源|电力|电子|汽车|医药|生物|制药|控股|集团|发展|管理|股份|材料|新材料|智能|工业|建设|工程"
    r"|（[^）]*）|\([^)]*\)|电器|食品|化工|机械|设备|传媒|文化|教育|证券|基金|期货|保险|资产|资本|服务|咨询|物流|国际)+$"
)


@dataclass(frozen=True, slots=True)
class BodyForm:
    """A Chinese organisation taken apart: 浙江省 + 市场监督 + 管理局."""

    places: tuple[str, ...]
    stem: str
    head: str
    is_national: bool = False


def strip_place(text: str) -> str:
    return text[:-1] if len(text) > 2 and text[-1] in "省市县区州" else text


def parse_body(text: str) -> BodyForm:
    places: list[str] = []
    rest = text
    while (match := _PLACE_PREFIX.match(rest)) is not None or _get_leading_place(rest):
        place = _get_leading_place(rest) or (match[0] if match else "")
        places.append(place)
        rest = re.sub(r"^[省市](?![场民政])", "", rest[len(place) :])
    is_national = not places and _COUNTRY_PREFIX.match(rest) is not None
    rest = _COUNTRY_PREFIX.sub("", rest) if places else _LOCAL_PREFIX.sub("", _COUNTRY_PREFIX.sub("", rest))
    head = BODY_HEAD.search(rest)
    if head is None:
        return BodyForm(tuple(places), rest, "", is_national)
    kind = "公司" if head[0].endswith(("公司", "集团", "股份", "控股")) else _HEAD_CLASSES.get(head[0], head[0])
    return BodyForm(tuple(places), rest[: head.start()], kind, is_national)


_LOCAL_PREFIX = re.compile(r"^(?:省|市(?!场|政)|区(?!域)|县)(?=[\u4e00-\u9fff]{3})")
_PLACE_PREFIX = re.compile(rf"{_HAN}{{2,5}}?(?:自治[区州县]|[省市县区])(?![场民政值])")


def _get_leading_place(text: str) -> str:
    for length in (8, 7, 6, 5, 4, 3, 2):
        is_cut = text[length - 1 : length + 1] == "市场"
        if not is_cut and text[:length] in get_place_names() and text[:length] not in ("中国", "全国"):
            return text[:length]
    return ""


def are_same_body(first: BodyForm, second: BodyForm) -> bool:
    """Whether one may be a short form of the other: the same head and places, and the stem a selection in order."""
    if first.head != second.head and not (first.head in ("", "公司") and second.head in ("", "公司")):
        return False
    ours, theirs = ([strip_place(place) for place in form.places] for form in (first, second))
    if ours and theirs and not (set(ours) <= set(theirs) or set(theirs) <= set(ours)):
        return False
    if (first.is_national and theirs) or (second.is_national and ours):
        return False
    if ours and not theirs and first.head != "公司":
        return False
    short, long = sorted((first.stem, second.stem), key=len)
    if first.head in ("", "公司"):
        short, long = (COMPANY_FIELDS.sub("", stem) or stem for stem in (short, long))
        return len(short) >= 2 and short == long
    if len(short) < 2:
        return short == long != ""
    if short[0] != long[0]:
        return long.endswith(short)
    remaining = iter(long)
    return all(char in remaining for char in short)

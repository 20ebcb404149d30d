"""Names: which ones a statement has, and whether a page mentions them under one of their forms."""

import time

import pytest

from monitor.verify.gazetteer import load_known_names
from monitor.verify.names import NameIndex, NameKind, find_names

CHINESE = [
    ("该办法由财政部与阿里巴巴集团联合发布。", "财政部/阿里巴巴集团"),
    ("国家发展改革委、国家能源局近日印发通知。", "国家发展改革委/国家能源局"),
    ("全部干部应当参加内部培训，部分当局人士对结局、布局和格局表示担忧。", ""),
    ("国务院办公厅转发商务部等部门关于促进消费的意见。", "国务院办公厅/商务部"),
    ("中国人民银行、国家金融监督管理总局、中国证监会联合召开会议。", "中国人民银行/国家金融监督管理总局/中国证监会"),
    ("央行决定下调存款准备金率0.5个百分点。", "央行"),
    ("财政部 税务总局 海关总署联合发布公告。", "财政部/税务总局/海关总署"),
    ("教育部办公厅印发工作指南。", "教育部办公厅"),
    ("工信部会同市场监管总局约谈了三家企业。", "工信部/市场监管总局"),
    ("市监总局对相关企业立案调查。", "市监总局"),
    ("浙江省人民政府办公厅近日印发实施方案。", "浙江省人民政府办公厅"),
    ("上海市财政局要求各区落实资金。", "上海市财政局"),
    ("杭州市余杭区市场监督管理局作出行政处罚。", "杭州市余杭区市场监督管理局"),
    ("北京市高级人民法院维持一审判决。", "北京市高级人民法院"),
    ("最高人民法院和最高人民检察院联合发布司法解释。", "最高人民法院/最高人民检察院"),
    ("江苏证监局对该公司出具警示函。", "江苏证监局"),
    ("中国汽车工业协会数据显示，销量同比增长。", "中国汽车工业协会"),
    ("中国物流与采购联合会发布采购经理指数。", "中国物流与采购联合会"),
    ("上海证券交易所、深圳证券交易所修订上市规则。", "上海证券交易所/深圳证券交易所"),
    ("宁德时代与华为签署合作协议。", "宁德时代/华为"),
    ("星辰科技（深圳）有限公司被处以罚款。", "星辰科技（深圳）有限公司"),
    ("美国商务部将多家实体列入清单。", "美国商务部"),
    ("美联储宣布维持利率不变。", "美联储"),
    ("欧盟委员会对中国电动汽车发起调查。", "欧盟委员会/中国"),
    ("欧洲央行行长拉加德出席会议。", "欧洲央行"),
    ("英国金融行为监管局发布政策声明。", "英国金融行为监管局"),
    ("德国经济部支持该计划。", "德国经济部"),
    ("日本经济产业省公布草案。", "日本经济产业省"),
    ("国际货币基金组织上调增长预期。", "国际货币基金组织"),
    ("世界银行与亚洲开发银行提供贷款。", "世界银行/亚洲开发银行"),
    ("任命李明为国家统计局副局长。", "李明/国家统计局"),
    ("主任王小红介绍了有关情况。", "王小红"),
    ("张三表示，下一步将加强监管。", "张三"),
    ("欧盟委员会主席乌尔苏拉·冯德莱恩宣布了计划。", "欧盟委员会/乌尔苏拉·冯德莱恩"),
    ("商务部新闻发言人何咏前在会上回答提问。", "商务部/何咏前"),
    ("免去赵大海的司长职务。", "赵大海"),
    ("部长刘伟会见了巴西客人。", "刘伟/巴西"),
    ("广东、江苏、浙江三省率先试点。", "广东/江苏/浙江"),
    ("该政策在北京市、深圳市和成都市实施。", "北京市/深圳市/成都市"),
    ("企业应当在30日内向监管部门报告。", ""),
    ("各地区、各有关部门要高度重视。", ""),
    ("上市公司、商业银行和证券公司应当建立审计委员会。", ""),
    ("有关负责人表示，将继续推动改革。", ""),
    ("本公司及其子公司不承担责任。", ""),
    ("各省、自治区、直辖市人民政府应当组织实施。", ""),
    ("政府将加大对中小企业的支持力度。", ""),
    ("地方法院应当依法审理。", ""),
    ("全国碳市场扩大行业覆盖范围。", ""),
    ("城市居民在超市购物更加便利。", ""),
    ("完成都市圈规划编制工作。", ""),
    ("其中国有企业利润增长百分之五。", ""),
    ("纳税人参加纳税信用评价。", ""),
    ("特斯拉Model Y在上海超级工厂生产。", "特斯拉/Model Y/上海"),
    ("该公司发布了DeepSeek-R1和GPT-4的对比结果。", "DeepSeek-R1/GPT-4"),
    ("省科技厅会同市财政局开展检查。", "省科技厅/市财政局"),
    ("新华社记者从国家统计局获悉。", "新华社/国家统计局"),
    ("国家市场监督管理总局（国家标准化管理委员会）批准发布该标准。", "国家市场监督管理总局/国家标准化管理委员会"),
    ("中国证券监督管理委员会上海监管局负责日常监管。", "中国证券监督管理委员会上海监管局"),
    ("清华大学与中国科学院共同承担研究。", "清华大学/中国科学院"),
    ("国家网信办就管理办法公开征求意见。", "国家网信办"),
    ("人力资源社会保障部、民政部要求做好保障工作。", "人力资源社会保障部/民政部"),
    ("国资委召开中央企业负责人会议。", "国资委"),
    ("国家发改委副主任赵辰昕表示，政策将落地。", "国家发改委/赵辰昕"),
    ("银行间市场交易商协会发布自律规则。", "银行间市场交易商协会"),
    ("香港金融管理局与中国人民银行扩大互换通。", "香港金融管理局/中国人民银行"),
]
ENGLISH = [
    ("The Financial Conduct Authority (FCA) fined Barclays £42 million.", "Financial Conduct Authority/FCA/Barclays"),
    ("FCA fines HSBC over customer checks.", "FCA/HSBC"),
    (
        "Energy Secretary Ed Miliband told the House of Commons that the Government will act in January.",
        "Ed Miliband/House of Commons",
    ),
    (
        "Sarah Pritchard, deputy chief executive of the FCA, said firms must comply with the Consumer Duty.",
        "Sarah Pritchard/FCA",
    ),
    ("The Department for Energy Security and Net Zero published its plan on Monday.", ""),
    (
        "Regulators and companies across Europe, including Germany and France, must report by 1 May 2026.",
        "Europe/Germany/France",
    ),
    (
        "Northgate Motors and Lloyds Bank agreed with the Office for Product Safety and Standards.",
        "Northgate Motors/Lloyds Bank/Office for Product Safety and Standards",
    ),
    ("The company launched the Model Y in New York.", "Model Y/New York"),
    ("Under Article 5 of Regulation (EU) 2024/1689, Member States shall notify the Commission.", ""),
    (
        "The Australian Energy Regulator said that Origin Energy breached the rules.",
        "Australian Energy Regulator/Origin Energy",
    ),
    ("The European Commission opened an investigation into Chinese electric vehicles.", "European Commission"),
    ("The Commission adopted the proposal on Tuesday.", ""),
    ("The Authority will consult firms in March.", ""),
    ("Companies must submit the report within 30 days.", ""),
    ("The government expects inflation to fall.", ""),
    ("The Federal Reserve left rates unchanged.", "Federal Reserve"),
    (
        "The Securities and Exchange Commission charged Northwind Capital LLC with fraud.",
        "Securities and Exchange Commission/Northwind Capital LLC",
    ),
    ("The U.S. Department of Justice sued Apple.", "U.S./Department of Justice/Apple"),
    ("NDRC and MIIT issued the notice jointly.", "NDRC/MIIT"),
    ("The People's Bank of China cut the reserve ratio.", "People's Bank of China"),
    ("China's State Council approved the plan.", "China/State Council"),
    (
        "The Bank of England and the Prudential Regulation Authority published a joint paper.",
        "Bank of England/Prudential Regulation Authority",
    ),
    ("Ofgem approved the price cap.", "Ofgem"),
    ("Ms Jane Harding was appointed chair of the board.", "Jane Harding"),
    ("Dr Thomas Weber said the results were robust.", "Thomas Weber"),
    ("Nikhil Rathi, chief executive, welcomed the decision.", "Nikhil Rathi"),
    ("President Luiz Pereira signed the law.", "Luiz Pereira"),
    ("Mr Okonkwo rejected the claim.", "Okonkwo"),
    ("The tribunal dismissed the appeal by Halden Foods Ltd.", "Halden Foods Ltd"),
    ("OpenAI and Microsoft signed an agreement.", "OpenAI/Microsoft"),
    ("GPT-4 was evaluated by the institute.", "GPT-4"),
    ("The ministry said that exports rose by 5%.", ""),
    ("British and German firms face new checks.", ""),
    ("Brazilian exporters and the Syrians met Iranian buyers.", ""),
    ("In February, sales fell in Tokyo and Seoul.", "Tokyo/Seoul"),
    ("The World Health Organization warned of shortages.", "World Health Organization"),
    ("The IMF raised its forecast for India.", "IMF/India"),
    ("WTO members met in Geneva.", "WTO/Geneva"),
    ("The International Energy Agency expects demand to grow.", "International Energy Agency"),
    ("Member States must transpose the Directive by 2027.", ""),
    ("Annex II lists the substances.", ""),
    ("The Court of Justice dismissed the action brought by Veldhuis Holdings.", "Court of Justice/Veldhuis Holdings"),
    ("The High Court ruled against the minister.", ""),
    ("A spokesperson for Ofcom declined to comment.", "Ofcom"),
    ("The National Audit Office criticised the programme.", "National Audit Office"),
    (
        "The Norwegian Water Resources and Energy Directorate granted the licence.",
        "Norwegian Water Resources and Energy Directorate",
    ),
    (
        "The Ministry of Finance and the Ministry of Commerce announced tariffs.",
        "Ministry of Finance/Ministry of Commerce",
    ),
    ("Tesla recalled 5,000 cars in California.", "Tesla/California"),
    ("Barclays was fined by the regulator.", "Barclays"),
    ("Last year Rolls Industries Group closed two plants.", "Rolls Industries Group"),
    ("However, many firms remain unprepared.", ""),
    ("The Digital Markets Act applies to large platforms.", ""),
    ("The Green Deal remains a priority.", ""),
    ("Guidance on the Consumer Duty was updated.", ""),
    (
        "The Food and Drug Administration approved the drug made by Corvane Pharmaceuticals.",
        "Food and Drug Administration/Corvane Pharmaceuticals",
    ),
    ("ACCC took Ridgeway Energy to court.", "ACCC/Ridgeway Energy"),
    ("The Reserve Bank of Australia held rates.", "Reserve Bank of Australia"),
    ("Q3 GDP growth was 2.1%, above the 1.8% of Q2.", ""),
    ("Output reached 3.8 TWh per year.", ""),
    ("The United Nations and the African Union signed a pact.", "United Nations/African Union"),
    ("Christine Lagarde spoke in Frankfurt.", "Christine Lagarde/Frankfurt"),
    ("The UK and the EU resumed talks.", "UK/EU"),
    ("The University of Leeds led the study.", "University of Leeds"),
    ("The Environment Agency prosecuted Thornbury Water plc.", "Environment Agency/Thornbury Water"),
    ("HM Treasury will publish draft legislation.", "HM Treasury"),
    ("New Rules For Crypto Firms Take Effect", ""),
]
NOTICE = """国家发展改革委 国家能源局关于完善容量电价机制的通知
近日，国家发展改革委、国家能源局联合印发通知，明确容量电价标准。国家能源局副局长李明华表示，
通知自2026年3月1日起施行。
浙江省市场监督管理局负责监督检查。
余杭区的星辰科技（深圳）股份有限公司（以下简称“星辰科技”）和宁德时代参与试点。
该局将公布名单。
生态环境部、工业和信息化部、住房城乡建设部按职责分工负责。中国证监会浙江监管局作出决定。"""
FINE = """The Financial Conduct Authority (FCA) has fined Northgate Bank plc £4.2 million for weak controls.
Sarah Pritchard, executive director, said the bank failed its customers.
The Authority will publish its findings.
The firm also reported to the Bank of England and Companies House.
Halden & Moore Limited advised it.
Its office in Leeds, England, uses the AuditPro-7 system."""
DIGEST = """美联储主席鲍威尔表示，欧洲央行与英格兰银行也将行动。
欧盟委员会批准了德国的补贴方案，英国金融行为监管局发布声明。
国际货币基金组织（IMF）总裁克里斯塔利娜·格奥尔基耶娃在华盛顿说，日本和韩国的增长放缓。特斯拉Model Y降价。"""
PROPOSAL = """The European Commission proposed carbon border rules for steel.
Germany and France backed the plan in Brussels.
The People's Bank of China and the Ministry of Commerce in Beijing met
the U.S. delegation.
China exports more. Acme Robotics GmbH welcomed it.
The European Central Bank waits."""

MENTIONS = [
    (NOTICE, "国家发展和改革委员会", True),
    (NOTICE, "国家发改委", True),
    (NOTICE, "发改委", True),
    (NOTICE, "NDRC", True),
    (NOTICE, "National Development and Reform Commission", True),
    (NOTICE, "国家能源局", True),
    (NOTICE, "NEA", True),
    (NOTICE, "浙江省市场监管局", True),
    (NOTICE, "省市场监管局", True),
    (NOTICE, "浙江", True),
    (NOTICE, "浙江省", True),
    (NOTICE, "星辰科技", True),
    (NOTICE, "星辰科技公司", True),
    (NOTICE, "星辰科技（深圳）股份有限公司", True),
    (NOTICE, "CATL", True),
    (NOTICE, "宁德时代", True),
    (NOTICE, "环境部", True),
    (NOTICE, "生态环境部", True),
    (NOTICE, "MEE", True),
    (NOTICE, "工信部", True),
    (NOTICE, "MIIT", True),
    (NOTICE, "住建部", True),
    (NOTICE, "住房和城乡建设部", True),
    (NOTICE, "李明华", True),
    (NOTICE, "余杭区", True),
    (NOTICE, "中国证监会", True),
    (NOTICE, "CSRC", True),
    (NOTICE, "浙江证监局", True),
    (NOTICE, "该局", True),
    (NOTICE, "中国", True),
    (NOTICE, "深圳", True),
    (NOTICE, "财政部", False),
    (NOTICE, "国家税务总局", False),
    (NOTICE, "商务部", False),
    (NOTICE, "江苏省市场监管局", False),
    (NOTICE, "江苏", False),
    (NOTICE, "国家市场监督管理总局", False),
    (NOTICE, "上海市", False),
    (NOTICE, "阿里巴巴集团", False),
    (NOTICE, "华为", False),
    (NOTICE, "王小红", False),
    (NOTICE, "明月科技有限公司", False),
    (NOTICE, "SAMR", False),
    (NOTICE, "Ministry of Finance", False),
    (NOTICE, "国务院", False),
    (NOTICE, "欧盟委员会", False),
    (NOTICE, "OpenAI", None),
    (FINE, "FCA", True),
    (FINE, "Financial Conduct Authority", True),
    (FINE, "the Authority", True),
    (FINE, "UK Financial Conduct Authority", True),
    (FINE, "英国金融行为监管局", True),
    (FINE, "金融行为监管局", True),
    (FINE, "Northgate Bank", True),
    (FINE, "Northgate", True),
    (FINE, "Northgate Bank plc", True),
    (FINE, "Sarah Pritchard", True),
    (FINE, "Ms Pritchard", True),
    (FINE, "Pritchard", True),
    (FINE, "Bank of England", True),
    (FINE, "BoE", True),
    (FINE, "英格兰银行", True),
    (FINE, "Companies House", True),
    (FINE, "Halden & Moore", True),
    (FINE, "Halden and Moore Ltd", True),
    (FINE, "Leeds", True),
    (FINE, "England", True),
    (FINE, "AuditPro-7", True),
    (FINE, "UK", True),
    (FINE, "Prudential Regulation Authority", False),
    (FINE, "PRA", False),
    (FINE, "HSBC", False),
    (FINE, "Barclays", False),
    (FINE, "Jane Harding", False),
    (FINE, "Serious Fraud Office", False),
    (FINE, "Manchester", False),
    (FINE, "Germany", False),
    (FINE, "Southgate Bank", False),
    (FINE, "Model Y", False),
    (FINE, "Westfield Partners LLP", False),
    (FINE, "审慎监管局", None),
    (FINE, "证监会", None),
    (FINE, "星辰科技", None),
    (DIGEST, "Federal Reserve", True),
    (DIGEST, "美国联邦储备委员会", True),
    (DIGEST, "ECB", True),
    (DIGEST, "欧洲中央银行", True),
    (DIGEST, "European Central Bank", True),
    (DIGEST, "英国央行", True),
    (DIGEST, "Bank of England", True),
    (DIGEST, "European Commission", True),
    (DIGEST, "欧委会", True),
    (DIGEST, "Germany", True),
    (DIGEST, "FCA", True),
    (DIGEST, "IMF", True),
    (DIGEST, "国际货币基金组织", True),
    (DIGEST, "格奥尔基耶娃", True),
    (DIGEST, "Washington", True),
    (DIGEST, "Japan", True),
    (DIGEST, "Model Y", True),
    (DIGEST, "Tesla", True),
    (DIGEST, "央行", True),
    (DIGEST, "法国", False),
    (DIGEST, "France", False),
    (DIGEST, "世界银行", False),
    (DIGEST, "World Bank", False),
    (DIGEST, "欧洲议会", False),
    (DIGEST, "中国人民银行", False),
    (DIGEST, "比亚迪", False),
    (DIGEST, "财政部", False),
    (DIGEST, "美国", None),
    (DIGEST, "Model 3", None),
    (DIGEST, "Jerome Powell", None),
    (PROPOSAL, "欧盟委员会", True),
    (PROPOSAL, "European Commission", True),
    (PROPOSAL, "欧委会", True),
    (PROPOSAL, "德国", True),
    (PROPOSAL, "法国", True),
    (PROPOSAL, "Brussels", True),
    (PROPOSAL, "布鲁塞尔", True),
    (PROPOSAL, "中国人民银行", True),
    (PROPOSAL, "PBOC", True),
    (PROPOSAL, "央行", True),
    (PROPOSAL, "商务部", True),
    (PROPOSAL, "MOFCOM", True),
    (PROPOSAL, "北京", True),
    (PROPOSAL, "美国", True),
    (PROPOSAL, "United States", True),
    (PROPOSAL, "中国", True),
    (PROPOSAL, "Acme", True),
    (PROPOSAL, "Acme Robotics", True),
    (PROPOSAL, "欧洲央行", True),
    (PROPOSAL, "ECB", True),
    (PROPOSAL, "EC", True),
    (PROPOSAL, "European Parliament", False),
    (PROPOSAL, "Italy", False),
    (PROPOSAL, "意大利", False),
    (PROPOSAL, "Federal Reserve", False),
    (PROPOSAL, "Volkswagen", False),
    (PROPOSAL, "WTO", False),
    (PROPOSAL, "Japan", False),
    (PROPOSAL, "Borealis Robotics", False),
    (PROPOSAL, "美联储", None),
    (PROPOSAL, "国家能源局", None),
    (PROPOSAL, "EU", None),
]


def list_texts(text: str) -> list[str]:
    return [name.text for name in find_names(text)]


@pytest.mark.parametrize(("sentence", "expected"), [*CHINESE, *ENGLISH])
def test_a_sentence_gives_its_names_and_no_general_words(sentence: str, expected: str) -> None:
    names = find_names(sentence)
    assert "/".join(name.text for name in names) == expected
    assert all(sentence[name.start : name.end] == name.text for name in names)


@pytest.mark.parametrize(("page", "name", "expected"), MENTIONS)
def test_a_page_mentions_a_name_in_any_of_its_forms(page: str, name: str, expected: bool | None) -> None:
    index = NameIndex(page)
    assert index.mentions(name) is expected
    assert bool(index.find(name)) is (expected is True)


@pytest.mark.parametrize("page", [NOTICE, FINE, DIGEST, PROPOSAL])
def test_a_page_mentions_all_names_of_its_own(page: str) -> None:
    index = NameIndex(page)
    names = [name for line in page.splitlines() for name in find_names(line)]
    assert len(names) >= 8
    assert [name.text for name in names if index.mentions(name) is not True] == []


@pytest.mark.parametrize(
    ("sentence", "name", "kind"),
    [
        ("任命李明为国家统计局副局长。", "李明", NameKind.PERSON),
        ("任命李明为国家统计局副局长。", "国家统计局", NameKind.ORGANISATION),
        ("该政策在四川省成都市实施。", "成都市", NameKind.PLACE),
        ("该厂生产特斯拉Model Y。", "Model Y", NameKind.PRODUCT),
        ("Dr Thomas Weber of Ofgem spoke in Leeds.", "Thomas Weber", NameKind.PERSON),
        ("The Environment Agency acted in Germany.", "Germany", NameKind.PLACE),
        ("The Environment Agency acted in Germany.", "Environment Agency", NameKind.ORGANISATION),
        ("The institute tested GPT-4 twice.", "GPT-4", NameKind.PRODUCT),
    ],
)
def test_a_name_has_a_kind(sentence: str, name: str, kind: NameKind) -> None:
    assert {found.text: found.kind for found in find_names(sentence)}[name] is kind


def test_a_body_is_found_in_every_sentence_that_refers_to_it() -> None:
    text = "Financial Conduct Authority (FCA) rules bind. The Authority fined a firm. The FCA said so."
    assert NameIndex(text).find("FCA") == [text.index(form) for form in ("Financial", "FCA", "The Auth", "FCA said")]
    page = "浙江省市场监督管理局发布通告。该局还公布了名单。"
    assert NameIndex(page).find("浙江省市场监管局") == [0, page.index("该局")]


def test_short_forms_that_the_page_defines_stand_for_the_full_name() -> None:
    page = "青禾绿色能源股份有限公司（以下简称“青禾能源”）披露。Grid Resilience Panel (GRP) agreed."
    index = NameIndex(page)
    for short in ("青禾能源", "GRP", "Grid Resilience Panel"):
        assert index.mentions(short) is True
    assert len(index.find("青禾能源")) == 2


def test_a_local_body_is_not_the_national_one_nor_that_of_another_place() -> None:
    index = NameIndex("上海市财政局、上海市市场监督管理局和最高人民法院联合发文。")
    assert index.mentions("财政部") is False
    assert index.mentions("国家市场监督管理总局") is False
    assert index.mentions("北京市财政局") is False
    assert index.mentions("最高人民检察院") is False
    assert index.mentions("上海市场监管局") is True


def test_a_place_is_unknown_where_the_page_names_what_lies_in_it() -> None:
    index = NameIndex("The plant in Munich opened. Ofgem objected.")
    assert [index.mentions(place) for place in ("Germany", "德国", "United Kingdom", "Japan")] == [
        None,
        None,
        None,
        False,
    ]
    assert NameIndex("我国经济平稳运行。").mentions("中国") is True
    assert NameIndex("京津冀协同发展取得进展。").mentions("天津") is True
    assert NameIndex("German firms and the British market").mentions("Germany") is True


def test_a_name_in_the_script_of_another_language_than_the_page_is_unknown() -> None:
    assert NameIndex("奥雷利亚能源监管局发布公告，提高电价上限。").mentions("Aurelian Energy Regulator") is None
    assert NameIndex("The Aurelian Energy Regulator raised the price cap.").mentions("奥雷利亚能源监管局") is None
    assert NameIndex("國防部通報，這些機關將會議決定產業發展，為經濟學者說明。").mentions("国防部") is None


def test_general_references_are_unknown_until_the_page_has_one() -> None:
    assert NameIndex("The Commission opened a case.").mentions("the Commission") is True
    assert NameIndex("The Commission opened a case.").mentions("European Commission") is None
    assert NameIndex("本通知自发布之日起施行。").mentions("该局") is None


def test_names_of_long_pages_are_found_in_linear_time() -> None:
    line = "国家发展改革委、浙江省能源局与青禾能源股份有限公司签署协议，" + "推动高质量发展" * 3 + "。"
    started = time.process_time()
    index = NameIndex(line * 1000)
    assert index.mentions("国家能源局") is False
    assert len(index.find("发改委")) == 1000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "text", ["国" * 20_000, "公司" * 3_000, "A " * 20_000, "Aa & " * 4_000, "（" * 20_000, "阿·" * 9_000]
)
def test_names_in_odd_texts_are_found_in_linear_time(text: str) -> None:
    started = time.process_time()
    find_names(text)
    NameIndex(text).mentions("国家能源局")
    assert time.process_time() - started < 3


def test_every_form_in_the_table_is_mentioned_by_a_page_with_another_form_of_it() -> None:
    bodies = [known for known in load_known_names() if len(known.forms) > 1]
    assert len(bodies) >= 300
    failing = [
        (form, known.forms[0])
        for known in bodies
        for form in known.forms
        if NameIndex(f"{known.forms[0]} 。").mentions(form) is not True
        or NameIndex(f"Today: {form}.").mentions(known.forms[0]) is not True
    ]
    assert failing == []

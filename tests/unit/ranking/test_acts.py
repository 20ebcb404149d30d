"""What a title says that its document does: classes of titles, each from more than one body."""

import pytest

from monitor.ranking.acts import WEIGHTS, Act
from monitor.ranking.routine_words import FIRST_RULES
from monitor.ranking.rule_words import FURTHER_RULES
from monitor.ranking.titles import find_act

CLASSES = {
    Act.LAW: ["湖滨经济促进条例（国务院令第901号）", "Harbour Finance Act 2031"],
    Act.NATIONAL_PLAN: [
        "Foreign Trade Policy 2031-36",
        "国务院关于印发《设备更新行动方案》的通知",
        "中共中央政治局召开会议 分析经济形势",
        "Executive Order on Grid Storage",
        "Bank keeps its key interest rates unchanged",
    ],
    Act.RULE: [
        "Storage Safety Regulations, amended: SOR/2031-4",
        "Heat Pump Test Rule: Small Units",
        "Water Network Final Determinations",
        "Repairs Directions, 2031",
        "新能源汽车回收新规7月1日起施行",
        "某部联合公布《人工智能服务管理办法》",
        "储能电站安全监督管理办法（某委令第12号）",
        "关于修改《商业信贷管理规定》的决定",
        "关于印发《偿付能力监管规则第3号：气候》的通知",
        "PS31/2: Safeguarding client money",
        "Commission Delegated Regulation (EU) 2031/14 on vehicle batteries",
        "The Ports (Amendment) Regulations 2031",
        "Regulator adopts amendments to tick sizes",
    ],
    Act.TERMS: [
        "某部公告 第986号（禁用莠去津等4种农药）",
        "國家稅務局調高股票印花稅",
        "Authority raises landfill tax to £130",
        "Final Findings: safeguard investigation on steel",
        "关于放宽资金池限额的通知",
        "关于调整部分商品进口关税税率的公告",
        "關於調整暫定稅率的公告",
        "Energy price cap rises from October",
    ],
    Act.DRAFT_LAW: ["《清洁海洋条例（修订草案）》公开征求意见", "Commission proposes a directive on green claims"],
    Act.CONSULTATION: [
        "Battery Labelling; Supplemental Notice; Comments Due May 3",
        "TR 2031/D2 Income tax: licences",
        "关于公开征求《碳核算管理办法（征求意见稿）》意见的公告",
        "證監會就託管服務展開諮詢",
        "CP31/4: Redress for card payments",
        "Notice of Proposed Rulemaking: Pipeline Safety",
        "Agency seeks comment on spectrum auction",
    ],
    Act.EXTENSION: [
        "关于延长《定价指引》公开征求意见时间的公告",
        "Reporting of Securities Lending; Extension of Comment Period",
    ],
    Act.BINDING_STANDARD: ["关于批准发布《木器涂料有害物质限量》强制性国家标准的公告"],
    Act.STANDARD: ["关于发布《余热利用系统技术要求》等3项行业标准的公告", "AASB S9 Water Disclosures"],
    Act.REPEAL: ["关于废止部分规范性文件的公告", "Rescission of outdated supervisory letters"],
    Act.INTERPRETATION: [
        "读懂储能新规",
        "新规“划重点”",
        "How to register a heat pump",
        "《电力市场管理办法》政策解读",
        "有关负责人就气候规则答记者问",
        "Fact Sheet: Order No. 77",
    ],
    Act.APPLICATION: ["关于组织申报2031年零碳园区试点的通知", "Notice of Funding Opportunity: Clean Ports"],
    Act.DATA: [
        "2031年5月出口主要商品量值表",
        "Assets and Liabilities of Insurers",
        "8月份规模以上工业增加值增长5.6%",
        "Consumer price index, August 2031",
    ],
    Act.MAJOR_CASE: [
        "对某金融集团作出行政处罚 罚没合计32.6亿元",
        "Lender fined £142m for money-laundering failings",
        "Antitrust: Commission fines producers for cartel",
    ],
    Act.PENALTY: [
        "关于32款App侵害权益的通报",
        "Debarment of J. Doe; Final Order",
        "Firm to pay £3,000 after overcharging",
        "行政处罚决定书（某化工有限公司未按证排污案）",
        "證監會譴責某公司並罰款450萬元",
        "Final Notice: Harwood Wealth Ltd",
        "Regulator fines plating company $74,500",
    ],
    Act.APPROVAL: [
        "Authority won't oppose Alpha's proposed acquisition of Beta",
        "CV12 9QX, Alpha Poultry: environmental permit issued",
        "关于同意设立某大学的函",
        "关于云岭抽水蓄能电站项目核准的批复",
        "Mergers: Commission clears acquisition of Novaplast",
    ],
    Act.WARNING: ["谨防仿冒本局网站", "Warning: coinvault.example is not authorised by us"],
    Act.MEETING: [
        "部务会审议有关规章草案",
        "Ninth round of trade negotiations concludes",
        "全国能源工作座谈会在京召开",
        "A resilient system – speech by the chief executive",
    ],
    Act.VISIT: [
        "某部长与来宾通电话",
        "Minister tours rural clinic",
        "局长赴河北调研",
        "Readout of the meeting between ministers",
    ],
    Act.CAMPAIGN: ["【微视频】一码通行", "防范非法集资宣传月活动启动", "Celebrating Volunteers' Week"],
    Act.PERSONNEL: [
        "Call for candidates: interpretations committee",
        "国务院任免国家工作人员",
        "Vacancy notice: policy officer",
    ],
    Act.PROCUREMENT: [
        "招標公告：供應及安裝牙科椅",
        "信息系统运维服务采购项目公开招标公告",
        "Contract award notice: office cleaning",
    ],
    Act.SUPERVISION: [
        "关于开展信息报送工作的公告",
        "致持牌法团的通函",
        "PCG 2031/3: Thin capitalisation",
        "Producers to register before April",
    ],
    Act.LIST: ["Tentative agenda decision: presentation of taxes"],
    Act.FILING: ["Change in Bank Control Notices", "Written answer on storage"],
    Act.BULLETIN: ["Scheduled system maintenance"],
    Act.UNCLEAR: ["一家水泥厂的绿电账本", "Regulator launches new website"],
}


@pytest.mark.parametrize(("act", "title"), [(act, title) for act, titles in CLASSES.items() for title in titles])
def test_a_title_says_what_its_document_does(act: Act, title: str) -> None:
    assert find_act(title) is act


@pytest.mark.parametrize(
    ("title", "act"),
    [
        ("政府采购管理办法", Act.RULE),
        ("行政处罚裁量基准", Act.RULE),
        ("关于《行政处罚办法（征求意见稿）》公开征求意见的通知", Act.CONSULTATION),
        ("国家发展改革委关于某项目核准的批复", Act.APPROVAL),
        ("Air quality: correction to PS31/6", Act.CORRECTION),
        ("Final Rule: Extension of Compliance Deadlines", Act.RULE),
        ("", Act.UNCLEAR),
    ],
)
def test_what_a_title_is_about_yields_to_its_form_and_the_names_of_bodies_say_nothing(title: str, act: Act) -> None:
    assert find_act(title) is act


def test_every_act_has_a_weight_and_none_is_found_in_a_text_without_words() -> None:
    assert set(WEIGHTS) == set(Act)
    rules = (*FIRST_RULES, *FURTHER_RULES)
    assert [rule.act for rule in rules if rule.matches("zzqq", has_chinese=True, has_latin=True)] == []


NOT_WHAT_THEY_NAME = {
    Act.PROCUREMENT: ["Contract notice: projectors", "RFQ for printing of the annual report", "关于机房改造的询价函"],
    Act.APPROVAL: [
        "Authority grants generation licence to Windco",
        "Award of import licence to Straits Power",
        "Petition No. 9/TL/2031: grant of transmission licence",
        "Merger of Alfa and Beta cleared subject to conditions",
    ],
    Act.FILING: [
        "Auction of infrastructure bonds: size announcement",
        "外匯基金票據投標結果",
        "Cause list for hearings from 3 March",
        "Proposed Collection; Comment Request; Extension: Rule 9",
        "关于开展交易系统全网测试的通知",
        "关于某企业债券付息的公告",
    ],
    Act.PERSONNEL: [
        "某局直属单位负责人任职前公示",
        "Transfer and posting of officers",
        "Two new commissioners take office",
    ],
    Act.BULLETIN: ["List of holidays for 2031", "Constituent Update - May 3, 2031"],
    Act.MEETING: ["Trade union reacts to price cap decision", "Advisory panel to convene on 3 June"],
    Act.REPORT: ["Association response to Treasury consultation on coins"],
    Act.INTERPRETATION: [
        "Member briefing: what the Final Determinations mean for suppliers",
        "信息披露业务咨询问题解答（第3期）",
        "一问一答：养老金领取新规",
        "企业如何享受加计扣除",
    ],
    Act.RECALL: ["某局关于13批次药品不符合规定的通告", "Import Alert 9-5: enoki mushrooms"],
    Act.PENALTY: ["根据《打击洗钱条例》对某银行采取纪律行动", "Agency orders retailer to stop false claims"],
    Act.PRODUCT_RULE: ["关于暂停进口海斯特器材公司产品的公告"],
    Act.LIST: ["关于发布出口退税率文库2031D版的通知", "某市2031年环境监管重点单位名录"],
    Act.DATA: [
        "基本医疗保险主要指标",
        "Commitments of Traders – May 3",
        "金融机构信贷收支表",
        "Bank lending: September quarter",
    ],
    Act.VISIT: ["委领导检查轨道交通安全保障工作", "Minister receives ambassador of Norway"],
    Act.CAMPAIGN: ["A Day in the Life of an Inspector", "总局开展健步走活动"],
    Act.CORRECTION: ["Errata: consultation paper annex"],
}
DOES_WHAT_IT_NAMES = {
    Act.LAW: [
        "Markets (Amendment) Act 2031: commencement of Parts 2 to 5",
        "Parliament adopts the Space Act",
        "某委员会表决通过新修订的海商法",
    ],
    Act.RULE: [
        "Agency Adopts Amendments to Interim Reporting",
        "Commission issues final input methodologies for airports",
        "New rules require banks to reimburse victims",
        "Ministry bans three phthalates in children's products",
        "某协会关于登记材料清单自11月1日起施行的公告",
    ],
    Act.TERMS: [
        "Traceability Records; Extension of Compliance Date",
        "关于核定跨省管道运输价格的通知",
        "Removal of the import exemption for small parcels",
        "对某国公民试行免签政策",
    ],
    Act.CONSULTATION: [
        "关于再次公开征求对《产能置换实施办法》意见的通知",
        "CP 391 Digital platforms",
        "Notice of inquiry: spectrum sharing",
        "邀請公眾就豁免命令提交意見",
    ],
    Act.EXTENSION: ["关于延长《环评告知承诺办法》有效期的通知"],
    Act.SUPERVISION: [
        "关于进一步加强汽车产品准入、召回管理的通知",
        "Review into deferred payment launched by watchdog",
    ],
    Act.GUIDANCE: ["Staff Letter No. 31-07: No-Action Position", "Advisory on co-locating storage"],
    Act.REPEAL: ["Cancellation of Notice FA 04", "Withdrawal of Proposed Regulatory Actions"],
    Act.APPLICATION: ["新能源運輸基金第十二輪申請現正接受", "Tender for 2 GW of offshore wind capacity opens"],
    Act.EXECUTION: ["关于做好2031年专项附加扣除确认工作的通知", "Medical Device User Fee Rates for 2031"],
}


@pytest.mark.parametrize(
    ("act", "title"), [(act, title) for act, titles in NOT_WHAT_THEY_NAME.items() for title in titles]
)
def test_a_title_of_one_case_does_not_make_what_it_names(act: Act, title: str) -> None:
    assert find_act(title) is act


@pytest.mark.parametrize(
    ("act", "title"), [(act, title) for act, titles in DOES_WHAT_IT_NAMES.items() for title in titles]
)
def test_a_title_says_in_many_wordings_what_its_document_does(act: Act, title: str) -> None:
    assert find_act(title) is act


def test_words_of_news_and_navigation_say_nothing_of_rules() -> None:
    titles = [
        "Digital Library",
        "Lift Up Trucking, LLC",
        "长野县补正预算案",
        "老戏骨豪宅里全都是艺术品",
        "Permit Parking Zone Lookup",
    ]
    assert [find_act(title) for title in titles] == [Act.UNCLEAR] * len(titles)

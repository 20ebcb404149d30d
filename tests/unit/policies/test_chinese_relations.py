"""What Chinese documents do to others, who issued them and their numbers: a class of cases each, whatever the stage."""

import datetime as dt

import pytest

from monitor.policies.day_mentions import DayBase
from monitor.policies.document_text import DocumentText
from monitor.policies.issuers import read_signature
from monitor.policies.numbers import find_own_number
from monitor.policies.relations import read_relations
from monitor.vocabulary import PolicyStage

FINAL, REPEAL, AMENDMENT = PolicyStage.FINAL, PolicyStage.REPEAL, PolicyStage.AMENDMENT
CONSULTATION, PLAN, ENFORCEMENT = PolicyStage.CONSULTATION, PolicyStage.PLAN, PolicyStage.ENFORCEMENT
IMPLEMENTATION, QA, INTERPRETATION = PolicyStage.IMPLEMENTATION, PolicyStage.QA, PolicyStage.INTERPRETATION
NOTICE = "关于加强安全监管工作的通知"


def read(title: str, text: str, stage: PolicyStage) -> list[tuple[str, str | None, str | None]]:
    document = DocumentText(title, text)
    sentences = document.read_sentences(DayBase(None, None))
    relations = read_relations(document, sentences, stage=stage, number=None)
    return [(str(each.type), each.number, each.title) for each in relations]


@pytest.mark.parametrize(
    ("title", "text", "stage", "expected"),
    [
        (
            NOTICE,
            "为贯彻落实《安全条例》，根据《特种设备法》，通知如下。",
            FINAL,
            ["implements 安全条例", "based_on 特种设备法"],
        ),
        (
            NOTICE,
            "为落实国家《达峰方案》和《某省达峰方案》部署，制定本方案。",
            FINAL,
            ["implements 达峰方案", "implements 某省达峰方案"],
        ),
        (NOTICE, "现将《方案甲》印发给你们，请认真贯彻落实《方案甲》。", FINAL, []),
        (NOTICE, "一、要贯彻落实《甲条例》。\n二、要根据《乙条例》执法。", FINAL, []),
        (
            NOTICE,
            "根据《立法法》，废止《甲办法》（国发〔2010〕3号）。",
            FINAL,
            ["based_on 立法法", "repeals 国发〔2010〕3号 甲办法"],
        ),
        (
            NOTICE,
            "海关总署公告2019年第12号、原质检总局2010年第77号公告同时废止。",
            FINAL,
            ["repeals 2019年第12号", "repeals 2010年第77号"],
        ),
        (
            NOTICE,
            "《甲公告》（2016年第59号，2018年第31号修改）、《乙办法》（国税发〔2004〕153号印发）第五条、第六条同时废止。",
            FINAL,
            ["repeals 2016年第59号 甲公告", "repeals 国税发〔2004〕153号 乙办法"],
        ),
        (
            NOTICE,
            "本通知自印发之日起施行，国办发〔2015〕31号、国办发〔2016〕7号文件停止执行。",
            FINAL,
            ["repeals 国办发〔2015〕31号", "repeals 国办发〔2016〕7号"],
        ),
        (NOTICE, "《许可证办法》（令第3号）届满前不予废止。", FINAL, []),
        ("关于撤销许可的公告", "决定撤销该公司《支付业务许可证》。", FINAL, []),
        (NOTICE, "现发布行业标准（LB/T 065—2026），代替LB/T 065—2019。", FINAL, ["replaces LB/T 065—2019"]),
        (
            "有關防騙的通函",
            "本通函取代金管局於2023年11月10日發出、題為「防範詐騙」的通函（檔號：B1/15C）。",
            FINAL,
            ["replaces B1/15C 防範詐騙"],
        ),
        ("修訂收費", "自本通告下發之日起，AC-121-FS-160同時廢止。", FINAL, ["repeals AC-121-FS-160"]),
        (
            "道路管理规定",
            "2023年4月24日以交通运输部令2023年第3号公布的《道路管理规定》同时废止。",
            FINAL,
            ["repeals 令2023年第3号 道路管理规定"],
        ),
        ("关于印发《道路管理规定》的通知", "《道路管理规定》自发布之日起施行。", FINAL, []),
        (
            "关于清理结果的通知",
            "一、继续有效的文件目录\n1.《甲办法》（津政发〔2021〕4号）\n二、废止的文件目录\n1.《乙办法》（津政发〔2017〕12号）",
            REPEAL,
            ["repeals 津政发〔2017〕12号 乙办法"],
        ),
        (
            "关于修改和废止部分文件的通知",
            (
                "一、对以下文件予以修改\n（一）《甲办法》（青政发〔2022〕11号）第九条修改为“无”。\n"
                "二、对以下文件予以废止\n（一）《乙办法》（青政发〔2016〕5号）"
            ),
            REPEAL,
            ["amends 青政发〔2022〕11号 甲办法", "repeals 青政发〔2016〕5号 乙办法"],
        ),
        (
            "关于废止文件的公告",
            "附件：废止文件目录\n序号  文件名称  文号\n1  关于印发《甲办法》的通知  交规〔2012〕774号",
            REPEAL,
            ["repeals 交规〔2012〕774号 甲办法"],
        ),
        (
            "關于印發《某市貫徹落實〈甲政策措施〉實施方案》的通知",
            "推動《乙意見》(湘政辦發〔2023〕4號)文件落地見效。",
            FINAL,
            ["implements 甲政策措施", "implements 湘政辦發〔2023〕4號 乙意見"],
        ),
        ("刊憲", "局長根據《電訊條例》（第106章）訂立的《2026年牌照規例》今日刊憲。", FINAL, ["based_on 電訊條例"]),
        ("2026年立法计划", "修订《商标法》，废止《某某条例》。", PLAN, []),
        (
            "关于暂停执行措施的公告",
            "自2026年6月1日起暂停执行2021年第6号公告规定的措施。",
            FINAL,
            ["amends 2021年第6号"],
        ),
        (
            "关于延长《甲办法》有效期的通知",
            "《甲办法》（沪环规〔2023〕8号）有效期延长至2031年6月30日。",
            AMENDMENT,
            ["amends 沪环规〔2023〕8号 甲办法"],
        ),
        ("关于延长《甲办法》公开征求意见时间的公告", "截止日期延长。", AMENDMENT, []),
        ("关于继续执行《甲办法》的通知", "《甲办法》将到期，有效期延续五年。", FINAL, ["amends 甲办法"]),
        (
            "关于《甲规定（修订征求意见稿）》公开征求意见的通知",
            "我部对《甲规定》（农业部令2017年第3号）进行了修订。",
            CONSULTATION,
            ["amends 令2017年第3号 甲规定"],
        ),
        ("关于发布《甲规范》国家标准第1号修改单的公告", "现予发布。", AMENDMENT, ["amends 甲规范"]),
        ("某省实施《水法》办法（草案）公开征求意见", "现公开征求意见。", CONSULTATION, ["implements 水法"]),
        (
            "修正「甲申報程序」",
            "主旨：修正「甲申報程序」，並自即日生效。\n依據：行政程序法第一百五十一條。",
            FINAL,
            ["amends 甲申報程序", "based_on 行政程序法"],
        ),
        ("令", "核釋公司法第一百五十六條規定。", FINAL, ["interprets 公司法"]),
        (
            "第88/2026號批示",
            "行政長官根據第5/2021號法律《海上活動法》，作出本批示。\n二、廢止第210/2003號行政長官批示。",
            FINAL,
            ["based_on 第5/2021號 海上活動法", "repeals 第210/2003號"],
        ),
        (
            "处罚决定书",
            "违反《广告法》第九条。依据《广告法》第五十七条罚款。不服的，可依据《复议法》申请复议。",
            ENFORCEMENT,
            ["based_on 广告法"],
        ),
        (
            "处罚决定书",
            "依据《中华人民共和国证券法》（以下简称《证券法》）立案。根据《证券法》第五条，罚款。",
            ENFORCEMENT,
            ["based_on 中华人民共和国证券法"],
        ),
        (
            "答记者问",
            "近日，两部门印发《甲公告》（2026年第21号，以下简称《公告》）。\n答：《乙意见》（国办发〔2022〕7号）提出了要求。",
            QA,
            ["interprets 2026年第21号 甲公告"],
        ),
        ("發言人答記者問", "答：商務部發布了2026年第14號公告。", QA, ["interprets 2026年第14號"]),
        ("甲行業認定辦法 問答集", "Q：「甲行業認定辦法」的適用對象為何？", QA, ["interprets 甲行業認定辦法"]),
        ("常見問題", "問1：《打擊洗錢指引》第4.3.1段包括哪些？", QA, ["interprets 打擊洗錢指引"]),
        ("《快递办法》政策解读", "根据《邮政法》修订，《旧办法》同时废止。", INTERPRETATION, ["interprets 快递办法"]),
    ],
)
def test_a_document_says_what_it_does_to_others(title: str, text: str, stage: PolicyStage, expected: list[str]) -> None:
    assert sorted(" ".join(filter(None, each)) for each in read(title, text, stage)) == sorted(expected)


@pytest.mark.parametrize(
    ("title", "text", "number"),
    [
        ("处罚决定书", "晋矿安监罚〔2026〕3-017号\n被处罚单位：甲公司", "晋矿安监罚〔2026〕3-017号"),
        ("中国证监会公告", "〔2026〕12号\n\n现公布规定。", "〔2026〕12号"),
        ("技术管理办法", "证监会令【第231号】\n现予公布。", "令第231号"),
        ("常委会公告", "〔十六届〕第63号\n条例已通过。", "〔十六届〕第63号"),
        ("民事判决书", "上海金融法院\n（2026）沪74民初128号\n原告甲。", "（2026）沪74民初128号"),
        ("通告", "澳門金融管理局\n第009/2026-AMCM號通告\n\n事由：資本。", "第009/2026-AMCM號"),
        ("通函", "證券及期貨事務監察委員會\n通函\n26EC31\n2026年5月4日", "26EC31"),
        ("裁處書", "發文字號：金管證券罰字第1150362211號", "金管證券罰字第1150362211號"),
        ("关于某标准的公告", "公告\n2026年第77号\n批准某标准为国家标准，编号为GB/T 51498-2026。", "2026年第77号"),
        ("关于某标准的公告", "公告\n2026年第6号\n标准编号：GB 18581—2026", "2026年第6号"),
        ("关于中标结果的公告", "项目编号：ZB-2026-017\n采购人：甲局", None),
        ("农业农村部公告第912号", "为规范标签，现予公布。", "公告第912号"),
        ("旅游通知", "序号 名称\n按照国发〔2026〕3号文件，请各地执行。", None),
    ],
)
def test_numbers_are_read_as_bodies_write_them(title: str, text: str, number: str | None) -> None:
    found = find_own_number(DocumentText(title, text))
    assert (found.number if found else None) == number


@pytest.mark.parametrize(
    ("title", "text", "issuers", "made_on"),
    [
        (
            "征集公告",
            "现征集。\n\n具体如下。\n\n中国人民银行北京市分行\n北京市地方金融管理局\n2026年5月26日",
            ["中国人民银行北京市分行", "北京市地方金融管理局"],
            dt.date(2026, 5, 26),
        ),
        (
            "生效日期公告",
            "2026年第96號法律公告\n\n現指定日期。\n\n環境及生態局局長\n謝展寰\n\n2026年5月18日",
            ["環境及生態局局長"],
            dt.date(2026, 5, 18),
        ),
        (
            "常見問題",
            "問1：何時生效？\n答1：七月。\n\n香港聯合交易所有限公司\n2026年5月8日",
            ["香港聯合交易所有限公司"],
            dt.date(2026, 5, 8),
        ),
        (
            "條文",
            "金融監督管理委員會令　中華民國115年9月1日\n金管證期字第1150384420號\n\n修正條文。",
            ["金融監督管理委員會"],
            dt.date(2026, 9, 1),
        ),
        (
            "電業登記規則",
            "中華民國一百十五年五月十八日經濟部經能字第11504602130號令修正發布\n第一條　總則。",
            ["經濟部"],
            dt.date(2026, 5, 18),
        ),
        (
            "通函",
            "保險業監管局\n\n致：所有保險人\n檔號：INS/TEC/6/88\n\n2026年3月20日\n\n執事先生：\n內容。",
            ["保險業監管局"],
            dt.date(2026, 3, 20),
        ),
        ("通告", "經濟部今日公布新規。", ["經濟部"], None),
        ("新疆维吾尔自治区发展改革委关于电价的通知", "通知如下。", ["新疆维吾尔自治区发展改革委"], None),
        ("通知", "新闻中心\n帮助中心\n内容。", [], None),
    ],
)
def test_whoever_signs_is_the_issuer(title: str, text: str, issuers: list[str], made_on: dt.date | None) -> None:
    found = read_signature(DocumentText(title, text), issuer=None, is_issued=True)
    assert (found.issuers, found.made_on) == (issuers, made_on)


@pytest.mark.parametrize(
    ("title", "site", "issuers"),
    [
        ("市场监管总局 国家发展改革委关于收费的公告", "市场监管总局", ["市场监管总局", "国家发展改革委"]),
        ("关于收费的公告", "市场监管总局", ["市场监管总局"]),
        ("關於收費的公告", "行政院公報資訊網", []),
    ],
)
def test_the_body_of_a_page_stands_in_where_the_document_names_none(title: str, site: str, issuers: list[str]) -> None:
    assert read_signature(DocumentText(title, "公告如下。"), issuer=site, is_issued=True).issuers == issuers


def test_a_page_with_narrow_commas_and_mixed_zeros_is_read() -> None:
    head = "云南省昆明市人民政府\n昆政〔2008〕11号\n现将《办法甲》印发,请遵照执行。\n"
    text = head + "二OO八年九月二十二日\n办法甲\n第一条 总则。"
    document = DocumentText("昆明市人民政府关于印发办法的通知", text)
    found = read_signature(document, issuer=None, is_issued=True)
    assert (found.issuers, found.made_on) == (["昆明市人民政府"], dt.date(2008, 9, 22))
    assert "印发，请" in document.folded


def test_a_day_under_the_name_of_a_speaker_is_not_that_of_a_document() -> None:
    document = DocumentText("主旨演讲", "证监会副主席　顾××\n（2026年10月28日）\n\n各位来宾：大家好！")
    assert read_signature(document, issuer=None, is_issued=False).made_on is None


def test_a_list_of_many_names_takes_no_longer_than_its_length() -> None:
    named = read(NOTICE, "废止《甲乙办法》" * 5_000, FINAL)
    assert named == [("repeals", None, "甲乙办法")]

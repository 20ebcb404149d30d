"""Facts of Chinese documents by rule, a class of cases each, and texts that no document has."""

import datetime as dt
import random

import pytest

from monitor.document import DocumentFacts
from monitor.policies.facts import read_facts
from monitor.vocabulary import DeadlineKind, PolicyStage, RelationType

PUBLISHED = dt.date(2026, 3, 6)
FOOT = "\n\n国家能源局\n2026年3月5日"
PIECES = (
    *("自", "从", "2026年7月1日", "起", "至", "截止", "前", "内", "之日起", "五", "30", "个工作日", "日", "天", "个月"),
    *(
        "有效期",
        "为",
        "《",
        "》",
        "〔2026〕",
        "第3号",
        "令",
        "公告",
        "征求意见",
        "反馈",
        "施行",
        "废止",
        "申报",
        "，",
        "。",
        "\n",
    ),
    *(
        "2027年底",
        "9999年12月31日",
        "13月40日",
        "发布",
        "印发后",
        "“",
        "”",
        "(",
        ")",
        "1.",
        "第一条",
        "国家能源局",
        "实施日期",
    ),
    *(
        "中华民国115年2月30日",
        "即日",
        "生效",
        "「",
        "」",
        "办法",
        "过渡期",
        "修改为",
        "代替标准",
        "\U00100000",
        "\U0010ffff",
        "\x00",
    ),
)


def read(text: str, title: str = "关于印发《储能管理办法》的通知") -> DocumentFacts:
    return read_facts(title, text, published_on=PUBLISHED)


@pytest.mark.parametrize("seed", range(40))
def test_no_text_is_too_odd_to_read(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311
    for _ in range(15):
        text = "".join(choose.choice(PIECES) for _ in range(choose.randint(1, 120)))
        title = "".join(choose.choice(PIECES) for _ in range(choose.randint(0, 8)))
        published = choose.choice([None, PUBLISHED, dt.date.min, dt.date.max])
        assert read_facts(title, text, published_on=published).published_on == published


@pytest.mark.parametrize("count", ["5日", "五个工作日", "30天", "三个月"])
def test_days_counted_from_a_stated_day_are_read(count: str) -> None:
    facts = read(f"现公开征求意见，自2026年3月6日起{count}，请将意见反馈我局。{FOOT}", "关于公开征求意见的公告")
    assert facts.comments_until is not None


def test_signs_of_the_private_area_are_no_days() -> None:
    assert read(f"自\U00100000起施行，请于\U0010fffd前反馈意见。{FOOT}").deadlines == []


@pytest.mark.parametrize(
    ("title", "text", "stage"),
    [
        (
            "国家能源局关于储能备案效力问题的复函",
            "《储能条例》第三条所称“备案”，不含变更。",
            PolicyStage.INTERPRETATION,
        ),
        ("国家能源局关于终止收费有关问题的批复", "同意自2026年7月1日起终止收取。", PolicyStage.FINAL),
        ("咨询通告：机组备用时间", "本咨询通告自下发之日起生效。", PolicyStage.INTERPRETATION),
        ("《2026年電力條例》（生效日期）公告", "指定2026年12月18日為該條例開始實施的日期。", PolicyStage.FINAL),
        ("修正「電子保單應注意事項」", "並自即日生效。", PolicyStage.AMENDMENT),
        ("关于延长2026年度保险补偿申报时间的补充通知", "其他事项不变。", PolicyStage.AMENDMENT),
        ("某市关于实施《某省飞灰利用条例》的意见", "提出以下意见。", PolicyStage.IMPLEMENTATION),
        ("两部门规范演出票务", "文化和旅游部、公安部近日联合印发《票务管理规定》。", PolicyStage.FINAL),
        ("关于侵害用户权益行为的APP通报", "应在9月18日前完成整改。", PolicyStage.ENFORCEMENT),
        ("关于某某债券停牌的公告", "特此公告。", None),
    ],
)
def test_stages_follow_forms_of_titles(title: str, text: str, stage: PolicyStage | None) -> None:
    assert read(text + FOOT, title).stage is stage


@pytest.mark.parametrize(
    ("title", "text", "issuers"),
    [
        ("政府就規管工具展開諮詢", "運輸署今日（十月五日）就規管的建議展開公眾諮詢。", ["運輸署"]),
        (
            "三部门规范演出票务",
            "记者获悉，文化和旅游部、公安部近日联合印发《票务管理规定》。",
            ["文化和旅游部", "公安部"],
        ),
        (
            "餐饮油烟管理办法",
            "（2026年5月21日生态环境部令第48号公布　自2026年9月1日起施行）\n第一条　总则。",
            ["生态环境部"],
        ),
        (
            "《名录管理办法（征求意见稿）》意见征集",
            "征集部门：云南省林业和草原局\n现公开征求意见。",
            ["云南省林业和草原局"],
        ),
        ("資助公告", "澳門特別行政區政府\n經濟局\n\n第5/2026號公告\n\n茲公佈計劃。", ["經濟局"]),
    ],
)
def test_issuers_without_a_foot_are_found(title: str, text: str, issuers: list[str]) -> None:
    assert read(text, title).issuers == issuers


def test_an_order_of_taiwan_is_read() -> None:
    head = "衛生福利部 令\n中華民國115年9月3日\n衛部中字第1151860742號\n\n"
    text = f"{head}廢止「設廠補助作業要點」，自中華民國115年10月1日生效。"
    facts = read(text, "廢止「設廠補助作業要點」")
    assert (facts.stage, facts.number) == (PolicyStage.REPEAL, "衛部中字第1151860742號")
    assert (facts.made_on, facts.in_force) == (dt.date(2026, 9, 3), dt.date(2026, 10, 1))
    assert [relation.type for relation in facts.relations] == [RelationType.REPEALS]


def test_a_trial_holds_for_its_period() -> None:
    begun = read(f"国家能源局决定，自2026年6月15日起，在两地试点新模式，试点期限一年。{FOOT}", "关于试点新模式的公告")
    assert begun.valid_until == dt.date(2027, 6, 14)
    ranged = read(f"一、试点时间：2026年9月1日至2027年8月31日。{FOOT}", "关于开展互认试点的通知")
    assert (ranged.in_force, ranged.valid_until) == (dt.date(2026, 9, 1), dt.date(2027, 8, 31))


def test_an_end_that_the_title_announces_is_in_force_on_its_day() -> None:
    repaid = "预收的费用应于2027年1月31日前退还。"
    text = f"《车辆管理办法》（湘交〔2014〕310号）第二条自2026年12月1日起停止执行。{repaid}{FOOT}"
    facts = read(text, "关于停止执行强制检测规定的通知")
    assert (facts.in_force, facts.comply_by) == (dt.date(2026, 12, 1), dt.date(2027, 1, 31))
    assert [relation.type for relation in facts.relations] == [RelationType.REPEALS]


def test_the_date_at_the_foot_is_no_row_of_a_table() -> None:
    text = (
        "序号 标准编号 标准名称 代替标准 实施日期\n"
        "1 DB11/T 1203—2026 车辆技术要求 DB11/T 1203—2015 2027-01-01\n\n市场监督管理局\n2026年3月5日"
    )
    facts = read(text, "关于发布地方标准的公告")
    assert [(each.kind, each.day) for each in facts.deadlines] == [(DeadlineKind.IN_FORCE, dt.date(2027, 1, 1))]
    assert [relation.number for relation in facts.relations] == ["DB11/T 1203—2015"]


def test_the_papers_of_a_tender_are_an_application() -> None:
    [day] = read("响应文件递交截止时间为2026年9月14日9:30。", "服务中心搬迁项目竞争性磋商公告").deadlines
    assert (day.kind, day.day) == (DeadlineKind.APPLY_BY, dt.date(2026, 9, 14))

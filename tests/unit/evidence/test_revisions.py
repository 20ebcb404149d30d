"""Two looks at a page: what differs in the document, named, and what does not differ."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.evidence.differences import describe_change
from monitor.evidence.revisions import compare_snapshots, create_page_snapshot
from monitor.page import (
    AttachmentSnapshot,
    ChangeKind,
    EditOperation,
    Link,
    Page,
    PageChange,
    PageErrorCode,
    PagePart,
    PageSnapshot,
)

AT = dt.datetime(2026, 11, 20, 4, tzinfo=dt.UTC)
URL = "https://www.sample.gov.cn/a/1.html"


def seen(text: str, **more: Any) -> PageSnapshot:
    return PageSnapshot(**{"url": URL, "seen_at": AT, "title": "某某管理办法", "text": text, **more})


def change(before: str, after: str) -> PageChange:
    return compare_snapshots(seen(before), seen(after))


def named(found: PageChange) -> dict[str, list[str]]:
    return {str(op): articles for op in EditOperation if (articles := found.list_articles(op))}


ARTICLES = "第六条　每年检查一次。\n第七条　罚款一万元。\n第八条　自公布之日起施行。"
LONGER = f"{ARTICLES}\n第九条　有关部门应当在三十日内作出答复，并且公布处理的结果。"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ARTICLES, ARTICLES.replace("一万元", "二万元"), {"changed": ["第七条"]}),
        (ARTICLES, ARTICLES.replace("第七条　罚款一万元。\n", ""), {"removed": ["第七条"]}),
        (
            ARTICLES,
            ARTICLES.replace("第七条　", "第七条　违反本办法规定，擅自停业的，责令改正。\n第八条　").replace(
                "第八条　自", "第九条　自"
            ),
            {"added": ["第七条"], "renumbered": ["第八条", "第九条"]},
        ),
        # A reference to an article at the beginning of a line is no article.
        (
            "第七条　有下列情形的处罚：\n第六条规定的情形；\n其他情形。",
            "第七条　有下列情形的处罚：\n第五条规定的情形；\n其他情形。",
            {"changed": ["第七条"]},
        ),
        # Two regulations on one page, each with its own 第一条.
        (
            "第一条　甲的目的。\n第二条　甲的范围。\n附件2\n第一条　乙的目的。\n第二条　乙的范围是全省。",
            "第一条　甲的目的。\n第二条　甲的范围。\n附件2\n第一条　乙的目的。\n第二条　乙的范围是全市。",
            {"changed": ["第二条"]},
        ),
        # All rewritten under the same number.
        (ARTICLES, ARTICLES.replace("罚款一万元。", "撤销其许可，并予以公告。"), {"changed": ["第七条"]}),
        # Two articles change places.
        (
            "第六条　每年检查一次，并公布结果。\n第七条　罚款一万元以上三万元以下。",
            "第六条　罚款一万元以上三万元以下。\n第七条　每年检查一次，并公布结果。",
            None,
        ),
        # What follows a space begins the article, whatever word it is.
        ("第七条 中华某某会是主管机关。", "第七条 中华某某会为主管机关。", {"changed": ["第七条"]}),
        ("第七条中国某某会是主管机关。", "第七条中国某某会为主管机关。", {"changed": ["第七条"]}),
        ("甲。\n第七条所列情形按一般处理。", "甲。\n第七条所列情形按从重处理。", {}),
        ("7.—(1) A fee is due.\n(2) It is small.", "7.—(1) A fee is due.\n(2) It is large.", {"changed": ["7(2)"]}),
        ("第十二条之二　收费标准为十元。", "第十二条之二　收费标准为二十元。", {"changed": ["第十二条之二"]}),
        ("第 3 条 收费标准为十元。", "第 3 条 收费标准为二十元。", {"changed": ["第3条"]}),
        ("Article 12bis\nFees are ten euro.", "Article 12bis\nFees are twenty euro.", None),
        ("Section 12A. Fees are ten dollars.", "Section 12A. Fees are twenty dollars.", {"changed": ["Section 12A"]}),
        (
            "Section 7. Fees\n(1) General\n(a) The fee is ten dollars.\n(b) The term is one year.",
            "Section 7. Fees\n(1) General\n(a) The fee is ten dollars.\n(b) The term is two years.",
            {"changed": ["Section 7(1)"]},
        ),
        ("§ 4.2 Fees are due monthly.", "§ 4.2 Fees are due weekly.", {"changed": ["§ 4.2"]}),
        (
            "Section 4 of the Act applies to all firms.\nFees are due in May.",
            "Section 4 of the Act applies to all firms.\nFees are due in June.",
            {},
        ),
        ("제7조 수수료는 만원으로 한다.", "제7조 수수료는 이만원으로 한다.", {"changed": ["제7조"]}),
        (
            "附件1\n收费标准为十元。\n附件2\n名单如下。",
            "附件1\n收费标准为十二元。\n附件2\n名单如下。",
            {"changed": ["附件1"]},
        ),
    ],
)
def test_what_changed_in_a_regulation_is_named(before: str, after: str, expected: dict[str, list[str]] | None) -> None:
    found = change(before, after)
    assert found.kind is ChangeKind.CHANGED
    if expected is not None:
        assert named(found) == expected


@pytest.mark.parametrize(
    "after",
    [
        "第六条每年检查一次。第七条 罚款一万元。第八条 自公布之日起施行。",
        "第六条\n每年检查一次。\n第七条\n罚款一万元。\n第八条\n自公布之日起施行。",
        f"浏览次数：3,218次\n{ARTICLES}\n打印本页 关闭窗口",
        f"今天是2026年11月23日 星期一\n{ARTICLES}",
        f"{ARTICLES}\n【字体：大 中 小】 阅读（88）",
        f"来源：市局 发布时间：2026-11-20 09:12 点击：31\n{ARTICLES}",
        f"{ARTICLES}\n分享到：微信 微博\n扫一扫在手机打开当前页",
        f"{ARTICLES}\n版权所有 © 2027 某某局 备案号 123",
        f"某某管理办法\n{ARTICLES}",
        f"3小时前 更新\n{ARTICLES}\n满意(12) 不满意(3)",
        f"距截止日期还有12天\n{ARTICLES}\n今日访问：312 在线人数：7",
        f"{ARTICLES}\nPage generated in 0.031 seconds",
        "第六条  每年检查一次．\n第七条　罚款一万元。\n第八条　自公布之日起施行。".replace("．", "。"),
    ],
)
def test_what_the_site_adds_is_no_change(after: str) -> None:
    assert change(ARTICLES, after).kind is ChangeKind.NONE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("会议时间：2026年4月15日，地点：市政府礼堂。", "会议时间：2026年4月16日，地点：市政府礼堂。"),
        ("时间：2026年4月15日", "时间：2026年4月16日"),
        ("本通知自2026年3月1日起施行。", "本通知自2026年3月2日起施行。"),
        ("全年访问量达到3000万次，同比增长。", "全年访问量达到4000万次，同比增长。"),
        ("请通过微信小程序申报。", "请通过微博小程序申报。"),
        ("编号\n3412\n名称\n甲", "编号\n3413\n名称\n甲"),
        ("成文日期：2026年2月1日\n正文内容如下所示。", "成文日期：2026年2月2日\n正文内容如下所示。"),
        ("The fee is $10.", "The fee is $100."),
        ("Comments close on 3 March 2026.", "Comments close on 4 March 2026."),
        ("联系电话：010-12345678", "联系电话：010-12345679"),
        ("不得转让。", "得转让。"),
        ("自本办法施行之日3天前提出的申请有效。", "自本办法施行之日5天前提出的申请有效。"),
        ("Applications close 30 days before the start.", "Applications close 20 days before the start."),
    ],
)
def test_what_the_document_says_otherwise_is_a_change(before: str, after: str) -> None:
    assert change(before, after).kind is ChangeKind.CHANGED


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("关于甲的通知", "关于甲的通知_某某局", ChangeKind.NONE),
        ("关于甲的通知", "关于甲的通知（已废止）", ChangeKind.CHANGED),
        ("关于《甲》的通知", "关于《乙》的通知", ChangeKind.CHANGED),
        ("关于甲的通知", "", ChangeKind.NONE),
    ],
)
def test_a_title_changes_with_its_own_words_only(was: str, now: str, expected: ChangeKind) -> None:
    assert compare_snapshots(seen(ARTICLES, title=was), seen(ARTICLES, title=now)).kind is expected


def test_a_date_that_is_always_today_is_the_clock_of_the_page() -> None:
    later = AT + dt.timedelta(days=3)
    before = seen(ARTICLES, published_on=AT.date())
    assert compare_snapshots(before, seen(ARTICLES, seen_at=later, published_on=later.date())).kind is ChangeKind.NONE
    corrected = seen(ARTICLES, seen_at=later, published_on=dt.date(2026, 11, 1))
    assert [edit.after for edit in compare_snapshots(before, corrected).list_edits(PagePart.DATE)] == ["2026-11-01"]


def document(title: str, url: str, sha256: str | None = None) -> AttachmentSnapshot:
    return AttachmentSnapshot(title=title, url=f"https://www.sample.gov.cn{url}", type="pdf", sha256=sha256)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (document("名单.pdf", "/f/1.pdf"), document("名单.pdf（121KB）", "/f/1.pdf?token=9"), {}),
        (document("名单.pdf", "/f/1.pdf", "a"), document("名单.pdf", "/f/1.pdf", "b"), {"changed": 1}),
        (document("名单.pdf", "/f/1.pdf", "a"), document("名单.pdf", "/g/2.pdf", "a"), {}),
        (document("名单.pdf", "/f/1.pdf"), document("名单.pdf", "/g/1.pdf"), {}),
        (document("名单.pdf", "/f/1.pdf"), document("名单.pdf", "/f/2.pdf"), {"changed": 1}),
        (document("名单.pdf", "/f/1.pdf"), document("名单（更正）.pdf", "/f/1.pdf"), {"changed": 1}),
        (document("名单.pdf", "/f/1.pdf"), document("表格.pdf", "/f/2.pdf"), {"removed": 1, "added": 1}),
        (document("名单.pdf", "/down?id=1&t=55"), document("名单.pdf", "/down?id=1&t=77"), {}),
        (document("名单.pdf", "/down?id=1"), document("名单.pdf", "/down?id=2"), {"changed": 1}),
    ],
)
def test_documents_are_known_again(
    before: AttachmentSnapshot, after: AttachmentSnapshot, expected: dict[str, int]
) -> None:
    found = compare_snapshots(seen(ARTICLES, attachments=[before]), seen(ARTICLES, attachments=[after]))
    edits = found.list_edits(PagePart.ATTACHMENT)
    assert {str(op): n for op in EditOperation if (n := sum(edit.op is op for edit in edits))} == expected
    assert found.kind is (ChangeKind.ATTACHMENTS if expected else ChangeKind.NONE)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (seen("", failure=PageErrorCode.NOT_FOUND), ChangeKind.WITHDRAWN),
        (seen("", failure=PageErrorCode.TIMEOUT), ChangeKind.UNREACHABLE),
        (seen("", failure=PageErrorCode.WEB_BLOCKED), ChangeKind.UNREACHABLE),
        (seen("", failure=PageErrorCode.FORBIDDEN), ChangeKind.UNREACHABLE),
        (seen(""), ChangeKind.UNREACHABLE),
        (seen("", notice="您要查看的页面已删除"), ChangeKind.WITHDRAWN),
        (seen("对不起，该信息已被撤销。", title="提示"), ChangeKind.WITHDRAWN),
        (seen("The document you requested is no longer available."), ChangeKind.WITHDRAWN),
        (seen("", title="首页", url="https://www.sample.gov.cn/"), ChangeKind.WITHDRAWN),
        (seen(LONGER, url="https://www.sample.gov.cn/b/2.html"), ChangeKind.MOVED),
        (seen(LONGER, url="http://sample.gov.cn/a/1.html?sid=7"), ChangeKind.NONE),
        (
            seen(
                "您的访问过于频繁，已被系统拦截，请输入验证码后继续访问，如有疑问请联系网站管理员处理。",
                title="安全验证",
            ),
            ChangeKind.UNREACHABLE,
        ),
        (seen("请登录后查看", title="登录", url="https://sso.sample.gov.cn/login"), ChangeKind.UNREACHABLE),
        (
            seen("全部重新写过的办法，与原来的没有一个字相同，长度也完全不一样，共计五十个字以上才行，这样可以了。"),
            ChangeKind.CHANGED,
        ),
    ],
)
def test_a_page_without_its_words_is_gone_elsewhere_or_out_of_sight(after: PageSnapshot, expected: ChangeKind) -> None:
    assert compare_snapshots(seen(LONGER), after).kind is expected


def page(text: str, *around: str) -> Page:
    return Page(
        url=URL, final_url=URL, title="某某管理办法", text=text, lines=[*around, *text.splitlines()], fetched_at=AT
    )


def test_a_paragraph_that_was_beside_the_text_and_now_counts_to_it_is_not_new() -> None:
    beside = "本网站由某某局主办，技术支持单位为某某信息中心。"
    narrow, wide = create_page_snapshot(page(ARTICLES, beside)), create_page_snapshot(page(f"{ARTICLES}\n{beside}"))
    assert compare_snapshots(narrow, wide).kind is ChangeKind.NONE
    assert compare_snapshots(wide, narrow).kind is ChangeKind.NONE
    added = create_page_snapshot(page(f"{ARTICLES}\n第九条　由某某局负责解释，并自发布之日起三十日后施行。", beside))
    assert compare_snapshots(narrow, added).list_articles(EditOperation.ADDED) == ["第九条"]


def test_a_title_that_was_read_from_another_line_of_the_same_page_is_no_change() -> None:
    names = ["Agency of Transport", "New rules for ferries"]
    before, after = (
        create_page_snapshot(page(ARTICLES, *names).model_copy(update={"title": title})) for title in names
    )
    assert compare_snapshots(before, after).kind is ChangeKind.NONE
    renamed = page(ARTICLES, names[0], "Old rules").model_copy(update={"title": "Old rules"})
    assert compare_snapshots(after, create_page_snapshot(renamed)).kind is ChangeKind.CHANGED


def test_a_line_that_is_only_links_is_not_of_the_document() -> None:
    links = [Link(text=text, url=f"{URL}?{text}") for text in ("一图读懂", "专家解读", "第七条")]
    linked = page(f"{ARTICLES}\n一图读懂 | 专家解读").model_copy(update={"links": links})
    assert compare_snapshots(create_page_snapshot(page(ARTICLES)), create_page_snapshot(linked)).kind is ChangeKind.NONE


def test_a_notice_of_repeal_above_the_whole_text_is_a_change_not_a_withdrawal() -> None:
    found = change(ARTICLES, f"本文件已于2026年11月22日废止。\n{ARTICLES}")
    assert (found.kind, [edit.op for edit in found.edits]) == (ChangeKind.CHANGED, [EditOperation.ADDED])


TEXTS = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [
                "第一条　甲。",
                "第二条　乙。",
                "第三条　丙丁戊己。",
                "Section 4(b) Fees.",
                "§ 3 Gebühren",
                "| a | b |",
                "附件1",
                "浏览：3次",
                "",
                "12",
            ]
        ),
        max_size=12,
    ).map("\n".join),
)


@given(TEXTS)
@example("|" * 200)
@example("第" * 300)
@example("(" * 120 + "\n" + "[【(" * 60)
def test_a_page_is_no_revision_of_itself(text: str) -> None:
    assert compare_snapshots(seen(text), seen(text)).kind in (ChangeKind.NONE, ChangeKind.UNREACHABLE)
    assert not compare_snapshots(seen(text), seen(text)).edits


@given(TEXTS, TEXTS)
def test_any_two_texts_are_compared_and_told(before: str, after: str) -> None:
    found = change(before, after)
    assert (found.kind is ChangeKind.CHANGED) == bool(found.edits)
    for language in ("zh", "en"):
        assert describe_change(found, language)


@given(st.lists(st.integers(0, 9999), min_size=3, max_size=12, unique=True), st.data())
def test_every_article_that_changes_is_named(numbers: list[int], data: st.DataObject) -> None:
    articles = [
        f"第{place}条　本办法规定的收费标准为每次{number}元，由第{number}号窗口收取。"
        for place, number in enumerate(numbers, 1)
    ]
    chosen = data.draw(st.sets(st.integers(1, len(articles)), min_size=1))
    after = [
        text.replace("窗口收取", "网点代收") if place in chosen else text for place, text in enumerate(articles, 1)
    ]
    assert change("\n".join(articles), "\n".join(after)).list_articles(EditOperation.CHANGED) == [
        f"第{n}条" for n in sorted(chosen)
    ]


@given(st.integers(2, 9), st.data())
def test_an_article_that_comes_or_goes_is_named_and_no_other(count: int, data: st.DataObject) -> None:
    words = ["设立", "运行", "检查", "公示", "收费", "投诉", "处罚", "附则", "评价", "备案"]
    articles = [f"第{n}条　关于{words[n - 1]}的事项，由{words[-n]}部门另行规定。" for n in range(1, count + 1)]
    gone = data.draw(st.integers(1, count))
    rest = [text for n, text in enumerate(articles, 1) if n != gone]
    removed = change("\n".join(articles), "\n".join(rest))
    assert (named(removed), removed.list_edits(PagePart.PARAGRAPH)) == ({"removed": [f"第{gone}条"]}, [])
    assert named(change("\n".join(rest), "\n".join(articles))) == {"added": [f"第{gone}条"]}


def test_a_change_is_told_in_one_sentence() -> None:
    after = ARTICLES.replace("一万元", "二万元") + "\n第九条　由市局负责解释。"
    found = compare_snapshots(seen(ARTICLES), seen(after, attachments=[document("名单.pdf", "/f/1.pdf")]))
    assert describe_change(found, "zh") == "第七条有修改；新增第九条；新增附件“名单.pdf”。"
    assert describe_change(found, "en") == "第七条 changed; 第九条 added; attachment “名单.pdf” added."
    assert describe_change(PageChange(kind=ChangeKind.WITHDRAWN), "zh") == "网页已撤下。"
    moved = compare_snapshots(seen(ARTICLES), seen(ARTICLES, url="https://www.sample.gov.cn/b/2.html"))
    assert describe_change(moved, "en") == "The page moved to https://www.sample.gov.cn/b/2.html."

import datetime as dt
import random
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.dedupe.candidates import find_candidate_pairs
from monitor.dedupe.identity import DocumentFeatures, DocumentIdentity, parse_identity
from monitor.dedupe.numbers import keep_alphanumerics, normalize_text

SEEN = dt.datetime(2026, 2, 3, 8, 0, tzinfo=dt.UTC)
WORDS = "能源电力市场监管项目建设发展改革企业投资价格收费服务安全生产环境保护节约用水"
FORM = "当事人应当自收到本决定书之日起十五日内缴纳罚款，逾期不缴纳的，每日按罚款数额的百分之三加处罚款。"


def identity_of(number: int, title: str, text: str | None = None) -> DocumentIdentity:
    return parse_identity(
        DocumentFeatures(
            url=f"https://s{number % 300}.example/{number}",
            title=title,
            date=dt.date(2026, 2, 1 + number % 20),
            source=f"第{number % 300}局",
            issuer=None,
            document_number=None,
            is_interpretation=False,
            is_repost=False,
            first_seen=SEEN,
            text=text,
        )
    )


def pick(number: int, count: int, of: Sequence[Any] = WORDS) -> list[Any]:
    return random.Random(number).choices(of, k=count)  # noqa: S311  the same each time


def make_title(number: int) -> str:
    return f"关于{''.join(pick(number, 9))}有关事项的通知"


def make_prose(number: int, chars: int = 150) -> str:
    return "".join(pick(number, chars)) + "。"


def form_filled_in(number: int) -> DocumentIdentity:
    return identity_of(number, "行政处罚信息公示", f"当事人：{make_prose(number, 6)}罚款{number}万元。{FORM * 4}")


def text_of_shared_paragraphs(number: int) -> DocumentIdentity:
    chosen = pick(number, 6, range(150))
    return identity_of(number, make_title(number), "".join(map(make_prose, chosen)))


@pytest.mark.parametrize(("make", "most"), [(form_filled_in, 30), (text_of_shared_paragraphs, 20)])
def test_the_pairs_that_are_compared_grow_as_the_items_do(make: Callable[[int], DocumentIdentity], most: int) -> None:
    identities = [make(number) for number in range(1200)]
    few, many = len(find_candidate_pairs(identities[:600])), len(find_candidate_pairs(identities))
    assert many <= most * len(identities)
    assert many <= 2.3 * few


def test_of_hundreds_that_share_a_paragraph_those_are_compared_that_go_on_alike() -> None:
    copies = [make_prose(7) + make_prose(100 + number) for number in range(300)]
    identities = [identity_of(number, make_title(number), copies[number % 300]) for number in range(600)]
    pairs = set(find_candidate_pairs(identities))
    assert all((number, number + 300) in pairs for number in range(300))


def test_a_cut_title_is_compared_with_those_that_begin_with_it_and_a_title_with_those_that_end_in_it() -> None:
    whole = "进一步优化营商环境更好服务经营主体的实施意见"
    titles = [*map(make_title, range(200)), f"{whole[:12]}…", whole, f"江城市商务局{whole}"]
    identities = [identity_of(number, title) for number, title in enumerate(titles)]
    assert find_candidate_pairs(identities) == [(200, 201), (201, 202)]


@given(st.text(max_size=60) | st.text("がカ゛ｶﾞ가가éé①Ａ（，體第三批 1,234Ⅲ", max_size=30))
def test_a_text_is_folded_as_a_whole_however_its_characters_are_composed(text: str) -> None:
    assert normalize_text(text) == normalize_text(unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("第三批（二〇二六年）附件二", "第3批(2026年)附件2"),
        ("之三 二、要求 一带一路 二十日", "之3 2、要求 一带一路 20日"),
        ("The Third Programme, organised 1st March, Part II", "the 3 program, organized 1 mar, part 2"),
        ("1,234,567 元 12,34", "1234567 元 12,34"),
        ("二 quarter, 1Q3 and 4 quarter", "二 quarter, q3 and q4"),
    ],
)
def test_ways_of_writing_are_folded_into_one(written: str, folded: str) -> None:
    assert normalize_text(written) == folded


def test_letters_and_digits_alone_keep_two_numbers_apart() -> None:
    assert keep_alphanumerics("第 3_期：1.5 - 20，共 7 (a)") == "第3期1.5.20共7a"

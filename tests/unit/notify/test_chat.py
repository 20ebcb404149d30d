import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from monitor.notify.chat import is_refusal, render_digest
from monitor.notify.notification import Digest

DIGEST = Digest(
    head="简报", points=["1. 能源法\nhttps://x.example/1", "2. 公告"], more="另有 {} 条", tail="未能读取：甲"
)


def test_a_digest_is_whole_where_there_is_room() -> None:
    text = render_digest(DIGEST, mark="#k", max_bytes=1000)
    assert text == "简报\n1. 能源法\nhttps://x.example/1\n2. 公告\n未能读取：甲\n#k"


@settings(max_examples=100)
@given(points=some.lists(some.text(max_size=80), max_size=12), most=some.integers(40, 400))
def test_a_digest_keeps_to_the_limit_and_says_how_much_is_left_out(points: list[str], most: int) -> None:
    points = [f"{number}. {point.replace('#', '')}" for number, point in enumerate(points)]
    text = render_digest(Digest(head="h", points=points, more="+{}", tail="t"), mark="#k", max_bytes=most)
    assert len(text.encode("utf-8", "replace")) <= most
    assert text.endswith("t\n#k")
    whole = render_digest(Digest(head="h", points=points, more="+{}", tail="t"), mark="#k", max_bytes=10**6)
    assert (text == whole) or "\n+" in text


def test_words_of_a_page_cannot_call_people() -> None:
    digest = Digest(head="h", points=['<!channel> <at user_id="all"> @all'], more="")
    text = render_digest(digest, mark="#k", max_bytes=1000)
    assert not set("<>@") & set(text)


@pytest.mark.parametrize(
    ("body", "says_no"),
    [
        ('{"errcode":0,"errmsg":"ok"}', False),
        ('{"errcode":310000,"errmsg":"keywords not in content"}', True),
        ('{"code":0,"msg":"success","data":{}}', False),
        ('{"code":19001,"msg":"param invalid"}', True),
        ('{"StatusCode":0,"StatusMessage":"success"}', False),
        ('{"ok":true,"result":{}}', False),
        ('{"ok":false,"description":"Unauthorized"}', True),
        ("ok", False),
        ("[1]", False),
        ("[" * 60_000, False),
    ],
)
def test_a_service_that_says_no_in_its_body_is_heard(body: str, says_no: bool) -> None:
    assert is_refusal(body) is says_no

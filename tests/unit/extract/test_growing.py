import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.html import build_outline
from monitor.extract.parse import has_load_more

ROWS = "".join(f"<li><a href='/n/{i}.html'>关于开展第{i}批试点工作的通知</a></li>" for i in range(8))


def asks(markup: str, rows: str = ROWS) -> bool:
    tree = LexborHTMLParser(f"<html><body><ul>{rows}</ul>{markup}</body></html>")
    return has_load_more(build_outline(tree, "https://sample.gov.cn/list/"))


@pytest.mark.parametrize(
    "markup",
    [
        "<button>加载更多</button>",
        "<button> Load more results \n</button>",
        "<a href='javascript:void(0)'>查看更多</a>",
        "<a href='#'>点击加载更多 ▼</a>",
        "<a>もっと見る</a>",
        "<div class='btn-more'>显示更多信息</div>",
        "<div onclick='more()'>點擊更多</div>",
        "<input type=button value='Mehr laden'>",
        "<span role=button>더 보기</span>",
        "<div class='infinite-scroll'></div>",
        "<div v-infinite-scroll='load'></div>",
    ],
)
def test_a_list_with_a_button_for_more_grows(markup: str) -> None:
    assert asks(markup)


@pytest.mark.parametrize(
    "markup",
    [
        "",
        "<a href='/more.html'>查看更多</a>",
        "<a href='#'>更多</a>",
        "<button>More</button>",
        "<button>搜索</button>",
        "<p>点击加载更多</p>",
        "<button>加载更多功能请先登录您的个人账号</button>",
        "<input type=text value='加载更多'>",
    ],
)
def test_a_list_without_one_does_not(markup: str) -> None:
    assert not asks(markup)


def test_an_article_with_a_side_list_does_not_grow() -> None:
    assert not asks(f"<button>加载更多</button><p>{'各有关单位：现将有关事项通知如下。' * 80}</p>")
    assert not asks("<button>加载更多</button>", rows=ROWS[: len(ROWS) // 2])
    assert asks(f"<button>加载更多</button><script>{'code(); ' * 800}</script>")

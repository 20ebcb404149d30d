"""A body is found by whatever people call it, in Chinese or English."""

import pytest

from monitor.catalogue.search import load_index


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("证监会", "cn-csrc"),
        ("中国证监会", "cn-csrc"),
        ("美国证监会", "us-sec"),
        ("香港证监会", "hk-sfc"),
        ("SEC", "us-sec"),
        ("fda", "us-fda"),
        ("FCA", "gb-fca"),
        ("HKMA", "hk-hkma"),
        ("发改委", "cn-ndrc"),
        ("工信部", "cn-miit"),
        ("网信办", "cn-cac"),
        ("国家能源局", "cn-nea"),
        ("央行", "cn-pbc"),
        ("日本央行", "jp-boj"),
        ("欧央行", "eu-ecb"),
        ("欧盟委员会", "eu-commission"),
        ("世界卫生组织", "int-who"),
        ("美国能源部", "us-doe"),
        ("金融監督管理委員會", "tw-fsc"),
        ("金融监督管理委员会", "tw-fsc"),
        ("nea.gov.cn", "cn-nea"),
        ("https://www.sec.gov/news", "us-sec"),
        ("European Central Bank", "eu-ecb"),
        ("european central", "eu-ecb"),
        ("securites and exchange comission", "us-sec"),
        ("英国 竞争", "gb-cma"),
        ("guangdong development reform", "cn-gd-drc"),
    ],
)
def test_the_body_that_is_meant_comes_first(query: str, first: str) -> None:
    assert load_index().search(query)[0].id == first


def test_every_word_has_to_fit() -> None:
    index = load_index()
    assert index.search("SEC zeppelin") == []
    assert {body.country for body in index.search("UK energy")} == {"GB"}
    for query in ("germany parliament", "德国议会"):
        assert {body.id for body in index.search(query)} == {"de-bundestag", "de-bundesrat"}


def test_a_whole_name_leaves_out_what_is_merely_about_the_same() -> None:
    assert [body.id for body in load_index().search("国家能源局")] == ["cn-nea"]
    assert len(load_index().search("能源局")) > 20


def test_country_and_topic_narrow_what_is_found() -> None:
    index = load_index()
    japanese = index.search("", country="JP", topic="energy")
    assert japanese
    assert all(body.country == "JP" and "energy" in body.topics for body in japanese)
    assert index.search("证监会", country="HK")[0].id == "hk-sfc"
    assert len(index.search("")) == 1730
    by_topic = index.search("能源", country="JP")
    assert {body.id for body in japanese} <= {body.id for body in by_topic}

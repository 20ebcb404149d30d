import pytest

from monitor.i18n.catalogue import render
from monitor.sweep.summarise import find_fault

TEXT = "2026年2月3日，总署印发方案，提出到2030年装机容量达到1.5亿千瓦，同比增长12.5%。" * 3


@pytest.mark.parametrize(
    ("summary", "fault"),
    [
        ("", "empty"),
        ("太短", "too short"),
        ("关于印发绿色能源中长期发展总体实施方案的正式通知", "it repeats the title"),
        ("方案提出到2030年装机容量达到2.5亿千瓦，比现在有明显增长。", "not on the page"),
        ("方案提出到2035年装机容量达到1.5亿千瓦，比现在有明显增长。", "not on the page"),
        ("方案提出到2030年装机容量达到15000万千瓦，同比增长百分之十二点五。", ""),
        ("方案" * 600, "too long"),
        ("方案提出到2030年装机容量达到1.5亿千瓦，详见 http://evil.example/a 。", "it holds a web address"),
    ],
)
def test_a_summary_is_kept_only_if_it_says_something_that_the_page_says(summary: str, fault: str) -> None:
    found = find_fault(summary, title="关于印发绿色能源中长期发展总体实施方案的正式通知", text=TEXT)
    assert (found is not None) == bool(fault)
    assert found is None or render(found, "en").startswith(fault)

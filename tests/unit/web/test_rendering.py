"""How pages show texts: cut with an ellipsis, and with dates that stay on one line."""

import pytest

from monitor.clock import SystemClock
from monitor.config.model import Settings
from monitor.web.ui.rendering import Templates


def show(template: str, text: str) -> str:
    environment = Templates(Settings(), SystemClock())._build_environment("en")
    return environment.from_string(template).render(text=text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("储能办法", "储能办法"),
        ("国家能源局关于印发储能办法的通知", "国家能源局关于印发…"),
        ("Inertia (services market) rule", "Inertia…"),
        ("Pneumonoultramicroscopic", "Pneumonou…"),
    ],
)
def test_a_long_text_is_cut_between_words_where_it_has_words(text: str, shown: str) -> None:
    assert show("{{ text|truncate(10) }}", text) == shown


def test_no_line_ends_within_a_date_and_what_others_wrote_stays_text() -> None:
    assert show("{{ text|unbroken }}", "<b> 2026-03-01, 12026-03-011") == (
        '&lt;b&gt; <span class="short">2026-03-01</span>, 12026-03-011'
    )

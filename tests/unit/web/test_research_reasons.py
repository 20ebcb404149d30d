"""Why a research went by rule: each reason once, without that there is no model."""

from monitor.i18n.message import Message
from monitor.web.ui.research_progress import list_reasons

TIMEOUT = Message.of("page.timeout", seconds=30)


def test_the_same_reason_is_said_once_and_in_order() -> None:
    assert list_reasons([TIMEOUT, Message.other("a"), Message.of("page.timeout", seconds=30)]) == [
        TIMEOUT,
        Message.other("a"),
    ]


def test_that_there_is_no_model_is_no_reason() -> None:
    assert list_reasons([Message.of("research.no_model"), TIMEOUT]) == [TIMEOUT]

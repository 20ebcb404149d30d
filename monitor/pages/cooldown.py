"""Sites that said no: after a few blocks in a row a host is left alone for the rest of the run."""

from monitor.domain.page import PageError, PageErrorCode
from monitor.domain.urls import host_of
from monitor.net.blocks import CAPTCHA_REQUIRED, TOO_OFTEN

MOST_BLOCKS = 3
_ASK_NO_MORE = frozenset({CAPTCHA_REQUIRED, TOO_OFTEN})


class CoolDown:
    """The blocks of one run, by host.

    Only a captcha and a 429 count: they mean the asker, so that whatever is asked next makes it worse. A page that is
    refused (403) or kept from robots may have neighbours that are not.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, tuple[int, PageError]] = {}

    def verdict(self, url: str) -> PageError | None:
        """Why the url's host is not asked any more in this run; None while it may be."""
        count, last = self._blocks.get(host_of(url), (0, None))
        if last is None or count < MOST_BLOCKS:
            return None
        message = f"Not asked: this site turned us away {count} times in a row in this run; last: {last.message}"
        return last.model_copy(update={"message": message})

    def record(self, url: str, error: PageError | None) -> bool:
        """Take down what a request came to, `error` None where it was answered; whether it was such a block."""
        host = host_of(url)
        if error is not None and is_block(error):
            count, _ = self._blocks.get(host, (0, None))
            self._blocks[host] = (count + 1, error)
            return True
        if error is None or error.code is not PageErrorCode.WEB_BLOCKED:
            self._blocks.pop(host, None)
        return False


def is_block(error: PageError) -> bool:
    """Whether a site asks us to stop asking."""
    return error.code is PageErrorCode.WEB_BLOCKED and error.detail_code in _ASK_NO_MORE

"""What a fetch raises: one error that carries the page's error, so that callers record it as it stands."""

from monitor.domain.page import PageError, PageErrorCode
from monitor.errors import WorkFailed
from monitor.net.response import Response


class FetchFailed(WorkFailed):
    """The outside gave no usable answer, or we refused to ask.

    `error` is what the page says about it; `response` the answer, where there was one (a block page is kept for
    debugging); `may_retry` whether asking again at once could help, `retry_after_s` how long the site asks us to wait.
    """

    def __init__(
        self,
        error: PageError,
        *,
        response: Response | None = None,
        may_retry: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.response = response
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s


def failed(
    code: PageErrorCode, message: str, *, detail_code: str | None = None, may_retry: bool = False
) -> FetchFailed:
    """A failure without an answer behind it."""
    return FetchFailed(PageError(code=code, detail_code=detail_code, message=message), may_retry=may_retry)

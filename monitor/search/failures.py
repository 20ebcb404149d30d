"""What an answer that is none means, in the error codes of web.search."""

from urllib.parse import urljoin, urlsplit

from monitor.domain.page import PageError, PageErrorCode
from monitor.domain.searching import SearchError, SearchErrorCode, SearchFailed
from monitor.net.blocks import CAPTCHA_REQUIRED, TOO_OFTEN, error_of_status
from monitor.net.response import Response
from monitor.search.cleaning import plain_text

_SAID_CHARS = 200
_KEY_REFUSED = (401, 403)
_PASSING = (SearchErrorCode.TIMEOUT, SearchErrorCode.NETWORK, SearchErrorCode.BAD_GATEWAY)
_CODES = {
    PageErrorCode.TIMEOUT: SearchErrorCode.TIMEOUT,
    PageErrorCode.NETWORK: SearchErrorCode.NETWORK,
    PageErrorCode.BAD_GATEWAY: SearchErrorCode.BAD_GATEWAY,
    PageErrorCode.WEB_BLOCKED: SearchErrorCode.WEB_BLOCKED,
}


def failure(
    code: SearchErrorCode, message: str, *, detail_code: str | None = None, retryable: bool | None = None
) -> SearchFailed:
    """A failure; what passes by itself (time, network, a gateway, too many questions) may be tried again."""
    passes = code in _PASSING or detail_code == TOO_OFTEN
    return SearchFailed(
        SearchError(
            type=code, detail_code=detail_code, message=message, retryable=passes if retryable is None else retryable
        )
    )


def captcha(message: str = "The service asks for a captcha, which is never solved here.") -> SearchFailed:
    """A failure that means whoever asks by this way."""
    return failure(SearchErrorCode.WEB_BLOCKED, message, detail_code=CAPTCHA_REQUIRED)


def unreadable(message: str) -> SearchFailed:
    """An answer that is not what the service's answers look like."""
    return failure(SearchErrorCode.PARSE, message)


def of_fetch(error: PageError) -> SearchFailed:
    """A request to which no answer came, or that was refused here."""
    code = _CODES.get(error.code, SearchErrorCode.PROVIDER)
    message = error.message.replace("The site ", "The service ")
    return failure(code, message, detail_code=error.detail_code)


def redirect_within(response: Response) -> str | None:
    """Where an answer sends us, if that is on the same host, not less safe and no captcha; else None."""
    if not 300 <= response.status < 400 or _leads_to_captcha(response):
        return None
    here, there = urlsplit(response.final_url), urlsplit(_target(response))
    is_same = there.netloc == here.netloc and there.scheme in (here.scheme, "https")
    return there.geturl() if is_same and there.geturl() != response.final_url else None


def check_page(response: Response) -> None:
    """`SearchFailed` where the answer of a service for people is a block or an error, by status and structure."""
    if 300 <= response.status < 400:
        raise captcha() if _leads_to_captcha(response) else _elsewhere(response)
    error = error_of_status(response.status, response.headers, response.body, response.final_url)
    if error is None:
        return
    if error.code is PageErrorCode.BAD_GATEWAY and response.status < 500:
        raise failure(SearchErrorCode.PROVIDER, f"The service did not take the query ({response.status}).")
    raise of_fetch(error)


def check_status(response: Response, said: str = "") -> None:
    """`SearchFailed` where the answer of a service for programs is an error; `said` is its own word for it."""
    status = response.status
    if 200 <= status < 300:
        return
    tail = f": {plain_text(said, _SAID_CHARS)}" if said.strip() else ""
    if status in _KEY_REFUSED:
        raise failure(SearchErrorCode.AUTH, f"The service refuses the key ({status}){tail or '.'}")
    if status == 429:
        raise failure(
            SearchErrorCode.WEB_BLOCKED, f"The service was asked too often (429){tail or '.'}", detail_code=TOO_OFTEN
        )
    if status == 408:
        raise failure(SearchErrorCode.TIMEOUT, "The service gave up waiting (408).")
    if status >= 500:
        raise failure(SearchErrorCode.BAD_GATEWAY, f"The service answered with an error ({status}){tail or '.'}")
    if 300 <= status < 400:
        raise _elsewhere(response)
    mend = tail or (": look at its base_url." if status in (404, 405, 410) else ".")
    raise failure(SearchErrorCode.PROVIDER, f"The service did not take the query ({status}){mend}")


def _leads_to_captcha(response: Response) -> bool:
    return error_of_status(200, {}, b"", _target(response)) is not None


def _target(response: Response) -> str:
    """Where a redirect leads; empty where that is no url."""
    try:
        target = urljoin(response.final_url, response.headers.get("location", ""))
        urlsplit(target)
    except ValueError:
        return ""
    return target


def _elsewhere(response: Response) -> SearchFailed:
    there = plain_text(response.headers.get("location", ""), _SAID_CHARS) or "nowhere"
    return failure(
        SearchErrorCode.PROVIDER,
        f"The service sends us elsewhere ({response.status}, {there}): set its base_url to where it is.",
    )

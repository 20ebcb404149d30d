"""What an answer that is no page means: blocks told apart from failures, by status and structure.

Never by the words of a page: a result page echoes the query, and an article about captchas is an article.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import PageError, PageErrorCode

CAPTCHA_REQUIRED = "captcha_required"
SCRIPT_COOKIE = "http_412"
TOO_OFTEN = "http_429"

_NOT_FOUND = (404, 410)
_REFUSED = (401, 403, 407, 451)
_TEMPORARY = (502, 503, 504)
# Statuses that script-cookie walls answer with: the script in the body sets a cookie and loads the page again.
_SCRIPT_COOKIE = (202, 412, 521)
_CAPTCHA_PATH = re.compile(r"/(captcha(/|\.|$)|anomaly\.js|cdn-cgi/challenge)", re.IGNORECASE)
_CHALLENGE = (
    "form#challenge-form, div#challenge-running, #cf-challenge-running, form[action*='captcha'], "
    "form[action*='anomaly.js'], #captcha-container, #px-captcha, iframe[src*='captcha-delivery.com']"
)
_CHALLENGE_MAX_CHARS = 2_000  # visible characters; a page with more than that is a page
_SHELL_MAX_CHARS = 40


def error_of_status(status: int, headers: Mapping[str, str], body: bytes, url: str) -> PageError | None:
    """The error that an answer stands for, or None where it is a page.

    `headers` have lower-case names; `url` is the final one, because some walls are a redirect to a captcha's address.
    """
    if _asks_for_captcha(status, headers, body, url):
        return _blocked(CAPTCHA_REQUIRED, "The site asks for a captcha, which is never solved here.")
    if status == 412 or (status in _SCRIPT_COOKIE and _is_script_only(body)):
        return _blocked(SCRIPT_COOKIE, f"The site lets only browsers in: it answered {status} with a script.")
    if status == 429:
        return _blocked(TOO_OFTEN, "The site says that it was asked too often (429).")
    if status in _REFUSED:
        return _blocked("http_403", f"The site refuses to show this page ({status}).")
    if status in _NOT_FOUND:
        return PageError(code=PageErrorCode.NOT_FOUND, message=f"There is no such page ({status}).")
    if status == 408:
        return PageError(code=PageErrorCode.TIMEOUT, message="The site gave up waiting (408).")
    if status >= 400 or 300 <= status < 400:
        return PageError(code=PageErrorCode.BAD_GATEWAY, message=f"The site answered with an error ({status}).")
    return None


def may_change(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the same question may get another answer in a moment: 502, 503, 504, and a 429 that says when."""
    return status in _TEMPORARY or (status == 429 and "retry-after" in headers)


def _blocked(detail_code: str, message: str) -> PageError:
    return PageError(code=PageErrorCode.WEB_BLOCKED, detail_code=detail_code, message=message)


def _asks_for_captcha(status: int, headers: Mapping[str, str], body: bytes, url: str) -> bool:
    if headers.get("cf-mitigated") == "challenge" or headers.get("x-amzn-waf-action") in ("captcha", "challenge"):
        return True
    if status in _NOT_FOUND:
        return False
    # Only the path of where we ended counts: a query may be about anything.
    if _CAPTCHA_PATH.search(urlsplit(url).path) and len(body) < 200_000:
        return True
    if b"challenge" not in body and b"captcha" not in body and b"anomaly" not in body:
        return False
    tree = LexborHTMLParser(body[:200_000])
    return tree.css_first(_CHALLENGE) is not None and len(_visible_text(tree)) < _CHALLENGE_MAX_CHARS


def _is_script_only(body: bytes) -> bool:
    if not body.strip() or len(body) > 500_000:
        return False
    tree = LexborHTMLParser(body)
    return tree.css_first("script") is not None and len(_visible_text(tree)) <= _SHELL_MAX_CHARS


def _visible_text(tree: LexborHTMLParser) -> str:
    tree.strip_tags(["script", "style", "noscript", "template"])
    return " ".join(tree.body.text(separator=" ").split()) if tree.body else ""

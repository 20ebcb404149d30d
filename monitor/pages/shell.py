"""Pages that are empty until a script has run."""

import re

from monitor.domain.page import Page

_ROOT = re.compile(
    r"<(?:div|main|section|app-root)[^>]*\bid=[\"']?(?:app|root|__next|__nuxt|q-app|react-root|main-app|"
    r"container-app|vue-app|ember\d*|application)[\"']?[^>]*>",
    re.IGNORECASE,
)
_APP = re.compile(
    r"<app-root|ng-app|data-reactroot|ng-version|id=[\"']?__next|window\.__(?:NUXT|INITIAL_STATE)__|"
    r"data-server-rendered",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"<noscript[^>]*>.{0,600}?(?:enable\s+javascript|javascript\s+(?:is\s+)?(?:required|enabled|disabled)|"
    r"needs?\s+javascript|without\s+javascript|启用\s*javascript|开启\s*javascript|javascript\s*(?:を有効|aktivier))",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY_ELEMENT = re.compile(r"<(div|main|section)\b[^>]*\bid=[^>]*>\s*</\1\s*>", re.IGNORECASE)
_LOADED_SCRIPT = re.compile(r"<script\b[^>]*\bsrc\s*=", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_FILLS_LIST = re.compile(
    r"\$\.(?:ajax|get|post|getJSON)\s*\(|XMLHttpRequest|\bfetch\s*\(|axios|\.innerHTML\s*\+?=|v-for=|ng-repeat=|"
    r"\{\{\s*\w+\.\w+|document\.write\s*\(",
    re.IGNORECASE,
)
_EMPTY_LIST = re.compile(
    r"<(ul|ol|tbody|dl|div)\b[^>]*(?:id|class)=[\"'][^\"']*(?:list|news|data|content|result|"
    r"table)[^\"']*[\"'][^>]*>\s*(?:<!--.*?-->\s*)?</\1>",
    re.IGNORECASE | re.DOTALL,
)
_COOKIE_CHALLENGE = re.compile(
    r"document\.cookie\s*=|location\.(?:reload|replace|href)|window\.location", re.IGNORECASE
)
_LITTLE_TEXT = 300
_HARDLY_ANY_TEXT = 80


def needs_browser(page: Page, html: str) -> bool:
    """Whether a page that was loaded without a browser is a shell that its scripts fill.

    Told by structure: hardly any text, no candidates, and a script that would draw (an application's empty root, a
    notice for readers without scripts, an empty list that a request fills, a script that sets a cookie and reloads).
    """
    if page.rendered or page.error is not None or page.candidates:
        return False
    if not _SCRIPT.search(html):
        return False
    visible = len(_visible_text(html))
    if visible < _HARDLY_ANY_TEXT:
        return bool(
            _ROOT.search(html)
            or _APP.search(html)
            or _NOTICE.search(html)
            or _FILLS_LIST.search(html)
            or _COOKIE_CHALLENGE.search(html)
            or (_EMPTY_ELEMENT.search(html) and _LOADED_SCRIPT.search(html))
        ) or (len(html) > 2_000 and len(_SCRIPT.findall(html)) >= 2)
    if visible < _LITTLE_TEXT and (_ROOT.search(html) or _APP.search(html) or _NOTICE.search(html)):
        return True
    if len(page.text) < _HARDLY_ANY_TEXT and visible < 0.03 * len(html) and len(_SCRIPT.findall(html)) >= 3:
        return True
    return bool(len(page.text) < _LITTLE_TEXT and _EMPTY_LIST.search(html) and _FILLS_LIST.search(html))


def _visible_text(html: str) -> str:
    without = re.sub(
        r"<(script|style|noscript|template|head)\b.*?(?:</\1\s*>|$)", " ", html, flags=re.IGNORECASE | re.DOTALL
    )
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", without)).strip()

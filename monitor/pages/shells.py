"""Detects pages that are shells, which a browser's scripts fill with content."""

import re

from monitor.page import Page

_EMPTY_APP = re.compile(
    r"<(?:div|main|section|app-root)[^<>]{0,400}\bid=[\"']?(?:app|root|__next|__nuxt|q-app|react-root|main-app|"
    r"container-app|vue-app|ember\d{0,9}|application)[\"']?[^<>]{0,400}>|"
    r"<app-root|ng-app|data-reactroot|ng-version|id=[\"']?__next|window\.__(?:NUXT|INITIAL_STATE)__|"
    r"data-server-rendered|"
    r"<noscript[^<>]{0,200}>.{0,600}?(?:enable\s+javascript|javascript\s+(?:is\s+)?(?:required|enabled|disabled)|"
    r"needs?\s+javascript|without\s+javascript|启用\s*javascript|开启\s*javascript|javascript\s*(?:を有効|aktivier))",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY_ELEMENT = re.compile(r"<(div|main|section)\b[^<>]{0,400}\bid=[^<>]{0,400}>\s{0,200}</\1\s{0,9}>", re.IGNORECASE)
_LOADED_SCRIPT = re.compile(r"<script\b[^<>]{0,400}\bsrc\s{0,9}=", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_FILLS_LIST = re.compile(
    r"\$\.(?:ajax|get|post|getJSON)\s*\(|XMLHttpRequest|\bfetch\s*\(|axios|\.innerHTML\s*\+?=|v-for=|ng-repeat=|"
    r"\{\{\s*\w+\.\w+|document\.write\s*\(",
    re.IGNORECASE,
)
_EMPTY_LIST = re.compile(
    r"<(ul|ol|tbody|dl|div)\b[^<>]{0,400}?(?:id|class)=[\"'][^\"'<>]{0,80}?(?:list|news|data|content|result|"
    r"table)[^\"'<>]{0,80}[\"'][^<>]{0,400}>\s{0,200}(?:<!--.{0,2000}?-->\s{0,200})?</\1>",
    re.IGNORECASE | re.DOTALL,
)
_COOKIE_CHALLENGE = re.compile(
    r"document\.cookie\s*=|location\.(?:reload|replace|href)|window\.location", re.IGNORECASE
)
_MAX_SHELL_CHARS = 300
_MIN_CONTENT_CHARS, _MIN_LINKS = 200, 5
_MAX_EMPTY_CHARS = 80


def needs_browser(page: Page, html: str) -> bool:
    """Whether a page that was loaded without a browser is a shell that its scripts fill.

    By structure: hardly any text, no candidates, and scripts that would render it (an application's empty root, a
    `noscript` notice, an empty list with a request that fills it, a cookie challenge).
    """
    if page.rendered or page.error is not None or page.candidates:
        return False
    script_count = len(_SCRIPT.findall(html))
    if not script_count:
        return False
    visible = sum(map(len, page.lines)) or len(page.text)
    if visible < _MAX_SHELL_CHARS and _EMPTY_APP.search(html):
        return True
    if visible < _MAX_EMPTY_CHARS:
        has_empty_root = _EMPTY_ELEMENT.search(html) and _LOADED_SCRIPT.search(html)
        is_filled = _FILLS_LIST.search(html) or _COOKIE_CHALLENGE.search(html) or has_empty_root
        return bool(is_filled) or (len(html) > 2_000 and script_count >= 2)
    if len(page.text) < _MAX_EMPTY_CHARS and visible < 0.03 * len(html) and script_count >= 3:
        return True
    return bool(len(page.text) < _MAX_SHELL_CHARS and _EMPTY_LIST.search(html) and _FILLS_LIST.search(html))


def is_empty_shell(page: Page, html: str) -> bool:
    """Whether the page has nothing to read though by its structure it should; a rendered page may be short."""
    has_links = page.rendered and len(page.links) >= _MIN_LINKS
    if page.candidates or len(page.text) >= _MIN_CONTENT_CHARS or has_links:
        return False
    return needs_browser(page.model_copy(update={"rendered": False}), html)

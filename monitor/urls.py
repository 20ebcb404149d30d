"""URLs as names of documents: the form to store, the key to compare, and the site that they belong to."""

import re
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

_IPV4 = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_TRACKING = re.compile(r"^(utm_\w+|spm|fbclid|gclid|msclkid|mc_[ce]id|_ga|yclid|igshid|wt\.mc_id)$", re.IGNORECASE)
_MAX_KEY_CHARS = 365
_SAFE_PATH = "/:@!$&'()*+,;=-._~%"


def clean_url(url: str, base: str | None = None) -> str | None:
    """Return the absolute http(s) form of a link without fragment and tracking parameters, or None if it has none.

    Letter case of the path, order of the query and trailing slash stay as written. Characters that a URL must not
    contain (spaces, Chinese) are percent-encoded as UTF-8.
    """
    try:
        joined = urljoin(base, url.strip()) if base else url.strip()
        parts = urlsplit(re.sub(r"[\t\r\n]", "", joined))
        joined.encode()  # a lone surrogate, as "\ud800" in JSON, is not valid in a URL
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host or not _is_host(host):
        return None
    netloc = f"[{host}]" if ":" in host else host.rstrip(".").lower()
    if port is not None and port != {"http": 80, "https": 443}[parts.scheme.lower()]:
        netloc = f"{netloc}:{port}"
    path = quote(parts.path, safe=_SAFE_PATH) or "/"
    return urlunsplit(SplitResult(parts.scheme.lower(), netloc, path, _remove_tracking(parts.query), ""))


def url_key(url: str) -> str:
    """Return a key that ignores scheme, `www.`, trailing slash and order of the query.

    It has at most 365 characters, so that every database can index it: a longer one ends in its SHA-256.
    """
    parts = urlsplit(clean_url(url) or url)
    host = parts.netloc.removeprefix("www.")
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    path = re.sub(r"/(index\.(s?html?|php|jsp|aspx?))?$", "", re.sub(r"/{2,}", "/", parts.path))
    key = f"{host}{path}?{query}".rstrip("?")
    return key if len(key) <= _MAX_KEY_CHARS else f"{key[:300]}#{sha256(key.encode()).hexdigest()}"


def get_host(url: str) -> str:
    """Return host and port in lower case; the empty string if the URL cannot be parsed."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def get_last_segment(url: str) -> str:
    """Return the last part of a URL's path, which stands for the title that a sitemap does not have."""
    return url.rstrip("/").rsplit("/", 1)[-1]


def is_on_site(url: str, site: str) -> bool:
    """Whether a URL's host is `site`, such as gov.cn, or a subdomain of it; a port in `site` has to match."""
    host, wanted = get_host(url), site.lower()
    host = host if ":" in wanted else host.partition(":")[0]
    return host == wanted or host.endswith(f".{wanted}")


def _is_host(host: str) -> bool:
    return not re.search(r"[\s<>\"'\\^`{|}%]", host)


def _remove_tracking(query: str) -> str:
    kept = [part for part in query.split("&") if part and not _TRACKING.match(part.split("=", 1)[0])]
    return quote("&".join(kept), safe=_SAFE_PATH + "?")


def get_registrable_domain(url: str) -> str:
    """Return the part of a host that one registrant holds, as `sample.gov.cn` for `zfxxgk.sample.gov.cn`.

    It follows the Public Suffix List of the installed publicsuffixlist. An address or a suffix itself, as `gov.cn`,
    stands for itself; under a suffix that the list lacks, the last two labels count.
    """
    return _find_registrable_domain((urlsplit(url).hostname or "").rstrip("."))


@lru_cache(maxsize=4096)
def _find_registrable_domain(host: str) -> str:
    if ":" in host or _IPV4.fullmatch(host):
        return host
    return _load_suffixes().privatesuffix(host) or host


@cache
def _load_suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # read when it is first asked

    return PublicSuffixList()


def is_same_site(url: str, other: str) -> bool:
    return get_registrable_domain(url) == get_registrable_domain(other)

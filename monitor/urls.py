"""Urls as names of documents: one form to store, one key to compare."""

import re
from hashlib import sha256
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

_TRACKING = re.compile(r"^(utm_\w+|spm|fbclid|gclid|msclkid|mc_[ce]id|_ga|yclid|igshid|wt\.mc_id)$", re.IGNORECASE)

_MAX_KEY_CHARS = 365

_SAFE_PATH = "/:@!$&'()*+,;=-._~%"


def clean_url(url: str, base: str | None = None) -> str | None:
    """The absolute form of a link: http(s), no fragment, no tracking parameters; None where it is no such link.

    What a page's author wrote is kept otherwise: letter case of the path, order of the query, trailing slash.
    Characters that a url may not hold (spaces, Chinese) are percent-encoded as UTF-8.
    """
    try:
        joined = urljoin(base, url.strip()) if base else url.strip()
        parts = urlsplit(re.sub(r"[\t\r\n]", "", joined))
        joined.encode()  # half a character, as "\ud800" in JSON, stands in no url
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
    """What two urls of the same document share: scheme, `www.`, trailing slash and order of the query folded away.

    A key is at most 365 characters, so that every database can index it: a longer one ends in its SHA-256.
    """
    parts = urlsplit(clean_url(url) or url)
    host = parts.netloc.removeprefix("www.")
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    path = re.sub(r"/(index\.(s?html?|php|jsp|aspx?))?$", "", re.sub(r"/{2,}", "/", parts.path))
    key = f"{host}{path}?{query}".rstrip("?")
    return key if len(key) <= _MAX_KEY_CHARS else f"{key[:300]}#{sha256(key.encode()).hexdigest()}"


def get_host(url: str) -> str:
    """Host and port, lower case; the empty string for what is no url."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def is_on_site(url: str, site: str) -> bool:
    """Whether a url's host is `site`, as gov.cn, or one beneath it; a port that `site` names has to be the url's."""
    host, wanted = get_host(url), site.lower()
    host = host if ":" in wanted else host.partition(":")[0]
    return host == wanted or host.endswith(f".{wanted}")


def _is_host(host: str) -> bool:
    return not re.search(r"[\s<>\"'\\^`{|}%]", host)


def _remove_tracking(query: str) -> str:
    kept = [part for part in query.split("&") if part and not _TRACKING.match(part.split("=", 1)[0])]
    return quote("&".join(kept), safe=_SAFE_PATH + "?")


# Names under which people register: gov.cn is nobody's, sample.gov.cn is. The full list has thousands of entries that
# change; these second-level words cover the sites of governments and companies.
_SECOND_LEVEL_SUFFIXES = frozenset(
    {"com", "net", "org", "gov", "edu", "ac", "co", "or", "go", "ne", "gob", "gouv", "gv", "mil", "govt", "gc"}
)


def get_registrable_domain(url: str) -> str:
    """The registrable part of a host: `sample.gov.cn` for `zfxxgk.sample.gov.cn`; an address stands for itself."""
    host = (urlsplit(url).hostname or "").lower()
    labels = host.split(".")
    if ":" in host or all(label.isdigit() for label in labels) or len(labels) <= 2:
        return host
    take = 3 if len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL_SUFFIXES else 2
    return ".".join(labels[-take:])


def is_same_site(url: str, other: str) -> bool:
    """Whether two urls lie on hosts of one registrant."""
    return get_registrable_domain(url) == get_registrable_domain(other)

"""Every entry of the catalogue is one that can be used: known values, real addresses, each address once."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from babel import Locale

from monitor.catalogue.bodies import (
    BodyConfidence,
    BodyLevel,
    BodySectionKind,
    CatalogueBody,
    get_country_name,
    load_catalogue_file,
)

RAW: dict[str, Any] = json.loads(files("monitor.catalogue").joinpath("bodies.json").read_text("utf-8"))
CATALOGUE = load_catalogue_file()
COUNTRIES = {code for code in Locale("en").territories if re.fullmatch("[A-Z]{2}", code)} - {"EU", "EZ", "UN", "ZZ"}
TRACKING = re.compile(
    r"utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|spm|jsessionid|phpsessid|_ga|yclid|igshid", re.IGNORECASE
)
RELAY = re.compile(
    r"rsshub|feedburner|feedspot|rss\.app|feedx|fetchrss|politepaul|mindynode|r\.jina\.ai|web\.archive\.org"
    r"|googleusercontent|github|gitlab|gitee|npmjs|pypi\.org|crates\.io|rubygems|packagist|docker|localhost|example\."
    r"|news\.google|translate\.goog|vercel|netlify|herokuapp|workers\.dev|allorigins|corsproxy|cors-anywhere",
    re.IGNORECASE,
)


def list_addresses(body: CatalogueBody) -> list[str]:
    return [body.url, *(section.url for section in body.sections)]


def find_faults(url: str) -> Iterator[str]:
    """What is wrong with an address that a body is watched at."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or parts.port not in (None, 80, 443) or parts.username:
        yield f"no plain web address: {url}"
    if "." not in host or re.fullmatch(r"[\d.]+", host) or RELAY.search(host):
        yield f"no host of a body: {url}"
    if any(TRACKING.fullmatch(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)):
        yield f"a tracking parameter: {url}"
    if re.search(r"[\s{}<>|^`\"\\]", url):
        yield f"a character that no address has: {url}"
    if url.count("[") != url.count("]"):
        yield f"cut off: {url}"
    if re.search(
        r"/(api|help/api|api[.-]?(docs?|documentation|webservice)?)(/v\d[^/]*)?/?(\.html?)?$", parts.path, re.IGNORECASE
    ):
        yield f"an interface for programs, which is no list of documents: {url}"


def key(url: str) -> str:
    """The same for an address that is written with another scheme, with www, an index page or a closing slash."""
    parts = urlsplit(url)
    path = re.sub(r"/(index|default)\.(s?html?|aspx|php|jsp)$", "/", parts.path).rstrip("/")
    return f"{(parts.hostname or '').removeprefix('www.')}{path}?{parts.query}#{parts.fragment}"


def test_it_has_all_bodies_and_says_how_it_was_made() -> None:
    assert len(CATALOGUE.bodies) == 1730
    assert sum(len(body.sections) for body in CATALOGUE.bodies) == 2343
    assert "No address was opened" in CATALOGUE.provenance
    assert len(CATALOGUE.topics) == len({topic.slug for topic in CATALOGUE.topics}) == 25
    assert all(topic.zh and topic.en for topic in CATALOGUE.topics)


def test_every_body_has_known_values_and_a_country_with_names_in_both_languages() -> None:
    topics = {topic.slug for topic in CATALOGUE.topics}
    faults = []
    for body in CATALOGUE.bodies:
        checks = {
            "id": re.fullmatch(r"[a-z0-9][a-z0-9-]{1,60}", body.id),
            "name": 0 < len(body.name.strip()) <= 120 and 0 < len(body.name_en.strip()) <= 120,
            "country": body.country == "int" or body.country in COUNTRIES,
            "language": re.fullmatch(r"[a-z]{2}(-[A-Z][a-z]{3})?", body.language),
            "topics": body.topics and topics.issuperset(body.topics) and len({*body.topics}) == len(body.topics),
            "seen_in": all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in body.seen_in),
            "sections": all(
                0 < len(section.name.strip()) <= 80 and len(section.note) <= 160 for section in body.sections
            ),
            "country names": len({get_country_name(body.country, language) for language in ("zh", "en")}) == 2,
        }
        faults += [f"{body.id}: {name}" for name, holds in checks.items() if not holds]
    assert not faults


def test_every_address_is_one_of_a_body_and_stands_there_once() -> None:
    faults = [fault for body in CATALOGUE.bodies for url in list_addresses(body) for fault in find_faults(url)]
    counts = Counter(key(url) for body in CATALOGUE.bodies for url in list_addresses(body))
    ids = Counter(body.id for body in CATALOGUE.bodies)
    assert not faults
    assert [address for address, count in counts.items() if count > 1] == []
    assert [body_id for body_id, count in ids.items() if count > 1] == []


def test_the_file_has_no_field_that_the_program_passes_over() -> None:
    assert {*RAW} == {"provenance", "topics", "bodies"}
    fields = {*CatalogueBody.model_fields}
    assert {name for body in RAW["bodies"] for name in body} == fields
    assert {name for body in RAW["bodies"] for section in body.get("sections", []) for name in section} == {
        "name",
        "url",
        "kind",
        "note",
    }


def test_every_value_of_the_vocabularies_is_used() -> None:
    bodies = CATALOGUE.bodies
    assert {body.level for body in bodies} == {*BodyLevel}
    assert {body.confidence for body in bodies} == {*BodyConfidence}
    assert {section.kind for body in bodies for section in body.sections} == {*BodySectionKind}

"""The settings as the pages show them: grouped, each with a name and a hint in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

FieldKind = Literal["text", "number", "choice", "switch", "words", "numbers", "pairs", "prices", "phases"]
"""How a value is typed: `words` and `numbers` are parted by commas, `pairs` stand as `name = value`, one a line."""


def _(english: str) -> str:
    """Marks a sentence for translation; it is translated when it is shown."""
    return english


@dataclass(frozen=True)
class SettingField:
    path: str
    label: str
    hint: str = ""
    kind: FieldKind = "text"
    options: Sequence[tuple[str, str]] = ()

    @property
    def choices(self) -> Sequence[tuple[str, str]]:
        """What a list to choose from holds."""
        return self.options or (("true", _("Yes")), ("false", _("No")))


@dataclass(frozen=True)
class FieldGroup:
    title: str
    fields: Sequence[SettingField] = field(default_factory=tuple)


MODEL_PHASES = (
    ("navigate", _("finding sections")),
    ("crawl", _("reading sections")),
    ("summarise", _("summaries")),
    ("rank", _("ranking")),
    ("plan", _("research: plan")),
    ("search", _("research: search")),
    ("modeling", _("research: model")),
    ("report", _("research: report")),
)

_F = SettingField

MODEL_GROUPS = (
    FieldGroup(
        _("Endpoint"),
        (
            _F(
                "llm.enabled",
                _("Ask a model"),
                _("Without a model every phase works by rule."),
                "choice",
                (
                    ("auto", _("when an address or a key is there")),
                    ("true", _("always")),
                    ("false", _("never: by rule")),
                ),
            ),
            _F(
                "llm.base_url",
                _("Address"),
                _("Any server that speaks the chat-completions protocol, as https://host/v1. Empty: that of OpenAI."),
            ),
            _F("llm.model", _("Model")),
        ),
    ),
    FieldGroup(
        _("Another model for a phase"),
        (_F("llm.models", _("Another model for a phase"), _("Empty: the model above."), "phases", MODEL_PHASES),),
    ),
    FieldGroup(
        _("Manner"),
        (
            _F(
                "llm.temperature",
                _("Temperature"),
                _("0 is the most sober. Models that allow no sampling are asked without."),
                "number",
            ),
            _F("llm.top_p", _("Top p"), "", "number"),
            _F("llm.timeout_s", _("Longest wait for one answer, in seconds"), "", "number"),
            _F("llm.max_retries", _("Further tries after an error that may pass"), "", "number"),
            _F("llm.max_concurrency", _("Calls under way at once"), "", "number"),
        ),
    ),
    FieldGroup(
        _("Budgets and prices"),
        (
            _F(
                "llm.daily_token_budget",
                _("Tokens a day, over all runs"),
                _("Empty: no limit. What comes after goes by rule."),
                "number",
            ),
            _F("llm.run_token_budget", _("Tokens for one run"), _("Empty: no limit."), "number"),
            _F(
                "llm.prices",
                _("Prices for a million tokens"),
                _("One model a line: gpt-5 = 1.25 10 (what goes in, what comes out)."),
                "prices",
            ),
        ),
    ),
)

SEARCH_GROUPS = (
    FieldGroup(
        _("Which backends are asked"),
        (
            _F(
                "search.backend",
                _("Backends, in their order"),
                _(
                    "Parted by commas: archive, and the services named below. "
                    "Several are asked at once and merged. stub finds nothing real."
                ),
                "words",
            ),
            _F(
                "search.timeout_ms",
                _("Longest wait for a backend, in milliseconds"),
                _("Empty: as for any request."),
                "number",
            ),
            _F(
                "search.cache_s",
                _("How long an answer serves the same query again, in seconds"),
                _("0: not at all."),
                "number",
            ),
        ),
    ),
    FieldGroup(
        _("How results are weighed"),
        (
            _F("search.weights.relevance", _("Weight of the fit with the query"), "", "number"),
            _F("search.weights.freshness", _("Weight of the age"), "", "number"),
            _F("search.weights.authority", _("Weight of who publishes it"), "", "number"),
            _F("retrieval.half_life_days", _("Days after which a result is half as fresh"), "", "number"),
            _F(
                "retrieval.authority",
                _("Authority of domains"),
                _("One a line, 0 to 1: example.org = 0.9. It comes before Monitor's own table."),
                "pairs",
            ),
        ),
    ),
)

LIMIT_GROUPS = (
    FieldGroup(
        _("What a run reads"),
        (
            _F(
                "sweep.crawl",
                _("Sections are read"),
                "",
                "choice",
                (("agent", _("by the model, completed by rule")), ("rule", _("always by rule"))),
            ),
            _F("sweep.window_days", _("Days looked at, today included"), _("A source may have its own."), "number"),
            _F(
                "sweep.max_items",
                _("Items saved from one section in one run"),
                _("A source may have its own."),
                "number",
            ),
            _F("sweep.max_pages_per_section", _("List pages read in one section"), "", "number"),
            _F(
                "sweep.revisit_days",
                _("Look again at an item's page after so many days"),
                _("Parted by commas; empty: never."),
                "numbers",
            ),
        ),
    ),
    FieldGroup(
        _("The model's work"),
        (
            _F("sweep.max_turns", _("Model calls for one section"), "", "number"),
            _F("sweep.general_max_turns", _("Model calls for a whole site"), "", "number"),
            _F("sweep.summary_concurrency", _("Summaries written at once"), "", "number"),
            _F("sweep.summary_max_chars", _("Characters of a text that a summary is made from"), "", "number"),
            _F("sweep.context_max_chars", _("Largest context of a section's agent, in characters"), "", "number"),
            _F("sweep.page_max_chars", _("Largest text form of a page, in characters"), "", "number"),
        ),
    ),
    FieldGroup(
        _("Manners towards sites"),
        (
            _F(
                "pages.render",
                _("Pages are drawn in the browser"),
                "",
                "choice",
                (("auto", _("where that is needed")), ("always", _("always")), ("never", _("never"))),
            ),
            _F("pages.delay_s", _("Pause between two requests to one host, in seconds"), "", "number"),
            _F("pages.respect_robots", _("Obey robots.txt"), "", "switch"),
            _F("pages.timeout_s", _("Longest wait for one page, in seconds"), "", "number"),
            _F("pages.max_concurrency", _("Pages drawn at once"), "", "number"),
            _F("pages.max_bytes", _("Largest page or document that is read, in bytes"), "", "number"),
            _F("pages.browser.recycle_after", _("Drawn pages after which the browser is started anew"), "", "number"),
        ),
    ),
    FieldGroup(
        _("The service"),
        (
            _F(
                "work.retention_days",
                _("Days that texts and records are kept"),
                _("Known addresses are kept for ever."),
                "number",
            ),
            _F("work.concurrency", _("Runs under way at once in one worker"), "", "number"),
            _F("work.max_runs", _("Runs under way at once in all workers together"), _("Empty: no limit."), "number"),
            _F("work.jitter_s", _("Spread runs that are due at once over so many seconds"), "", "number"),
            _F("work.blackout", _("Hours in which no planned run starts"), _("As 23:00-06:00; they start after it.")),
            _F("work.misfire_grace_s", _("How late a planned run may still start, in seconds"), "", "number"),
        ),
    ),
    FieldGroup(
        _("Research"),
        (
            _F("research.max_paragraphs", _("Paragraphs of a report"), "", "number"),
            _F("research.max_reflections", _("Rounds of further search for a paragraph"), "", "number"),
            _F("research.max_results", _("Results of one search"), "", "number"),
            _F("research.content_max_chars", _("Characters of one result that are read"), "", "number"),
            _F("research.concurrency", _("Paragraphs under way at once"), "", "number"),
            _F("research.token_budget", _("Tokens for one research"), _("Empty: no limit."), "number"),
            _F("research.cost_budget", _("Money for one research, by the prices"), _("Empty: no limit."), "number"),
        ),
    ),
)

NETWORK_GROUPS = (
    FieldGroup(
        _("The way out"),
        (
            _F(
                "network.proxy",
                _("Proxy"),
                _(
                    "http(s) or socks, with user and password where it asks for them: they are kept "
                    "encrypted and not shown again."
                ),
            ),
            _F("network.user_agent", _("User agent"), _("Empty: Monitor's own.")),
            _F("network.timeout_s", _("Longest wait for one request, in seconds"), "", "number"),
            _F(
                "network.ca_bundle",
                _("Certificates of your organisation"),
                _("The whole path of a file on the service's machine."),
            ),
            _F("network.allow_legacy_tls", _("Accept servers with TLS 1.0/1.1 and old ciphers"), "", "switch"),
            _F(
                "network.allowed_private_hosts",
                _("Private hosts that may be asked"),
                _("Parted by commas, as 10.0.0.5:8099; all other private addresses are refused."),
                "words",
            ),
            _F(
                "pages.browser.endpoint",
                _("A browser that runs elsewhere"),
                _("As ws://host:port; empty: one of its own."),
            ),
        ),
    ),
    FieldGroup(
        _("Place and look"),
        (
            _F("web.public_url", _("The address that readers type"), _("For links in briefings, and behind a proxy.")),
            _F("timezone", _("Time zone"), _("As Asia/Shanghai; of dates and schedules where a source names none.")),
            _F(
                "briefing.template",
                _("The firm's Word file for briefings"),
                _("The whole path of a .docx or .dotx on the service's machine."),
            ),
        ),
    ),
)

SEARCH_SERVICE_FIELDS = (
    ("base_url", _("Address"), _("Scheme, host and port in place of the service's own."), "text"),
    ("timeout_ms", _("Longest wait, in milliseconds"), "", "number"),
    ("max_results", _("Results of a query that names no number"), "", "number"),
    ("daily_quota", _("Requests a day"), _("Empty: no limit."), "number"),
    ("price", _("Money for one request"), "", "number"),
)


def build_service_fields(name: str) -> tuple[SettingField, ...]:
    """The settings of one search service."""
    return tuple(
        SettingField(f"search.backends.{name}.{part}", label, hint, "number" if kind == "number" else "text")
        for part, label, hint, kind in SEARCH_SERVICE_FIELDS
    )

"""Reasons become codes with arguments: what was kept as an English sentence is read once, with the expressions of 0012.

A sentence that none of them matches is kept as `other` with its text. Nothing here imports the program's own catalogue:
this file keeps the sentences as they stood when it was written.

Revision 0013.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# Arguments in capitals hold another sentence of these.
_SENTENCES = {
    "cause.nothing_read": "No section could be read: {REASON}",
    "cause.nothing_there": "No section could be read.",
    "cause.no_list": "no list was found on the page",
    "cause.no_text": "the page has no text",
    "cause.no_article_date": "no date from the article: {REASON}",
    "cause.cut_short": "cut short at {LIMIT}",
    "cause.agent_cut_short": "the agent was cut short: {REASON}",
    "cause.left_by_agent": "the agent left {count} items in range, saved by rule",
    "cause.no_links": "the answer names no link of the page; sections by rule",
    "cause.no_numbers": "the answer holds no usable numbers",
    "cause.newest_first": "the answer holds no usable numbers; newest first",
    "cause.no_sentence": "no sentence of the answer rests on the items",
    "cause.no_reason": "no reason",
    "cause.possible_gap": "possible gap",
    "cause.robots": "robots.txt could not be read: {REASON}",
    "cause.sitemap_unread": "The sitemap could not be read: {REASON}",
    "cause.sitemaps_left": "The index names {count} more sitemaps, undated, that were not read.",
    "cause.not_recorded": "not kept as evidence: {REASON}",
    "cause.extract": "extract instead of a summary: {REASON}",
    "cause.empty": "empty",
    "cause.too_short": "too short",
    "cause.too_long": "too long",
    "cause.title_again": "it repeats the title",
    "cause.web_address": "it holds a web address",
    "cause.not_on_page": "not on the page: {figures}",
    "cause.download": "The document {url} could not be downloaded: {REASON}",
    "cause.document_missing": "There is no document {name}.",
    "cause.document_no_reason": "no reason was given.",
    "cause.document_reader_crashed": "its reader needed too much memory or time, or crashed.",
    "cause.not_there": "the page is not there",
    "cause.leads_to": "it leads to {url}",
    "cause.other_page": "another page is shown: {title}",
    "cause.hardly_any_text": "the page shows hardly any text",
    "cause.missed_times": "Missed: {REASON} ({count} planned times from {since} on).",
    "cause.missed": "Missed: {REASON}.",
    "cause.no_scheduler": "no scheduler was at work in time",
    "cause.still_waiting": "the run planned at {planned_at} still waits",
    "alarm.list_gone": "no list is found any more where {usual} candidates used to stand",
    "alarm.list_fell": "the list fell from {usual} candidates to {now}",
    "alarm.silent": "nothing new since {since}; something new usually comes every {days} days",
    "alarm.gap": "possible gap: nothing of what was newest last time stood on the first pages; {pages} were read, ended {ENDED}",
    "alarm.not_read": "not read in the last {runs} runs: {REASON}",
    "alarm.blocked_page": "the site keeps us from a page: {REASON}",
    "alarm.blocked_pages": "the site keeps us from {pages} pages: {REASON}",
    "page.captcha": "The site asks for a captcha, which is never solved here.",
    "page.script_challenge": "The site lets only browsers in: it answered {status} with a script.",
    "page.too_often": "The site says that it was asked too often (429).",
    "page.refused": "The site refuses to show this page ({status}).",
    "page.robots": "The site's robots.txt asks us not to load this page.",
    "page.empty_shell": "The page is an empty shell that its scripts did not fill.",
    "page.blocked_before": "Not asked: this site turned us away {count} times in a row in this run; last: {REASON}",
    "page.not_found": "There is no such page ({status}).",
    "page.gave_up": "The site gave up waiting (408).",
    "page.server_error": "The site answered with an error ({status}).",
    "page.no_answer_in_full": "The site did not answer in full within {seconds} s.",
    "page.no_answer": "The site did not answer in time.",
    "page.no_connection_in_time": "The site did not accept a connection in time.",
    "page.connection_failed": "The connection failed: {REASON}.",
    "page.no_secure_connection": "No secure connection could be made ({REASON}); network.ca_bundle adds certificates, network.allow_legacy_tls admits old servers.",
    "page.hung_up": "the site hung up",
    "page.no_address": "The site has no address.",
    "page.name_unresolved": "The name {host} could not be resolved.",
    "page.name_no_address": "The name {host} has no address.",
    "page.redirect_no_url": "The site redirects to “{url}”, no url.",
    "page.too_many_redirects": "The site redirects more than {count} times.",
    "page.endless_redirects": "The site redirects without end.",
    "page.not_decompressed": "The answer cannot be decompressed: {reason}.",
    "page.answer_too_large": "The answer is larger than {limit_mb} MB, the limit pages.max_bytes.",
    "page.too_large": "The page is larger than {limit_mb} MB, the limit pages.max_bytes.",
    "page.invalid_url": "“{url}” is no url.",
    "page.scheme_refused": "Only http and https are loaded, not {scheme}.",
    "page.address_disguised": "The address {host} is refused because it is written in disguise.",
    "page.address_private": "The address {host} is not public and is refused; name it under network.allowed_private_hosts if it may be asked.",
    "page.address_refused": "The page leads to an address that is refused.",
    "page.socket_refused": "The socket {path} is refused.",
    "page.leads_to_no_url": "The page leads to what is no url.",
    "page.browser_no_url": "The browser asked for what is no url.",
    "page.browser_no_host": "The browser asked for a url without a host.",
    "page.browser_failed": "The browser could not load the page: {reason}.",
    "page.browser_stopped": "The browser stopped {count} times while it drew this page.",
    "page.not_drawn": "The page was not drawn within {seconds} s.",
    "page.proxy_slow": "The proxy network.proxy did not connect in time.",
    "page.proxy_no_connection": "The proxy network.proxy did not connect ({reason}).",
    "page.proxy_no_answer_in_time": "The proxy network.proxy did not answer in time.",
    "page.proxy_no_answer": "The proxy network.proxy does not answer ({reason}).",
    "page.document": "This is a document to download, not a page.",
    "page.not_a_page": "This is no page but {content_type}.",
    "page.not_parsed": "The page cannot be parsed: {reason}",
    "page.no_search_answer": "the search gave no answer",
    "cause.run_moved": "The database was moved while this run was at work; `monitor runs retry` does it again.",
    "cause.research_moved": "The database was moved while this research was at work; `monitor research --resume` with its id goes on with it.",
    "cause.source_removed": "The source was removed before its run began.",
    "cause.process_ended": "The process that ran it ended without a word; `monitor runs retry {run_id}` does it again.",
    "cause.given_up": "The run broke off again and again and was given up; the log says why.",
    "cause.research_process_ended": "Its process ended without a word; `monitor research --resume {task_id}` goes on with it.",
    "cause.research_given_up": "It broke off again and again; `monitor research --resume {task_id}` goes on with it.",
    "cause.research_cancelled": "The research was cancelled.",
    "cause.document_no_file": "{name} is no file.",
    "cause.document_old": "{name} is of the old kind {kind}, which is not read; look for a {wanted} of it.",
    "cause.document_kind": "{name} is no document that can be read; PDF, DOCX, XLSX, text and HTML are.",
    "cause.document_empty": "{name} holds no text; it may be made of pictures.",
    "cause.document_large": "{name} is larger than {limit_mb} MB and is not read.",
    "cause.document_slow": "{name} could not be read within {seconds} s.",
    "cause.document_broken": "{name} cannot be read: {REASON}",
    "cause.resting": "{count} runs in a row failed, and the source rests until {until}",
    "alarm.dates_lost": "{dated} of {listed} candidates have a date beside them, where nearly all used to",
    "alarm.failing": "{runs} runs in a row failed: {REASON}",
}

_PAGE_CODES = (
    "InvalidUrl|NotFound|Timeout|NetworkError|BadGateway|TooLarge|UnsupportedType|ParseError|Forbidden|WebBlocked"
)

_PAGE_ERROR = re.compile(rf"(?P<kind>(?:{_PAGE_CODES})(?:/\w+)?): (?P<error>.*)", re.DOTALL)

_MODEL_FAILURE = re.compile(
    r"(?:http_(?P<status>\d{3})|(?P<outcome>timeout|network|auth|malformed|error|budget|circuit|not_recorded)): (?P<error>.*)",
    re.DOTALL,
)

# Words that stand for a value in another sentence.
_VALUES = ("end", "known", "early", "max_pages", "max_items", "error", "max_turns", "no_tool_call")

_CANDIDATE_REASONS = (
    "undated",
    "undated_not_opened",
    "undated_robots",
    "other_host",
    "keyword_excluded",
    "no_keyword",
    "max_items",
    "title_missing",
    "section_error",
    "agent",
    "rule",
)

_INTEGERS = {"count", "status", "now", "dated", "listed", "pages", "runs"}


def build_pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", template)
    pattern = re.escape(pieces[0])
    for index in range(1, len(pieces), 2):
        name, text = pieces[index], pieces[index + 1]
        # A value that comes first is one word: any words at all would be the beginning of every other sentence too.
        value = ".+?" if pieces[0] or index > 1 else r"\S+"
        pattern += f"(?P<{name}>{value})" + re.escape(text)
    return re.compile(pattern, re.DOTALL)


_PATTERNS = {code: build_pattern(template) for code, template in _SENTENCES.items()}


def parse_sentence(sentence: str) -> dict[str, Any]:
    """Return the code and arguments of a sentence that earlier versions wrote."""
    if sentence in _VALUES:
        return {"code": f"cause.ended_{sentence}", "args": {}}
    for code, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(sentence):
            values = found.groupdict().items()
            return {"code": code, "args": {name.lower(): parse_value(name, value) for name, value in values}}
    if found := _PAGE_ERROR.fullmatch(sentence):
        kind, error = found["kind"], parse_sentence(found["error"])
        if kind.startswith("WebBlocked/"):
            return {"code": "cause.page_blocked", "args": {"detail": kind.partition("/")[2], "error": error}}
        return {"code": "cause.page_error", "args": {"kind": kind, "error": error}}
    if found := _MODEL_FAILURE.fullmatch(sentence):
        error = parse_sentence(found["error"])
        if found["status"]:
            return {"code": "cause.model_http", "args": {"status": int(found["status"]), "error": error}}
        if found["outcome"] == "not_recorded":
            return {"code": "cause.model_failed", "args": {"outcome": "not_recorded", "error": error}}
        return {"code": f"cause.model_{found['outcome']}", "args": {"error": error}}
    return {"code": "other", "args": {"text": sentence}}


def parse_value(name: str, value: str) -> Any:
    if name.isupper():
        return parse_sentence(value)
    if name == "figures":
        return value.split(", ")
    return int(value) if name in _INTEGERS and value.isdecimal() else value


def parse_candidate_reason(reason: str) -> dict[str, Any]:
    if reason in _CANDIDATE_REASONS:
        return {"code": f"candidate.{reason}", "args": {}}
    if reason.startswith("agent: "):
        return {"code": "candidate.left_by_agent", "args": {"text": reason.removeprefix("agent: ")}}
    return {"code": "other", "args": {"text": reason}}


def dump(message: dict[str, Any]) -> str:
    return json.dumps(message, sort_keys=True)


# Table, its key, column, and how its sentences are read.
_COLUMNS: tuple[tuple[str, str, str, Callable[[str], dict[str, Any]]], ...] = (
    ("source", "id", "last_error", parse_sentence),
    ("run", "id", "error", parse_sentence),
    ("fallback", "id", "reason", parse_sentence),
    ("run_section", "id", "error", parse_sentence),
    ("candidate", "id", "reason", parse_candidate_reason),
    ("unseen", "id", "reason", parse_sentence),
    ("alarm", "id", "message", parse_sentence),
    ("delivery", "id", "last_error", parse_sentence),
    ("item_sight", "item_id", "failure", parse_sentence),
    ("revision", "id", "reason", parse_sentence),
    ("research", "id", "error", parse_sentence),
)

# Table, its key, and the JSON column in which objects with these fields stand at any depth.
_DOCUMENTS = (
    ("briefing_record", "delivery_id", "briefing", ("reason", "last_error", "message")),
    ("saved_briefing", "id", "briefing", ("reason", "last_error", "message")),
    ("run_event", "id", "data", ("reason",)),
    ("record", "id", "error", ("message",)),
)

_BATCH = 500


def upgrade() -> None:
    connection = op.get_bind()
    rewrite_candidate_words(connection, {word: dump(parse_candidate_reason(word)) for word in _CANDIDATE_REASONS})
    for table, key, column, parse in _COLUMNS:
        rewrite_column(connection, table, key, column, lambda text, parse=parse: dump(parse(text)), is_coded=False)
    for table, key, column, fields in _DOCUMENTS:
        rewrite_documents(connection, table, key, column, lambda data, fields=fields: add_codes(data, fields))
    rewrite_documents(
        connection, "record", "id", "notes", lambda notes: {url: parse_sentence(notes[url]) for url in notes}
    )
    rewrite_documents(connection, "item_sight", "item_id", "page", code_page)


def downgrade() -> None:
    connection = op.get_bind()
    rewrite_candidate_words(connection, {dump(parse_candidate_reason(word)): word for word in _CANDIDATE_REASONS})
    for table, key, column, _ in _COLUMNS:
        rewrite_column(connection, table, key, column, lambda text: render(json.loads(text)), is_coded=True)
    for table, key, column, fields in _DOCUMENTS:
        rewrite_documents(connection, table, key, column, lambda data, fields=fields: drop_codes(data, fields))
    rewrite_documents(connection, "record", "id", "notes", lambda notes: {url: render(notes[url]) for url in notes})
    rewrite_documents(connection, "item_sight", "item_id", "page", say_page)


def rewrite_candidate_words(connection: sa.Connection, words: dict[str, str]) -> None:
    """Rewrite the largest table's few words in one statement."""
    candidate = sa.table("candidate", sa.column("reason", sa.Text))
    reason = candidate.c.reason
    connection.execute(sa.update(candidate).where(reason.in_(words)).values(reason=sa.case(words, value=reason)))


def rewrite_column(
    connection: sa.Connection, table: str, key: str, column: str, rewrite: Callable[[str], str], *, is_coded: bool
) -> None:
    place = sa.table(table, sa.column(key), sa.column(column, sa.Text))
    is_json = place.c[column].like('{"args":%')
    wanted = sa.and_(place.c[column] != "", is_json if is_coded else ~is_json)
    update = sa.update(place).where(place.c[key] == sa.bindparam("row_key")).values({column: sa.bindparam("text")})
    for rows in iter_batches(connection, place, key, column, wanted):
        connection.execute(update, [{"row_key": row_key, "text": rewrite(text)} for row_key, text in rows])


def rewrite_documents(
    connection: sa.Connection, table: str, key: str, column: str, rewrite: Callable[[Any], Any]
) -> None:
    place = sa.table(table, sa.column(key), sa.column(column, sa.JSON(none_as_null=True)))
    update = sa.update(place).where(place.c[key] == sa.bindparam("row_key"))
    update = update.values({column: sa.bindparam("data", type_=sa.JSON(none_as_null=True))})
    wanted = sa.and_(place.c[column].is_not(None), sa.cast(place.c[column], sa.Text).not_in(["{}", "null"]))
    for rows in iter_batches(connection, place, key, column, wanted):
        coded = [{"row_key": row_key, "data": rewrite(data)} for row_key, data in rows if data and rewrite(data) != data]
        if coded:
            connection.execute(update, coded)


def iter_batches(
    connection: sa.Connection, table: sa.TableClause, key: str, column: str, wanted: sa.ColumnElement[bool]
) -> Iterator[list[Any]]:
    """Yield keys and values in the keys' order, some at a time."""
    query = sa.select(table.c[key], table.c[column]).where(wanted).order_by(table.c[key]).limit(_BATCH)
    rows = list(connection.execute(query))
    while rows:
        yield rows
        rows = list(connection.execute(query.where(table.c[key] > rows[-1][0])))


def add_codes(data: Any, fields: tuple[str, ...]) -> Any:
    """Set code and arguments beside each sentence, which stays."""
    if isinstance(data, list):
        return [add_codes(value, fields) for value in data]
    if not isinstance(data, dict):
        return data
    coded = {name: add_codes(value, fields) for name, value in data.items()}
    for name in fields:
        if isinstance(data.get(name), str) and data[name]:
            message = parse_sentence(data[name])
            coded |= {f"{name}_code": message["code"], f"{name}_args": message["args"]}
    return coded


def drop_codes(data: Any, fields: tuple[str, ...]) -> Any:
    if isinstance(data, list):
        return [drop_codes(value, fields) for value in data]
    if not isinstance(data, dict):
        return data
    extra = {f"{name}_{part}" for name in fields for part in ("code", "args")}
    kept = {name: drop_codes(value, fields) for name, value in data.items() if name not in extra}
    return kept | {name: "" for name in fields if name in kept and kept[name] is None}


def code_page(page: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(page.get("reason"), str):
        return page
    return page | {"reason": parse_sentence(page["reason"]) if page["reason"] else None}


def say_page(page: dict[str, Any]) -> dict[str, Any]:
    return page | {"reason": render(page["reason"]) if page.get("reason") else ""}


def render(message: dict[str, Any]) -> str:
    """Return the sentence of a message as the versions before had it; one that they did not know as its code."""
    code, args = message["code"], message["args"]
    words = {name.upper(): render(value) if isinstance(value, dict) else value for name, value in args.items()}
    words |= {name.lower(): value for name, value in words.items()}
    words["figures"] = ", ".join(map(str, args.get("figures") or []))
    if code == "other":
        return str(args.get("text", ""))
    if code == "cause.page_blocked":
        return "WebBlocked/{detail}: {error}".format(**words)
    if code == "cause.page_error":
        return "{kind}: {error}".format(**words)
    if code == "cause.model_http":
        return "http_{status}: {error}".format(**words)
    if code == "cause.model_failed":
        return "{outcome}: {error}".format(**words)
    if code == "candidate.left_by_agent":
        return "agent: {text}".format(**words)
    if code.startswith("cause.model_"):
        return f"{code.removeprefix('cause.model_')}: {words['error']}"
    if code.startswith("cause.ended_") or code.startswith("candidate."):
        return str(code.partition("." if code.startswith("candidate.") else "ended_")[2])
    return _SENTENCES[code].format(**words) if code in _SENTENCES else str(code)

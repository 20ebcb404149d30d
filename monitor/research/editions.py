"""What an edition of a research says that the one before did not."""

import datetime as dt

from pydantic import Field

from monitor.research.shapes import CamelCaseSchema, JudgedStatement, ReportSource, ResearchReport
from monitor.research.sheet import normalize_letters
from monitor.urls import url_key


class EditionNews(CamelCaseSchema):
    """The statements and pages of a report that an earlier edition, done on the day `since`, did not have.

    The sources of a statement are numbers of the report. Assessment is not compared: it brings no new fact.
    """

    task_id: str
    since: dt.date
    statements: list[JudgedStatement] = Field(default_factory=list)
    sources: list[ReportSource] = Field(default_factory=list)


def compare_editions(report: ResearchReport, earlier: ResearchReport, *, task_id: str, since: dt.date) -> EditionNews:
    """Return what is new in a report; a sentence that differs only in spaces and punctuation is the same one."""
    said = {normalize_letters(statement.text) for statement in earlier.metadata.statements}
    read = {url_key(source.url) for source in earlier.sources}
    news = EditionNews(task_id=task_id, since=since)
    for statement in report.metadata.statements:
        letters = normalize_letters(statement.text)
        if not statement.is_assessment and letters not in said:
            said.add(letters)
            news.statements.append(statement)
    for source in report.sources:
        if (key := url_key(source.url)) not in read:
            read.add(key)
            news.sources.append(source)
    return news

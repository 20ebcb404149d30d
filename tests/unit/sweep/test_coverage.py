import datetime as dt

import pytest

from monitor.db.reading import KnownCandidate
from monitor.db.tables.collection import Source, SourceSection
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.sweep.ledger import CoverageLedger, DateWindow, build_window, extend_window
from monitor.urls import url_key
from monitor.vocabulary import Disposition

TODAY = dt.date(2026, 2, 10)
WINDOW = DateWindow(since=dt.date(2026, 2, 4), until=TODAY)
HOST = "https://site.test/"


def source(**fields: object) -> Source:
    return Source(id=1, name="s", url=HOST, created_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC), **fields)


def ledger(
    memory: SourceSection | None = None, *, window: DateWindow = WINDOW, max_items: int = 20, **fields: object
) -> CoverageLedger:
    return CoverageLedger(
        run_id="r2", section="notices", source=source(**fields), window=window, memory=memory, max_items=max_items
    )


def candidate(name: str, day: dt.date | None, *, is_repost: bool = False) -> Candidate:
    return Candidate(title=f"title {name}", url=f"{HOST}{name}", date=day, is_repost=is_repost)


def seen(*names: str, item: bool = False, run_id: str = "r1", section: str = "notices") -> dict[str, KnownCandidate]:
    known = KnownCandidate(run_id=run_id, section=section, item_id=7) if item else KnownCandidate()
    return {url_key(f"{HOST}{name}"): known for name in names}


COMPLETE = SourceSection(
    source_id=1, name="n", url=HOST, url_key="k", last_complete_on=dt.date(2026, 2, 9), tail_date=dt.date(2025, 12, 1)
)


def dispositions(book: CoverageLedger) -> dict[str, Disposition | None]:
    return {entry.candidate.url.removeprefix(HOST): entry.disposition for entry in book}


def test_every_candidate_gets_one_disposition_and_the_sums_add_up() -> None:
    book = ledger(keywords_exclude=["secret"])
    page = [candidate("new", TODAY), candidate("old", dt.date(2025, 1, 1)), candidate("undated", None)]
    page += [candidate("held", TODAY), candidate("secret", TODAY), candidate("new", TODAY)]
    book.add(page, page_url=HOST, known=seen("held", item=True))
    entries = book.close()
    assert {e.candidate.url.removeprefix(HOST): e.disposition for e in entries} == {
        "new": Disposition.OVER_LIMIT,
        "old": Disposition.OUT_OF_RANGE,
        "undated": Disposition.LEFT,
        "held": Disposition.KNOWN,
        "secret": Disposition.FILTERED,
    }
    assert len(entries) == 5


def test_both_ends_of_the_window_are_in_range() -> None:
    book = ledger()
    book.add([candidate("first", WINDOW.since), candidate("last", TODAY)], page_url=HOST, known={})
    book.add(
        [candidate("before", WINDOW.since - dt.timedelta(1)), candidate("after", TODAY + dt.timedelta(1))],
        page_url=HOST,
        known={},
    )
    assert {e.candidate.url.removeprefix(HOST) for e in book.list_open_entries()} == {"first", "last"}


def test_an_item_that_this_section_saved_before_a_crash_counts_as_saved_again() -> None:
    book = ledger()
    book.add([candidate("a", TODAY)], page_url=HOST, known=seen("a", item=True, run_id="r2"))
    assert dispositions(book) == {"a": Disposition.SAVED}


def test_an_item_of_an_earlier_section_of_the_same_run_is_known() -> None:
    book = ledger()
    book.add([candidate("a", TODAY)], page_url=HOST, known=seen("a", item=True, run_id="r2", section="news"))
    assert dispositions(book) == {"a": Disposition.KNOWN}


def test_two_spellings_of_a_url_are_one_candidate() -> None:
    book = ledger()
    book.add([candidate("a?utm_source=x", TODAY), candidate("a", TODAY)], page_url=HOST, known={})
    assert len(book) == 1


def test_a_new_old_date_above_what_was_seen_is_late() -> None:
    book = ledger(COMPLETE)
    day = dt.date(2025, 12, 20)
    book.add([candidate("late", day), candidate("seen", dt.date(2025, 12, 1))], page_url=HOST, known=seen("seen"))
    (entry,) = book.list_open_entries()
    assert entry.candidate.url.endswith("late")
    assert entry.is_late


def test_a_new_old_date_within_what_was_read_is_late_even_at_the_end_of_the_page() -> None:
    book = ledger(COMPLETE)
    book.add(
        [candidate("seen", TODAY), candidate("late", dt.date(2025, 12, 2))],
        page_url=HOST,
        known=seen("seen", item=True),
    )
    assert [entry.is_late for entry in book.list_open_entries()] == [True]


def test_old_dates_below_what_was_ever_read_are_simply_old() -> None:
    memory = COMPLETE.model_copy(update={"tail_date": dt.date(2026, 1, 20)})
    book = ledger(memory)
    book.add([candidate("seen", TODAY), candidate("old", dt.date(2025, 12, 20))], page_url=HOST, known=seen("seen"))
    assert dispositions(book)["old"] is Disposition.OUT_OF_RANGE


@pytest.mark.parametrize("memory", [None, COMPLETE.model_copy(update={"last_complete_on": None})])
def test_nothing_is_late_before_the_first_complete_run(memory: SourceSection | None) -> None:
    book = ledger(memory)
    book.add([candidate("a", dt.date(2026, 1, 1)), candidate("seen", TODAY)], page_url=HOST, known=seen("seen"))
    assert dispositions(book)["a"] is Disposition.OUT_OF_RANGE


def test_more_than_ninety_days_is_not_late_but_old() -> None:
    book = ledger(COMPLETE)
    book.add([candidate("a", dt.date(2025, 11, 1)), candidate("seen", TODAY)], page_url=HOST, known=seen("seen"))
    assert dispositions(book)["a"] is Disposition.OUT_OF_RANGE


def test_an_undated_candidate_is_open_only_if_it_is_new_since_a_complete_run() -> None:
    baseline, later = ledger(), ledger(COMPLETE)
    baseline.add([candidate("a", None)], page_url=HOST, known={})
    later.add([candidate("a", None), candidate("seen", None)], page_url=HOST, known=seen("seen"))
    assert dispositions(baseline) == {"a": Disposition.LEFT}
    assert dispositions(later) == {"a": None, "seen": Disposition.LEFT}


def test_reposts_are_filtered_where_other_hosts_are_not_allowed() -> None:
    book = ledger(allow_other_hosts=False)
    book.add([candidate("a", TODAY, is_repost=True)], page_url=HOST, known={})
    (entry,) = book.close()
    assert (entry.disposition, entry.reason) == (Disposition.FILTERED, Message("candidate.other_host"))


def test_only_titles_with_a_wanted_word_pass_when_words_are_wanted() -> None:
    book = ledger(keywords_include=["TITLE A"])
    book.add([candidate("a", TODAY), candidate("b", TODAY)], page_url=HOST, known={})
    assert dispositions(book) == {"a": None, "b": Disposition.FILTERED}


def test_a_link_without_words_is_refused_and_said_so() -> None:
    book = ledger()
    book.add([Candidate(title=" ", url=f"{HOST}a", date=TODAY)], page_url=HOST, known={})
    (entry,) = book.close()
    assert (entry.disposition, entry.reason) == (Disposition.REFUSED, Message("candidate.title_missing"))


def test_a_decided_candidate_cannot_be_decided_otherwise() -> None:
    book = ledger()
    (entry,) = book.add([candidate("old", dt.date(2020, 1, 1))], page_url=HOST, known={})
    with pytest.raises(ValueError, match="cannot become"):
        entry.settle(Disposition.SAVED)


def test_the_window_reaches_back_to_the_last_complete_run_unless_a_person_fixed_it() -> None:
    memory = COMPLETE.model_copy(update={"last_complete_on": dt.date(2026, 1, 15)})
    assert extend_window(WINDOW, memory).since == dt.date(2026, 1, 15)
    fixed = build_window(today=TODAY, days=7, since=dt.date(2026, 2, 8))
    assert extend_window(fixed, memory).since == dt.date(2026, 2, 8)


def test_a_window_of_seven_days_includes_today() -> None:
    window = build_window(today=TODAY, days=7)
    assert (window.since, window.until) == (dt.date(2026, 2, 4), TODAY)

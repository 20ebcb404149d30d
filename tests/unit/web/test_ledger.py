"""The squares of a ledger: each candidate once, in its place; the rows beneath are those around the wanted one."""

from monitor.db.queries.history import LedgerRow
from monitor.db.tables.collection import RunSection
from monitor.vocabulary import DateSource, Disposition
from monitor.web.ui.runs import ROWS_PER_PAGE, LedgerFilter, build_ledger_view

SECTIONS = [
    RunSection(run_id="r", ordinal=number, name=f"栏目{number}", url=f"https://o.gov/{number}") for number in (0, 1, 2)
]
ENDS = list(Disposition)


def row(number: int) -> LedgerRow:
    return LedgerRow(
        id=number,
        section=number % 2,
        position=number,
        page_url="https://o.gov/",
        url=f"https://O.gov/N/{number}",
        title=f"第{number}号",
        date=None,
        date_source=DateSource.UNKNOWN,
        disposition=ENDS[number % 7],
        reason="",
        item_id=None,
    )


ROWS = sorted(map(row, range(1, 211)), key=lambda entry: (entry.section, entry.id))


def test_every_candidate_has_its_square_and_the_counts_add_up() -> None:
    view = build_ledger_view(ROWS, SECTIONS, LedgerFilter())
    assert [cell.id for group in view.groups for cell, _ in group.cells] == [entry.id for entry in ROWS]
    assert sum(view.counts.values()) == view.total == view.meant == 210
    assert view.groups[2].cells == []


def test_what_is_not_looked_for_keeps_its_square_and_loses_its_row() -> None:
    view = build_ledger_view(ROWS, SECTIONS, LedgerFilter(disposition=Disposition.LEFT, section=1))
    meant = [entry for entry in ROWS if entry.disposition is Disposition.LEFT and entry.section == 1]
    assert [cell for group in view.groups for cell, is_meant in group.cells if is_meant] == meant == view.rows
    assert view.total == 210
    assert view.counts[Disposition.SAVED] == 30


def test_a_candidate_is_found_by_a_part_of_its_title_or_address_in_either_case() -> None:
    assert [entry.id for entry in build_ledger_view(ROWS, SECTIONS, LedgerFilter(text="第117号")).rows] == [117]
    assert [entry.id for entry in build_ledger_view(ROWS, SECTIONS, LedgerFilter(text="o.GOV/n/209")).rows] == [209]
    nothing = build_ledger_view(ROWS, SECTIONS, LedgerFilter(text="nowhere"))
    assert (nothing.rows, nothing.before, nothing.after) == ([], None, None)


def test_the_rows_are_those_around_the_wanted_candidate_and_lead_to_all_others() -> None:
    for place, wanted in enumerate(ROWS):
        view = build_ledger_view(ROWS, SECTIONS, LedgerFilter(at=wanted.id))
        assert wanted in view.rows
        assert view.first == place - place % ROWS_PER_PAGE
    seen: list[LedgerRow] = []
    at: int | None = ROWS[0].id
    while at is not None:
        view = build_ledger_view(ROWS, SECTIONS, LedgerFilter(at=at))
        seen += view.rows
        assert view.before is None or ROWS[view.first - ROWS_PER_PAGE].id == view.before
        at = view.after
    assert seen == ROWS


def test_a_candidate_that_is_not_there_any_more_leads_to_the_first_rows() -> None:
    assert build_ledger_view(ROWS, SECTIONS, LedgerFilter(at=999)).first == 0

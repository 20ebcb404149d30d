"""The squares of a ledger: each candidate once, in its place; the rows beneath are those around the wanted one."""

from monitor.domain.tables import RunSection
from monitor.domain.words import DateSource, Disposition
from monitor.store.history import LedgerRow
from monitor.web.ledger import ROWS_SHOWN, LedgerWish, ledger_view

SECTIONS = [
    RunSection(run_id="r", ordinal=number, name=f"栏目{number}", url=f"https://o.gov/{number}") for number in (0, 1, 2)
]
ENDS = list(Disposition)


def row(number: int) -> LedgerRow:
    return LedgerRow(
        id=number,
        section=number % 2,
        page_url="https://o.gov/",
        url=f"https://O.gov/N/{number}",
        title=f"第{number}号",
        date=None,
        date_source=DateSource.UNKNOWN,
        disposition=ENDS[number % 7],
        reason="",
        item_id=None,
    )


ROWS = sorted(map(row, range(1, 211)), key=lambda one: (one.section, one.id))


def test_every_candidate_has_its_square_and_the_counts_add_up() -> None:
    view = ledger_view(ROWS, SECTIONS, LedgerWish())
    assert [one.id for group in view.groups for one, _ in group.cells] == [one.id for one in ROWS]
    assert sum(view.counts.values()) == view.total == view.meant == 210
    assert view.groups[2].cells == []


def test_what_is_not_looked_for_keeps_its_square_and_loses_its_row() -> None:
    view = ledger_view(ROWS, SECTIONS, LedgerWish(disposition=Disposition.LEFT, section=1))
    meant = [one for one in ROWS if one.disposition is Disposition.LEFT and one.section == 1]
    assert [one for group in view.groups for one, is_meant in group.cells if is_meant] == meant == view.rows
    assert view.total == 210
    assert view.counts[Disposition.SAVED] == 30


def test_a_candidate_is_found_by_a_part_of_its_title_or_address_in_either_case() -> None:
    assert [one.id for one in ledger_view(ROWS, SECTIONS, LedgerWish(text="第117号")).rows] == [117]
    assert [one.id for one in ledger_view(ROWS, SECTIONS, LedgerWish(text="o.GOV/n/209")).rows] == [209]
    nothing = ledger_view(ROWS, SECTIONS, LedgerWish(text="nowhere"))
    assert (nothing.rows, nothing.before, nothing.after) == ([], None, None)


def test_the_rows_are_those_around_the_wanted_candidate_and_lead_to_all_others() -> None:
    for place, wanted in enumerate(ROWS):
        view = ledger_view(ROWS, SECTIONS, LedgerWish(at=wanted.id))
        assert wanted in view.rows
        assert view.first == place - place % ROWS_SHOWN
    seen: list[LedgerRow] = []
    at: int | None = ROWS[0].id
    while at is not None:
        view = ledger_view(ROWS, SECTIONS, LedgerWish(at=at))
        seen += view.rows
        assert view.before is None or ROWS[view.first - ROWS_SHOWN].id == view.before
        at = view.after
    assert seen == ROWS


def test_a_candidate_that_is_not_there_any_more_leads_to_the_first_rows() -> None:
    assert ledger_view(ROWS, SECTIONS, LedgerWish(at=999)).first == 0

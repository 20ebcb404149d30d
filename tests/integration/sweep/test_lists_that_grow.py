"""Sections whose list goes on in the same page, by a button: in the browser, and where there is none."""

from typing import Any

import pytest

from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.catalogue import render
from monitor.vocabulary import Disposition, Render, RunStatus, SectionEnd

OLD = (400, 410, 420, 430, 440)
BUTTON = "<button id=more onclick=more()>加载更多</button>"
SCRIPT = """<script>
let next = 1;
async function more() {
  const answer = await fetch('/rows-' + next++);
  document.querySelector('ul').insertAdjacentHTML('beforeend', await answer.text());
}
</script>"""


def show_growing(bureau: Any, *batches: list[Any]) -> None:
    """Serves a list whose button brings the further batches, and goes on offering more after the last one."""
    bureau.show(*batches)
    for number in range(len(batches)):
        path = f"/news/index_{number}.html" if number else "/news/"
        rows = "".join(f'<li><a href="{row.path}">{row.text}</a><span>{row.day}</span></li>' for row in batches[number])
        bureau.site.on(f"/rows-{number}", rows)
        bureau.site.on(path, f"<html><body><ul class='list'>{rows}</ul>{BUTTON}{SCRIPT}</body></html>")


async def test_what_the_button_brings_is_saved_like_the_rest(bureau: Any) -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    bureau.options = {"render": Render.ALWAYS}
    show_growing(bureau, bureau.rows(0, 0, 0, 0, 0), bureau.rows(1, 1, 1, *OLD, first=200))
    run = await bureau.sweep()
    ledger = await bureau.ledger(run)
    saved = {number for number, row in ledger.items() if row.disposition is Disposition.SAVED}
    assert saved == {100, 101, 102, 103, 104, 200, 201, 202}
    assert (run.sections[0].ended, run.coverage.out_of_range, run.status) == (SectionEnd.END, 5, RunStatus.SUCCEEDED)


async def test_a_list_that_goes_on_unread_in_the_window_is_cut_short(bureau: Any) -> None:
    show_growing(bureau, bureau.rows(0, 0, 1, 1, 2))
    run = await bureau.sweep()
    assert (run.sections[0].ended, run.status) == (SectionEnd.MAX_PAGES, RunStatus.DEGRADED)
    assert [(place.url, render(place.reason, "en")) for place in run.coverage.unseen] == [
        (bureau.site.url("/news/"), "max_pages")
    ]
    assert run.coverage.saved == 5


async def test_a_list_that_goes_on_unread_before_the_window_is_whole(bureau: Any) -> None:
    show_growing(bureau, bureau.rows(0, 0, 1, 1, 2, *OLD))
    run = await bureau.sweep()
    assert (run.sections[0].ended, run.status, run.coverage.unseen) == (SectionEnd.END, RunStatus.SUCCEEDED, [])


async def test_a_list_that_goes_on_with_what_is_known_is_whole(bureau: Any) -> None:
    known = bureau.rows(0, 0, 1, 1, 2, *OLD)
    show_growing(bureau, known)
    await bureau.sweep()
    show_growing(bureau, [*bureau.rows(0, 0, first=200), *known[:4]])
    second = await bureau.sweep()
    assert (second.sections[0].ended, second.status, second.coverage.saved) == (SectionEnd.END, RunStatus.SUCCEEDED, 2)

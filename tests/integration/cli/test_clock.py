"""The whole program on a machine whose clock was moved by an hour."""

import glob
from typing import Any

import pytest


@pytest.mark.timeout(300)
async def test_a_clock_that_is_moved_back_and_forth_loses_nothing_and_saves_nothing_twice(
    monitor: Any, site: Any, here: Any, today: Any
) -> None:
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")  # noqa: PTH207 -- an absolute pattern
    if not found:
        pytest.skip("libfaketime is not installed: apt-get install libfaketime")
    monitor.environment["MONITOR_PAGES__RENDER"] = "never"
    monitor.allow(site.url(""))
    _show(site, today(), 4)
    assert (await here("init")).code == 0
    assert (
        await here("sources", "add", site.url("/"), "--name", "局", f"--section=通知={site.url('/news/')}")
    ).code == 0
    runs = []
    for moved, number in (("+0", 4), ("-1h", 5), ("+1h", 6)):
        _show(site, today(), number)
        faked = {"LD_PRELOAD": found[0], "FAKETIME": moved}
        swept = await monitor("sweep", "--json", **faked)
        assert swept.code == 0, swept.err
        runs += swept.document["runs"]
    first, back, forth = runs
    assert back["planned_at"] < first["planned_at"] < forth["planned_at"]
    assert [len(run["items"]) for run in runs] == [4, 1, 1]
    assert [run["coverage"]["known"] for run in runs] == [0, 4, 5]


def _show(site: Any, day: Any, number: int) -> None:
    """A list of so many notices of a day, the latest first."""
    titles = {f"/news/{entry}.html": f"关于做好有关工作的第{entry}号通知" for entry in range(number, 0, -1)}
    rows = "".join(f'<li><a href="{path}">{title}</a><span>{day}</span></li>' for path, title in titles.items())
    site.on("/news/", f"<html><body><ul>{rows}</ul></body></html>")
    for path, title in titles.items():
        body = "现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 4
        site.on(path, f"<html><body><h1>{title}</h1><p>发布时间：{day}</p><p>{body}</p></body></html>")
